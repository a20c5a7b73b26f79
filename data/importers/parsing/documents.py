"""Retrieved documents in the forms that tools write them, turned into the native form."""

from __future__ import annotations

import json
import math
from typing import Any

from data.importers.parsing.literals import LiteralError, read_literal

__all__ = ["document_of", "documents_of"]

TEXT_KEYS = ("text", "page_content", "content", "contents", "context", "passage", "chunk", "body", "snippet")
ID_KEYS = ("id", "chunk_id", "doc_id", "document_id", "passage_id", "node_id", "docid", "_id", "id_", "pid")
SCORE_KEYS = ("score", "similarity", "similarity_score", "relevance_score")
REPR_STARTS = ("Document(", "page_content=")


def documents_of(value: object) -> object:
    """The items of a ranked list in the native form; a single document is a list of one.

    What is no document is left as it is, for the field reader to refuse with its place.
    """
    if isinstance(value, str | dict):
        return [document_of(value)]
    if isinstance(value, list | tuple):
        return [document_of(item) for item in value]
    return value


def document_of(value: object) -> object:
    """One document: a text, a repr of a document, or an object under any of the usual names."""
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
        found = read_literal(call)
    except LiteralError:
        return {"text": text}  # it only looks like a repr: the text stands as it is
    return _from_object(found) if isinstance(found, dict) else {"text": text}


def _from_object(found: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in found.items() if not _is_nothing(value)}
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


def _is_nothing(value: object) -> bool:
    return value is None or value == {} or (isinstance(value, float) and math.isnan(value))


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _stored_extra(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {"extra": text}
    return found if isinstance(found, dict) else {"extra": found}
