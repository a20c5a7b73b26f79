"""Readers of the fields of a sample: each takes a value from outside, returns it clean or notes a problem."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from data.errors import Problems

__all__ = ["FIELDS", "Read", "Reading", "any_json"]

MAX_RANK = 1_000_000


@dataclass(frozen=True)
class Reading:
    """Where a value stands, and where its problems go."""

    line: int
    problems: Problems

    def problem(self, field: str, what: str, accepted: str) -> None:
        """Note a problem of this line."""
        self.problems.add(self.line, field, what, accepted)


Read = Callable[[Any, str, Reading], Any]
Struct = dict[str, Any]
ReadStruct = Callable[[Any, str, Reading], Struct | None]


def _found(value: object) -> str:
    if isinstance(value, Mapping):
        return "found an object"
    if isinstance(value, list):
        return f"found a list of {len(value)}"
    shown = repr(value)
    return f"found {shown if len(shown) <= 60 else shown[:57] + '...'}"


def _text(value: Any, field: str, reading: Reading) -> str | None:
    if isinstance(value, str):
        if value.isascii() or _encodable(value):
            return value
        reading.problem(field, "holds half of a surrogate pair", "valid Unicode text")
        return None
    reading.problem(field, _found(value), "text")
    return None


def _encodable(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _identifier(value: Any, field: str, reading: Reading) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value:
        return _text(value, field, reading)
    reading.problem(field, _found(value), "text of at least one character, or a whole number")
    return None


def _number(value: Any, field: str, reading: Reading) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and _finite(value):
        return float(value)
    reading.problem(field, _found(value), "a finite number, or null")
    return None


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def _whole(least: int) -> Read:
    def read(value: Any, field: str, reading: Reading) -> int | None:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if whole and not isinstance(value, bool) and least <= value <= MAX_RANK * 1000:
            return int(value)
        reading.problem(field, _found(value), f"a whole number of {least} or more")
        return None

    return read


def _flag(value: Any, field: str, reading: Reading) -> bool | None:
    if isinstance(value, bool):
        return value
    reading.problem(field, _found(value), "true, false or null")
    return None


def _one_of(*accepted: str) -> Read:
    def read(value: Any, field: str, reading: Reading) -> str | None:
        if isinstance(value, str) and value in accepted:
            return value
        reading.problem(field, _found(value), " | ".join(accepted))
        return None

    return read


def any_json(value: Any, _field: str = "", _reading: Reading | None = None) -> str:
    """Any value as JSON text that can be stored: half a surrogate pair stays escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if _encodable(text) else json.dumps(value, default=str)


def _list_of(item: Read) -> Read:
    def read(value: Any, field: str, reading: Reading) -> list[Any] | None:
        if not isinstance(value, list):
            reading.problem(field, _found(value), "a list")
            return None
        return [item(entry, f"{field}[{index}]", reading) for index, entry in enumerate(value)]

    return read


def _struct(required: tuple[str, ...] = (), **parts: Read) -> ReadStruct:
    names = frozenset(parts)

    def read(value: Any, field: str, reading: Reading) -> Struct | None:
        if not isinstance(value, Mapping):
            reading.problem(field, _found(value), f"an object with {', '.join(parts)}")
            return None
        for name in required:
            if value.get(name) is None:
                reading.problem(f"{field}.{name}", "missing", f"an object with {', '.join(required)}")
        unknown = [str(key) for key in value if key not in names]
        if unknown:
            reading.problem(field, f"unknown {', '.join(unknown[:5])}", ", ".join(parts))
        return {
            name: None if value.get(name) is None else part(value[name], f"{field}.{name}", reading)
            for name, part in parts.items()
        }

    return read


_RANK = _whole(1)
_RANKS = _list_of(_RANK)
_DOCUMENT_FULL = _struct(
    id=_identifier,
    text=_text,
    score=_number,
    doc_id=_identifier,
    start=_whole(0),
    end=_whole(0),
    relevant=_flag,
)
_DOCUMENT_KEYS = {"id", "text", "score"}
_DOCUMENT_ALL = {*_DOCUMENT_KEYS, "doc_id", "start", "end", "relevant"}
_NO_SPAN = {"doc_id": None, "start": None, "end": None, "relevant": None, "extra": None}


def _document(value: Any, field: str, reading: Reading) -> Struct | None:
    if isinstance(value, str):
        return {"id": None, "text": _text(value, field, reading), "score": None, **_NO_SPAN}
    if type(value) is dict and value.keys() <= _DOCUMENT_KEYS:  # the common form, checked without ceremony
        name, text, score = value.get("id"), value.get("text"), value.get("score")
        plain_text = text is None or (type(text) is str and text.isascii())
        if type(name) is str and name.isascii() and name and plain_text and _plain_score(score):
            return {"id": name, "text": text, "score": score, **_NO_SPAN}
    if not isinstance(value, Mapping):
        reading.problem(field, _found(value), "text, or an object with `id`, `text` or both")
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


