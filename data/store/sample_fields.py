"""Readers of the fields of a sample: each takes a value from outside, returns it clean or notes a problem."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from data.store.field_readers import (
    FieldContext,
    Read,
    Struct,
    any_json,
    found_text,
    list_of,
    one_of,
    read_flag,
    read_identifier,
    read_number,
    read_text,
    struct_of,
    whole_from,
)

__all__ = ["FIELDS"]

_RANK = whole_from(1)
_RANKS = list_of(_RANK)
_DOCUMENT_FULL = struct_of(
    id=read_identifier,
    text=read_text,
    score=read_number,
    doc_id=read_identifier,
    start=whole_from(0),
    end=whole_from(0),
    relevant=read_flag,
)
_DOCUMENT_KEYS = {"id", "text", "score"}
_DOCUMENT_ALL = {*_DOCUMENT_KEYS, "doc_id", "start", "end", "relevant"}
_NO_SPAN = {"doc_id": None, "start": None, "end": None, "relevant": None, "extra": None}


def _document(value: Any, field: str, reading: FieldContext) -> Struct | None:
    if isinstance(value, str):
        return {"id": None, "text": read_text(value, field, reading), "score": None, **_NO_SPAN}
    if type(value) is dict and value.keys() <= _DOCUMENT_KEYS:  # the common form, checked without ceremony
        name, text, score = value.get("id"), value.get("text"), value.get("score")
        plain_text = text is None or (type(text) is str and text.isascii())
        if type(name) is str and name.isascii() and name and plain_text and _plain_score(score):
            return {"id": name, "text": text, "score": score, **_NO_SPAN}
    if not isinstance(value, Mapping):
        reading.problem(field, found_text(value), "text, or an object with `id`, `text` or both")
        return None
    more = {str(key): entry for key, entry in value.items() if key not in _DOCUMENT_ALL}
    document = _DOCUMENT_FULL({key: value.get(key) for key in _DOCUMENT_ALL}, field, reading)
    if document is not None:
        document["extra"] = any_json(more, field, reading) if more else None
    if document is not None and document["id"] is None and document["text"] is None:
        reading.problem(field, "has neither id nor text", "an object with `id`, `text` or both")
    return document


def _plain_score(score: object) -> bool:
    return score is None or (type(score) is float and math.isfinite(score))


def _relevant(value: Any, field: str, reading: FieldContext) -> Struct | None:
    if isinstance(value, str | int) and not isinstance(value, bool):
        value = {"id": value}
    found = _RELEVANT_FULL(value, field, reading)
    if found is not None and found["grade"] is None:
        found["grade"] = 1.0
    return found


_RELEVANT_FULL = struct_of(("id",), id=read_identifier, grade=read_number, hop=read_identifier)


def _span(value: Any, field: str, reading: FieldContext) -> Struct | None:
    found = _SPAN_FULL(value, field, reading)
    if found and None not in (found["start"], found["end"]) and found["end"] <= found["start"]:
        reading.problem(
            field, f"ends at {found['end']}, starts at {found['start']}", "start < end, in characters"
        )
    return found


_SPAN_FULL = struct_of(
    ("doc_id", "start", "end"), doc_id=read_identifier, start=whole_from(0), end=whole_from(0)
)


def _scores(value: Any, field: str, reading: FieldContext) -> list[dict[str, Any]] | None:
    if not isinstance(value, Mapping):
        reading.problem(field, found_text(value), "an object of metric: number")
        return None
    return [_score(str(name), entry, f"{field}.{name}", reading) for name, entry in value.items()]


def _score(name: str, entry: Any, field: str, reading: FieldContext) -> dict[str, Any]:
    reason = None
    read_text(name, field, reading)
    if isinstance(entry, Mapping):
        found = entry.get("reason")
        reason = None if found is None else read_text(str(found), f"{field}.reason", reading)
        entry = entry.get("value")
    if entry is None or (isinstance(entry, float) and not math.isfinite(entry)):
        return {
            "metric": name,
            "value": None,
            "reason": reason,
        }  # tried and failed: a fact, not a broken file
    value = float(entry) if isinstance(entry, bool) else read_number(entry, field, reading)
    return {"metric": name, "value": value, "reason": reason}


def _tags(value: Any, field: str, reading: FieldContext) -> list[dict[str, str]] | None:
    if not isinstance(value, Mapping):
        reading.problem(field, found_text(value), "an object of key: value")
        return None
    scalars = (str, int, float, bool)
    for key, entry in value.items():
        read_text(str(key), field, reading)
        if isinstance(entry, str):
            read_text(entry, f"{field}.{key}", reading)
        elif entry is not None and not isinstance(entry, scalars):
            reading.problem(f"{field}.{key}", found_text(entry), "text, a number, true or false")
    return [
        {"key": str(key), "value": entry if isinstance(entry, str) else json.dumps(entry)}
        for key, entry in value.items()
        if isinstance(entry, scalars)
    ]


_TURN = struct_of(("role", "text"), role=read_text, text=read_text)
_CLAIM = struct_of(
    ("text",), text=read_text, in_reference=read_flag, supported_by=_RANKS, contradicted_by=_RANKS
)
_REFERENCE_CLAIM = struct_of(("text",), text=read_text, in_answer=read_flag, supported_by=_RANKS)
_HUMAN = struct_of(
    ("annotator", "metric"),
    annotator=read_identifier,
    metric=read_text,
    value=read_number,
    note=read_text,
    low=read_number,
    high=read_number,
)
_CHECK = struct_of(
    ("name",), name=read_text, kind=read_text, expected=any_json, actual=any_json, passed=read_flag
)

FIELDS: dict[str, Read] = {
    "question_id": read_identifier,
    "repeat": whole_from(0),
    "question": read_text,
    "history": list_of(_TURN),
    "conversation_id": read_identifier,
    "search_query": read_text,
    "answer": read_text,
    "reference_answer": read_text,
    "retrieved": list_of(_document),
    "candidates": list_of(_document),
    "relevant": list_of(_relevant),
    "relevant_spans": list_of(_span),
    "claims": list_of(_CLAIM),
    "reference_claims": list_of(_REFERENCE_CLAIM),
    "used": list_of(struct_of(("rank",), rank=_RANK, share=read_number)),
    "used_source": one_of("judge", "citation", "lexical", "imported"),
    "citations": list_of(struct_of(sentence=read_text, ids=list_of(read_identifier))),
    "answerable": one_of("yes", "partial", "no", "conversational"),
    "refused": read_flag,
    "refused_source": one_of("human", "judge", "imported"),
    "query_type": read_text,
    "context_mode": one_of("retrieved", "oracle", "closed_book"),
    "human": list_of(_HUMAN),
    "latency_ms": read_number,
    "retrieval_ms": read_number,
    "input_tokens": read_number,
    "output_tokens": read_number,
    "cost_usd": read_number,
    "peak_memory_mb": read_number,
    "prompt": read_text,
    "checks": list_of(_CHECK),
    "scores": _scores,
    "tags": _tags,
    "retrieved_tokens": list_of(whole_from(0)),
    "relevant_chunks": whole_from(0),
}
