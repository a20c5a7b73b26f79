"""A reply that fits a form, by which the plan of a job finds what would be asked after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_EMPTY: Mapping[str, Any] = {"array": (), "boolean": False, "string": "", "integer": 0, "number": 0}


def expected_reply(schema: Mapping[str, Any], entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """Return a reply that says nothing but what `entries` give.

    Args:
        schema: of the reply; the last value of an `enum` is taken, lists are empty, the rest false or empty.
        entries: by field, the objects of its list, each with some of its fields.
    """
    if "enum" in schema:
        return schema["enum"][-1]
    if schema.get("type") != "object":
        empty = _EMPTY.get(str(schema.get("type")))
        return [] if empty == () else empty
    reply: dict[str, Any] = {}
    for name, node in schema["properties"].items():
        if name in entries:
            reply[name] = [{**expected_reply(node["items"], {}), **entry} for entry in entries[name]]
        else:
            reply[name] = expected_reply(node, {})
    return reply
