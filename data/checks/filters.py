"""Checks of the suite filter: extracted against expected constraints, or returned against satisfying items.

Constraints: `expected` and `actual` both write constraints (see ragtriage.data.checks.constraints).

Items: `expected` is a list of ids, or {"ids": [...]}, or {"items": [{id, name, ...}], "constraints": ...},
with "limit" where fewer are asked for. `actual` lists what was returned, by id or name; without it the answer
is searched for the names. An item named where nothing is right is fabricated, and "none" where something is
right a false empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.data.checks.check import CheckedSample, CheckOutcome, RecordedCheck, recorded_outcome
from ragtriage.data.checks.constraints import constraint_key, constraints_of, is_constraints
from ragtriage.data.checks.items import Items, Named, items_of, named_items
from ragtriage.data.checks.malformed import MalformedCheckError, shown
from ragtriage.metrics.suites.filtering import Constraint, agreement, empty_result, violations

FABRICATED = "names an item although none is right"
FALSE_EMPTY = "says that there is none although items are right"
NO_ITEM = "names none of the right items"
INVENTED = "names an item that is not in the list"
BREAKS = "an item breaks a constraint"
MISSING = "a right item is missing"
CANNOT_TELL = "cannot tell whether the answer names an item"
WRONG_CONSTRAINTS = "the extracted constraints differ from the expected ones"
_ITEM_FORM = ("ids", "items")


@dataclass(frozen=True)
class _Expected:
    items: Items
    right: frozenset[str]
    constraints: tuple[Constraint, ...]
    limit: int | None


def filter_outcome(check: RecordedCheck, sample: CheckedSample) -> CheckOutcome:
    """Return what evaluating a filter check finds; a recorded verdict stands.

    Raises:
        MalformedCheckError: its expected or actual value cannot be read.
    """
    read = read_filter(check)
    if read is None:
        return recorded_outcome(check)
    if isinstance(read, _Expected):
        outcome = _items_outcome(read, check.actual, sample)
    elif check.actual is None:
        outcome = CheckOutcome(None, "no actual value is recorded")
    else:
        outcome = _constraints_outcome(read, constraints_of(check.actual, "actual"))
    if check.passed is None:
        return outcome
    reason = "" if check.passed else outcome.reason or "recorded as failed"
    return CheckOutcome(check.passed, reason, outcome.detail)


def read_filter(check: RecordedCheck) -> _Expected | tuple[Constraint, ...] | None:
    """Return what a filter check expects: items or constraints; None where it is neither, as a plain value.

    Raises:
        MalformedCheckError: it cannot be read.
    """
    expected = check.expected
    if isinstance(expected, Mapping) and any(key in expected for key in _ITEM_FORM):
        return _expected_items(expected)
    if isinstance(expected, list) and not is_constraints(expected):
        return _expected_items({"ids": expected})
    if not is_constraints(expected):
        return None
    if check.actual is not None and not is_constraints(check.actual):
        raise MalformedCheckError(
            f"constraints {shown(check.actual)}", "constraints like the expected ones", "actual"
        )
    return constraints_of(expected)


def _expected_items(expected: Mapping[str, Any]) -> _Expected:
    listed, ids = expected.get("items"), expected.get("ids")
    for name, value in (("items", listed), ("ids", ids)):
        if value is not None and not isinstance(value, list):
            raise MalformedCheckError(f"{name} {shown(value)}", "a list")
    limit = expected.get("limit")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise MalformedCheckError(f"limit {shown(limit)}", "a whole number of 1 or more")
    constraints = constraints_of(expected["constraints"]) if "constraints" in expected else ()
    items = items_of(listed if listed is not None else ids or [])
    if ids is not None:
        right = frozenset(items.key_of(one) or str(one) for one in ids)
    elif "constraints" not in expected:
        raise MalformedCheckError("items without constraints", "`constraints`, or the right `ids`")
    else:
        right = items.satisfying(constraints)
    return _Expected(items, right, constraints, limit)


def _constraints_outcome(expected: tuple[Constraint, ...], found: tuple[Constraint, ...]) -> CheckOutcome:
    wanted, got = ({constraint_key(one): one for one in side} for side in (expected, found))
    both = agreement(got.keys(), wanted.keys())
    detail = {
        "form": "constraints",
        "n_found": both.n_found,
        "n_expected": both.n_expected,
        "n_both": both.n_both,
        "missing": [one.text for key, one in wanted.items() if key not in got],
        "wrong": [one.text for key, one in got.items() if key not in wanted],
        "fields": {one.field: key in got for key, one in wanted.items()},
    }
    return CheckOutcome(both.exact, "" if both.exact else WRONG_CONSTRAINTS, detail)


def _items_outcome(expected: _Expected, actual: Any, sample: CheckedSample) -> CheckOutcome:
    named = named_items(expected.items, actual, sample)
    if named is None:
        return CheckOutcome(None, "no actual value and no answer is recorded")
    both = agreement(set(named.keys) | set(named.invented), expected.right)
    returned = [expected.items.items[key] for key in named.keys]
    needed = min(len(expected.right), expected.limit or len(expected.right))
    broken = violations(returned, expected.constraints)
    detail = {
        "form": "items",
        "n_found": both.n_found,
        "n_expected": both.n_expected,
        "n_both": both.n_both,
        "n_needed": needed,
        "invented": list(named.invented)[:10],
        "empty": empty_result(len(expected.right), named.count),
        "from": "actual" if named.recorded else "answer",
        "violations": {one.text: n for one, n in broken.items()},
    }
    passed, reason = _verdict(expected, named, both.n_both, needed)
    if passed and named.recorded and not named.count and (sample["answer"] or "") and expected.items.items:
        # the verdict on the answer after a tool that rightly returned nothing
        empty = str(detail["empty"])
        told = named_items(expected.items, None, sample)
        passed, reason, detail["empty"] = (
            (False, FABRICATED, "fabricated") if told is not None and told.count else (True, "", empty)
        )
    return CheckOutcome(passed, reason, detail)


def _verdict(expected: _Expected, named: Named, n_right: int, needed: int) -> tuple[bool | None, str]:
    """Return passed and the worst reason against it."""
    if not expected.right:
        if named.count:
            return False, FABRICATED
        return (True, "") if named.recorded or named.none else (None, CANNOT_TELL)
    if not named.count:
        return False, FALSE_EMPTY if named.none or named.recorded else NO_ITEM
    if named.invented:
        return False, INVENTED
    if n_right < len(named.keys):
        return False, BREAKS
    return (True, "") if n_right >= needed else (False, MISSING)
