"""What versions cost: latency, tokens and money, as percentiles and as means to hold against quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.scoring.scored_run import ScoredRun
from data.scoring.summaries import MetricSummary
from metrics.metric_registry import bounds_of
from metrics.schema.scores import FloatArray
from metrics.statistics.intervals import Interval, interval, question_means
from metrics.statistics.pareto import pareto_front

__all__ = ["COSTS", "PERCENTILES", "CostPoint", "cost_points", "cost_values", "measured_costs", "percentiles"]

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
    """One version between quality and cost.

    Attributes:
        run_id: the version.
        quality: mean of the quality metric.
        cost: mean of the cost with its interval; None where it was not measured.
        front: whether no other version is at least as good and as cheap, and better in one.
    """

    run_id: str
    quality: MetricSummary | None
    cost: Interval | None
    front: bool


def cost_values(scored: ScoredRun, cost: str) -> FloatArray:
    """Give a cost of each sample, NaN where it was not recorded."""
    if cost == TOTAL:
        return np.asarray(scored.values("input_tokens") + scored.values("output_tokens"), dtype=np.float64)
    return scored.values(cost)


def measured_costs(scored_runs: Sequence[ScoredRun]) -> list[str]:
    """Name the costs that some version records."""
    return [
        cost for cost in COSTS if any(np.isfinite(cost_values(scored, cost)).any() for scored in scored_runs)
    ]


def percentiles(scored: ScoredRun, cost: str) -> tuple[int, dict[int, float]]:
    """Give the number of samples with a cost, and its percentiles over them."""
    values = cost_values(scored, cost)
    known = values[np.isfinite(values)]
    if not len(known):
        return 0, {}
    return len(known), {p: float(np.percentile(known, p)) for p in PERCENTILES}


def cost_points(
    scored_runs: Sequence[ScoredRun], quality: Sequence[MetricSummary | None], cost: str, higher: bool | None
) -> list[CostPoint]:
    """Place versions between quality and cost and find the front.

    Args:
        scored_runs: the versions.
        quality: mean of the quality metric of each; None where not measured.
        cost: one of COSTS.
        higher: direction of the quality metric.
    """
    spans = [_mean(scored, cost) for scored in scored_runs]
    sign = -1.0 if higher is False else 1.0
    good = np.array([np.nan if one is None or one.mean is None else sign * one.mean for one in quality])
    dear = np.array([np.nan if one is None else one.mean for one in spans])
    front = pareto_front(good, dear)
    return [
        CostPoint(scored.run.run_id, one, span, bool(on))
        for scored, one, span, on in zip(scored_runs, quality, spans, front, strict=True)
    ]


def _mean(scored: ScoredRun, cost: str) -> Interval | None:
    means, _ = question_means(cost_values(scored, cost), scored.question)
    known = np.isfinite(means)
    if not known.any():
        return None
    limits = bounds_of(cost) if cost != TOTAL else (0.0, np.inf)
    return interval(means[known], scored.clusters[known], int(known.sum()), bounds=limits)
