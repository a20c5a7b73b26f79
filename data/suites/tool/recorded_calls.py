"""Read the expected and the actual value of a check as tool calls, in the forms that tools write them.

A call is {name, arguments}, with `args`, `kwargs`, `input` or `parameters` for the arguments; OpenAI's
{type: "function", function: {...}} with the arguments as JSON text; Anthropic's
{type: "tool_use", name, input}; BFCL's {name: {argument: [accepted values]}}; or a plain name.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from ragtriage.metrics.suites.tool import ExpectedCall, ToolCall

NAMES = ("name", "tool", "tool_name", "function_name")
ARGUMENTS = ("arguments", "args", "kwargs", "input", "parameters", "input_parameters")
RESULTS = ("result", "output", "response", "content")
NAME = re.compile(r"[A-Za-z_][\w.\-:/]{0,127}")
ACCEPTED = "{name, arguments}, as OpenAI, Anthropic or BFCL write it, or a plain name"
EMPTY = ("", "[]", "{}", "null", "none", '""')
NO_ERROR = "no error"  # what a check of a single call in a trace expects; its actual value is the error
VALUES_ONLY = {"argument", "arguments", "args"}  # kinds of checks whose plain texts are values, not tools


@dataclass(frozen=True)
class Expected:
    """What a check expects."""

    calls: tuple[ExpectedCall, ...]  # the expected calls; none means that no call is right
    any_call: bool = False  # whether any call at all is right
    ordered: bool = False  # whether the order matters
    # the tools that write, where the check says so: only their calls are compared
    writes: tuple[str, ...] | None = None
    # whether these are all the calls that may be made; not of a check for one tool by its name
    lists_all: bool = True


@dataclass(frozen=True)
class MadeCall:
    """A call that was made, with its result."""

    call: ToolCall  # name and arguments
    has_result: bool = False  # whether a result is recorded
    result_text: str = ""  # the result as text
    result_is_whole: bool = False  # whether it is recorded, and not cut
    is_error: bool = False  # whether it is an error
    is_empty: bool = False  # whether nothing was returned
    # paths of values that were not found when the call was recorded; None where nobody looked
    ungrounded: frozenset[str] | None = None


def made_calls(value: object) -> list[MadeCall] | None:
    """Return the calls of an actual value; None where it is none or no list of calls.

    Raises:
        ValueError: one of several calls is malformed; the message is one sentence.
    """
    if isinstance(value, str):
        return [MadeCall(ToolCall(value))] if NAME.fullmatch(value) else None
    entries: object = value.get("calls", [value]) if isinstance(value, Mapping) else value
    if not _may_be_calls(entries):
        return None
    if isinstance(value, Mapping) and "calls" not in value and _named(value) is None:
        return None
    return [_made(entry, place) for place, entry in enumerate(entries, start=1)]


def _made(entry: str | Mapping[str, Any], place: int) -> MadeCall:
    if isinstance(entry, str):
        return MadeCall(ToolCall(_plain_name(entry, place)))
    named = _named(entry) or _by_name(entry)
    if named is None:
        raise ValueError(f"actual call {place} has no name; accepted: {ACCEPTED}")
    name, arguments = named
    fault = ""
    if isinstance(arguments, str):
        arguments, fault = _parsed(arguments)
    if arguments is not None and not isinstance(arguments, Mapping):
        arguments, fault = None, f"arguments are not an object but {type(arguments).__name__}"
    return _with_result(ToolCall(name, arguments, fault), entry)


def _by_name(entry: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return name and arguments of a call in the form {name: {arguments}}, as BFCL writes results."""
    if len(entry) != 1:
        return None
    name, arguments = next(iter(entry.items()))
    text = isinstance(arguments, str) and arguments.lstrip().startswith("{")
    is_call = (text or isinstance(arguments, Mapping)) and name not in (*ARGUMENTS, *RESULTS, *NAMES)
    return (str(name), arguments) if is_call else None


