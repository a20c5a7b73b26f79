"""Attributes of a span, flat (`llm.input_messages.0.message.role`), nested, or both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

MOST_PARTS = 20


class Attributes:
    """Attributes looked up by their full name; what stands below a name comes as an object or a list."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self._flat = dict(_flat(attributes, "", 0))

    @cached_property
    def _parents(self) -> set[str]:
        """The names below which others stand."""
        parents = set()
        for name in self._flat:
            dot = name.rfind(".")
            while dot > 0 and name[:dot] not in parents:
                parents.add(name[:dot])
                dot = name.rfind(".", 0, dot)
        return parents

    def at(self, name: str) -> Any:
        """Return the value of a name, or what stands below it; None where there is neither.

        Numbered parts are a list in their order, objects in a list are nested themselves.
        """
        value = self._flat.get(name)
        if value is None and name in self._parents:
            below = {
                key[len(name) + 1 :]: item for key, item in self._flat.items() if key.startswith(f"{name}.")
            }
            return _nested(below)
        if isinstance(value, list):
            return [
                _nested(dict(_flat(item, "", 0))) if isinstance(item, dict) and item else item
                for item in value
            ]
        return value

    def first(self, *names: str) -> Any:
        """Return what stands at the first of some names where there is something."""
        for name in names:
            if name in self._flat or name in self._parents:
                value = self.at(name)
                if value is not None and value not in ("", [], {}):
                    return value
        return None

    def or_else(self, others: Mapping[str, Any]) -> Attributes:
        """Return these attributes, with others where there is none of the name."""
        return Attributes({**others, **self._flat})

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield full names and values."""
        yield from self._flat.items()


def _flat(attributes: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    for name, value in attributes.items():
        if isinstance(value, dict) and depth < MOST_PARTS:
            yield from _flat(value, f"{prefix}{name}.", depth + 1)
        elif value is not None:
            yield f"{prefix}{name}", value


def _nested(below: Mapping[str, Any]) -> Any:
    """Return flat names as nested objects; numbered ones as a list."""
    root: dict[str, Any] = {}
    for name, value in below.items():
        *path, last = name.split(".", MOST_PARTS)
        node = root
        for part in path:
            inner = node.get(part)
            if not isinstance(inner, dict):
                inner = node[part] = {}
            node = inner
        if not isinstance(node.get(last), dict):
            node[last] = value
    return _with_lists(root)


def _with_lists(values: dict[str, Any]) -> Any:
    for name, value in values.items():
        if isinstance(value, dict):
            values[name] = _with_lists(value)
    if all(map(str.isdecimal, values)):
        return [values[name] for name in sorted(values, key=lambda name: (len(name), name))]
    return values
