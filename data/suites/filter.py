"""Checks of the suite filter: extracted against expected constraints, or returned against satisfying items.

Constraints: `expected` and `actual` both write constraints (see ragtriage.data.suites.filter).

Items: `expected` is a list of ids, or {"ids": [...]}, or {"items": [{id, name, ...}], "constraints": ...},
with "limit" where fewer are asked for. `actual` lists what was returned, by id or name; without it the answer
is searched for the names. An item named where nothing is right is fabricated, and "none" where something is
right a false empty.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson

from ragtriage.data.suites.check import (
    CheckedSample,
    CheckOutcome,
    MalformedCheckError,
    RecordedCheck,
    recorded_outcome,
    shown,
)
from ragtriage.data.suites.check_table import CheckedRun
from ragtriage.data.suites.items import Items, Named, items_of, named_items
from ragtriage.data.suites.suite import (
    Figure,
    Part,
    Suite,
    SuiteChecks,
    figure_values,
    part_cohort,
    suite_checks,
)
from ragtriage.metrics.suites.items import (
    OPERATORS,
    Constraint,
    Operator,
    agreement,
    comparable,
    empty_result,
    number_of,
    place_of,
    violations,
)

FABRICATED = "names an item although none is right"
FALSE_EMPTY = "says that there is none although items are right"
NO_ITEM = "names none of the right items"
INVENTED = "names an item that is not in the list"
BREAKS = "an item breaks a constraint"
MISSING = "a right item is missing"
CANNOT_TELL = "cannot tell whether the answer names an item"
WRONG_CONSTRAINTS = "the extracted constraints differ from the expected ones"
_ITEM_FORM = ("ids", "items")
KEY = "filter"
MOST_FIELDS = 20


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
        right = frozenset(items.key_of(item) or str(item) for item in ids)
    elif "constraints" not in expected:
        raise MalformedCheckError("items without constraints", "`constraints`, or the right `ids`")
    else:
        right = items.satisfying(constraints)
    return _Expected(items, right, constraints, limit)


def _constraints_outcome(expected: tuple[Constraint, ...], extracted: tuple[Constraint, ...]) -> CheckOutcome:
    wanted, got = (
        {constraint_key(constraint): constraint for constraint in side} for side in (expected, extracted)
    )
    both = agreement(got.keys(), wanted.keys())
    detail = {
        "form": "constraints",
        **vars(both),
        "missing": [constraint.text for key, constraint in wanted.items() if key not in got],
        "wrong": [constraint.text for key, constraint in got.items() if key not in wanted],
        "fields": {constraint.field: key in got for key, constraint in wanted.items()},
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
        **vars(both),
        "n_needed": needed,
        "invented": list(named.invented)[:10],
        "empty": empty_result(len(expected.right), named.count),
        "from": "actual" if named.recorded else "answer",
        "violations": {constraint.text: n for constraint, n in broken.items()},
    }
    passed, reason = _verdict(expected, named, both.n_both, needed)
    if passed and named.recorded and not named.count and (sample["answer"] or "") and expected.items.items:
        # the verdict on the answer after a tool that rightly returned nothing
        empty = str(detail["empty"])
        answered = named_items(expected.items, None, sample)
        passed, reason, detail["empty"] = (
            (False, FABRICATED, "fabricated")
            if answered is not None and answered.count
            else (True, "", empty)
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


_CONSTRAINT = '{"field": ..., "op": one of = in <= >= near, "value": ...}'
_SYMBOLS = {"==": "=", "eq": "=", "is": "=", "lte": "<=", "gte": ">=", "≤": "<=", "≥": ">=", "within": "near"}


def is_constraints(value: Any) -> bool:
    """Return whether a value is written as constraints: an object, or a list of objects with a field."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list) and any(isinstance(entry, Mapping) and "field" in entry for entry in value)


def constraints_of(value: Any, field: str = "expected") -> tuple[Constraint, ...]:
    """Return the constraints that a value writes.

    It is an object of field: value, or a list of objects with field, op and value.

    Raises:
        MalformedCheckError: one of them cannot be read.
    """
    if isinstance(value, Mapping):
        return tuple(entry for name, bound in value.items() for entry in _of_field(str(name), bound, field))
    if not isinstance(value, list):
        raise MalformedCheckError(f"constraints {shown(value)}", f"a list of {_CONSTRAINT}", field)
    return tuple(_listed(entry, field) for entry in value)


def constraint_key(constraint: Constraint) -> tuple[Any, ...]:
    """Return a constraint as it is compared with another: numbers as numbers, texts without case."""
    value = constraint.value
    if constraint.operator == "in":
        value = frozenset(comparable(option) for option in value)
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


