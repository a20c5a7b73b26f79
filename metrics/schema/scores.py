"""Scores: values with their status and source."""

from dataclasses import dataclass
from enum import IntEnum
from math import isfinite
from typing import Self

import numpy as np
from numpy.typing import NDArray


def finite_or_none(value: float) -> float | None:
    """Return a number as JSON has it: None where it is NaN or infinite."""
    return float(value) if isfinite(value) else None


class Source(IntEnum):
    """How a value was obtained, in order of precedence: the lowest number wins."""

    HUMAN = 0
    JUDGED = 1
    COMPUTED = 2
    IMPORTED = 3
    ESTIMATED = 4

    @property
    def label(self) -> str:
        """The word shown on screen."""
        return self.name.lower()


FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
StrArray = NDArray[np.object_]


class MetricsError(ValueError):
    """Invalid input to the metrics package; the message says what, where, and what would be accepted."""


class Status(IntEnum):
    """Why a sample has or lacks a value: four different things, each shown differently."""

    SCORED = 0
    NOT_APPLICABLE = 1  # the metric has no meaning for this sample
    NOT_RUN = 2  # inputs or judge missing
    FAILED = 3  # attempted without success; see the reason

    @property
    def label(self) -> str:
        """The word shown on screen."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Scores:
    """One metric over n samples."""

    values: FloatArray  # (n,) float; NaN exactly where status is not SCORED
    status: NDArray[np.int8]  # (n,) int8 codes of Status
    reason: StrArray  # (n,) object array of str; "" where scored, else why not
    source: NDArray[np.int8]  # (n,) int8 codes of Source

    def __post_init__(self) -> None:
        n = len(self.values)
        if not (len(self.status) == len(self.reason) == len(self.source) == n):
            raise MetricsError(f"Scores arrays differ in length: values has {n}")
        if not np.array_equal(np.isnan(self.values), self.status != Status.SCORED):
            raise MetricsError("a value must be NaN exactly where its status is not SCORED")

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def build(
        cls,
        values: FloatArray,
        unscored: list[tuple[BoolArray, Status, str]],
        source: NDArray[np.int8] | Source = Source.COMPUTED,
    ) -> Self:
        """Build Scores from raw values and (mask, status, reason) rules; the first matching rule wins.

        A NaN that no rule covers becomes FAILED with the reason "not a number".
        """
        n = len(values)
        status = np.zeros(n, dtype=np.int8)
        reason = np.full(n, "", dtype=object)
        rules = [*unscored, (~np.isfinite(values), Status.FAILED, "not a number")]
        for mask, code, why in reversed(rules):
            status[mask] = code
            reason[mask] = why
        clean = np.where(status == Status.SCORED, values, np.nan)
        if isinstance(source, Source):
            source = np.full(n, source, dtype=np.int8)
        return cls(clean, status, reason, source)
