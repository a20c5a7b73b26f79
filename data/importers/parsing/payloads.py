"""Documents, inputs and outputs as tools keep them: JSON in JSON, reprs, messages, objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
        text = value
        value = {"text": text}
        if text.startswith(REPR_STARTS):
            with suppress(LiteralError):  # it may only look like a repr
                value = read_literal(text if text.startswith("Document(") else f"Document({text})")
        if not isinstance(value, dict):
            return {"text": text}
    return _from_object(value) if isinstance(value, dict) else value


def _from_object(fields: dict[str, Any]) -> dict[str, Any]:
    # None, {} and NaN, which alone is not itself, are not values.
    rest = {key: value for key, value in fields.items() if value not in (None, {}) and value == value}
    document: dict[str, Any] = {}
    for name, keys in (("id", ID_KEYS), ("text", TEXT_KEYS), ("score", SCORE_KEYS)):
        key = next((key for key in keys if key in rest), None)
        if key is not None:
            document[name] = rest.pop(key)
    if not document.keys() & {"id", "text"} and "title" in rest:
        document["text"] = rest.pop("title")
    if isinstance(document.get("score"), str):
        with suppress(ValueError):
            document["score"] = float(document["score"])
    if isinstance(stored := rest.get("extra"), str):
        with suppress(ValueError):
            rest["extra"] = json.loads(stored)
            if isinstance(rest["extra"], dict):
                rest.update(rest.pop("extra"))
    return {**document, **rest}


MOST_DECODED = 16 << 20
MAX_DEPTH = 6
QUESTION_KEYS = (
    *("question", "query", "user_input", "input", "prompt", "user_query", "input_value", "query_str", "text"),
)
ANSWER_KEYS = ("answer", "response", "output", "result", "content", "text", "output_value", "generated_text")
REFERENCE_KEYS = (
    *("reference_answer", "reference", "expected_output", "expected_answer", "expected_response"),
    *("expected", "ground_truth", "answer", "output", "response"),
)
CONTEXT_KEYS = (
    *("contexts", "context", "retrieved_contexts", "retrieval_context", "retrieved_documents", "documents"),
    *("source_documents", "source_nodes", "chunks", "passages"),
)


def decoded(value: Any, times: int = 3) -> Any:
    """Return a value with JSON in its text decoded, also JSON in JSON; a Python repr where it is not JSON.

    Text that is neither is returned as it is. Nothing is evaluated.
    """
    for _ in range(times):
        if not isinstance(value, str) or len(value) > MOST_DECODED:
            return value
        text = value.strip()
        if text[:1] not in ("{", "[", '"'):
            return value
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            if text[0] == '"':
                return value
            try:
                return read_literal(text)
            except LiteralError:
                return value
    return value


def question_in(value: Any) -> str | None:
    """Return the question in the input of a trace, a task or a row; None where there is none.

    Of a conversation it is the user's last message.
    """
    return _text(decoded(value), QUESTION_KEYS, "user")


def answer_in(value: Any) -> str | None:
    """Return the answer in the output of a trace or a row; None where there is none."""
    return _text(decoded(value), ANSWER_KEYS, "assistant")


def reference_in(value: Any) -> str | None:
    """Return the reference answer in what a tool keeps as expected; None where there is none."""
    return _text(decoded(value), REFERENCE_KEYS, "assistant")


def contexts_in(value: Any) -> list[Any] | None:
    """Return the documents in an output, in the native form; None where it has no list of documents."""
    fields = decoded(value)
    if not isinstance(fields, Mapping):
        return None
    for key in CONTEXT_KEYS:
        listed = decoded(fields.get(key))
        if isinstance(listed, list):
            read = documents_of(listed)
            return read if isinstance(read, list) else None
    nested = [fields[key] for key in ("output", "result", "outputs") if isinstance(fields.get(key), Mapping)]
    return contexts_in(nested[0]) if nested else None


def _text(value: Any, keys: Sequence[str], role: str, depth: int = 0) -> str | None:
    """Return the text under the first of some keys, inside messages, parts and choices."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if depth == MAX_DEPTH or not value:
        return None
    if isinstance(value, list):
        return _message(value, keys, role, depth)
    return _under_a_key(value, keys, role, depth) if isinstance(value, Mapping) else None


def _under_a_key(value: Mapping[str, Any], keys: Sequence[str], role: str, depth: int) -> str | None:
    listed = [key for key in ("messages",) if isinstance(value.get(key), list | str)]
    for key in (*listed, *keys, "content", "parts", "choices", "message"):
        if value.get(key) is not None:
            text = _text(decoded(value[key]), keys, role, depth + 1)
            if text is None and isinstance(value[key], str) and value[key].strip():
                return str(value[key])  # an answer that is written in JSON
            if text is not None:
                return text
    return _text(next(iter(value.values())), keys, role, depth + 1) if len(value) == 1 else None


def _message(items: list[Any], keys: Sequence[str], role: str, depth: int) -> str | None:
    """Return the last message of a role, else the texts of all parts, one a line."""
    messages = [item for item in items if isinstance(item, Mapping) and ("role" in item or "type" in item)]
    roles = {"user": ("user", "human"), "assistant": ("assistant", "ai", "model")}[role]
    of_role = [m for m in messages if str(m.get("role") or m.get("type")).lower() in roles]
    if of_role:
        return _text(of_role[-1], ("content", "text", "parts", *keys), role, depth + 1)
    texts = [_text(item, ("text", "content", *keys), role, depth + 1) for item in items]
    shown = [text for text in texts if text]
    return "\n".join(shown) if shown else None
