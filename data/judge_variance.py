"""How far a judge agrees with itself: the metrics of a sample over its repeated readings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.judge_reading import reading_from
from data.judgements import read_outcomes
from metrics.readings import ADDRESSES, AGREES, COMPLETE, Reading

__all__ = ["Variance", "judge_variance"]


@dataclass(frozen=True)
class Variance:
    """The spread of one metric within samples that were read several times.

    Attributes:
        metric: which.
        samples: how many were read at least twice with a value each time.
        readings: readings a sample, on average.
        deviation: square root of the mean variance within a sample (n - 1 in the denominator).
        same: share of the samples whose value was the same every time.
    """

    metric: str
    samples: int
    readings: float
    deviation: float
    same: float


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) if hits else float("nan")


_VALUES: dict[str, Callable[[Reading], float]] = {
    "faithfulness": lambda one: (
        _share([bool(claim.by) for claim in one.claims]) if one.form.ranks else np.nan
    ),
    "answer_relevancy": lambda one: np.nan if one.addresses is None else ADDRESSES[one.addresses],
    "completeness": lambda one: np.nan if one.complete is None else COMPLETE[one.complete],
    "correctness": lambda one: np.nan if one.agrees is None else AGREES[one.agrees],
    "context_recall": lambda one: (
        _share([bool(each.by) for each in one.statements]) if one.form.ranks else np.nan
    ),
    "refused": lambda one: np.nan if one.refused is None else float(one.refused),
}


def judge_variance(path: Path) -> list[Variance]:
    """Give the spread of each metric over repeated readings; empty where no sample was read twice."""
    by_row: dict[int, list[Reading]] = defaultdict(list)
    for (row, _), outcome in read_outcomes(path).items():
        if outcome.payload is not None:
            by_row[row].append(reading_from(outcome.payload))
    repeated = [readings for readings in by_row.values() if len(readings) > 1]
    found = [_variance(metric, value, repeated) for metric, value in _VALUES.items()]
    return [one for one in found if one is not None]


def _variance(
    metric: str, value: Callable[[Reading], float], repeated: Sequence[Sequence[Reading]]
) -> Variance | None:
    values = [np.array([value(one) for one in readings]) for readings in repeated]
    known = [one[np.isfinite(one)] for one in values]
    known = [one for one in known if len(one) > 1]
    if not known:
        return None
    within = float(np.mean([one.var(ddof=1) for one in known]))
    same = float(np.mean([np.ptp(one) == 0 for one in known]))
    return Variance(metric, len(known), float(np.mean([len(one) for one in known])), within**0.5, same)
