"""Retrieved documents as other tools write them, converted to the native form."""

from __future__ import annotations

import json
import math
from typing import Any

from ragtriage.data.importers.parsing.literals import LiteralError, read_literal

TEXT_KEYS = ("text", "page_content", "content", "contents", "context", "passage", "chunk", "body", "snippet")
ID_KEYS = ("id", "chunk_id", "doc_id", "document_id", "passage_id", "node_id", "docid", "_id", "id_", "pid")
SCORE_KEYS = ("score", "similarity", "similarity_score", "relevance_score")
REPR_STARTS = ("Document(", "page_content=")


def documents_of(value: object) -> object:
    """Return the items of a ranked list in the native form; a single document becomes a list of one.

    Other values are returned unchanged: validation then reports them with their field.
    """
    if isinstance(value, str | dict):
        return [document_of(value)]
    if isinstance(value, list | tuple):
        return [document_of(item) for item in value]
    return value


def document_of(value: object) -> object:
    """Return a document from a text, a repr of a document, or an object with any of the usual keys."""
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, dict):
        return _from_object(value)
    return value


def _from_text(text: str) -> object:
    if not text.startswith(REPR_STARTS):
        return {"text": text}
    call = text if text.startswith("Document(") else f"Document({text})"
    try:
        literal = read_literal(call)
    except LiteralError:
        return {"text": text}  # it only looks like a repr
    return _from_object(literal) if isinstance(literal, dict) else {"text": text}


def _from_object(fields: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in fields.items() if not _is_empty(value)}
    document: dict[str, Any] = {}
    for name, keys in (("id", ID_KEYS), ("text", TEXT_KEYS), ("score", SCORE_KEYS)):
        key = next((key for key in keys if key in rest), None)
        if key is not None:
            document[name] = rest.pop(key)
    if not document.keys() & {"id", "text"} and "title" in rest:
        document["text"] = rest.pop("title")
    score = document.get("score")
    if isinstance(score, str):
        document["score"] = _number(score)
    stored = rest.pop("extra", None)
    if isinstance(stored, str):
        rest.update(_stored_extra(stored))
    elif stored is not None:
        rest["extra"] = stored
    return {**document, **rest}


def _is_empty(value: object) -> bool:
    return value is None or value == {} or (isinstance(value, float) and math.isnan(value))


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _stored_extra(text: str) -> dict[str, Any]:
    try:
        extra = json.loads(text)
    except ValueError:
        return {"extra": text}
    return extra if isinstance(extra, dict) else {"extra": extra}
