"""Which metrics a file would allow, told from its first records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from data.errors import ValidationErrors
from data.scoring.batch_inputs import batch_of
from data.scoring.imported_scores import human_scores, imported_scores
from data.store.parsed_run import Record
from data.store.sample_schema import SCHEMA, Sample
from data.store.sample_validation import normalise
from metrics.metric_registry import compute, unavailable, unlabelled

__all__ = ["computable"]

LOOKED_AT = 40  # records that are scored for a preview; estimates from long documents take milliseconds each
NO_VALUE = "the file names it, but the records read hold no value"


def computable(records: Sequence[Record]) -> tuple[list[str], dict[str, str]]:
    """Say which metrics the records allow or bring along, and why the others stay unmeasured.

    Args:
        records: (line, record) pairs in the native form; those with problems are passed over.

    Returns:
        Full names of the metrics with a value, and metric -> reason for those that stay without one.
    """
    problems = ValidationErrors("preview")
    samples = [normalise(record, line, problems) for line, record in records]
    rows = list(_telling([sample for sample in samples if sample is not None]))
    if not rows:
        return [], {}
    table = pa.Table.from_pylist([{**one, "row": row} for row, one in enumerate(rows)], schema=SCHEMA)
    batch = batch_of(table)
    scores = {name: one.values for name, one in compute(batch).items()}
    named = {
        name: one.values
        for one_of in (imported_scores, human_scores)
        for (name, _), one in one_of(table).items()
    }
    measured = {
        name for found in (scores, named) for name, values in found.items() if np.isfinite(values).any()
    }
    empty = {name: NO_VALUE for name in named if name not in measured}
    answers = batch.answers
    labelled = answers is not None and bool((answers.answerable >= 0).any())
    lacking = unavailable(batch) | ({} if labelled else unlabelled())
    missing = {key: why for key, why in lacking.items() if key not in measured}
    return sorted(measured), {**missing, **empty}


def _telling(samples: Sequence[Sample]) -> Iterator[Sample]:
    """Pick samples spread evenly, and every one that fills what none before it filled."""
    step = -(-len(samples) // LOOKED_AT)
    seen: set[str] = set()
    for at, sample in enumerate(samples):
        filled = set(_filled(sample))
        if at % step == 0 or filled - seen:
            yield sample
        seen |= filled


def _filled(sample: Sample) -> Iterator[str]:
    """Name the fields of a sample that hold something, and each metric that has a number."""
    yield from (name for name, value in sample.items() if value not in (None, [], {}))
    for kind in ("scores", "human"):
        yield from (f"{kind}.{one['metric']}" for one in sample[kind] or () if one["value"] is not None)
