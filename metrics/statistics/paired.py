"""Paired comparison of two runs: differences with intervals and tests, regressions, comparability."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Literal, NamedTuple

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.distributions import normal_tail, regularised_beta
from ragtriage.metrics.statistics.intervals import FEW_CLUSTERS, MANY_CLUSTERS, clustered, difference_ends

Verdict = Literal["better", "worse", "cannot tell", "unchanged", "no direction"]
EXACT_CLUSTERS = 14  # 2 ** 14 sign patterns are enumerated; beyond that they are drawn
FLIPS = 9_999  # with the +1 correction the smallest p is 1 / 10,000
SIGNIFICANCE = 0.05
_SAME = 1e-9  # differences below this are rounding, not change
_CHUNK = 500


@dataclass(frozen=True)
class PairedDifference:
    """The mean difference (other minus base) over the questions scored on both sides."""

    difference: float  # mean difference; NaN without pairs
    low: float  # lower end of its 95 % interval
    high: float  # upper end of its 95 % interval
    p: float  # two-sided p of the sign-flip test; NaN without pairs
    n_pairs: int  # questions scored on both sides
    n_clusters: int  # independent groups behind them
    method: str  # how the interval and p were obtained
    better: int  # questions that improved, in the metric's own direction
    worse: int  # questions that got worse
    same: int  # questions that did not change
    too_few: bool  # fewer than 10 clusters, or differences that do not vary
    uniform: bool = False  # whether every question changed by the same amount
    low_bound: float = nan  # one-sided 95 % bound: the mean difference is above it
    high_bound: float = nan  # one-sided 95 % bound: it is below it
    p_fall: float = nan  # one-sided p of the sign-flip test against a fall; NaN without pairs
    p_rise: float = nan  # one-sided p against a rise
    # of runs that share no questions, how many each has scored; n_pairs is the smaller of both then, and no
    # question is better, worse or the same
    unpaired: tuple[int, int] | None = None


@dataclass(frozen=True)
class RunFacts:
    """The facts that must agree between two runs for their difference to be meaningful."""

    question_hash: str  # hash over the sorted question ids and texts
    n_questions: int  # number of questions
    dataset: str = ""  # name of the test set, or ""
    dataset_version: str = ""  # its version, or ""
    judge: str = ""  # judge model and prompt version, or "" where nothing was judged


def paired(
    base: FloatArray,
    other: FloatArray,
    clusters: IntArray,
    seed: int = 0,
    higher_is_better: bool | None = True,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> PairedDifference:
    """Compare two sides question by question.

    The interval is that of the mean difference (see `intervals.difference_ends`). The sign-flip test counts
    how often random signs on the clusters' summed differences give a mean at least as far from 0 (one-sided:
    as far on that side): exactly for up to 14 clusters that changed, or where all changed by one amount (a
    binomial); over 9,999 drawn patterns (p = (hits + 1) / 10,000) below 2,000 clusters, by the normal limit
    from there on.

    Args:
        base: (q,) values of the baseline, NaN where not scored.
        other: (q,) values of the other side for the same questions.
        clusters: (q,) codes of the independent group of each question.
        seed: of drawn signs.
        higher_is_better: direction of the metric; without one, "better" counts the rises.
        bounds: least and greatest value of the metric.
    """
    if not len(base) == len(other) == len(clusters):
        raise MetricsError(
            f"paired needs one entry per question, not {len(base)}, {len(other)} and {len(clusters)}"
        )
    difference = other - base
    finite = np.isfinite(difference)
    difference, clusters = difference[finite], clusters[finite]
    # what rounding leaves of equal scores is no change: the test would count its sign
    difference = np.where(np.abs(difference) < _SAME, 0.0, difference)
    # a difference of two scores reaches as far down as up, whatever the metric's bounds
    reach = bounds[1] - bounds[0]
    codes = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
    column = clustered(difference, codes, (-reach, reach))
    (low, high), (low_bound, high_bound), method = difference_ends(column)
    flips = _sign_flip(difference, codes, seed)
    rises, falls = int((difference > 0).sum()), int((difference < 0).sum())
    better, worse = (falls, rises) if higher_is_better is False else (rises, falls)
    return PairedDifference(
        difference=column.mean,
        low=low,
        high=high,
        p=flips.both,
        n_pairs=len(difference),
        n_clusters=len(column.sums),
        method=f"{method} interval, {flips.test}",
        better=better,
        worse=worse,
        same=len(difference) - rises - falls,
        too_few=len(column.sums) < FEW_CLUSTERS or column.error == 0,
        uniform=bool(len(difference)) and float(np.ptp(difference)) < _SAME,
        low_bound=low_bound,
        high_bound=high_bound,
        p_fall=flips.fall,
        p_rise=flips.rise,
    )


def mcnemar(base_pass: FloatArray, other_pass: FloatArray) -> float:
    """Return the exact two-sided McNemar p of one pass (1) or fail (0) per question and side, without NaN.

    Raises:
        MetricsError: a value is neither 0, 1 nor NaN (repeats make a rate: use paired).
    """
    finite = np.isfinite(base_pass) & np.isfinite(other_pass)
    before, after = base_pass[finite], other_pass[finite]
    if not np.all(np.isin(before, (0, 1)) & np.isin(after, (0, 1))):
        raise MetricsError(
            "mcnemar takes one pass (1) or fail (0) per question and side; use paired for rates"
        )
    changed = int((before != after).sum())
    fewer = min(int((before > after).sum()), int((before < after).sum()))
    if changed == 0:
        return 1.0
    return min(1.0, 2 * regularised_beta(changed - fewer, fewer + 1, 0.5))


def holm(p_values: Sequence[float] | FloatArray) -> FloatArray:
    """Return Holm's step-down adjustment over one family; NaN stays NaN and does not count as a member.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(p), np.nan)
    finite = np.flatnonzero(np.isfinite(p))
    order = finite[np.argsort(p[finite], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted


def verdict(diff: PairedDifference, adjusted_p: float, higher_is_better: bool | None) -> Verdict:
    """Classify a difference: "unchanged" only where no question changed, else by the adjusted p at 0.05.

    A metric without a direction is never better or worse; that is another thing than too little evidence.
    """
    if diff.n_pairs > 0 and diff.same == diff.n_pairs:
        return "unchanged"
    if higher_is_better is None:
        return "no direction"
    if not adjusted_p < SIGNIFICANCE:
        return "cannot tell"
    return "better" if (diff.difference > 0) == higher_is_better else "worse"


def comparability(base: RunFacts, other: RunFacts, base_name: str = "the baseline") -> list[str]:
    """Return warnings to show with a comparison whose runs differ in questions, dataset or judge.

    Args:
        base: what the other run is compared with.
        other: the other run.
        base_name: what the first of them is called: its own name where it is not a baseline.
    """
    warnings = []
    if base.question_hash != other.question_hash:
        warnings.append(
            f"The questions differ ({base.n_questions} in {base_name}, {other.n_questions} in the other "
            "run): only shared questions are compared."
        )
    fields = (
        ("dataset", base.dataset, other.dataset),
        ("dataset version", base.dataset_version, other.dataset_version),
        ("judge", base.judge, other.judge),
    )
    for what, before, after in fields:
        if before != after:
            warnings.append(
                f"The {what} differs: {before or 'not recorded'} in {base_name}, "
                f"{after or 'not recorded'} in the other run."
            )
    return warnings


class SignFlips(NamedTuple):
    """The p-values of a sign-flip test."""

    fall: float  # share of patterns with a total as low
    rise: float  # as high
    both: float  # as far from 0
    test: str


def _sign_flip(difference: FloatArray, codes: IntArray, seed: int) -> SignFlips:
    if not len(difference):
        return SignFlips(nan, nan, nan, "no test")
    sums: FloatArray = np.bincount(codes, weights=difference).astype(np.float64)
    sums = np.sort(sums[np.abs(sums) > _SAME])  # a cluster that did not change counts the same under any sign
    observed = float(sums.sum())
    if len(sums) > EXACT_CLUSTERS and float(np.ptp(np.abs(sums))) < _SAME:
        fall, rise = (_binomial_tail(int((side > 0).sum()), len(sums)) for side in (-sums, sums))
        return SignFlips(fall, rise, min(1.0, 2 * min(fall, rise)), "exact sign test")
    if len(sums) >= MANY_CLUSTERS:
        z = observed / float(np.sqrt((sums**2).sum()))
        fall, rise = normal_tail(-z), normal_tail(z)
        return SignFlips(fall, rise, 2 * min(fall, rise), "sign-flip test, normal limit")
    if len(sums) > EXACT_CLUSTERS:
        return _shares(_drawn_totals(sums, seed), observed, 1, f"sign-flip test, {FLIPS:,} draws")
    totals = np.zeros(1)
    for value in sums:
        totals = np.concatenate((totals + value, totals - value))
    return _shares(totals, observed, 0, "exact sign-flip test")


def _shares(totals: FloatArray, observed: float, unseen: int, test: str) -> SignFlips:
    """Return how many totals are as extreme; `unseen` counts the observed pattern besides drawn ones."""
    hits = (totals <= observed + _SAME, totals >= observed - _SAME, np.abs(totals) >= abs(observed) - _SAME)
    fall, rise, both = ((int(hit.sum()) + unseen) / (len(totals) + unseen) for hit in hits)
    return SignFlips(fall, rise, both, test)


def _binomial_tail(wins: int, n: int) -> float:
    """Return the probability of at least so many wins among n even chances."""
    return regularised_beta(wins, n - wins + 1, 0.5) if wins else 1.0


def _drawn_totals(sums: FloatArray, seed: int) -> FloatArray:
    # Each random bit keeps (1) or flips (0) the sign of one cluster: the flipped sum is 2 * kept - total.
    rng = np.random.default_rng(seed)
    totals = np.empty(FLIPS)
    for start in range(0, FLIPS, _CHUNK):
        rows = min(_CHUNK, FLIPS - start)
        bits = np.frombuffer(rng.bytes(rows * (len(sums) // 8 + 1)), dtype=np.uint8).reshape(rows, -1)
        heads = np.unpackbits(bits, axis=1, count=len(sums)).astype(np.float64)
        totals[start : start + rows] = 2 * (heads @ sums) - sums.sum()
    return totals


MARGIN = 0.05  # drop that is tolerated on a scale from 0 to 1


def drop_of(difference: PairedDifference, higher_is_better: bool | None) -> float:
    """Return by how much the mean got worse, in the metric's own direction; negative where it got better.

    NaN without pairs, and for a metric that has no direction.
    """
    if higher_is_better is None or not difference.n_pairs:
        return float("nan")
    return -difference.difference if higher_is_better else difference.difference
