"""The tool calls of a trace as checks: asked for in messages, made in spans, with the tools' schemas."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from ragtriage.data.importers.parsing.shapes import decoded
from ragtriage.data.importers.parsing.values import error_line
from ragtriage.data.importers.spans.span import Span, Trace
from ragtriage.data.suites.tool.recorded_calls import NO_ERROR
from ragtriage.metrics.suites.tool_schemas import tool_schema

DEEPEST = 12
CALL_LISTS = ("tool_calls", "toolCalls", "function_call", "functionCall")
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


def _asked(value: Any, depth: int = 0) -> Iterator[AskedCall]:
    """Yield the calls that the output of a model asks for, in their order."""
    around: Sequence[str] = AROUND
    if isinstance(value, Mapping):
        if str(value.get("type")) in CALL_TYPES and (call := call_of(value)) is not None:
            yield call
            return
        stated = [entry for key in CALL_LISTS for entry in _entries(value.get(key))]
        calls = [call for entry in stated if (call := call_of(entry)) is not None]
        yield from calls
        # LangChain repeats the calls of a message among its further arguments.
        around = AROUND if calls else (*AROUND, "additional_kwargs")
    for part in _parts(value, around) if depth < DEEPEST else ():
        yield from _asked(part, depth + 1)


def _parts(value: Any, keys: Sequence[str]) -> Iterator[Any]:
    """Yield the items of a list, or the lists and objects under some keys of an object."""
    if isinstance(value, list):
        yield from map(decoded, value)
    elif isinstance(value, Mapping):
        inner = (decoded(value.get(key)) for key in keys)
        yield from (part for part in inner if isinstance(part, list | Mapping))


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
    arguments = next((fields[key] for key in ARGUMENTS if fields.get(key) is not None), None)
    identifier = next((fields[key] for key in IDS if isinstance(fields.get(key), str) and fields[key]), None)
    call = {"name": name, "arguments": decoded(arguments), "id": identifier}
    return {key: value for key, value in call.items() if value is not None}


def _results(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the id of each call and what the tool returned, from the messages that a model was given."""
    if isinstance(value, Mapping):
        of_tool = value.get("role") in ("tool", "function") or value.get("type") in RESULT_TYPES
        identifier = next((value[key] for key in IDS if isinstance(value.get(key), str)), None)
        stated = next((value[key] for key in RESULTS if value.get(key) is not None), None)
        if of_tool and identifier and stated is not None:
            yield identifier, stated
            return
    for part in _parts(value, AROUND) if depth < DEEPEST else ():
        yield from _results(part, depth + 1)


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
    messages_read = list(_flattened(listed))
    for message in messages_read:
        role = str(message.get("role") or message.get("type")).lower()
        wanted = role in ("system", "developer") or not (instructions_only or role in SAID_BY_A_MODEL)
        content = message.get("content", message.get("parts", message.get("contents")))
        if wanted and content and not _declares(content):
            texts.append(_text(content))
    return texts if messages_read or instructions_only or not value else [_text(value)]


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


CALLS = "tool calls"  # name and kind of the check that holds all calls of a trace
KIND = "tool_call"
LONGEST_RESULT = 10_000  # characters of a result that are kept
LONGEST_READ = 100_000  # of what was read before the calls
FAILED = "error"
Schemas = Mapping[str, Mapping[str, Any]]