def _with_result(call: ToolCall, entry: Mapping[str, Any]) -> MadeCall:
    key = next((key for key in RESULTS if key in entry), None)
    result = entry[key] if key is not None else None
    error = entry.get("error")
    text = "" if result is None else result
    if not isinstance(text, str):
        text = json.dumps(text, ensure_ascii=False)
    length = entry.get("result_chars")
    is_cut = isinstance(length, int) and length > len(text)
    failed = entry.get("result_error", entry.get("is_error"))
    is_error = (
        failed if isinstance(failed, bool) else bool(error) or text.lstrip().lower().startswith("error")
    )
    empty = entry.get("result_empty")
    fields = entry.get("ungrounded_args")
    return MadeCall(
        call,
        has_result=key is not None or error is not None,
        result_text=text or (error if isinstance(error, str) else ""),
        result_is_whole=(key is not None or error is not None) and not is_cut,
        is_error=is_error,
        is_empty=empty if isinstance(empty, bool) else key is not None and text.strip().lower() in EMPTY,
        ungrounded=frozenset(map(str, fields)) if isinstance(fields, list) else None,
    )


def expected_of(value: object, kind: str, among_several: bool = False) -> Expected | None:
    """Return what a check expects; None where it expects nothing or nothing about calls.

    A kind that names an order makes the order matter. With `among_several` a plain name is looked for in a
    list of calls, which may hold others.

    Raises:
        ValueError: one of several calls is malformed; the message is one sentence.
    """
    words = set(re.split(r"[\W_]+", kind.casefold()))
    ordered = not words.isdisjoint(("order", "ordered", "sequence", "trajectory"))
    values_only = not words.isdisjoint(VALUES_ONLY)
    if isinstance(value, str):
        plain = NAME.fullmatch(value) and not values_only
        return (
            Expected((ExpectedCall(value),), ordered=ordered, lists_all=not among_several) if plain else None
        )
    if isinstance(value, Mapping) and value.get("any_call") is True:
        return Expected((), any_call=True)
    if isinstance(value, Mapping) and isinstance(value.get("calls"), list):
        writes = value.get("writes")
        return Expected(
            _expected_calls(value["calls"]),
            ordered=ordered or value.get("ordered") is True,
            writes=tuple(map(str, writes)) if isinstance(writes, list) else None,
        )
    entries: object = (
        [value]
        if isinstance(value, Mapping) and (_named(value) is not None or _of_bfcl(value) is not None)
        else value
    )
    if not _may_be_calls(entries) or (values_only and all(isinstance(entry, str) for entry in entries)):
        return None
    return Expected(_expected_calls(entries), ordered=ordered)


def _may_be_calls(entries: object) -> TypeGuard[list[Any]]:
    """Return whether a value is a list of objects or of names: other texts are values of another kind."""
    if not isinstance(entries, list):
        return False
    texts = [entry for entry in entries if isinstance(entry, str)]
    rest = [entry for entry in entries if not isinstance(entry, str)]
    return all(isinstance(entry, Mapping) for entry in rest) and all(map(NAME.fullmatch, texts))


def _expected_calls(entries: list[Any]) -> tuple[ExpectedCall, ...]:
    return tuple(_expected(entry, place) for place, entry in enumerate(entries, start=1))


def _expected(entry: object, place: int) -> ExpectedCall:
    if isinstance(entry, str):
        return ExpectedCall(_plain_name(entry, place))
    named = _named(entry) if isinstance(entry, Mapping) else None
    if isinstance(entry, Mapping) and named is None:
        bfcl = _of_bfcl(entry)
        if bfcl is not None:
            return bfcl
    if named is None:
        raise ValueError(f"expected call {place} has no name; accepted: {ACCEPTED}")
    name, arguments = named
    if isinstance(entry, Mapping) and isinstance(entry.get("accepted"), Mapping):
        return ExpectedCall(
            name, {key: _listed(options) for key, options in entry["accepted"].items()}, nested=True
        )
    if isinstance(arguments, str):
        arguments, fault = _parsed(arguments)
        if fault:
            raise ValueError(f"expected call {place} of {name[:80]!r}: {fault}; accepted: {ACCEPTED}")
    if arguments is not None and not isinstance(arguments, Mapping):
        raise ValueError(
            f"the arguments of expected call {place} of {name[:80]!r} are not an object; accepted: {ACCEPTED}"
        )
    return ExpectedCall.exactly(name, arguments)


