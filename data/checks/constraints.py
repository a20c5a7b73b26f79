"""Constraints on items as a check writes them.

A constraint is {"field": "stars", "op": ">=", "value": 4}; several are a list of these, or one object of
field: value, such as {"area": "north", "stars": {">=": 4}, "location": {"near": [52.2, 0.12], "km": 2}}. A
plain value means equality, a list one of its values. What "near" or "well rated" means is written in the
case: no cut-off is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

import orjson

from ragtriage.data.checks.malformed import MalformedCheckError, shown
from ragtriage.metrics.suites.filtering import (
    OPERATORS,
    Constraint,
    Operator,
    comparable,
    number_of,
    place_of,
)

_CONSTRAINT = '{"field": ..., "op": one of = in <= >= near, "value": ...}'
_SYMBOLS = {"==": "=", "eq": "=", "is": "=", "lte": "<=", "gte": ">=", "≤": "<=", "≥": ">=", "within": "near"}


def is_constraints(value: Any) -> bool:
    """Return whether a value is written as constraints: an object, or a list of objects with a field."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list) and any(isinstance(one, Mapping) and "field" in one for one in value)


def constraints_of(value: Any, field: str = "expected") -> tuple[Constraint, ...]:
    """Return the constraints that a value writes.

    Args:
        value: an object of field: value, or a list of objects with field, op and value.
        field: of the check, for the message.

    Raises:
        MalformedCheckError: one of them cannot be read.
    """
    if isinstance(value, Mapping):
        return tuple(one for name, bound in value.items() for one in _of_field(str(name), bound, field))
    if not isinstance(value, list):
        raise MalformedCheckError(f"constraints {shown(value)}", f"a list of {_CONSTRAINT}", field)
    return tuple(_listed(one, field) for one in value)


def constraint_key(constraint: Constraint) -> tuple[Any, ...]:
    """Return a constraint as it is compared with another: numbers as numbers, texts without case."""
    value = constraint.value
    if constraint.operator == "in":
        value = frozenset(comparable(one) for one in value)
        if len(value) == 1:
            return comparable(constraint.field), "=", next(iter(value)), None
    elif constraint.operator != "near":
        value = comparable(value)
    km = None if math.isnan(constraint.km) else constraint.km
    return comparable(constraint.field), constraint.operator, value, km


def _of_field(name: str, bound: Any, field: str) -> list[Constraint]:
    if isinstance(bound, Mapping) and not any(_operator(str(key)) in OPERATORS for key in bound):
        return [Constraint(name, "=", orjson.dumps(bound, option=orjson.OPT_SORT_KEYS).decode())]
    if bound is None:
        return [Constraint(name, "=", "null")]
    if not isinstance(bound, Mapping):
        return [_constraint(name, "in" if isinstance(bound, list) else "=", bound, None, field)]
    km = bound.get("km")
    return [_constraint(name, str(op), value, km, field) for op, value in bound.items() if op != "km"]


def _listed(one: Any, field: str) -> Constraint:
    if not isinstance(one, Mapping) or "field" not in one or "value" not in one:
        raise MalformedCheckError(f"constraint {shown(one)}", _CONSTRAINT, field)
    operator = str(one.get("op", one.get("operator", "=")))
    return _constraint(str(one["field"]), operator, one["value"], one.get("km"), field)


def _operator(written: str) -> str:
    return _SYMBOLS.get(written.lstrip("$"), written)


def _constraint(name: str, written: str, value: Any, km: Any, field: str) -> Constraint:
    operator = _operator(written)
    if operator not in OPERATORS:
        raise MalformedCheckError(f"operator {shown(written)} for {shown(name)}", ", ".join(OPERATORS), field)
    if operator == "near":
        place, distance = place_of(value), number_of(km)
        if place is None or distance is None or distance < 0:
            raise MalformedCheckError(
                f"near for {shown(name)}", '{"near": [latitude, longitude], "km": 2}', field
            )
        return Constraint(name, "near", place, distance)
    if operator in ("<=", ">=") and number_of(value) is None:
        raise MalformedCheckError(f"{operator} {shown(value)} for {shown(name)}", "a number", field)
    if operator == "in":
        if not isinstance(value, list) or not value or any(isinstance(one, list | Mapping) for one in value):
            raise MalformedCheckError(f"in {shown(value)} for {shown(name)}", "a list of values", field)
        value = tuple(value)
    elif isinstance(value, list | Mapping) or value is None:
        raise MalformedCheckError(f"{operator} {shown(value)} for {shown(name)}", "a text or a number", field)
    return Constraint(name, cast(Operator, operator), value)
