"""Two samples that share no questions: the difference of their weighted means, and a family of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan

from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.distributions import normal_quantile, normal_tail
from ragtriage.metrics.statistics.intervals import ONE_SIDED, TWO_SIDED, Interval, reaches, score_mean
from ragtriage.metrics.statistics.max_t import FamilyTest, with_side_of_zero
from ragtriage.metrics.statistics.paired import SIGNIFICANCE, PairedDifference, holm


@dataclass(frozen=True)
class Group:
    """One side."""

    values: FloatArray  # (q,) one value per question, NaN where not scored
    clusters: IntArray  # (q,) codes of the independent group of each question
    weights: FloatArray | None  # (q,) of each question; None where all weigh alike

    def mean(self, bounds: tuple[float, float]) -> Interval:
        """Return the mean with its 95 % interval."""
        return score_mean(self.values, self.clusters, bounds, self.weights)


def unpaired(base: Group, other: Group, bounds: tuple[float, float] = (0.0, 1.0)) -> PairedDifference:
    """Return the difference of two means, other minus base, of groups that are independent.

    Each mean has its own 95 % interval; they are combined as `reaches` does. The test is the normal one whose
    p is below 0.05 exactly where that interval leaves 0 out; a one-sided 95 % bound lies 1.645 / 1.96 as far.
    Which questions changed is not known.

    Args:
        base: the baseline.
        other: the other side.
        bounds: least and greatest value of the metric.
    """
    before, after = base.mean(bounds), other.mean(bounds)
    change = after.mean - before.mean
    below, above = reaches(before, after)
    towards_zero = below if change > 0 else above
    z = nan
    if isfinite(towards_zero) and isfinite(change):
        z = 0.0 if change == 0 else normal_quantile(TWO_SIDED) * change / max(towards_zero, 1e-12)
    inner = normal_quantile(ONE_SIDED) / normal_quantile(TWO_SIDED)
    fall, rise = normal_tail(-z), normal_tail(z)
    return PairedDifference(
        difference=change,
        low=change - below,
        high=change + above,
        p=min(1.0, 2 * min(fall, rise)) if isfinite(z) else nan,
        n_pairs=min(before.n_scored, after.n_scored),
        n_clusters=min(before.n_clusters, after.n_clusters),
        method="unpaired intervals, normal test",
        better=0,
        worse=0,
        same=0,
        too_few=before.too_few or after.too_few,
        low_bound=change - inner * below,
        high_bound=change + inner * above,
        p_fall=fall,
        p_rise=rise,
        unpaired=(before.n_scored, after.n_scored),
    )


def unpaired_family(differences: Sequence[PairedDifference]) -> list[FamilyTest]:
    """Correct unpaired differences over their family: p by Holm, intervals by Bonferroni.

    No sign flips are shared by groups that share no questions.
    """
    adjusted = holm([each.p for each in differences])
    members = sum(isfinite(each.p) for each in differences)
    widened = normal_quantile(1 - SIGNIFICANCE / 2 / max(members, 1)) / normal_quantile(TWO_SIDED)
    tests = []
    for each, p in zip(differences, adjusted, strict=True):
        ends = (
            each.difference - widened * (each.difference - each.low),
            each.difference + widened * (each.high - each.difference),
        )
        if isfinite(p):
            ends = with_side_of_zero(ends, (each.low, each.high), each.difference, bool(p < SIGNIFICANCE))
        tests.append(FamilyTest(float(p), *ends))
    return tests
