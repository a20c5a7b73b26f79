"""What people rated in a workspace: of samples drawn at random, it corrects the means of metrics."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.scores import BoolArray, FloatArray
from ragtriage.metrics.statistics.ppi import CorrectedMean, corrected_mean

if TYPE_CHECKING:
    from ragtriage.data.scoring.scored_run import ScoredRun

_RATINGS = """
    SELECT run_id, quantity, question_id, repeat, value, queue_id IS NOT NULL FROM ratings
    WHERE rating_id IN (
        SELECT max(rating_id) FROM ratings WHERE undone_at IS NULL
        GROUP BY run_id, quantity, question_id, repeat, annotator, queue_id IS NOT NULL)
    ORDER BY rating_id
"""
FEWEST_RATED = 10  # samples: with fewer nothing is said of a metric
_Rating = tuple[str, int, float, int]  # question, repeat, value, whether a random queue drew it


@dataclass(frozen=True)
class Ratings:
    """The ratings of a run by metric; negative where nobody could rate."""

    of: tuple[tuple[str, tuple[_Rating, ...]], ...] = ()

    @cached_property
    def key(self) -> str:
        """What tells them from others."""
        return hashlib.sha256(repr(self.of).encode()).hexdigest()[:12]


def ratings_of_runs(ledger: Ledger) -> dict[str, Ratings]:
    """Return run id -> ratings, of the metrics with enough to say something; none of other runs."""
    if not ledger.path.exists():
        return {}
    ratings: dict[str, dict[str, list[_Rating]]] = {}
    with ledger.open() as connection:
        for run_id, quantity, *rating in connection.execute(_RATINGS):
            metric = quantity.replace("evaluator:", "evaluator_", 1)
            ratings.setdefault(run_id, {}).setdefault(metric, []).append(tuple(rating))
    enough = {
        run_id: tuple((metric, tuple(those)) for metric, those in of.items() if len(those) >= FEWEST_RATED)
        for run_id, of in ratings.items()
    }
    return {run_id: Ratings(of) for run_id, of in enough.items() if of}


def corrected(scored: ScoredRun, metric: str) -> CorrectedMean | None:
    """Return the mean of a metric as randomly drawn ratings correct it; None where too few are there.

    None too where samples are weighted: the ratings were drawn without regard to the weights.
    """
    if metric not in dict(scored.ratings.of) or metric not in scored.metrics:
        return None
    if scored.question_weights is not None:
        return None
    drawn = _by_sample(scored, metric, drawn=True)
    predicted = np.where(drawn.unrated, np.nan, scored.values(metric))
    return corrected_mean(predicted, drawn.values, scored.question, scored.clusters, bounds_of(metric))


def drawn_ratings(scored: ScoredRun, metric: str) -> FloatArray:
    """(n,) mean rating of each sample that a random queue drew; NaN for the others."""
    if metric not in dict(scored.ratings.of):
        return np.full(scored.n, np.nan)
    return _by_sample(scored, metric, drawn=True).values


def rated_values(scored: ScoredRun, metric: str) -> FloatArray | None:
    """(n,) mean rating of each sample, drawn or browsed; None where too few are rated."""
    return _by_sample(scored, metric).values if metric in dict(scored.ratings.of) else None


@dataclass(frozen=True)
class _SampleRatings:
    """Ratings of the n samples: the mean of each, NaN without any, and whether nobody could rate it."""

    values: FloatArray
    unrated: BoolArray


def _by_sample(scored: ScoredRun, metric: str, drawn: bool = False) -> _SampleRatings:
    ratings = [rating for rating in dict(scored.ratings.of)[metric] if rating[3] or not drawn]
    rows = rows_of(scored, ((question, repeat) for question, repeat, *_ in ratings))
    placed = [(rows[rating[:2]], rating[2]) for rating in ratings if rating[:2] in rows]
    row = np.array([row for row, _ in placed], dtype=np.int64)
    value = np.array([value for _, value in placed], dtype=np.float64)
    rated = value >= 0
    count = np.bincount(row[rated], minlength=scored.n)
    total = np.bincount(row[rated], weights=value[rated], minlength=scored.n)
    values = np.divide(total, count, out=np.full(scored.n, np.nan), where=count > 0)
    return _SampleRatings(values, (np.bincount(row, minlength=scored.n) > 0) & (count == 0))


def rows_of(scored: ScoredRun, cases: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Find the row of each (question_id, repeat) that a run has."""
    wanted = set(cases)
    ids = np.array(sorted({name for name, _ in wanted}), dtype=object)
    codes = np.searchsorted(scored.question_ids, ids) if len(ids) else np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero(np.isin(scored.question, codes))
    by_case = {
        (str(scored.question_ids[scored.question[row]]), int(scored.repeats[row])): int(row) for row in rows
    }
    return {case: row for case, row in by_case.items() if case in wanted}
