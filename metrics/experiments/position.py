"""Quality by the place of the gold document in the context: is it lost in the middle?

Source: Liu et al. 2024, "Lost in the middle: how language models use long contexts" (TACL 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, MetricsError
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions
from ragtriage.metrics.statistics.paired import SIGNIFICANCE, PairedDifference, paired
from ragtriage.metrics.statistics.repeated_measures import ConditionTest, PairTest, cochran_q, pair_tests

PositionVerdict = Literal["middle", "falls", "rises", "differs", "cannot tell", "not measured"]


@dataclass(frozen=True)
class Quadratic:
    """The least-squares parabola a + b rank + c rank^2 through the means by place."""

    constant: float  # a
    linear: float  # b
    square: float  # c; above 0 the curve is a valley
    vertex: float  # rank of its lowest or highest point; NaN where c is 0
    inside: bool  # whether the vertex is strictly between the first and the last place


@dataclass(frozen=True)
class PositionEffect:
    """The effect of the gold document's rank on quality."""

    ranks: tuple[int, ...]  # of the gold document, first to last
    means: tuple[Interval, ...]  # quality at each, with its interval
    gap: float  # mean of the two ends - lowest inner place; above 0 even by chance, as the lowest was chosen
    # mean of the inner places - mean of the two ends, paired on the question, with its test
    contrast: PairedDifference
    test: ConditionTest  # whether the place matters at all
    pairs: tuple[PairTest, ...]  # each end (first) against each inner place (second), Holm over all
    ends: PairTest  # the first place against the last
    fit: Quadratic | None  # parabola through the means; None with fewer than three places
    # "middle" where an inner place is worse than both ends by their tests; "falls" or "rises" where it is
    # worse than the first or the last alone, or the ends differ so; "differs" where only the test over all
    # places says so; else "cannot tell"
    verdict: PositionVerdict


def positions_of(documents: int, places: int = 5) -> tuple[int, ...]:
    """Return the ranks at which to put the gold document: evenly from 1 to `documents`, both ends included.

    Raises:
        MetricsError: there are fewer than three documents or places, so that nothing is in the middle.
    """
    if documents < 3 or places < 3:
        raise MetricsError(f"a middle needs 3 or more documents and places, not {documents} and {places}")
    return tuple(sorted({int(1 + step * (documents - 1) / (places - 1) + 0.5) for step in range(places)}))


def middle_gap(means: Sequence[float] | FloatArray) -> float:
    """Return the mean of the two ends - the lowest inner mean; NaN with fewer than three places."""
    values = np.asarray(means, dtype=np.float64)
    if len(values) < 3:
        return float("nan")
    return float((values[0] + values[-1]) / 2 - values[1:-1].min())


def quadratic_fit(ranks: Sequence[float], means: Sequence[float] | FloatArray) -> Quadratic | None:
    """Return the least-squares parabola through (rank, mean); None with fewer than three different ranks."""
    x, y = np.asarray(ranks, dtype=np.float64), np.asarray(means, dtype=np.float64)
    known = np.isfinite(y)
    x, y = x[known], y[known]
    if len(np.unique(x)) < 3:
        return None
    square, linear, constant = (float(value) for value in np.polyfit(x, y, 2))
    flat = abs(square) * float(np.ptp(x)) ** 2 < 1e-9
    vertex = float("nan") if flat else -linear / (2 * square)
    return Quadratic(constant, linear, square, vertex, bool(x.min() < vertex < x.max()))


def position_effect(ranks: Sequence[int], values: FloatArray, seed: int = 0) -> PositionEffect:
    """Return what the place of the gold document does to quality.

    Args:
        ranks: (c,) ranks of the gold document, rising, three or more.
        values: (q, c) quality of each question at each rank, NaN where not measured.
        seed: of permutations and drawn signs.

    Raises:
        MetricsError: there are fewer than three ranks, or as many columns as ranks are missing.
    """
    if len(ranks) < 3 or values.shape[1:] != (len(ranks),):
        raise MetricsError(f"position_effect takes 3 or more ranks with a column each, not {values.shape}")
    # the tests pair ranks within a question, so a question counts where it was measured at every rank
    full = values[np.isfinite(values).all(axis=1)]
    means = tuple(mean_over_questions(values[:, at]) for at in range(len(ranks)))
    last = len(ranks) - 1
    inner = list(range(1, last))
    test = cochran_q(values, seed)
    pairs = tuple(pair_tests(values, [0, last], inner, seed))
    ends = pair_tests(values, [0], [last], seed)[0]
    questions = np.arange(len(full), dtype=np.int64)
    contrast = paired(full[:, [0, last]].mean(axis=1), full[:, inner].mean(axis=1), questions, seed)
    shown = full.mean(axis=0) if len(full) else np.full(len(ranks), np.nan)
    verdict = _verdict(test, pairs, ends, last)
    return PositionEffect(
        tuple(ranks),
        means,
        middle_gap(shown),
        contrast,
        test,
        pairs,
        ends,
        quadratic_fit(ranks, shown),
        verdict,
    )


def _verdict(test: ConditionTest, pairs: Sequence[PairTest], ends: PairTest, last: int) -> PositionVerdict:
    """Classify by the tests: the place has to matter at all, before single places are looked at."""
    if not test.n:
        return "not measured"
    if not test.p < SIGNIFICANCE:
        return "cannot tell"
    worse = {
        end: {
            pair.second
            for pair in pairs
            if pair.first == end and (pair.adjusted_p < SIGNIFICANCE and pair.difference < 0)
        }
        for end in (0, last)
    }
    # a rank that is worse than both ends is a sag; the other shapes need one end alone, or the ends to differ
    if worse[0] & worse[last]:
        return "middle"
    differ = ends.p < SIGNIFICANCE
    if (worse[0] and not worse[last]) or (differ and ends.difference < 0):
        return "falls"
    if (worse[last] and not worse[0]) or (differ and ends.difference > 0):
        return "rises"
    return "differs"
