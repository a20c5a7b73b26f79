"""Objects of LangChain, LlamaIndex and Haystack as plain values, known by their attributes alone.

Nothing is imported of those packages, and no generator is read: what a stream has not written yet is unknown.
"""

import math
from collections.abc import Mapping
from typing import Any

from ragtriage.data.store.sample_schema import document_id

DEEPEST = 30  # lists and objects in each other; what lies deeper stays as it is
ROLES = {
    *("user", "human", "assistant", "ai", "model", "chatbot", "system", "developer", "tool", "function"),
    *("AIMessageChunk",),
}
USAGES = ("usage", "token_usage", "usage_metadata")
FIGURES = {
    "input_tokens": ("input_tokens", "prompt_tokens", "prompt_token_count"),
    "output_tokens": ("output_tokens", "completion_tokens", "candidates_token_count"),
    "model": ("model", "model_name", "model_id"),
    "finish_reason": ("finish_reason", "stop_reason"),
}
USAGE = "usage"  # key of these figures in a message and an answer
PLAIN = (str, bytes, bool, int, float, type(None))


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value with the objects in it as objects of plain values; those of other kinds as they are.

    Documents and nodes are in the native form, messages have `role` and `content`, responses `response` and
    `source_nodes`, answers `query`, `answer` and `documents`. Missing values of pandas become None.
    """
    if isinstance(value, PLAIN) and type(value).__module__ == "builtins":
        return value
    if depth == DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        scored = _with_score(value) if isinstance(value, tuple) and len(value) == 2 else None
        return [plain(item, depth + 1) for item in value] if scored is None else scored
    if type(value).__module__.partition(".")[0] in {"numpy", "pandas"}:
        if hasattr(value, "tolist"):
            return plain(value.tolist(), depth + 1) if getattr(value, "ndim", 0) else value.tolist()
        return None if type(value).__name__ in {"NAType", "NaTType"} else str(value)
    fields = framework_fields(value)
    return value if fields is None else plain(fields, depth + 1)


def _with_score(pair: tuple[Any, ...]) -> dict[str, Any] | None:
    """Return the document of a pair of a document and its score, as `similarity_search_with_score` gives."""
    document = None if isinstance(pair[0], (*PLAIN, Mapping, list, tuple)) else document_fields(pair[0])
    score = _score(pair[1])
    return None if document is None else plain({**document, **({} if score is None else {"score": score})})


def framework_fields(value: Any) -> dict[str, Any] | None:
    """Return what an object of a framework says; None where it is none that is known."""
    if isinstance(value, type):  # a class has the attributes of its objects
        return None
    try:
        for read in (document_fields, _answer_fields, _response_fields, _message_fields, _query_fields):
            if (fields := read(value)) is not None:
                return fields
    except Exception:  # noqa: BLE001 -- an attribute of somebody's class may raise anything when it is asked for
        return None
    return None


def document_fields(value: Any) -> dict[str, Any] | None:
    """Return a document in the native form; None where the object is none.

    Known are LangChain's Document (`page_content`, `metadata`), LlamaIndex' nodes with and without a score
    (`node_id`, `get_content`), and Haystack's Document (`content`, `meta`).
    """
    text, metadata = getattr(value, "page_content", None), getattr(value, "metadata", None)
    if isinstance(text, str) and isinstance(metadata, Mapping):
        start = _first(metadata, "start_index")
        return _document(value, text, metadata, doc_id=_first(metadata, "doc_id", "source"), start=start)
    if callable(getattr(getattr(value, "node", None), "get_content", None)):  # a node with its score
        fields = document_fields(value.node)
        score = _score(getattr(value, "score", None))
        return fields if fields is None or score is None else {**fields, "score": score}
    if callable(getattr(value, "get_content", None)) and isinstance(getattr(value, "node_id", None), str):
        doc_id, start = getattr(value, "ref_doc_id", None), getattr(value, "start_char_idx", None)
        fields = _document(value, value.get_content(), metadata, doc_id=doc_id, start=start)
        return {**fields, "id": value.node_id}
    meta = getattr(value, "meta", None)
    if (
        isinstance(meta, Mapping)
        and hasattr(value, "content")
        and isinstance(getattr(value, "id", None), str)
    ):
        start = _first(meta, "split_idx_start")
        return _document(value, value.content or "", meta, doc_id=_first(meta, "source_id"), start=start)
    return None


def _document(value: Any, text: str, metadata: Any, *, doc_id: Any, start: Any) -> dict[str, Any]:
    """Return a document in the native form, without what is not known."""
    placed = isinstance(start, int) and not isinstance(start, bool) and start >= 0
    known = {
        "id": getattr(value, "id", None) or _first(metadata, "id", "chunk_id"),
        "score": _score(getattr(value, "score", None)),
        "doc_id": doc_id if isinstance(doc_id, str) and doc_id else None,
        "start": start if placed else None,
        "end": start + len(text) if placed else None,
        "metadata": dict(metadata) if isinstance(metadata, Mapping) and metadata else None,
    }
    if known["id"] is not None:
        known["id"] = str(known["id"])
    elif known["doc_id"] is not None:  # which readers take for the id where there is no other
        known["id"] = document_id(text)
    return {"text": text, **{name: field for name, field in known.items() if field is not None}}


def _first(fields: Any, *names: str) -> Any:
    stated = (fields.get(name) for name in names) if isinstance(fields, Mapping) else ()
    return next((value for value in stated if value is not None), None)


def _score(value: Any) -> float | None:
    """Return a finite score, also one of NumPy or of one element of a tensor; None for anything else."""
    if isinstance(value, bool | str) or value is None:
        return None
    try:
        score = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None


def _answer_fields(value: Any) -> dict[str, Any] | None:
    """Return an answer of Haystack: generated, with its documents, or extracted from one."""
    if not (isinstance(getattr(value, "query", None), str) and hasattr(value, "data")):
        return None
    if isinstance(getattr(value, "documents", None), list):
        fields = {"query": value.query, "answer": value.data, "documents": value.documents}
        return fields | ({USAGE: figures} if (figures := usage(value)) else {})
    document = getattr(value, "document", None)
    listed = [] if document is None else [document]
    return (
        {"query": value.query, "answer": value.data, "documents": listed} if hasattr(value, "score") else None
    )


def usage(value: Any) -> dict[str, Any]:
    """Return the tokens, the model and why it stopped, as a message, an answer or their metadata say.

    Returns:
        `input_tokens`, `output_tokens`, `model` and `finish_reason`, those that are stated.
    """
    if isinstance(value, Mapping):
        stated = [value]
    else:
        names = ("usage_metadata", "response_metadata", "additional_kwargs", "meta")
        stated = [part for name in names if isinstance(part := getattr(value, name, None), Mapping)]
    inner = [part[name] for part in stated for name in USAGES if isinstance(part.get(name), Mapping)]
    found = {}
    for name, keys in FIGURES.items():
        figures = (_first(part, *keys) for part in (*stated, *inner))
        figure = next((figure for figure in figures if figure is not None), None)
        if isinstance(figure, str if name in ("model", "finish_reason") else int | float):
            found[name] = figure
    return found


def _response_fields(value: Any) -> dict[str, Any] | None:
    """Return a response of LlamaIndex; its text is None where it is streamed and not read yet."""
    nodes, calls = getattr(value, "source_nodes", None), getattr(value, "tool_calls", None)
    if isinstance(nodes, list):
        text = getattr(value, "response_txt" if hasattr(value, "response_txt") else "response", None)
        return {"response": structured_text(text), "source_nodes": nodes}
    message = _message_fields(getattr(value, "response", None))
    if message is None or not isinstance(calls, list):
        return None
    # the output of an agent, whose tools may have been query engines
    returned = [getattr(getattr(call, "tool_output", None), "raw_output", None) for call in calls]
    listed = [part for output in returned if isinstance(part := getattr(output, "source_nodes", None), list)]
    found = [node for part in listed for node in part]
    return {"response": message["content"], **({"source_nodes": found} if found else {})}


def structured_text(value: Any) -> Any:
    """Return an object that a model was asked to write as JSON; anything else as it is."""
    to_json = getattr(value, "model_dump_json", None)
    if isinstance(value, (*PLAIN, type)) or not callable(to_json):
        return value
    return value if framework_fields(value) is not None else to_json()


def _message_fields(value: Any) -> dict[str, Any] | None:
    """Return a message: of LangChain by its `type`, of LlamaIndex and Haystack by its `role`."""
    role = getattr(value, "role", None)
    role = getattr(role, "value", role)
    role = getattr(value, "type", None) if role is None else role
    content = next((getattr(value, name) for name in ("content", "text") if hasattr(value, name)), ...)
    if not isinstance(role, str) or role not in ROLES or content is ...:
        return None
    role = "ai" if role == "AIMessageChunk" else role
    calls = getattr(value, "tool_calls", None) or _first(
        getattr(value, "additional_kwargs", None), "tool_calls"
    )
    message: dict[str, Any] = {"role": role, "content": content if isinstance(content, list | str) else ""}
    if isinstance(calls, list) and calls:
        message["tool_calls"] = [_tool_call(call) for call in calls]
    if figures := usage(value):
        message[USAGE] = figures
    for name in ("tool_call_id", "artifact", "status"):
        if role in ("tool", "function") and getattr(value, name, None) is not None:
            message[name] = getattr(value, name)
    return message


def _tool_call(call: Any) -> Any:
    """Return a call of a tool that a message asks for; Haystack has an object of its own for it."""
    name = getattr(call, "tool_name", None)
    arguments = getattr(call, "arguments", None)
    return {"name": name, "arguments": arguments, "id": call.id} if isinstance(name, str) else call


def _query_fields(value: Any) -> dict[str, Any] | None:
    query = getattr(value, "query_str", None)  # LlamaIndex' QueryBundle
    return {"query": query} if isinstance(query, str) else None
