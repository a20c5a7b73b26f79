"""Many versions under one metric: their levels, the best, and what a paired test cannot tell from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ragtriage.data.comparison.compared_metrics import higher_is_better, question_values
from ragtriage.data.comparison.pair_change import PairChange, RunPair, change_of
from ragtriage.data.comparison.question_match import QuestionMatch, match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.scoring.sampling import mean_of_questions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import Interval, is_pass_rate, question_means
from ragtriage.metrics.statistics.max_t import ClusterSums, FamilyTest, max_t
from ragtriage.metrics.statistics.paired import SIGNIFICANCE, PairedDifference
from ragtriage.metrics.statistics.pareto import pareto_front
from ragtriage.metrics.statistics.unpaired import unpaired_family

Standing = Literal["best", "same", "worse", "not compared", "no direction"]
LEAST_SHARE = 0.5  # of the questions that the fullest version has scored, for a version to be the best


@dataclass(frozen=True)
class LeaderboardRow:
    """One version under one metric."""

    run_id: str  # the version
    value: Interval  # its mean over its own questions, with its interval
    # to the best, paired on the shared questions; None for the best and without a comparison
    difference: PairedDifference | None
    # of that difference, after step-down max-T over the versions; None where there is none
    test: FamilyTest | None
    # "best"; "same" where the test cannot tell it from the best; "worse"; "not compared" without a shared
    # question; "no direction" where neither more nor less is better
    standing: Standing


@dataclass(frozen=True)
class Leaderboard:
    """Versions under one metric, the best first."""

    metric: str  # full name, or GOOD_SHARE
    rows: tuple[LeaderboardRow, ...]  # the versions with a value
    unmeasured: tuple[str, ...]  # ids of those without one
    apart: tuple[str, ...] = ()  # ids of those whose pass rate rests on other metrics

    @property
    def best(self) -> LeaderboardRow | None:
        """The best version; None where nothing is measured or the metric has no direction."""
        return next((row for row in self.rows if row.standing == "best"), None)

    @property
    def not_told_apart(self) -> int:
        """Number of versions that the test cannot tell from the best."""
        return sum(row.standing == "same" for row in self.rows)


def leaderboard(scored_runs: Sequence[ScoredRun], metric: str) -> Leaderboard:
    """Rank versions by the mean of a metric over their questions, see `_ranked`."""
    means = {
        scored.run.run_id: question_means(scored.values(metric), scored.question)[0] for scored in scored_runs
    }
    return _ranked(scored_runs, means, metric)


def rate_leaderboard(diagnoses: Sequence[Diagnosis], like: Diagnosis) -> Leaderboard:
    """Rank versions by their pass rate, see `_ranked`.

    A pass rate that rests on other metrics than that of `like` is another quantity and is left out.
    """
    wanted = set(like.coverage.names)
    kept = [each for each in diagnoses if set(each.coverage.names) == wanted]
    means = {each.scored.run.run_id: question_values(each, GOOD_SHARE) for each in kept}
    apart = tuple(each.scored.run.run_id for each in diagnoses if set(each.coverage.names) != wanted)
    return replace(_ranked([each.scored for each in kept], means, GOOD_SHARE), apart=apart)


def _ranked(scored_runs: Sequence[ScoredRun], means: Mapping[str, FloatArray], metric: str) -> Leaderboard:
    """Rank versions, and test each against the best over the questions that the two share.

    The best has the best mean of the versions with at least half as many scored questions as the fullest one.
    It is chosen on the same questions that it is compared on, so its own mean is slightly optimistic.
    """
    measured = [scored for scored in scored_runs if np.isfinite(means[scored.run.run_id]).any()]
    unmeasured = tuple(scored.run.run_id for scored in scored_runs if scored not in measured)
    higher = higher_is_better(metric)
    bounds = (0.0, 1.0) if metric == GOOD_SHARE else bounds_of(metric)
    values = {scored.run.run_id: _level(means[scored.run.run_id], scored, bounds) for scored in measured}
    sign = -1.0 if higher is not False else 1.0
    measured.sort(key=lambda scored: (sign * values[scored.run.run_id].mean, scored.run.run_id))
    if higher is None or not measured:
        rows = [
            LeaderboardRow(run_id, values[run_id], None, None, "no direction")
            for run_id in (scored.run.run_id for scored in measured)
        ]
        return Leaderboard(metric, tuple(rows), unmeasured)
    fullest = max(value.n_scored for value in values.values())
    best = next(scored for scored in measured if values[scored.run.run_id].n_scored >= LEAST_SHARE * fullest)
    others = [scored for scored in measured if scored is not best]
    pairs = [_against(best, scored, means, higher, bounds) for scored in others]
    names = [scored.run.run_id for scored in others]
    by_run = dict(zip(names, pairs, strict=True))
    shared = {name: change.sums for name, change in by_run.items() if change.sums is not None}
    apart = {name: change.difference for name, change in by_run.items() if change.sums is None}
    tests = dict(zip(shared, max_t([*shared.values()]), strict=True))
    tests |= zip(apart, unpaired_family([*apart.values()]), strict=True)
    differences = {scored.run.run_id: pair.difference for scored, pair in zip(others, pairs, strict=True)}

    def row(run_id: str) -> LeaderboardRow:
        if run_id == best.run.run_id:
            return LeaderboardRow(run_id, values[run_id], None, None, "best")
        difference, test = differences[run_id], tests[run_id]
        if not difference.n_pairs:
            return LeaderboardRow(run_id, values[run_id], None, None, "not compared")
        lost = (difference.difference < 0) == higher and difference.difference != 0
        standing: Standing = "worse" if lost and test.p < SIGNIFICANCE else "same"
        return LeaderboardRow(run_id, values[run_id], difference, test, standing)

    return Leaderboard(metric, tuple(row(scored.run.run_id) for scored in measured), unmeasured)


def _level(means: FloatArray, scored: ScoredRun, bounds: tuple[float, float]) -> Interval:
    """Return the mean over the scored questions with its interval, as the run's own summary has it."""
    return mean_of_questions(scored, means, len(means), is_pass_rate(means, bounds), bounds)


