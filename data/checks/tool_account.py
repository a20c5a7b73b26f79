"""What a person reads of the tool calls of one case: the calls, one after the other, and what is wrong."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.data.checks.recorded_calls import expected_of, made_calls

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
        made = made_calls(value)
    except (ValueError, RecursionError):
        return None
    if made is None:
        return None
    return _joined([(entry.call.name, entry.call.arguments) for entry in made])


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
    said = SAID[entry["error"]].format(where=where, value=_shown(entry.get("value")))
    accepted = f", expected {_shown(entry['accepted'])}" if "accepted" in entry else ""
    return f"{said}{accepted}"
