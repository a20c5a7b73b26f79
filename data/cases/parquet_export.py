"""Cases as Parquet: one row per sample with typed columns, the same in every file, written batch by batch.

The columns are those in which samples are stored, lists of structs among them: pyarrow, pandas and
`datasets.load_dataset("parquet", ...)` read them, and `ragtriage import` loads them again. Scores, the
diagnosis and human labels are in one column more, `ragtriage`.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.scoring.scored_run import MetricColumn
from ragtriage.data.store.sample_schema import SCHEMA, conform
from ragtriage.metrics.diagnosis.patterns import PATTERNS
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.schema.scores import IntArray, Source, Status

BATCH = 512  # samples a row group
LICENCE = (
    "Questions, answers, references and passages are those of the file that was imported and stay under its "
    "terms; ragtriage added scores, diagnosis and labels, and claims no rights in them."
)
DESCRIPTIONS = {
    "question_id": "identifies the question",
    "repeat": "which repeat of the question, from 0",
    "question": "the question",
    "history": "earlier turns of the conversation",
    "conversation_id": "the conversation; its turns are one cluster",
    "search_query": "what was searched for, where it is not the question",
    "answer": "the answer of the system; null: none was recorded",
    "reference_answer": "the right answer",
    "retrieved": "the context in rank order; null: not recorded, empty: nothing was found",
    "candidates": "the longer first-pass list, in rank order",
    "relevant": "gold documents; any document of a hop is enough, every hop is needed",
    "relevant_spans": "gold as characters of documents",
    "claims": "claims of the answer; ranks are 1-based",
    "reference_claims": "claims of the reference answer; ranks are 1-based",
    "used": "retrieved documents that the answer uses",
    "used_source": "who said so: judge, citation, lexical or imported",
    "citations": "what each sentence cites",
    "answerable": "yes, partial, no or conversational",
    "refused": "whether the answer declines",
    "refused_source": "who said so: human, judge or imported",
    "query_type": "kind of question",
    "context_mode": "retrieved, oracle or closed_book",
    "human": "human labels of the imported file, with the ends of their scale",
    "latency_ms": "milliseconds",
    "retrieval_ms": "milliseconds of retrieval",
    "cost_usd": "US dollars",
    "peak_memory_mb": "megabytes",
    "prompt": "what the generator was sent",
    "checks": "assertions on the answer",
    "scores": "scores of the imported file; a null value is a score that failed",
    "tags": "to slice by",
    "extra": "other fields of the imported record, as JSON",
    "retrieved_tokens": "tokens of each retrieved chunk, in rank order",
    "relevant_chunks": "how many chunks of the index hold gold",
    "ragtriage": "every metric with status and source, metric pattern, failure stage and human labels",
}
_SCORE = pa.struct(
    [("metric", pa.string()), ("value", pa.float64()), ("status", pa.string()), ("source", pa.string())]
)
_LABEL = pa.struct([(name, pa.string()) for name in ("annotator", "verdict", "failure", "note", "at")])
_ADDED = pa.struct(
    [
        ("run", pa.string()),
        ("pattern", pa.string()),
        ("bad", pa.bool_()),
        ("stage", pa.string()),
        ("scores", pa.list_(_SCORE)),
        ("labels", pa.list_(_LABEL)),
    ]
)


def parquet_pieces(diagnosis: Diagnosis, rows: IntArray) -> Iterator[bytes]:
    """Yield a Parquet file of cases in the given order, a row group a piece."""
    names = [name for name in SCHEMA.names if name != "row"]
    fields = [*(SCHEMA.field(name) for name in names), pa.field("ragtriage", _ADDED)]
    fields = [
        field.with_metadata({"description": DESCRIPTIONS.get(field.name, field.name)}) for field in fields
    ]
    run = diagnosis.scored.run
    facts = {
        "run": run.name,
        "dataset": run.dataset,
        "licence": LICENCE,
    }  # a data set may be published: no config
    schema = pa.schema(fields, {"ragtriage": json.dumps(facts)})
    metrics = {name: diagnosis.scored.column(name) for name in diagnosis.scored.metrics}
    columns = {name: column for name, column in metrics.items() if column is not None}
    sink = _Pieces()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            samples = conform(diagnosis.scored.samples.table(batch.tolist())).select(names)
            added = _added(diagnosis, batch, columns)
            writer.write_table(samples.append_column("ragtriage", added).cast(schema))
            yield sink.taken()
    yield sink.taken()


class _Pieces:
    """A file to write to, whose content is taken away piece by piece."""

    closed = False

    def __init__(self) -> None:
        self._held, self._position = bytearray(), 0

    def write(self, content: Any) -> int:
        """Hold what is written."""
        self._held += content
        self._position += len(content)
        return len(content)

    def tell(self) -> int:
        """Return how much was written."""
        return self._position

    def flush(self) -> None:
        """Do nothing: all is held."""

    def close(self) -> None:
        """Do nothing: the rest is still to be taken."""

    def taken(self) -> bytes:
        """Return what was written since the last time."""
        piece, self._held = bytes(self._held), bytearray()
        return piece


def _added(diagnosis: Diagnosis, rows: IntArray, columns: dict[str, MetricColumn]) -> Any:
    """Return the column that ragtriage adds, for some rows."""
    n, run_id = len(rows), diagnosis.scored.run.run_id
    stages = [STAGES[code].key if code >= 0 else None for code in diagnosis.stages.stage[rows].tolist()]
    labels = [
        [
            {name: getattr(label, name) for name in ("annotator", "verdict", "failure", "note", "at")}
            for label in diagnosis.human_labels.labels.get(row, ())
        ]
        for row in rows.tolist()
    ]
    arrays = [
        pa.array([run_id] * n, pa.string()),
        pa.array([PATTERNS[code].key for code in diagnosis.pattern[rows].tolist()], pa.string()),
        pa.array(diagnosis.bad.bad[rows], mask=~diagnosis.measured[rows]),  # null: nothing was measured
        pa.array(stages, pa.string()),
        _scores(columns, rows),
        pa.array(labels, pa.list_(_LABEL)),
    ]
    return pa.chunked_array([pa.StructArray.from_arrays(arrays, fields=list(_ADDED))])


def _scores(columns: dict[str, MetricColumn], rows: IntArray) -> Any:
    """Return every metric of some rows, a list a row."""
    n, width = len(rows), len(columns)
    values, statuses, sources = (
        np.array([getattr(column, name)[rows] for column in columns.values()]).reshape(width, n).T.ravel()
        for name in ("values", "status", "source")
    )
    scores = pa.StructArray.from_arrays(
        [
            pa.array([*columns] * n, pa.string()),
            pa.array(values.astype(np.float64), from_pandas=True),  # NaN: not scored
            pa.array([status.label for status in Status]).take(pa.array(statuses.astype(np.int64))),
            pa.array([source.label for source in Source]).take(pa.array(sources.astype(np.int64))),
        ],
        fields=list(_SCORE),
    )
    return pa.ListArray.from_arrays(pa.array(np.arange(n + 1) * width, pa.int32()), scores)
