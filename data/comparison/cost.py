"""The cost of versions: latency, tokens and money, as percentiles, and as means against a quality metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import Interval, interval
from ragtriage.metrics.statistics.pareto import pareto_front
from ragtriage.metrics.statistics.question_means import question_means

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
    return len(known), {p: float(np.percentile(known, p)) for p in PERCENTILES}


def cost_points(
    scored_runs: Sequence[ScoredRun], quality: Sequence[MetricSummary | None], cost: str, higher: bool | None
) -> list[CostPoint]:
    """Return quality and cost of each version, and which are on the Pareto front.

    Args:
        scored_runs: the versions.
        quality: the quality metric of each; None where not measured.
        cost: one of COSTS.
        higher: direction of the quality metric.
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
    known = np.isfinite(means)
    if not known.any():
        return None
    limits = bounds_of(cost) if cost != TOTAL else (0.0, np.inf)
    return interval(means[known], scored.clusters[known], int(known.sum()), bounds=limits)
