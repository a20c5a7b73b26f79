"""One quantity in two runs: paired on shared questions, unpaired where one of them is a sample of calls."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from ragtriage.data.comparison.question_match import QuestionMatch
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import hajek_mean
from ragtriage.metrics.statistics.max_t import ClusterSums, cluster_sums
from ragtriage.metrics.statistics.paired import PairedDifference, paired
from ragtriage.metrics.statistics.unpaired import Group, unpaired


@dataclass(frozen=True)
class RunPair:
    """Two runs, and which questions they share."""

    base: ScoredRun
    other: ScoredRun
    matched: QuestionMatch


@dataclass(frozen=True)
class PairChange:
    """One quantity in two runs."""

    base: float  # mean over the shared questions, or over the calls that the baseline is a sample of
    other: float
    difference: PairedDifference  # other minus base
    sums: ClusterSums | None  # the differences by cluster; None where they are not paired


def change_of(
    pair: RunPair,
    before: FloatArray,
    after: FloatArray,
    higher_is_better: bool | None = True,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> PairChange:
    """Compare a quantity in two runs.

    Args:
        pair: the runs.
        before: (q,) its value for each question of the baseline, NaN where there is none.
        after: (r,) the same of the other run.
        higher_is_better: its direction.
        bounds: its least and greatest value.
    """
    base, other, matched = pair.base, pair.other, pair.matched
    if matched.sampled:
        groups = (
            Group(before, base.clusters, base.question_weights),
            Group(after, other.clusters, other.question_weights),
        )
        means = [hajek_mean(each.values, each.weights) for each in groups]
        return PairChange(means[0], means[1], unpaired(*groups, bounds), None)
    before, after = before[matched.base], after[matched.other]
    clusters = base.clusters[matched.base]
    difference = paired(before, after, clusters, 0, higher_is_better, bounds)
    known = np.isfinite(before) & np.isfinite(after)
    sums = cluster_sums(after - before, clusters, bounds, difference)
    if not known.any():
        return PairChange(nan, nan, difference, sums)
    return PairChange(float(before[known].mean()), float(after[known].mean()), difference, sums)
