"""Every question in every version: the values of one metric as a matrix, with its orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.comparison.compare import match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.question_means import question_means

Order = Literal["change", "loss", "gain", "spread", "file"]
ORDERS: Mapping[Order, str] = MappingProxyType(
    {
        "change": "Largest change first",
        "loss": "Largest loss first",
        "gain": "Largest gain first",
        "spread": "Most different versions first",
        "file": "Order of the file",
    }
)
_SAME = 1e-9  # differences below this are rounding, not change


@dataclass(frozen=True)
class QuestionMatrix:
    """The questions of a baseline in several versions."""

    question_ids: NDArray[np.object_]  # (q,) the questions, in the order of the baseline's file
    values: FloatArray  # (q, 1 + v) means over repeats, of the baseline first; NaN where not measured
    rows: IntArray  # (q, 1 + v) first row of the question in each run; -1 where the run lacks it

    def ordered(self, order: Order, column: int, higher_is_better: bool | None) -> IntArray:
        """Return the positions of the questions in an order; those without a value come last.

        Args:
            order: which one.
            column: the version whose change counts.
            higher_is_better: direction of the metric; without one a rise counts as a gain.
        """
        first = self.rows[:, 0]
        if order == "file":
            return np.argsort(first, kind="stable")
        gain = (self.values[:, column] - self.values[:, 0]) * (-1.0 if higher_is_better is False else 1.0)
        keys = {"change": -np.abs(gain), "loss": gain, "gain": -gain}.get(order)
        if keys is None:
            known = np.isfinite(self.values)
            low = np.where(known, self.values, np.inf).min(axis=1)
            high = np.where(known, self.values, -np.inf).max(axis=1)
            keys = np.where(known.sum(axis=1) > 1, low - high, np.nan)
        return np.lexsort((first, np.where(np.isfinite(keys), keys, np.inf)))

    def find(self, question_id: str) -> int | None:
        """Return the position of a question; None where the baseline lacks it."""
        positions = np.flatnonzero(self.question_ids == question_id)
        return int(positions[0]) if len(positions) else None


def question_matrix(base: Diagnosis, others: Sequence[Diagnosis], metric: str) -> QuestionMatrix:
    """Return a metric, or the pass rate, for every question of a baseline in every version."""
    n = len(base.scored.question_ids)
    values, rows = np.full((n, 1 + len(others)), np.nan), np.full((n, 1 + len(others)), -1, dtype=np.int64)
    values[:, 0], rows[:, 0] = _means(base, metric), _first_rows(base)
    for column, other in enumerate(others, 1):
        matched = match_questions(base.scored, other.scored)
        values[matched.base, column] = _means(other, metric)[matched.other]
        rows[matched.base, column] = _first_rows(other)[matched.other]
    return QuestionMatrix(base.scored.question_ids, values, rows)


def changed_rows(base: Diagnosis, other: Diagnosis, metric: str, sign: int) -> BoolArray:
    """(n,) True for the samples of the other run whose question rose (1), fell (-1) or kept (0) its value."""
    matched = match_questions(base.scored, other.scored)
    gaps = _means(other, metric)[matched.other] - _means(base, metric)[matched.base]
    known = np.isfinite(gaps)
    signs = np.sign(np.where(np.abs(gaps) < _SAME, 0.0, np.where(known, gaps, 0.0)))
    chosen = matched.other[known & (signs == sign)]
    return np.asarray(np.isin(other.scored.question, chosen), dtype=np.bool_)


def _means(diagnosis: Diagnosis, metric: str) -> FloatArray:
    scored = diagnosis.scored
    values = passing_of(diagnosis) if metric == GOOD_SHARE else scored.values(metric)
    return question_means(values, scored.question)[0]


def _first_rows(diagnosis: Diagnosis) -> IntArray:
    return np.unique(diagnosis.scored.question, return_index=True)[1].astype(np.int64)
