"""A family of paired differences tested together (step-down max-T, shared sign flips), or with a margin."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite, nan
from typing import Literal

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.distributions import normal_quantile, t_quantile
from ragtriage.metrics.statistics.intervals import MANY_CLUSTERS
from ragtriage.metrics.statistics.paired import (
    EXACT_CLUSTERS,
    FLIPS,
    MARGIN,
    SIGNIFICANCE,
    PairedDifference,
    drop_of,
)

FEWEST_FLIPS = 999
MOST_STATISTICS = 4_000_000  # flips x metrics held at once; larger families get fewer flips
_TIE = 1e-9
_CHUNK = 500


@dataclass(frozen=True)
class ClusterSums:
    """One paired metric, summed by cluster."""

    sums: FloatArray  # (c,) summed differences of each cluster; 0 where it has no pair
    counts: FloatArray  # (c,) pairs of each cluster
    bounds: tuple[float, float]  # least and greatest difference that the metric can have
    plain: tuple[float, float]  # the 95 % interval of the metric by itself


@dataclass(frozen=True)
class FamilyTest:
    """One metric after the correction over its family."""

    p: float  # adjusted two-sided p; NaN without pairs
    low: float  # lower end of the interval: the differences that the test at 0.05 does not reject
    high: float  # upper end. The interval leaves 0 out exactly where p is below 0.05


def cluster_sums(
    differences: FloatArray, clusters: IntArray, bounds: tuple[float, float], by_itself: PairedDifference
) -> ClusterSums:
    """Return the differences of one metric summed by cluster, as a member of a family.

    Args:
        differences: (q,) other minus base; NaN where a side has no value.
        clusters: (q,) codes of the independent group of each question, the same for the whole family.
        bounds: least and greatest value of the metric.
        by_itself: the same differences tested by themselves.
    """
    codes = np.unique(clusters, return_inverse=True)[1]
    known = np.isfinite(differences)
    reach = bounds[1] - bounds[0]
    return ClusterSums(
        np.bincount(codes, weights=np.where(known, differences, 0.0)).astype(np.float64),
        np.bincount(codes, weights=known).astype(np.float64),
        (-reach, reach),
        (by_itself.low, by_itself.high),
    )


def max_t(family: Sequence[ClusterSums]) -> list[FamilyTest]:
    """Test a family of paired differences with step-down max-T (Westfall-Young) over shared sign flips.

    The statistic of a metric is T = |sum of its clusters' differences| / root of their summed squares, which
    rises with Student's t. Each flip gives a cluster one sign for all metrics, so that their correlation is
    kept. In the order of T, largest first, each metric is compared with the greatest T among itself and those
    after it, and its p is never below that of the metric before it. A family of one is the sign-flip test.

    All patterns are used where at most 14 clusters changed, 9,999 drawn ones besides the observed one up to
    2,000 clusters, and from there on draws from the normal limit with the same correlation.

    The interval of a metric inverts that test: with c the critical value of its step (after the first step
    that rejects nothing: of that step), it holds every difference d for which T of the data moved by d is at
    most c. c is at least Student's value, since flips of a few changed clusters have few distinct values.
    Where the interval of the metric by itself reaches farther, that end is shown.

    Args:
        family: the metrics, over the same clusters.

    Source: Westfall and Young 1993, "Resampling-Based Multiple Testing"; Romano and Wolf 2005, "Exact and
    approximate stepdown methods for multiple hypothesis testing", JASA 100(469).
    """
    if len({len(metric.sums) for metric in family}) > 1:
        raise MetricsError("max_t needs the same clusters for every metric of the family")
    results = [FamilyTest(np.nan, np.nan, np.nan)] * len(family)
    members = [at for at, metric in enumerate(family) if metric.counts.any()]
    if not members:
        return results
    sums = np.stack([family[at].sums for at in members], axis=1)
    observed = _statistics(sums.sum(axis=0), sums)
    order = np.argsort(-observed, kind="stable")
    flipped = _flipped_statistics(sums[:, order])
    # Step by step from the last: the greatest statistic among a metric and those after it.
    greatest = np.maximum.accumulate(flipped[:, ::-1], axis=1)[:, ::-1]
    hits = (greatest >= observed[order] - _TIE).mean(axis=0)
    adjusted = np.maximum.accumulate(hits)
    n_rejected = int((adjusted < SIGNIFICANCE).sum())
    for step, place in enumerate(order):
        metric = family[members[place]]
        rejected = step < n_rejected
        # the least value that a statistic must exceed for its share of hits to be below 0.05
        statistics = greatest[:, step if rejected else n_rejected]
        allowed = int(np.ceil(SIGNIFICANCE * len(statistics) - _TIE)) - 1
        last = len(statistics) - 1 - allowed
        critical = float(np.partition(statistics, last)[last])
        low, high = _inverted(metric, critical, float(observed[place]), rejected)
        results[members[place]] = FamilyTest(float(adjusted[step]), low, high)
    return results


def _statistics(totals: FloatArray, sums: FloatArray) -> FloatArray:
    """Return |total| over the root of the summed squares, per metric; 0 where nothing changed."""
    scale = np.sqrt((sums**2).sum(axis=0))
    changed = scale > _TIE
    return np.where(changed, np.abs(totals) / np.where(changed, scale, 1.0), 0.0)


def _flipped_statistics(sums: FloatArray) -> FloatArray:
    """(b, M) statistics under flips; the observed pattern is the first row where they are drawn."""
    # A cluster that did not change counts the same under any sign. Sorted, so that the order of the questions
    # does not matter.
    sums = sums[(np.abs(sums) > _TIE).any(axis=1)]
    sums = sums[np.lexsort(sums.T)]
    clusters, many = sums.shape
    rng = np.random.default_rng(0)
    if clusters <= EXACT_CLUSTERS:  # every pattern of signs, as the bits of a number
        patterns = np.arange(2**clusters)[:, None] >> np.arange(clusters) & 1
        return _statistics((1.0 - 2.0 * patterns) @ sums, sums)
    flips = int(np.clip(MOST_STATISTICS // many, FEWEST_FLIPS, FLIPS))
    if clusters >= MANY_CLUSTERS:
        # The totals tend to a normal distribution with the correlations of the changes: drawn by a root of
        # their matrix, whose least eigenvalues rounding may leave below 0.
        scale = np.sqrt((sums**2).sum(axis=0))
        scaled = sums / np.where(scale > _TIE, scale, 1.0)
        values, vectors = np.linalg.eigh(scaled.T @ scaled)
        root = vectors * np.sqrt(np.clip(values, 0.0, None))
        drawn = np.abs(rng.standard_normal((flips, many)) @ root.T)
        return np.concatenate((_statistics(sums.sum(axis=0), sums)[None, :], drawn))
    # Signs drawn as bits, a chunk at a time: a total is that of the heads less that of the tails, which is
    # twice the heads less all.
    totals = np.empty((flips + 1, many))
    totals[0] = sums.sum(axis=0)
    for start in range(1, flips + 1, _CHUNK):
        rows = min(_CHUNK, flips + 1 - start)
        bits = np.frombuffer(rng.bytes(rows * (clusters // 8 + 1)), dtype=np.uint8).reshape(rows, -1)
        heads = np.unpackbits(bits, axis=1, count=clusters).astype(np.float64)
        totals[start : start + rows] = 2 * (heads @ sums) - totals[0]
    return _statistics(totals, sums)


def _inverted(metric: ClusterSums, critical: float, observed: float, rejected: bool) -> tuple[float, float]:
    """Return the ends of the differences d with T(sums - d * counts) <= critical, within the bounds."""
    clusters = int((metric.counts > 0).sum())
    mean = float(metric.sums.sum() / metric.counts.sum())
    student = _student(clusters)
    if rejected:
        critical = max(critical, student) if student < observed else critical
    else:
        critical = max(critical, student, observed)
    squares, products = float((metric.sums**2).sum()), float((metric.sums * metric.counts).sum())
    total, sizes = float(metric.counts.sum()), float((metric.counts**2).sum())
    spread = squares - 2 * mean * products + mean**2 * sizes
    if spread <= _TIE * max(
        squares, _TIE
    ):  # clusters that do not vary: the rule of three of the plain interval
        low, high = metric.plain
    else:
        low, high = _quadratic(total**2 - critical**2 * sizes, total * mean * total - critical**2 * products,
                               (total * mean) ** 2 - critical**2 * squares)  # fmt: skip
    low, high = with_side_of_zero((low, high), metric.plain, mean, rejected)
    return float(np.clip(low, *metric.bounds)), float(np.clip(high, *metric.bounds))


def with_side_of_zero(
    inverted: tuple[float, float], plain: tuple[float, float], mean: float, rejected: bool
) -> tuple[float, float]:
    """Return the wider of two intervals, which leaves 0 out exactly where the test rejects it.

    Where the test rejects 0 and the wider one does not, the first is taken on that side.
    """
    low, high = float(np.fmin(inverted[0], plain[0])), float(np.fmax(inverted[1], plain[1]))
    if not rejected:
        return min(low, 0.0), max(high, 0.0)
    if mean > 0:  # the side of 0 is settled; neither rounding nor the other interval takes it back
        return low if low > 0 else max(inverted[0], 0.0), high
    return low, high if high < 0 else min(inverted[1], 0.0)


def _quadratic(square: float, half: float, constant: float) -> tuple[float, float]:
    """Return where square * d^2 - 2 * half * d + constant is at most 0; everywhere if it opens downwards."""
    if square <= 0:
        return -np.inf, np.inf
    reach = np.sqrt(max(half**2 - square * constant, 0.0)) / square
    return half / square - reach, half / square + reach


def _student(clusters: int) -> float:
    """Return T at the two-sided 5 % point of Student's t with one degree of freedom less than clusters."""
    if clusters < 2:
        return np.inf
    if clusters >= MANY_CLUSTERS:
        return normal_quantile(1 - SIGNIFICANCE / 2)
    t = t_quantile(1 - SIGNIFICANCE / 2, clusters - 1)
    return float(t * np.sqrt(clusters / (clusters - 1 + t**2)))