def _listed(entry: Any, field: str) -> Constraint:
    if not isinstance(entry, Mapping) or "field" not in entry or "value" not in entry:
        raise MalformedCheckError(f"constraint {shown(entry)}", _CONSTRAINT, field)
    operator = str(entry.get("op", entry.get("operator", "=")))
    return _constraint(str(entry["field"]), operator, entry["value"], entry.get("km"), field)


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
        if (
            not isinstance(value, list)
            or not value
            or any(isinstance(option, list | Mapping) for option in value)
        ):
            raise MalformedCheckError(f"in {shown(value)} for {shown(name)}", "a list of values", field)
        value = tuple(value)
    elif isinstance(value, list | Mapping) or value is None:
        raise MalformedCheckError(f"{operator} {shown(value)} for {shown(name)}", "a text or a number", field)
    return Constraint(name, cast(Operator, operator), value)


@dataclass(frozen=True)
class FilterFindings:
    """What the filter checks of a run amount to."""

    extracted: tuple[Figure, ...]  # figures of the checks whose constraints are compared
    # share of the questions with a constraint on a field whose constraint is as expected
    by_field: tuple[Figure, ...]
    returned: tuple[Figure, ...]  # figures of the checks whose items are compared
    n_constraint_checks: int  # checks whose constraints are compared
    n_exact: int  # those that extract exactly the expected ones
    n_item_checks: int  # checks whose items are compared
    n_from_answer: int  # those whose items were read from the answer by name, an estimate
    n_expected_items: int  # items that satisfy, over all checks
    empty: Mapping[str, int]  # what became of empty results -> checks, by the names of EmptyResult
    broken: Mapping[str, int]  # constraint -> returned items that break it

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "n_constraint_checks": self.n_constraint_checks,
            "n_item_checks": self.n_item_checks,
            "empty": dict(self.empty),
            "n_expected_items": self.n_expected_items,
            "violations": dict(self.broken),
            **figure_values((*self.extracted, *self.returned)),
        }


def _findings(run: CheckedRun) -> FilterFindings | None:
    """Return what the filter checks of a run amount to; None where none lists constraints or items."""
    checks = suite_checks(run, KEY)
    extracted, returned = checks.having("form", "constraints"), checks.having("form", "items")
    if not len(extracted) and not len(returned):
        return None
    fields = Counter(name for detail in extracted.details for name in detail["fields"])
    broken = Counter[str]()
    for detail in returned.details:
        broken.update({text: n for text, n in detail["violations"].items() if n})
    return FilterFindings(
        _figures(extracted, "constraint") if len(extracted) else (),
        tuple(
            Figure(name, name, extracted.mean(_extracted(name)), part_cohort(KEY, "field", name))
            for name, _ in fields.most_common(MOST_FIELDS)
        ),
        _figures(returned, "filter") if len(returned) else (),
        len(extracted),
        sum(_exact(detail) == 1 for detail in extracted.details),
        len(returned),
        sum(detail["from"] == "answer" for detail in returned.details),
        sum(detail["n_expected"] for detail in returned.details),
        Counter(str(detail["empty"]) for detail in returned.details),
        broken,
    )


def _figures(checks: SuiteChecks, kind: str) -> tuple[Figure, ...]:
    """Return precision and recall of constraints or items; whether all are right, or none is invented."""
    wrong = part_cohort(KEY, "wrong_item")
    share = checks.mean(lambda detail: detail["n_both"] / detail["n_found"] if detail["n_found"] else None)
    precision = Figure(f"{kind}_precision", "Precision", share, wrong)
    if kind == "constraint":
        recall = Figure("constraint_recall", "Recall", checks.mean(_recall))
        return precision, recall, Figure("constraint_exact", "Exact", checks.mean(_exact))
    known = checks.mean(lambda detail: float(not detail["invented"]))
    return (
        precision,
        Figure("filter_recall", "Recall", checks.mean(_recall), part_cohort(KEY, "missed")),
        Figure("no_invented_item", "No item outside the list", known, part_cohort(KEY, "invented")),
    )


def _recall(detail: Mapping[str, Any]) -> float | None:
    needed = detail.get("n_needed", detail["n_expected"])
    return min(1.0, detail["n_both"] / needed) if needed else None


def _exact(detail: Mapping[str, Any]) -> float:
    return float(detail["n_both"] == detail["n_found"] == detail["n_expected"])


def _extracted(name: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda detail: detail["fields"].get(name)


def _refuse(check: RecordedCheck) -> None:
    read = read_filter(check)
    if isinstance(read, tuple) and check.actual is not None and is_constraints(check.actual):
        constraints_of(check.actual, "actual")


FILTER_SUITE = Suite(
    KEY,
    _findings,
    filter_outcome,
    _refuse,
    {
        "field": Part(
            "constraint on “{}” not extracted",
            lambda detail, values: detail.get("fields", {}).get(values[0]) is False,
        ),
        "breaks": Part(
            "an item breaks “{}”", lambda detail, values: bool(detail.get("violations", {}).get(values[0]))
        ),
        "empty": Part("{}", lambda detail, values: [detail.get("empty")] == values),
        "invented": Part("names an item outside the list", lambda detail, _: bool(detail.get("invented"))),
        "missed": Part(
            "misses a right item", lambda detail, _: detail.get("n_both", 0) < detail.get("n_needed", 0)
        ),
        "wrong_item": Part(
            "returns a wrong item", lambda detail, _: detail.get("n_both", 0) < detail.get("n_found", 0)
        ),
    },
)
