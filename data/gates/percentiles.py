"""Gates on a percentile of a metric, over questions or single samples."""

from __future__ import annotations

import numpy as np

from ragtriage.data.comparison.newly_failing import slice_mask
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.gates.thresholds import metric_lacking, slice_lacking
from ragtriage.data.scoring.scored_run import MetricColumn, ScoredRun
from ragtriage.metrics.gates.gates import Gate, GateResult, judge_percentile, unmeasured
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Status
from ragtriage.metrics.statistics.quantiles import quantile_interval
from ragtriage.metrics.statistics.question_means import question_means


def judge_percentile_gate(gate: Gate, run: Diagnosis) -> GateResult:
    """Judge a percentile of a metric over all questions (or samples) or those of a slice.

    Args:
        gate: of kind percentile.
        run: the run.
    """
    scored = run.scored
    keep = None if gate.slice is None else slice_mask(scored, gate.slice)
    if gate.slice is not None and keep is None:
        return unmeasured(gate, slice_lacking(scored, gate.slice))
    column = scored.column(gate.metric)
    if column is None:
        return unmeasured(gate, metric_lacking(scored, gate.metric), n_total=len(scored.question_ids))
    values, clusters, failed, total = _values(gate, scored, column, keep)
    share = (gate.percentile or 50.0) / 100
    measured = quantile_interval(values, share, len(np.unique(clusters[np.isfinite(values)])))
    if measured.value is None:
        return unmeasured(gate, f"none of {total:,} {gate.over} has a value", n_total=total)
    sources = "+".join(column.sources) or "none"
    dependent = "" if measured.independent == measured.n else f", {measured.independent:,} independent"
    obtained = f"{sources}, order statistics{dependent}"
    adverse = _adverse(gate, values, failed, share) if failed else None
    return judge_percentile(gate, measured, total, adverse, obtained)


def _values(
    gate: Gate, scored: ScoredRun, column: MetricColumn, keep: BoolArray | None
) -> tuple[FloatArray, IntArray, int, int]:
    """Return values and clusters by question or sample, how many failed to score, how many there are."""
    kept = np.ones(scored.n, dtype=np.bool_) if keep is None else keep
    values = np.where(kept, column.values, np.nan)
    applicable = kept & (column.status != Status.NOT_APPLICABLE)
    failed = kept & (column.status == Status.FAILED)
    if gate.over == "samples":
        return values, scored.clusters[scored.question], int(failed.sum()), int(applicable.sum())
    means = question_means(values, scored.question)[0]
    lost = np.unique(scored.question[failed])
    n_lost = int(np.isnan(means[lost]).sum())
    return means, scored.clusters, n_lost, len(np.unique(scored.question[applicable]))


def _adverse(gate: Gate, values: FloatArray, failed: int, share: float) -> float:
    """Return the percentile if every value that failed to score had been the worst that there can be."""
    low, high = bounds_of(gate.metric)
    worst = np.full(failed, high if gate.at_most else low)
    known = np.concatenate([values[np.isfinite(values)], worst])
    return float(np.quantile(known, share, method="higher" if gate.at_most else "lower"))