Outcome = Literal["better", "worse", "no worse", "equal", "cannot tell", "no direction", "estimated"]
_ROUNDING = 1e-9
_MOST_TIMES = 100  # the questions there are: a larger sample is not advice


@dataclass(frozen=True)
class MarginTest:
    """The verdict of a paired difference on a margin."""

    # "worse" where the loss is at least the margin and a one-sided exact test says worse; "better"
    # where the two-sided test says so; "equal" and "no worse" where the one-sided 95 % bounds on both
    # sides, or on the side of a loss, are inside the margin; else "cannot tell". "no direction" where
    # more of the metric is neither better nor worse; "estimated" is said of values estimated from words
    outcome: Outcome
    drop: float  # by how much the mean got worse; negative where it got better
    # one-sided 95 % bound: the loss is smaller; NaN where there is none. In a family the end of its
    # interval
    largest_loss: float
    # questions that would settle it, were they like these; None where it is settled, or no practical
    # number would
    needed: int | None
    # the loss that is tolerated, on the metric's own scale; None where every loss counts
    margin: float | None = MARGIN


def margin_test(
    difference: PairedDifference,
    higher_is_better: bool | None,
    margin: float | None = MARGIN,
    family: FamilyTest | None = None,
) -> MarginTest:
    """Hold a difference against the largest loss that is tolerated, on the metric's own scale.

    Args:
        difference: other minus base.
        higher_is_better: direction of the metric; None where it has none.
        margin: None for a scale on which no loss is tolerated: any loss beyond chance is "worse", and "equal"
            is where no question changed.
        family: the difference after the correction over its family: its p and interval decide then.

    Source: Blackwelder 1982, "Proving the null hypothesis in clinical trials" (non-inferiority); Schuirmann
    1987 (two one-sided tests of equivalence).
    """
    if higher_is_better is None:
        return MarginTest("no direction", nan, nan, None, margin)
    drop = drop_of(difference, higher_is_better)
    low, high, p, p_worse = (
        (difference.low_bound, difference.high_bound, difference.p, difference.p_fall)
        if family is None
        else (family.low, family.high, family.p, family.p)
    )
    loss, gain = (-low, high) if higher_is_better else (high, -low)
    if family is None and not higher_is_better:
        p_worse = difference.p_rise
    outcome: Outcome = "cannot tell"
    # estimate and test decide on a loss, the bound on its absence: a loss beyond the margin that is no chance
    # is one however wide the interval
    if drop > 0 and drop >= (margin or 0.0) - _ROUNDING and p_worse < SIGNIFICANCE:
        outcome = "worse"
    elif drop < 0 and p < SIGNIFICANCE:
        outcome = "better"
    elif margin is None:
        outcome = "equal" if 0 < difference.n_pairs == difference.same else "cannot tell"
    elif loss <= margin + _ROUNDING:
        outcome = "equal" if gain <= margin + _ROUNDING else "no worse"
    is_open = outcome == "cannot tell" and margin is not None
    needed = _needed(difference.n_pairs, drop, loss, margin or 0.0) if is_open else None
    return MarginTest(outcome, drop, loss, needed, margin)


def _needed(n: int, drop: float, loss: float, margin: float) -> int | None:
    """Return how many questions bring the bound inside the margin or, beyond it, the drop clear of 0."""
    distance = drop if drop >= margin else margin - drop
    if not isfinite(loss) or distance <= _ROUNDING:
        return None
    # from the drop to its bound it is a multiple of the standard error, which shrinks with the root of n
    needed = ceil(n * ((loss - drop) / distance) ** 2)
    return max(needed, n + 1) if needed <= _MOST_TIMES * n else None
