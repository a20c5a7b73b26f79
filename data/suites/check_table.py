"""The evaluated checks of a run as flat arrays, one entry a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ragtriage.data.store.ragged import Ragged, flags
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.suites.check import stored_value
from ragtriage.data.suites.safety import Verdict
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.schema.source import Source


class CheckedRun(Protocol):
    """What suites read of a scored run of n samples and q questions."""

    samples_path: Path
    verdicts: Mapping[int, Verdict]  # what was said of attacks since the import, by row

    @property
    def n(self) -> int:
        """Number of samples."""

    @property
    def samples(self) -> StoredSamples:
        """The samples as recorded, read by row."""

    @property
    def question(self) -> IntArray:
        """(n,) index of each sample's question."""

    @property
    def repeats(self) -> IntArray:
        """(n,) repeat number of each sample."""

    @property
    def clusters(self) -> IntArray:
        """(q,) code of each question's cluster."""

    @property
    def stage_features(self) -> dict[str, FloatArray]:
        """The features of the stage rules by name, each (n,)."""

    @property
    def sources(self) -> Mapping[str, tuple[Source, ...]]:
        """The sources of each metric in this run."""

    def values(self, metric: str) -> FloatArray:
        """Return a metric's values; all NaN where the run does not have it."""

    def auxiliary_table(self, name: str) -> Any:
        """Return an Arrow table of n rows stored with the scores, or None where the run has none."""


_TABLES: WeakKeyDictionary[CheckedRun, CheckTable] = WeakKeyDictionary()


@dataclass(frozen=True)
class Coded:
    """A text column of m checks as codes into its distinct values."""

    codes: IntArray  # (m,) index into values
    values: tuple[str, ...]  # the distinct texts, in the order of their first check

    def equal(self, text: str) -> BoolArray:
        """(m,) True where the text is this one."""
        if text not in self.values:
            return np.zeros(len(self.codes), dtype=np.bool_)
        return np.asarray(self.codes == self.values.index(text), dtype=np.bool_)

    def counts(self, rows: BoolArray, most: int) -> tuple[tuple[str, int], ...]:
        """Return the commonest texts among some checks with their counts, the commonest first."""
        tally = np.bincount(self.codes[rows], minlength=len(self.values))
        order = np.argsort(-tally, kind="stable")[:most]
        return tuple((self.values[at], int(tally[at])) for at in order if tally[at])


class CheckTable:
    """The m evaluated checks of a run.

    Attributes:
        sample: (m,) row of the sample that each check belongs to, ascending.
        passed: (m,) 1 passed, 0 failed, -1 not measured.
        suite: the suite of each.
        name: the name of each.
        kind: the kind of each as recorded; its name where none is.
        reason: why it failed or was not measured; "" where it passed.
    """

    def __init__(self, column: Any) -> None:
        """Flatten the list column `checks` of the type ragtriage.data.suites.evaluate.EVALUATED."""
        ragged = Ragged.of(column)
        self._entries = ragged
        self.sample: IntArray = ragged.sample.astype(np.int64)
        self.passed: NDArray[np.int8] = flags(ragged.field("passed"))
        self.suite = _coded(ragged.field("suite"))
        self.name = _coded(ragged.field("name"))
        self.reason = _coded(ragged.field("reason"))

    @cached_property
    def kind(self) -> Coded:
        """The kind of each check as recorded; its name where none is."""
        kinds = self._entries.field("kind").to_pylist()
        names = self._entries.field("name").to_pylist()
        return _coded(pa.array([kind or name for kind, name in zip(kinds, names, strict=True)], pa.string()))

    def __len__(self) -> int:
        """Return the number of checks."""
        return len(self.sample)

    @property
    def decided(self) -> BoolArray:
        """(m,) True where a check passed or failed."""
        return np.asarray(self.passed >= 0, dtype=np.bool_)

    @property
    def failed(self) -> BoolArray:
        """(m,) True where a check failed."""
        return np.asarray(self.passed == 0, dtype=np.bool_)

    def of(self, suite: str) -> BoolArray:
        """(m,) True for the checks of a suite, "" for all, "all" likewise."""
        return np.ones(len(self), dtype=np.bool_) if suite in ("", "all") else self.suite.equal(suite)

    def texts(self, field: str, checks: Sequence[int] | IntArray) -> list[str | None]:
        """Return a field of some checks as recorded: name, kind, expected, actual, reason or detail."""
        column: list[str | None] = self._entries.field(field).take(pa.array(checks, pa.int64())).to_pylist()
        return column

    def values(self, field: str, checks: Sequence[int] | IntArray) -> list[Any]:
        """Return expected or actual values, or details, as Python values; None where none is recorded."""
        return [stored_value(text) for text in self.texts(field, checks)]


def check_table(run: CheckedRun) -> CheckTable | None:
    """Return the evaluated checks of a run; None where it records none. Read once for each run."""
    kept = _TABLES.get(run)
    if kept is None:
        table = run.auxiliary_table("checks")
        if table is None:
            return None
        kept = _TABLES[run] = CheckTable(table["checks"])
    return kept if len(kept) else None


def _coded(column: Any) -> Coded:
    encoded = column.cast(pa.string()).fill_null("").dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Coded(codes, tuple(encoded.dictionary.to_pylist()))