def tool_checks(trace: Trace, tools: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Return a check for each span of a tool, whether it failed, and one with all calls of the trace.

    Nobody says which calls were right: the check of all calls has no expected value, and no verdict.
    """
    spans = [span for span in trace.of_pipeline if span.kind == "tool" and span is not trace.root]
    calls = _calls(trace, spans, {tool["name"]: tool for tool in map(_named, tools or ())})
    if not calls:
        return []
    # What the models had read before the first call: prompts and instructions.
    texts = [_text(span.instructions) for span in trace.of_pipeline if span.instructions]
    for place, call in enumerate(trace.model_calls):
        texts += texts_read(call.input, instructions_only=place > 0)
    read, kept, left = [text for text in dict.fromkeys(texts) if text.strip()], [], LONGEST_READ
    for text in read:
        kept.append(text[:left])
        left -= len(kept[-1])
    actual = {"calls": calls, "read": [text for text in kept if text]}
    if sum(map(len, read)) > LONGEST_READ or not any(call.input is not None for call in trace.model_calls):
        actual["read_is_whole"] = False
    checks = []
    for span in spans:
        error = _error(span)
        check = {"name": span.tool or span.name or "tool", "kind": KIND, "expected": NO_ERROR}
        checks.append(check | {"actual": NO_ERROR if error is None else error, "passed": error is None})
    return [*checks, {"name": CALLS, "kind": CALLS, "actual": actual}]


def call_count(checks: Sequence[Mapping[str, Any]]) -> int:
    """Return how many calls the checks of a trace hold."""
    return sum(len(check["actual"]["calls"]) for check in checks if "passed" not in check)


def _error(span: Span) -> str | None:
    """Return why a call failed: as its span says, or its result; None where it did not."""
    if span.error is not None:
        return error_line(span.error)
    message = _message(span)
    failed = isinstance(message, Mapping) and (
        (message.get("status") == FAILED and "tool_call_id" in message)  # LangChain
        or message.get("isError") is True  # MCP
    )
    return error_line(_result(span)) if failed else None


def _calls(trace: Trace, spans: Sequence[Span], schemas: Schemas) -> list[dict[str, Any]]:
    """Return the calls of a trace: its spans of tools; where it has none, what its models asked for."""
    asked = [call for model in trace.model_calls for call in _asked(decoded(model.output))]
    known = {call.get("id") or f"#{place}": call for place, call in enumerate(asked)}
    results = dict(chain.from_iterable(_results(decoded(model.input)) for model in trace.model_calls))
    if not spans:
        return [
            {key: call[key] for key in ("name", "arguments") if key in call}
            | (_kept(results[call["id"]]) if call.get("id") in results else {})
            for call in known.values()
        ]
    by_name: dict[str, list[AskedCall]] = defaultdict(list)
    for call in known.values():
        by_name[call["name"]].append(call)
    calls = []
    for span in spans:
        of_name = by_name[span.tool or span.name]
        in_turn = of_name.pop(0) if of_name else {}
        message = _message(span)
        stated = message.get("tool_call_id") if isinstance(message, Mapping) else None
        call_id = span.call_id or (stated if isinstance(stated, str) else "")
        calls.append(_of_span(span, known.get(call_id, in_turn), schemas))
    return calls


def _of_span(span: Span, asked: AskedCall, schemas: Schemas) -> dict[str, Any]:
    """Return the call of a span; its arguments as the model asked for it where the span has none."""
    name = span.tool or span.name or "tool"
    arguments = _arguments(span, schemas.get(name, {}))
    arguments = asked.get("arguments") if arguments is None else arguments
    error, result = _error(span), _result(span)
    return {
        "name": name,
        **({} if arguments is None else {"arguments": arguments}),
        **({} if result is None else _kept(result)),
        **({} if error is None else {"error": error or "failed", "is_error": True}),
    }


def _arguments(span: Span, schema: Mapping[str, Any]) -> Any:
    """Return the arguments in the input of a span; None where they are not recorded, or cut.

    A tool with one argument may be given its value alone.
    """
    recorded, names = decoded(span.input), list(_properties(schema))
    if isinstance(recorded, Mapping):
        recorded = _unwrapped(recorded, span)
        alone = recorded.get("input") if recorded.keys() == {"input"} and "input" not in names else None
        if isinstance(recorded, Mapping) and not isinstance(alone, str):
            return recorded
        recorded = alone
    if recorded is None or (isinstance(recorded, str) and recorded.lstrip()[:1] in ("{", "[")):
        return None
    return {names[0]: recorded} if len(names) == 1 else {"input": recorded} if not names else recorded


def _unwrapped(arguments: Mapping[str, Any], span: Span) -> Mapping[str, Any]:
    """Return arguments without what is around them: a call, a request of MCP, or the key "input"."""
    inner = arguments.get("params")
    arguments = inner if isinstance(inner, Mapping) and "arguments" in inner else arguments
    call = call_of(arguments) if {"args", "arguments"} & arguments.keys() else None
    if call is not None and call["name"] in (span.tool, span.name):
        return call["arguments"] if isinstance(call.get("arguments"), Mapping) else {}
    inner = decoded(arguments["input"]) if arguments.keys() == {"input"} else None
    return inner if isinstance(inner, Mapping) else arguments


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return tool_schema(schema).properties or {}
    except ValueError:
        return {}


def _message(span: Span) -> Any:
    """Return the output of a tool without what LangChain writes around it."""
    value = decoded(span.output)
    for key in ("output", "kwargs"):
        if isinstance(value, Mapping) and (value.keys() == {"output"} or "lc" in value) and key in value:
            value = decoded(value[key])
    return value


def _result(span: Span) -> Any:
    """Return what a tool returned, without the message around it; None where none is recorded."""
    message = _message(span)
    if isinstance(message, Mapping) and "content" in message and message.keys() & {"tool_call_id", "isError"}:
        return message["content"]
    return message


def _kept(result: Any) -> dict[str, Any]:
    """Return a result as text, with its length where it is cut."""
    text = _text(result)
    length = {"result_chars": len(text)} if len(text) > LONGEST_RESULT else {}
    return {"result": text[:LONGEST_RESULT], **length}


def schemas_of(trace: Trace) -> list[dict[str, Any]] | None:
    """Return the schemas of the tools that a trace states, each once; None where it states none.

    One that cannot be read is left out: what a tracing tool wrote in part must not refuse the trace.
    """
    schemas: dict[str, dict[str, Any]] = {}
    for span in trace.of_pipeline:
        stated = [*_entries(span.tools), *(listed_tools(span.input) if span.kind == "llm" else ())]
        for tool in (inner for entry in stated for inner in _declared(entry, span)):
            try:
                schema = tool_schema(tool)
            except ValueError:
                continue
            if schema.name not in schemas or (schema.properties and not _properties(schemas[schema.name])):
                schemas[schema.name] = tool
    return list(schemas.values()) or None


def _entries(value: Any) -> list[Any]:
    value = decoded(value)
    return value if isinstance(value, list) else [value] if isinstance(value, Mapping) else []


def _declared(entry: Any, span: Span) -> Iterator[dict[str, Any]]:
    """Yield the tools in an entry of a list of tools, without what is around them."""
    tool = decoded(entry)
    for key in ("tool", "json_schema"):  # OpenInference
        inner = decoded(tool.get(key)) if isinstance(tool, Mapping) else None
        tool = inner if isinstance(inner, Mapping) else tool
    if not isinstance(tool, Mapping):
        return
    for key in ("function_declarations", "functionDeclarations"):  # Gemini
        for inner in _entries(tool.get(key)):
            yield from _declared(inner, span)
    if span.kind == "tool" and "properties" in tool and not isinstance(tool.get("name"), str):
        tool = {"name": span.tool or span.name, "parameters": tool}
    named = _named(tool)
    # Of a span of a tool it may be a list of arguments with their types, one of them "name".
    states = span.kind != "tool" or not named.keys().isdisjoint(DECLARED)
    if isinstance(named["name"], str) and states:
        yield {**tool, **{key: decoded(tool[key]) for key in DECLARED if key in tool}}


def _named(tool: Mapping[str, Any]) -> dict[str, Any]:
    inner = tool.get("function")
    return {"name": None, **tool, **(inner if isinstance(inner, Mapping) else {})}