def _relevant(value: Any, field: str, reading: Reading) -> Struct | None:
    if isinstance(value, str | int) and not isinstance(value, bool):
        value = {"id": value}
    found = _RELEVANT_FULL(value, field, reading)
    if found is not None and found["grade"] is None:
        found["grade"] = 1.0
    return found


_RELEVANT_FULL = _struct(("id",), id=_identifier, grade=_number, hop=_identifier)


def _span(value: Any, field: str, reading: Reading) -> Struct | None:
    found = _SPAN_FULL(value, field, reading)
    if found and None not in (found["start"], found["end"]) and found["end"] <= found["start"]:
        reading.problem(
            field, f"ends at {found['end']}, starts at {found['start']}", "start < end, in characters"
        )
    return found


_SPAN_FULL = _struct(("doc_id", "start", "end"), doc_id=_identifier, start=_whole(0), end=_whole(0))


def _scores(value: Any, field: str, reading: Reading) -> list[dict[str, Any]] | None:
    if not isinstance(value, Mapping):
        reading.problem(field, _found(value), "an object of metric: number")
        return None
    return [_score(str(name), entry, f"{field}.{name}", reading) for name, entry in value.items()]


def _score(name: str, entry: Any, field: str, reading: Reading) -> dict[str, Any]:
    reason = None
    _text(name, field, reading)
    if isinstance(entry, Mapping):
        found = entry.get("reason")
        reason = None if found is None else _text(str(found), f"{field}.reason", reading)
        entry = entry.get("value")
    if entry is None or (isinstance(entry, float) and not math.isfinite(entry)):
        return {
            "metric": name,
            "value": None,
            "reason": reason,
        }  # tried and failed: a fact, not a broken file
    value = float(entry) if isinstance(entry, bool) else _number(entry, field, reading)
    return {"metric": name, "value": value, "reason": reason}


def _tags(value: Any, field: str, reading: Reading) -> list[dict[str, str]] | None:
    if not isinstance(value, Mapping):
        reading.problem(field, _found(value), "an object of key: value")
        return None
    scalars = (str, int, float, bool)
    for key, entry in value.items():
        _text(str(key), field, reading)
        if isinstance(entry, str):
            _text(entry, f"{field}.{key}", reading)
        elif entry is not None and not isinstance(entry, scalars):
            reading.problem(f"{field}.{key}", _found(entry), "text, a number, true or false")
    return [
        {"key": str(key), "value": entry if isinstance(entry, str) else json.dumps(entry)}
        for key, entry in value.items()
        if isinstance(entry, scalars)
    ]


_TURN = _struct(("role", "text"), role=_text, text=_text)
_CLAIM = _struct(("text",), text=_text, in_reference=_flag, supported_by=_RANKS, contradicted_by=_RANKS)
_REFERENCE_CLAIM = _struct(("text",), text=_text, in_answer=_flag, supported_by=_RANKS)
_HUMAN = _struct(
    ("annotator", "metric"),
    annotator=_identifier,
    metric=_text,
    value=_number,
    note=_text,
    low=_number,
    high=_number,
)
_CHECK = _struct(("name",), name=_text, kind=_text, expected=any_json, actual=any_json, passed=_flag)

FIELDS: dict[str, Read] = {
    "question_id": _identifier,
    "repeat": _whole(0),
    "question": _text,
    "history": _list_of(_TURN),
    "conversation_id": _identifier,
    "search_query": _text,
    "answer": _text,
    "reference_answer": _text,
    "retrieved": _list_of(_document),
    "candidates": _list_of(_document),
    "relevant": _list_of(_relevant),
    "relevant_spans": _list_of(_span),
    "claims": _list_of(_CLAIM),
    "reference_claims": _list_of(_REFERENCE_CLAIM),
    "used": _list_of(_struct(("rank",), rank=_RANK, share=_number)),
    "used_source": _one_of("judge", "citation", "lexical", "imported"),
    "citations": _list_of(_struct(sentence=_text, ids=_list_of(_identifier))),
    "answerable": _one_of("yes", "partial", "no", "conversational"),
    "refused": _flag,
    "refused_source": _one_of("human", "judge", "imported"),
    "query_type": _text,
    "context_mode": _one_of("retrieved", "oracle", "closed_book"),
    "human": _list_of(_HUMAN),
    "latency_ms": _number,
    "retrieval_ms": _number,
    "input_tokens": _number,
    "output_tokens": _number,
    "cost_usd": _number,
    "peak_memory_mb": _number,
    "prompt": _text,
    "checks": _list_of(_CHECK),
    "scores": _scores,
    "tags": _tags,
    "retrieved_tokens": _list_of(_whole(0)),
    "relevant_chunks": _whole(0),
}
