"""The tool calls of a trace as checks, and the schemas of the tools that it states."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragtriage.data.checks.recorded_calls import NO_ERROR
from ragtriage.data.importers.parsing.payloads import decoded
from ragtriage.data.importers.spans.messages import (
    DECLARED,
    AskedCall,
    asked_calls,
    call_of,
    listed_tools,
    texts_read,
    tool_results,
)
from ragtriage.data.importers.spans.span import Span
from ragtriage.data.importers.spans.trace import Trace
from ragtriage.data.importers.spans.values import error_line
from ragtriage.metrics.suites.tool_schemas import tool_schema

CALLS = "tool calls"  # name and kind of the check that holds all calls of a trace
KIND = "tool_call"
LONGEST_RESULT = 10_000  # characters of a result that are kept
LONGEST_READ = 100_000  # of what was read before the calls
FAILED = "error"
Schemas = Mapping[str, Mapping[str, Any]]


def tool_checks(trace: Trace, tools: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Return a check for each span of a tool, whether it failed, and one with all calls of the trace.

    Nobody says which calls were right: the check of all calls has no expected value, and no verdict.

    Args:
        trace: the trace.
        tools: the schemas that it states.
    """
    spans = [span for span in trace.of_pipeline if span.kind == "tool" and span is not trace.root]
    calls = _calls(trace, spans, {tool["name"]: tool for tool in map(_named, tools or ())})
    if not calls:
        return []
    read = _read(trace)
    made = {"calls": calls, "read": _cut(read)}
    if sum(map(len, read)) > LONGEST_READ or not any(call.input is not None for call in trace.model_calls):
        made["read_is_whole"] = False
    return [*map(_error_check, spans), {"name": CALLS, "kind": CALLS, "actual": made}]


def call_count(checks: Sequence[Mapping[str, Any]]) -> int:
    """Return how many calls the checks of a trace hold."""
    return sum(len(check["actual"]["calls"]) for check in checks if "passed" not in check)


def _error_check(span: Span) -> dict[str, Any]:
    error = _error(span)
    said = NO_ERROR if error is None else error
    name = span.tool or span.name or "tool"
    return {"name": name, "kind": KIND, "expected": NO_ERROR, "actual": said, "passed": error is None}


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
    asked = [call for model in trace.model_calls for call in asked_calls(model.output)]
    known = {call.get("id") or f"#{place}": call for place, call in enumerate(asked)}
    results = {key: value for model in trace.model_calls for key, value in tool_results(model.input).items()}
    if not spans:
        return [_without_span(call, results) for call in known.values()]
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


def _without_span(call: AskedCall, results: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: call[key] for key in ("name", "arguments") if key in call}
    return made | (_kept(results[call["id"]]) if call.get("id") in results else {})


def _of_span(span: Span, asked: AskedCall, schemas: Schemas) -> dict[str, Any]:
    """Return the call of a span; its arguments as the model asked for it where the span has none."""
    name = span.tool or span.name or "tool"
    given = _arguments(span, schemas.get(name, {}))
    given = asked.get("arguments") if given is None else given
    error, result = _error(span), _result(span)
    return {
        "name": name,
        **({} if given is None else {"arguments": given}),
        **({} if result is None else _kept(result)),
        **({} if error is None else {"error": error or "failed", "is_error": True}),
    }


def _arguments(span: Span, schema: Mapping[str, Any]) -> Any:
    """Return the arguments in the input of a span; None where they are not recorded, or cut.

    A tool with one argument may be given its value alone.
    """
    given, names = decoded(span.input), list(_properties(schema))
    if isinstance(given, Mapping):
        given = _unwrapped(given, span)
        alone = given.get("input") if given.keys() == {"input"} and "input" not in names else None
        if isinstance(given, Mapping) and not isinstance(alone, str):
            return given
        given = alone
    if given is None or (isinstance(given, str) and given.lstrip()[:1] in ("{", "[")):
        return None
    return {names[0]: given} if len(names) == 1 else {"input": given} if not names else given


def _unwrapped(given: Mapping[str, Any], span: Span) -> Mapping[str, Any]:
    """Return arguments without what is around them: a call, a request of MCP, or the key "input"."""
    inner = given.get("params")
    given = inner if isinstance(inner, Mapping) and "arguments" in inner else given
    call = call_of(given) if {"args", "arguments"} & given.keys() else None
    if call is not None and call["name"] in (span.tool, span.name):
        return call["arguments"] if isinstance(call.get("arguments"), Mapping) else {}
    inner = decoded(given["input"]) if given.keys() == {"input"} else None
    return inner if isinstance(inner, Mapping) else given


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
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
    length = {"result_chars": len(text)} if len(text) > LONGEST_RESULT else {}
    return {"result": text[:LONGEST_RESULT], **length}


def _read(trace: Trace) -> list[str]:
    """Return what the models had read before the first call: prompts and instructions."""
    texts = [text for span in trace.of_pipeline if span.instructions for text in [_plain(span.instructions)]]
    for place, call in enumerate(trace.model_calls):
        texts += texts_read(call.input, instructions_only=place > 0)
    return [text for text in dict.fromkeys(texts) if text.strip()]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cut(texts: Sequence[str]) -> list[str]:
    kept, left = [], LONGEST_READ
    for text in texts:
        kept.append(text[:left])
        left -= len(kept[-1])
        if not left:
            break
    return kept


def schemas_of(trace: Trace) -> list[dict[str, Any]] | None:
    """Return the schemas of the tools that a trace states, each once; None where it states none.

    One that cannot be read is left out: what a tracing tool wrote in part must not refuse the trace.
    """
    found: dict[str, dict[str, Any]] = {}
    for span in trace.of_pipeline:
        stated = [*_listed(span.tools), *(listed_tools(span.input) if span.kind == "llm" else ())]
        for tool in (inner for entry in stated for inner in _declared(entry, span)):
            try:
                schema = tool_schema(tool)
            except ValueError:
                continue
            if schema.name not in found or (schema.properties and not _properties(found[schema.name])):
                found[schema.name] = tool
    return list(found.values()) or None


def _listed(value: Any) -> list[Any]:
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
        for inner in _listed(tool.get(key)):
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