def _of_bfcl(entry: Mapping[str, Any]) -> ExpectedCall | None:
    """Return a call in the form {name: {argument: [accepted values]}}; None where it is none."""
    if len(entry) != 1:
        return None
    name, accepted = next(iter(entry.items()))
    if name in (*ARGUMENTS, *RESULTS) or not isinstance(accepted, Mapping):
        return None
    if not all(isinstance(options, list) for options in accepted.values()):
        return None
    return ExpectedCall(str(name), accepted, nested=True)


def _named(entry: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return name and arguments of a call; None where it has no name."""
    inner = entry.get("function")
    if isinstance(inner, Mapping):
        entry = inner
    name = next((entry[key] for key in NAMES if isinstance(entry.get(key), str) and entry[key]), None)
    if name is None and isinstance(inner, str) and inner:
        name = inner
    arguments = next((entry[key] for key in ARGUMENTS if entry.get(key) is not None), None)
    return None if name is None else (name, arguments)


def _plain_name(name: str, place: int) -> str:
    if not NAME.fullmatch(name):
        raise ValueError(f"call {place} is {name[:60]!r}; accepted: {ACCEPTED}")
    return name


def _parsed(text: str) -> tuple[Any, str]:
    """Return the arguments that a text of JSON holds, and why it holds none."""
    try:
        return (json.loads(text) if text.strip() else {}), ""
    except (ValueError, RecursionError):
        return None, f"the arguments are not JSON: {text[:80]!r}"


def _listed(options: object) -> list[Any]:
    return options if isinstance(options, list) else [options]


SHOWN_VALUE = 60
MOST_CALLS = 20
SAID = {
    "missing": "{where} is missing",
    "unexpected": "{where} is not expected",
    "type": "{where} is {value}, of the wrong type",
    "value": "{where} is {value}",
    "malformed": "the arguments cannot be read",
}


def actual_calls_text(value: object) -> str | None:
    """Return calls as name(argument: value, ...), one after the other; None where the value is none."""
    try:
        calls = made_calls(value)
    except (ValueError, RecursionError):
        return None
    if calls is None:
        return None
    return _joined([(entry.call.name, entry.call.arguments) for entry in calls])


def expected_calls_text(value: object, kind: str) -> str | None:
    """Return expected calls likewise; of several accepted values all."""
    try:
        expected = expected_of(value, kind)
    except (ValueError, RecursionError):
        return None
    if expected is None:
        return None
    if expected.any_call:
        return "any call"
    calls = [
        (
            call.name,
            None
            if call.accepted is None
            else {
                key: (options[0] if len(options) == 1 else list(options))
                for key, options in call.accepted.items()
            },
        )
        for call in expected.calls
    ]
    return _joined(calls)


def _joined(calls: Sequence[tuple[str, Mapping[str, Any] | None]]) -> str:
    if not calls:
        return "no call"
    texts = [
        name
        if arguments is None
        else f"{name}({', '.join(f'{key}: {_shown(value)}' for key, value in arguments.items())})"
        for name, arguments in calls[:MOST_CALLS]
    ]
    return "; ".join(texts) + (f"; {len(calls) - MOST_CALLS:,} more" if len(calls) > MOST_CALLS else "")


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_VALUE else text[: SHOWN_VALUE - 3] + "..."


def call_faults(detail: Mapping[str, Any]) -> str:
    """Return what the rule of tool calls found wrong in one check, in words; "" where nothing is."""
    parts = [f"{key}: {_counted(detail[key])}" for key in ("missing", "needless") if detail.get(key)]
    parts += [_error(entry) for entry in detail.get("errors", ())[:10]]
    parts += [
        f"invented: {entry['argument']} = {entry['value']} in {entry['call']}"
        for entry in detail.get("invented", ())
        if entry["kind"] == "identifier"
    ][:10]
    return "; ".join([*parts, *([str(detail["fault"])] if detail.get("fault") else [])])


def _counted(names: Sequence[str]) -> str:
    tally = Counter(names).most_common(10)
    return ", ".join(name if n == 1 else f"{name} ({n} times)" for name, n in tally)


def _error(entry: Mapping[str, Any]) -> str:
    where = f"{entry['argument']} of {entry['call']}"
    sentence = SAID[entry["error"]].format(where=where, value=_shown(entry.get("value")))
    accepted = f", expected {_shown(entry['accepted'])}" if "accepted" in entry else ""
    return f"{sentence}{accepted}"
