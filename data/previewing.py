"""Which metrics a file would allow, told from its first records."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from data.arrays import batch_of
from data.drafts import Record
from data.errors import Problems
from data.imported import human_scores, imported_scores
from data.samples import SCHEMA, normalise
from metrics.catalogue import compute, unavailable

__all__ = ["computable"]


def computable(records: Sequence[Record]) -> tuple[list[str], dict[str, str]]:
    """Say which metrics the records allow or bring along, and why the others stay unmeasured.

    Args:
        records: (line, record) pairs in the native form; those with problems are passed over.

    Returns:
        Full names of the metrics with a value, and metric -> reason for those that cannot be computed.
    """
    problems = Problems("preview")
    samples = [normalise(record, line, problems) for line, record in records]
    rows = [{**sample, "row": row} for row, sample in enumerate(samples) if sample is not None]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    if not rows:
        return [], {}
    batch = batch_of(table)
    scores = {name: one.values for name, one in compute(batch).items()}
    brought = {name for name, _ in (*imported_scores(table), *human_scores(table))}
    measured = [name for name, values in scores.items() if (values == values).any()]
    names = sorted({*measured, *brought})
    missing = {key: why for key, why in unavailable(batch).items() if key not in brought}
    return names, missing
