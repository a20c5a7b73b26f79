"""The metrics that a file allows, from its first records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ragtriage.data.checks.evaluate import with_evaluated_checks
from ragtriage.data.citations.style import style_of
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.scoring.batch_inputs import batch_of
from ragtriage.data.scoring.imported_scores import human_scores, imported_scores
from ragtriage.data.store.parsed_run import Record
from ragtriage.data.store.sample_schema import SCHEMA, Sample
from ragtriage.data.store.sample_validation import normalise
from ragtriage.metrics.metric_registry import compute, unavailable, unlabelled

MAX_SCORED = 40  # records scored for a preview; heuristics on long documents take milliseconds each
NO_VALUE = "the file names it, but the records read hold no value"


def computable(records: Sequence[Record]) -> tuple[list[str], dict[str, str]]:
    """Return the metrics that the records allow or hold, and why the others have no value.

    Args:
        records: (line, record) pairs in the native form; invalid ones are skipped.

    Returns:
        Full names of the metrics with a value, and metric -> reason for the others.
    """
    errors = ValidationErrors("preview")
    samples = [sample for line, record in records if (sample := normalise(record, line, errors)) is not None]
    rows = [{**sample, "row": row} for row, sample in enumerate(_representative(samples))]
    if not rows:
        return [], {}
    table = with_evaluated_checks(pa.Table.from_pylist(rows, schema=SCHEMA))
    batch = batch_of(table, style=style_of(rows))
    computed = {name: scores.values for name, scores in compute(batch).items()}
    recorded = {
        name: column.values
        for read_columns in (imported_scores, human_scores)
        for (name, _), column in read_columns(table).items()
    }
    measured = {
        name
        for columns in (computed, recorded)
        for name, values in columns.items()
        if np.isfinite(values).any()
    }
    empty = {name: NO_VALUE for name in recorded if name not in measured}
    answers = batch.answers
    labelled = answers is not None and bool((answers.answerable >= 0).any())
    reasons = unavailable(batch) | ({} if labelled else unlabelled())
    missing = {name: reason for name, reason in reasons.items() if name not in measured}
    return sorted(measured), {**missing, **empty}


def _representative(samples: Sequence[Sample]) -> Iterator[Sample]:
    """Yield evenly spread samples, and every one that fills something that none before it filled."""
    step = -(-len(samples) // MAX_SCORED)
    seen: set[str] = set()
    for index, sample in enumerate(samples):
        filled = {name for name, value in sample.items() if value not in (None, [], {})}
        for kind in ("scores", "human"):
            filled |= {
                f"{kind}.{entry['metric']}" for entry in sample[kind] or () if entry["value"] is not None
            }
        if index % step == 0 or filled - seen:
            yield sample
        seen |= filled
