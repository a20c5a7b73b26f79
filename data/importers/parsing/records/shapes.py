"""Values of foreign JSON brought to a shape, whatever was found: objects, lists of objects, numbers, tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtriage.data.store.sample_models import as_json

LARGEST = 2**63


def mapping(value: object) -> Mapping[str, Any]:
    """Return an object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def unquoted_number(value: object) -> object:
    """Return a number also where it is written as text; anything else as it is, for validation to report."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def milliseconds(seconds: object) -> object:
    """Return seconds as milliseconds; what is no number as it is, for validation to report."""
    value = unquoted_number(seconds)
    return round(value * 1000, 6) if isinstance(value, int | float) and not isinstance(value, bool) else value


def tag_value(value: object) -> object:
    """Return a value as that of a tag: text, a number or a truth value; anything else as JSON."""
    return value if value is None or isinstance(value, str | bool | int | float) else as_json(value)


def tags_of(value: object) -> dict[str, Any]:
    """Return tags from a list of words, each a tag of its own, or from an object of key and value."""
    if isinstance(value, list):
        return {f"tag_{word}": True for word in value if isinstance(word, str | int)}
    return {str(key): tag_value(item) for key, item in mapping(value).items()}


def plain_settings(value: object) -> dict[str, Any]:
    """Return an object as the configuration of a run; numbers too large to be stored become text."""
    return {storable(key): _plain(item) for key, item in mapping(value).items() if item is not None}


def storable(text: object) -> str:
    """Return a name or a setting as text that can be stored: halves of surrogate pairs become "?"."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def _plain(value: object) -> object:
    if isinstance(value, str) or (isinstance(value, int) and abs(value) >= LARGEST):
        return storable(value)
    return as_json(value) if isinstance(value, dict | list) else value
