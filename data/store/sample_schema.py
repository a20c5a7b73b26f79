"""The sample as it is stored: its Arrow schema, its fields, and the ids made for questions and documents."""

from __future__ import annotations

import hashlib
from typing import Any

import pyarrow as pa

Sample = dict[str, Any]

_DOCUMENT = pa.struct(
    [
        ("id", pa.string()),
        ("text", pa.string()),
        ("score", pa.float64()),
        ("doc_id", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("relevant", pa.bool_()),
        ("extra", pa.string()),
    ]
)
_RANKS = pa.list_(pa.int32())
SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("question_id", pa.string()),
        ("repeat", pa.int32()),
        ("question", pa.string()),
        ("history", pa.list_(pa.struct([("role", pa.string()), ("text", pa.string())]))),
        ("conversation_id", pa.string()),
        ("search_query", pa.string()),
        ("answer", pa.string()),
        ("reference_answer", pa.string()),
        ("retrieved", pa.list_(_DOCUMENT)),
        ("candidates", pa.list_(_DOCUMENT)),
        (
            "relevant",
            pa.list_(pa.struct([("id", pa.string()), ("grade", pa.float64()), ("hop", pa.string())])),
        ),
        (
            "relevant_spans",
            pa.list_(pa.struct([("doc_id", pa.string()), ("start", pa.int64()), ("end", pa.int64())])),
        ),
        (
            "claims",
            pa.list_(
                pa.struct(
                    [
                        ("text", pa.string()),
                        ("in_reference", pa.bool_()),
                        ("supported_by", _RANKS),
                        ("contradicted_by", _RANKS),
                    ]
                )
            ),
        ),
        (
            "reference_claims",
            pa.list_(pa.struct([("text", pa.string()), ("in_answer", pa.bool_()), ("supported_by", _RANKS)])),
        ),
        ("used", pa.list_(pa.struct([("rank", pa.int32()), ("share", pa.float64())]))),
        ("used_source", pa.string()),
        (
            "citations",
            pa.list_(
                pa.struct(
                    [
                        ("sentence", pa.string()),
                        ("ids", pa.list_(pa.string())),
                        ("start", pa.int64()),
                        ("end", pa.int64()),
                        ("supported", pa.bool_()),
                        ("supporting", pa.list_(pa.string())),
                        ("needed", pa.bool_()),
                    ]
                )
            ),
        ),
        ("answerable", pa.string()),
        ("refused", pa.bool_()),
        ("refused_source", pa.string()),
        ("query_type", pa.string()),
        ("context_mode", pa.string()),
        (
            "human",
            pa.list_(
                pa.struct(
                    [
                        ("annotator", pa.string()),
                        ("metric", pa.string()),
                        ("value", pa.float64()),
                        ("note", pa.string()),
                        ("low", pa.float64()),
                        ("high", pa.float64()),
                    ]
                )
            ),
        ),
        ("latency_ms", pa.float64()),
        ("retrieval_ms", pa.float64()),
        ("input_tokens", pa.float64()),
        ("output_tokens", pa.float64()),
        ("cost_usd", pa.float64()),
        ("peak_memory_mb", pa.float64()),
        ("prompt", pa.string()),
        (
            "checks",
            pa.list_(
                pa.struct(
                    [
                        ("name", pa.string()),
                        ("kind", pa.string()),
                        ("expected", pa.string()),
                        ("actual", pa.string()),
                        ("passed", pa.bool_()),
                        ("suite", pa.string()),
                    ]
                )
            ),
        ),
        (
            "scores",
            pa.list_(pa.struct([("metric", pa.string()), ("value", pa.float64()), ("reason", pa.string())])),
        ),
        ("tags", pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))),
        ("extra", pa.string()),
        ("retrieved_tokens", _RANKS),
        ("relevant_chunks", pa.int32()),
        ("account_id", pa.string()),
        ("tools", pa.string()),
    ]
)

FIELDS = dict.fromkeys(name for name in SCHEMA.names if name not in ("row", "extra")).keys()  # in order
CONTENT_HASH = b"ragtriage.content_hash"  # key of the run's content hash in the metadata of the file
# Missing in runs stored by earlier versions.
LATER_FIELDS = ("retrieved_tokens", "relevant_chunks", "account_id", "tools")
GROWN_FIELDS = ("citations", "checks")  # with fewer keys in runs stored by earlier versions


def conform(table: Any) -> Any:
    """Return an Arrow table of samples with the columns and keys that it was stored without, all null."""
    for name in LATER_FIELDS:
        if name not in table.column_names:
            field = SCHEMA.field(name)
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    for name in GROWN_FIELDS:
        field = SCHEMA.field(name)
        if name in table.column_names and table.schema.field(name).type != field.type:
            position = table.column_names.index(name)
            table = table.set_column(position, field, table[name].cast(field.type))
    return table


def document_id(text: str) -> str:
    """Return an id for a passage that came without one, from its text: two runs agree on it."""
    return "text-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def question_key(question: str, history: list[dict[str, str]] | None) -> str:
    """Return an id for a question that came without one, from its text and the turns before it."""
    turns = "\x1f".join(turn["text"] or "" for turn in history or [])
    digest = hashlib.sha256(f"{turns}\x1e{question}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"q-{digest[:12]}"
