"""Messages that a model was given and gave: the tools it asked for, what they returned, what else it read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.importers.parsing.payloads import decoded

DEEPEST = 12
CALLS = ("tool_calls", "toolCalls", "function_call", "functionCall")
CALL_TYPES = ("tool_call", "tool_use", "tool-call", "function_call")
RESULT_TYPES = ("tool_call_response", "tool_result", "tool-result", "function_call_output", "tool")
AROUND = (
    *("message", "messages", "choices", "generations", "candidates", "content", "parts", "kwargs"),
    *("output", "outputs", "response", "data"),
)
NAMES = ("name", "toolName", "tool_name", "tool", "function_name")
ARGUMENTS = ("arguments", "args", "input", "kwargs", "parameters")
IDS = ("tool_call_id", "toolCallId", "tool_use_id", "call_id", "id")
RESULTS = ("content", "output", "result", "response")
SAID_BY_A_MODEL = ("assistant", "ai", "model", "tool-call")
DECLARED = ("parameters", "input_schema", "inputSchema")
CONVERSATIONS = ("messages", "contents", "input")
INSTRUCTIONS = ("system", "instructions", "system_instruction", "system_prompt")

AskedCall = dict[str, Any]  # name, arguments where they are recorded, id where there is one


def asked_calls(output: Any) -> list[AskedCall]:
    """Return the calls that the output of a model asks for, in their order."""
    return list(_calls(decoded(output), 0))


def _calls(value: Any, depth: int) -> Iterator[AskedCall]:
    if depth > DEEPEST:
        return
    if isinstance(value, list):
        for item in value:
            yield from _calls(decoded(item), depth + 1)
    if not isinstance(value, Mapping):
        return
    if str(value.get("type")) in CALL_TYPES and (call := call_of(value)) is not None:
        yield call
        return
    stated = [entry for key in CALLS for entry in _listed(decoded(value.get(key)))]
    found = [call for entry in stated if (call := call_of(entry)) is not None]
    yield from found
    # LangChain repeats the calls of a message among its further arguments.
    around = AROUND if found else (*AROUND, "additional_kwargs")
    for key in around:
        inner = decoded(value.get(key))
        if isinstance(inner, list | Mapping):
            yield from _calls(inner, depth + 1)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, Mapping) else []


def call_of(entry: Any) -> AskedCall | None:
    """Return a call as {name, arguments, id}, read from any usual form; None where it has no name."""
    entry = decoded(entry)
    if not isinstance(entry, Mapping):
        return None
    fields = dict(entry)
    for key in ("tool_call", "function"):
        inner = fields.get(key)
        fields |= inner if isinstance(inner, Mapping) else {}
    name = next((fields[key] for key in NAMES if isinstance(fields.get(key), str) and fields[key]), None)
    if name is None:
        return None
    given = next((fields[key] for key in ARGUMENTS if fields.get(key) is not None), None)
    identifier = next((fields[key] for key in IDS if isinstance(fields.get(key), str) and fields[key]), None)
    call = {"name": name, "arguments": decoded(given), "id": identifier}
    return {key: value for key, value in call.items() if value is not None}


def tool_results(messages: Any) -> dict[str, Any]:
    """Return what tools returned in the messages that a model was given, by the id of the call."""
    return dict(_results(decoded(messages), 0))


def _results(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > DEEPEST:
        return
    if isinstance(value, list):
        for item in value:
            yield from _results(decoded(item), depth + 1)
    if not isinstance(value, Mapping):
        return
    of_tool = value.get("role") in ("tool", "function") or value.get("type") in RESULT_TYPES
    identifier = next((value[key] for key in IDS if isinstance(value.get(key), str)), None)
    stated = next((value[key] for key in RESULTS if value.get(key) is not None), None)
    if of_tool and identifier and stated is not None:
        yield identifier, stated
        return
    for key in AROUND:
        inner = decoded(value.get(key))
        if isinstance(inner, list | Mapping):
            yield from _results(inner, depth + 1)


def texts_read(messages: Any, *, instructions_only: bool = False) -> list[str]:
    """Return the texts of the messages that a model was given, apart from those that a model wrote.

    Args:
        messages: input of a call of a model.
        instructions_only: whether only system messages are wanted, as of a call that follows others: a model
            may have written the rest.
    """
    value = decoded(messages)
    texts = []
    listed = value
    if isinstance(value, Mapping):
        texts = [_text(value[key]) for key in INSTRUCTIONS if value.get(key)]
        listed = next((decoded(value[key]) for key in CONVERSATIONS if value.get(key)), None)
    found = list(_flattened(listed))
    for message in found:
        role = str(message.get("role") or message.get("type")).lower()
        wanted = role in ("system", "developer") or not (instructions_only or role in SAID_BY_A_MODEL)
        content = message.get("content", message.get("parts", message.get("contents")))
        if wanted and content and not _declares(content):
            texts.append(_text(content))
    return texts if found or instructions_only or not value else [_text(value)]


def _flattened(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of a list, also where it holds lists of them, as LangChain writes batches."""
    for item in value if isinstance(value, list) and depth < DEEPEST else ():
        message = decoded(item)
        if isinstance(message, list):
            yield from _flattened(message, depth + 1)
        elif isinstance(message, Mapping):
            inner = message.get("kwargs")
            yield inner if isinstance(inner, Mapping) else message


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)


def _declares(content: Any) -> bool:
    """Return whether a message is the schema of a tool, as Langfuse writes those of a call of a model."""
    content = decoded(content)
    inner = content.get("function", content) if isinstance(content, Mapping) else None
    return isinstance(inner, Mapping) and "name" in inner and any(key in inner for key in DECLARED)


def listed_tools(messages: Any) -> list[Any]:
    """Return the tools that the input of a model lists beside its messages, or as messages of their own."""
    value = decoded(messages)
    if isinstance(value, Mapping):
        tools = decoded(value.get("tools"))
        return tools if isinstance(tools, list) else listed_tools(value.get("messages"))
    contents = [decoded(message.get("content")) for message in _flattened(value)]
    return [content for content in contents if _declares(content)]
