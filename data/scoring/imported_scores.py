"""Scores that came with a sample: from the tool that wrote the file, and from people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.store.ragged import Ragged, numbers
from ragtriage.metrics.metric_registry import REGISTRY, known_name
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Scores, Status
from ragtriage.metrics.schema.source import Source

FAILED = "the tool that scored it reported no number"
FAILED_CODE = "stored as -1 among values of 0 and more, which marks a failed judgement"
NOT_SCORED = "not scored in the imported file"
NOT_RECORDED = "the pipeline recorded nothing of the kind for this sample"
FIGURES = ("latency_ms", "retrieval_ms", "input_tokens", "output_tokens", "cost_usd", "peak_memory_mb")
NOT_LABELLED = "no person labelled this sample"


def imported_scores(table: Any) -> dict[tuple[str, Source], Scores]:
    """Return the imported scores of an Arrow table of samples, by metric."""
    entries = Ragged.of(table["scores"])
    found: dict[tuple[str, Source], Scores] = {}
    if not len(entries.sample):
        return found
    names = entries.field("metric")
    values, reasons = numbers(entries.field("value")), entries.field("reason").to_pylist()
    for name, mine in _entries_by_name(names):
        why = np.array([reasons[at] or FAILED for at in mine], dtype=object)
        of_name = values[mine]
        coded = _failed_codes(name, of_name)
        of_name[coded], why[coded] = np.nan, FAILED_CODE
        scores = _spread(entries.sample[mine], of_name, why, table.num_rows)
        found[(known_name(name), Source.IMPORTED)] = scores
    return found


def _failed_codes(name: str, values: FloatArray) -> BoolArray:
    """True where a score is -1 and stands for a failed judgement, as no other value is negative.

    Labels of -1, 0 and 1 are a scale of their own, unless the metric is one that starts at 0; cosines and
    differences have other negative values too.
    """
    known = values[np.isfinite(values)]
    others = known[known != -1]
    metric = REGISTRY.get(known_name(name))
    labels = (metric is None or metric.bounds[0] < 0) and bool(np.isin(others, (0.0, 1.0)).all())
    is_value = not len(others) or labels or bool((others < 0).any())
    return np.asarray((values == -1) & (not is_value), dtype=np.bool_)


def _entries_by_name(names: Any) -> Iterator[tuple[str, IntArray]]:
    """Yield each name with the positions that have it, sorting once: a file may have thousands of metrics."""
    encoded = names.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(encoded.dictionary)))
    yield from zip(encoded.dictionary.to_pylist(), np.split(order, ends[:-1]), strict=True)


def _spread(sample: IntArray, values: FloatArray, why: NDArray[np.object_], n: int) -> Scores:
    whole = np.full(n, np.nan)
    tried = np.zeros(n, dtype=np.bool_)
    reason = np.full(n, NOT_SCORED, dtype=object)
    whole[sample], tried[sample], reason[sample] = values, True, why
    missing = np.isnan(whole)
    status = np.where(~missing, Status.SCORED, np.where(tried, Status.FAILED, Status.NOT_RUN))
    reason[~missing] = ""
    return Scores(whole, status.astype(np.int8), reason, np.full(n, Source.IMPORTED, dtype=np.int8))


def recorded_figures(table: Any) -> dict[tuple[str, Source], Scores]:
    """Return what the pipeline recorded, if any sample has it: latency, tokens, cost, memory."""
    found = {}
    for name in FIGURES:
        values = numbers(table[name].combine_chunks())
        missing = np.isnan(values)
        if not missing.all():
            found[(name, Source.IMPORTED)] = Scores.build(
                values, [(missing, Status.NOT_RUN, NOT_RECORDED)], Source.IMPORTED
            )
    return found


def human_scores(table: Any) -> dict[tuple[str, Source], Scores]:
    """Return the human scores of an Arrow table of samples, by metric.

    A known metric is put on its own 0-1 scale when the file declares the scale people used; a sample's
    value is the mean over its annotators. Other metrics keep the scale they came with.
    """
    entries = Ragged.of(table["human"])
    found: dict[tuple[str, Source], Scores] = {}
    if not len(entries.sample):
        return found
    names = entries.field("metric")
    values = numbers(entries.field("value"))
    low, high = numbers(entries.field("low")), numbers(entries.field("high"))
    for name, entries_of_name in _entries_by_name(names):
        mine = entries_of_name[np.isfinite(values[entries_of_name])]
        key = known_name(name)
        scaled = on_metric_scale(key, values[mine], low[mine], high[mine])
        if len(scaled):
            sample = entries.sample[mine]
            count = np.bincount(sample, minlength=table.num_rows)
            total = np.bincount(sample, weights=scaled, minlength=table.num_rows)
            mean = np.divide(total, count, out=np.full(table.num_rows, np.nan), where=count > 0)
            found[(key, Source.HUMAN)] = Scores.build(
                mean, [(count == 0, Status.NOT_RUN, NOT_LABELLED)], Source.HUMAN
            )
    return found


def on_metric_scale(key: str, values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return ratings of a known metric on its own 0-1 scale, where the scale in use is declared."""
    base = key.partition("@")[0]
    metric = REGISTRY.get(key) or REGISTRY.get(f"{base}@k")
    if metric is None or metric.bounds != (0.0, 1.0):
        return values
    declared: BoolArray = np.isfinite(low) & np.isfinite(high) & (high > low)
    scaled = (values - low) / np.where(declared, high - low, 1.0)
    return np.where(declared, scaled, values)