def _against(
    best: ScoredRun,
    other: ScoredRun,
    means: Mapping[str, FloatArray],
    higher: bool,
    bounds: tuple[float, float],
) -> PairChange:
    """Compare a version with the best; its differences are summed by the clusters of the best."""
    matched: QuestionMatch = match_questions(best, other)
    pair = RunPair(best, other, matched)
    change = change_of(pair, means[best.run.run_id], means[other.run.run_id], higher, bounds)
    if matched.sampled:
        return change
    before, after = means[best.run.run_id][matched.base], means[other.run.run_id][matched.other]
    codes = np.searchsorted(np.unique(best.clusters), best.clusters[matched.base])
    known = np.isfinite(before) & np.isfinite(after)
    size, reach = len(np.unique(best.clusters)), bounds[1] - bounds[0]
    gaps = np.where(known, after - before, 0.0)
    sums = ClusterSums(
        np.bincount(codes, weights=gaps, minlength=size).astype(np.float64),
        np.bincount(codes, weights=known, minlength=size).astype(np.float64),
        (-reach, reach),
        (change.difference.low, change.difference.high),
    )
    return replace(change, sums=sums)


TOTAL = "total_tokens"
COSTS: Mapping[str, str] = {
    "latency_ms": "latency, ms",
    "retrieval_ms": "retrieval time, ms",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    TOTAL: "input and output tokens",
    "cost_usd": "cost, USD",
}
PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class CostPoint:
    """Quality and cost of one version."""

    run_id: str  # the version
    quality: MetricSummary | None  # mean of the quality metric
    cost: Interval | None  # mean of the cost with its interval; None where it was not measured
    front: bool  # whether no other version is at least as good and as cheap, and better in one


def cost_values(scored: ScoredRun, cost: str) -> FloatArray:
    """Return a cost of each sample, NaN where it was not recorded."""
    if cost == TOTAL:
        return np.asarray(scored.values("input_tokens") + scored.values("output_tokens"), dtype=np.float64)
    return scored.values(cost)


def measured_costs(scored_runs: Sequence[ScoredRun]) -> list[str]:
    """List the costs that at least one run records."""
    return [
        cost for cost in COSTS if any(np.isfinite(cost_values(scored, cost)).any() for scored in scored_runs)
    ]


def percentiles(scored: ScoredRun, cost: str) -> tuple[int, dict[int, float]]:
    """Return the number of samples with a cost, and its percentiles over them."""
    values = cost_values(scored, cost)
    known = values[np.isfinite(values)]
    if not len(known):
        return 0, {}
    if scored.question_weights is None:
        return len(known), {p: float(np.percentile(known, p)) for p in PERCENTILES}
    weights = scored.question_weights[scored.question][np.isfinite(values)]
    by_weight = {
        p: float(np.quantile(known, p / 100, weights=weights, method="inverted_cdf")) for p in PERCENTILES
    }
    return len(known), by_weight


def cost_points(
    scored_runs: Sequence[ScoredRun], quality: Sequence[MetricSummary | None], cost: str, higher: bool | None
) -> list[CostPoint]:
    """Return quality and cost of each version, and which are on the Pareto front.

    `higher` is the direction of the quality metric.
    """
    costs = [_mean(scored, cost) for scored in scored_runs]
    sign = -1.0 if higher is False else 1.0
    front = pareto_front(
        np.array(
            [
                np.nan if summary is None or summary.mean is None else sign * summary.mean
                for summary in quality
            ]
        ),
        np.array([np.nan if mean is None else mean.mean for mean in costs]),
    )
    return [
        CostPoint(scored.run.run_id, summary, mean, bool(on_front))
        for scored, summary, mean, on_front in zip(scored_runs, quality, costs, front, strict=True)
    ]


def _mean(scored: ScoredRun, cost: str) -> Interval | None:
    means, _ = question_means(cost_values(scored, cost), scored.question)
    if not np.isfinite(means).any():
        return None
    limits = bounds_of(cost) if cost != TOTAL else (0.0, np.inf)
    return mean_of_questions(scored, means, binary=False, bounds=limits)
