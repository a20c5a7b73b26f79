"""Scores that came with a sample: from the tool that wrote the file, and from people; and their scales."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ragtriage.data.errors import DataError
from ragtriage.data.store.sample_schema import Ragged, numbers
from ragtriage.data.store.workspace import SCALES
from ragtriage.metrics.metric_registry import REGISTRY, known_name
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Scores, Source, Status

FAILED = "the tool that scored it reported no number"
FAILED_CODE = "stored as -1 among values of 0 and more, which marks a failed judgement"
GREATEST = 1e15  # an imported number beyond it measures nothing
NOT_SCORED = "not scored in the imported file"
NOT_RECORDED = "the pipeline recorded nothing of the kind for this sample"
FIGURES = ("latency_ms", "retrieval_ms", "input_tokens", "output_tokens", "cost_usd", "peak_memory_mb")
NOT_LABELLED = "no person labelled this sample"
SLIGHT = 0.05  # of the scale: a cosine just below 0 is no other scale
MOST_STRAY = 0.05  # share of values outside from which on the whole column is on another scale


def imported_scores(table: pa.Table) -> dict[tuple[str, Source], Scores]:
    """Return the imported scores of an Arrow table of samples, by metric."""
    entries = Ragged.of(table["scores"])
    blocks: dict[tuple[str, Source], Scores] = {}
    if not len(entries.sample):
        return blocks
    names = entries.field("metric")
    values, reasons = numbers(entries.field("value")), entries.field("reason").to_pylist()
    for name, places in _entries_by_name(names):
        why = np.array([reasons[at] or FAILED for at in places], dtype=object)
        of_name = values[places]
        # A score of -1 stands for a failed judgement where no other value is negative. Labels of -1, 0 and
        # 1 are a scale of their own, unless the metric starts at 0; cosines and differences have other
        # negative values too.
        known = of_name[np.isfinite(of_name)]
        others = known[known != -1]
        metric = REGISTRY.get(known_name(name))
        labels = (metric is None or metric.bounds[0] < 0) and bool(np.isin(others, (0.0, 1.0)).all())
        is_value = not len(others) or labels or bool((others < 0).any())
        coded = np.asarray((of_name == -1) & (not is_value), dtype=np.bool_)
        of_name[coded], why[coded] = np.nan, FAILED_CODE
        scores = _spread(entries.sample[places], of_name, why, table.num_rows)
        blocks[(known_name(name), Source.IMPORTED)] = scores
    return blocks


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


def recorded_figures(table: pa.Table) -> dict[tuple[str, Source], Scores]:
    """Return what the pipeline recorded, if any sample has it: latency, tokens, cost, memory."""
    blocks = {}
    for name in FIGURES:
        values = numbers(table[name].combine_chunks())
        missing = np.isnan(values)
        if not missing.all():
            blocks[(name, Source.IMPORTED)] = Scores.build(
                values, [(missing, Status.NOT_RUN, NOT_RECORDED)], Source.IMPORTED
            )
    return blocks


def human_scores(table: pa.Table) -> dict[tuple[str, Source], Scores]:
    """Return the human scores of an Arrow table of samples, by metric.

    A known metric is put on its own 0-1 scale when the file declares the scale people used; a sample's
    value is the mean over its annotators. Other metrics keep the scale they came with.
    """
    entries = Ragged.of(table["human"])
    blocks: dict[tuple[str, Source], Scores] = {}
    if not len(entries.sample):
        return blocks
    names = entries.field("metric")
    values = numbers(entries.field("value"))
    low, high = numbers(entries.field("low")), numbers(entries.field("high"))
    for name, entries_of_name in _entries_by_name(names):
        scored = entries_of_name[np.isfinite(values[entries_of_name])]
        key = known_name(name)
        scaled = on_metric_scale(key, values[scored], low[scored], high[scored])
        if len(scaled):
            sample = entries.sample[scored]
            count = np.bincount(sample, minlength=table.num_rows)
            total = np.bincount(sample, weights=scaled, minlength=table.num_rows)
            mean = np.divide(total, count, out=np.full(table.num_rows, np.nan), where=count > 0)
            blocks[(key, Source.HUMAN)] = Scores.build(
                mean, [(count == 0, Status.NOT_RUN, NOT_LABELLED)], Source.HUMAN
            )
    return blocks


def on_metric_scale(key: str, values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return ratings of a known metric on its own 0-1 scale, where the scale in use is declared."""
    base = key.partition("@")[0]
    metric = REGISTRY.get(key) or REGISTRY.get(f"{base}@k")
    if metric is None or metric.bounds != (0.0, 1.0):
        return values
    declared: BoolArray = np.isfinite(low) & np.isfinite(high) & (high > low)
    scaled = (values - low) / np.where(declared, high - low, 1.0)
    return np.where(declared, scaled, values)


def declared_scales(config: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the scales that the settings of a run declare; what is not an ordered pair is left out."""
    scales = config.get(SCALES)
    blocks = {}
    for name, ends in scales.items() if isinstance(scales, Mapping) else ():
        if (
            isinstance(ends, list | tuple)
            and len(ends) == 2
            and all(isinstance(end, int | float) for end in ends)
        ):
            low, high = float(ends[0]), float(ends[1])
            if np.isfinite([low, high]).all() and low < high:
                blocks[str(name)] = (low, high)
    return blocks


def parsed_scale(text: str) -> tuple[str, list[float]]:
    """Return the metric and the ends of a scale, as in faithfulness=1..5.

    Raises:
        DataError: the text is none.
    """
    name, _, ends = text.partition("=")
    try:
        low, high = (float(end) for end in ends.split("..", 1))
    except ValueError:
        low = high = 0.0
    if not name.strip() or not np.isfinite([low, high]).all() or low >= high:
        accepted = "NAME=LEAST..GREATEST, as in faithfulness=1..5"
        raise DataError(f"--scale {text[:80]!r}: accepted: {accepted}")
    return known_name(name.strip()), [low, high]


def on_scale(
    metric: str, values: FloatArray, status: NDArray[np.int8], config: Mapping[str, Any]
) -> tuple[FloatArray, NDArray[np.int8]]:
    """Return an imported column with what is out of scale not scored.

    A declared scale is converted to that of the metric. Without one, a column of which more than a twentieth
    lies outside is on a scale that nobody named: none of it is scored, as 1 of 5 would read as perfect.

    Args:
        metric: its full name.
        values: (n,) as imported, NaN where not scored.
        status: (n,) codes of Status.
        config: settings of the run.
    """
    # No score or figure is so large, and sums of such numbers overflow.
    absurd = np.abs(values) > GREATEST
    if absurd.any():
        values, status = np.where(absurd, np.nan, values), np.where(absurd, np.int8(Status.FAILED), status)
    declaration = REGISTRY.get(metric) or REGISTRY.get(f"{metric.partition('@')[0]}@k")
    bounds = (0.0, 1.0) if declaration is None else declaration.bounds
    declared = declared_scales(config).get(metric)
    if declared is None and (declaration is None or not np.isfinite(bounds).all()):
        return values, status
    low, high = declared or bounds
    slack = SLIGHT * (high - low)
    outside = (values < low - slack) | (values > high + slack)
    if declared is None and outside.sum() > MOST_STRAY * np.isfinite(values).sum():
        outside = np.isfinite(values)
    elif declared is not None:
        values = bounds[0] + (values - low) / (high - low) * (bounds[1] - bounds[0])
    if not outside.any():
        return values, status
    return np.where(outside, np.nan, values), np.where(outside, np.int8(Status.FAILED), status)
