"""The sample: its schema on disk, and the one place where a record from outside becomes a sample.

A record is a mapping in the native form (docs/format.md). `normalise` checks every field, fills what
follows from the rest (ids, repeat), keeps unknown fields under `extra`, and notes each problem with its
line and field. Ranks are 1-based.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from data.errors import ValidationErrors
from data.store.field_readers import FieldContext, any_json
from data.store.sample_fields import FIELDS

__all__ = ["LATER_FIELDS", "SCHEMA", "Sample", "conform", "document_id", "normalise", "question_key"]

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
        ("citations", pa.list_(pa.struct([("sentence", pa.string()), ("ids", pa.list_(pa.string()))]))),
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
    ]
)


LATER_FIELDS = ("retrieved_tokens", "relevant_chunks")  # absent from runs stored before they were known


def conform(table: Any) -> Any:
    """Give an Arrow table of samples the columns that it was stored without, all null."""
    for name in LATER_FIELDS:
        if name not in table.column_names:
            field = SCHEMA.field(name)
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table


def document_id(text: str) -> str:
    """Name a passage that came without an id by its text, so that two runs agree on it."""
    return "text-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def question_key(question: str, history: list[dict[str, str]] | None) -> str:
    """Name a question that came without an id by its text and the turns before it."""
    turns = "\x1f".join(turn["text"] or "" for turn in history or [])
    digest = hashlib.sha256(f"{turns}\x1e{question}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"q-{digest[:12]}"


def normalise(record: object, line: int, problems: ValidationErrors) -> Sample | None:
    """Turn a record in the native form into a sample, or note what is wrong with it.

    Args:
        record: what the file holds at that line; a JSON object is accepted.
        line: 1-based line or row, for the messages.
        problems: where every problem of the file is gathered.

    Returns:
        The sample with the columns of SCHEMA except `row`; None when the record has a problem.
    """
    if not isinstance(record, Mapping):
        problems.add(line, "", f"found {_kind(record)}", "a JSON object with at least `question`")
        return None
    before = problems.total
    sample: Sample = {}
    reading = FieldContext(line, problems)
    for name, read in FIELDS.items():
        value = record.get(name)
        sample[name] = None if value is None else read(value, name, reading)
    _require_question(sample, record, reading)
    if problems.total > before:
        return None
    _fill(sample)
    unknown = {str(key): value for key, value in record.items() if key not in FIELDS}
    sample["extra"] = any_json(unknown) if unknown else None
    return sample


def _kind(value: object) -> str:
    names = {list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)


def _require_question(sample: Sample, record: Mapping[str, Any], reading: FieldContext) -> None:
    if record.get("question") is None:
        near = ", ".join(sorted(str(key) for key in record)[:8]) or "none"
        reading.problem("question", f"missing (fields found: {near})", "text")
    elif sample["question"] is not None and not sample["question"].strip():
        reading.problem("question", "empty", "text with at least one character")


def _fill(sample: Sample) -> None:
    sample["repeat"] = sample["repeat"] or 0
    if sample["question_id"] is None:
        sample["question_id"] = question_key(sample["question"], sample["history"])
    gold = {one["id"] for one in sample["relevant"] or ()}
    for name in ("retrieved", "candidates"):
        for document in sample[name] or ():
            if document["id"] is None:
                text = document["text"] or ""
                document["id"] = text if text in gold else document_id(text)  # a list of ids, not of texts
    if sample["used"] is not None and sample["used_source"] is None:
        sample["used_source"] = "imported"
    if sample["refused"] is not None and sample["refused_source"] is None:
        sample["refused_source"] = "imported"
