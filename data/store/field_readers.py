"""Readers of single values from outside: each returns the value clean, or notes a problem."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from data.errors import ValidationErrors

__all__ = [
    "FieldContext",
    "Read",
    "ReadStruct",
    "Struct",
    "any_json",
    "encodable",
    "found_text",
    "list_of",
    "one_of",
    "read_flag",
    "read_identifier",
    "read_number",
    "read_text",
    "struct_of",
    "whole_from",
]

MAX_RANK = 1_000_000


@dataclass(frozen=True)
class FieldContext:
    """Where a value stands, and where its problems go."""

    line: int
    problems: ValidationErrors

    def problem(self, field: str, what: str, accepted: str) -> None:
        """Note a problem of this line."""
        self.problems.add(self.line, field, what, accepted)


Read = Callable[[Any, str, FieldContext], Any]
Struct = dict[str, Any]
ReadStruct = Callable[[Any, str, FieldContext], Struct | None]


def found_text(value: object) -> str:
    """Say what stands there, shortened."""
    if isinstance(value, Mapping):
        return "found an object"
    if isinstance(value, list):
        return f"found a list of {len(value)}"
    shown = repr(value)
    return f"found {shown if len(shown) <= 60 else shown[:57] + '...'}"


def read_text(value: Any, field: str, reading: FieldContext) -> str | None:
    """Take text without half surrogate pairs."""
    if isinstance(value, str):
        if value.isascii() or encodable(value):
            return value
        reading.problem(field, "holds half of a surrogate pair", "valid Unicode text")
        return None
    reading.problem(field, found_text(value), "text")
    return None


def encodable(value: str) -> bool:
    """Say whether text can be written as UTF-8."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read_identifier(value: Any, field: str, reading: FieldContext) -> str | None:
    """Take text of at least one character, or a whole number as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value:
        return read_text(value, field, reading)
    reading.problem(field, found_text(value), "text of at least one character, or a whole number")
    return None


def read_number(value: Any, field: str, reading: FieldContext) -> float | None:
    """Take a finite number."""
    if isinstance(value, int | float) and not isinstance(value, bool) and _finite(value):
        return float(value)
    reading.problem(field, found_text(value), "a finite number, or null")
    return None


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def whole_from(least: int) -> Read:
    """Take whole numbers from a least one."""

    def read(value: Any, field: str, reading: FieldContext) -> int | None:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if whole and not isinstance(value, bool) and least <= value <= MAX_RANK * 1000:
            return int(value)
        reading.problem(field, found_text(value), f"a whole number of {least} or more")
        return None

    return read


def read_flag(value: Any, field: str, reading: FieldContext) -> bool | None:
    """Take true or false."""
    if isinstance(value, bool):
        return value
    reading.problem(field, found_text(value), "true, false or null")
    return None


def one_of(*accepted: str) -> Read:
    """Take one of some words."""

    def read(value: Any, field: str, reading: FieldContext) -> str | None:
        if isinstance(value, str) and value in accepted:
            return value
        reading.problem(field, found_text(value), " | ".join(accepted))
        return None

    return read


def any_json(value: Any, _field: str = "", _reading: FieldContext | None = None) -> str:
    """Any value as JSON text that can be stored: half a surrogate pair stays escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if encodable(text) else json.dumps(value, default=str)


def list_of(item: Read) -> Read:
    """Take lists of what an item reader takes."""

    def read(value: Any, field: str, reading: FieldContext) -> list[Any] | None:
        if not isinstance(value, list):
            reading.problem(field, found_text(value), "a list")
            return None
        return [item(entry, f"{field}[{index}]", reading) for index, entry in enumerate(value)]

    return read


def struct_of(required: tuple[str, ...] = (), **parts: Read) -> ReadStruct:
    """Take objects with the parts named; the required ones must be there."""
    names = frozenset(parts)

    def read(value: Any, field: str, reading: FieldContext) -> Struct | None:
        if not isinstance(value, Mapping):
            reading.problem(field, found_text(value), f"an object with {', '.join(parts)}")
            return None
        for name in required:
            if value.get(name) is None:
                reading.problem(f"{field}.{name}", "missing", f"an object with {', '.join(required)}")
        unknown = [str(key) for key in value if key not in names]
        if unknown:
            reading.problem(field, f"unknown {', '.join(unknown[:5])}", ", ".join(parts))
        return {
            name: None if value.get(name) is None else part(value[name], f"{field}.{name}", reading)
            for name, part in parts.items()
        }

    return read
