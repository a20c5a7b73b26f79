"""Checks of the suite order: what was returned, or done, stands in the expected order.

`expected` is a list in order, with a nested list for entries that may stand in any order; or {"key":
"stars", "descending": true, "items": [{id, name, stars}]}, where returned items must stand in the order of
the key. With "origin" ([latitude, longitude]) the key is the distance from there, of the attribute
`location`. `actual` lists what was returned; without it the answer is searched for the items' names. A list
must be matched in full. A key orders the items that were returned: whether these are the right ones is for
a check of the suite filter.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ragtriage.data.suites.check import (
    CheckedSample,
    CheckOutcome,
    MalformedCheckError,
    RecordedCheck,
    recorded_outcome,
    shown,
)
from ragtriage.data.suites.check_table import CheckedRun, counts_of
from ragtriage.data.suites.items import Items, items_of, named_items
from ragtriage.data.suites.suite import Figure, Part, Suite, figure_values, suite_checks
from ragtriage.metrics.suites.items import haversine_km, number_of, ordering_of, place_of

KEY = "order"
WRONG = "not in the expected order"
MISSING = "an expected entry is missing"
EXTRA = "an entry is not among the expected ones"
TOO_FEW = "fewer than two entries to order"
_LONGEST = 2_000  # entries: each is compared with every other


@dataclass(frozen=True)
class _Key:
    items: Items
    keys: Mapping[str, float]
    descending: bool


def order_outcome(check: RecordedCheck, sample: CheckedSample) -> CheckOutcome:
    """Return what evaluating an order check finds; a recorded verdict stands.

    Raises:
        MalformedCheckError: its expected value cannot be read.
    """
    read = read_order(check)
    if read is None:
        return recorded_outcome(check)
    outcome = _by_key(read, check.actual, sample) if isinstance(read, _Key) else _by_list(read, check, sample)
    if check.passed is None:
        return outcome
    reason = "" if check.passed else outcome.reason or "recorded as failed"
    return CheckOutcome(check.passed, reason, outcome.detail)


def read_order(check: RecordedCheck) -> _Key | list[list[Any]] | None:
    """Return what an order check expects: a key, or groups of entries; None where it is neither.

    Raises:
        MalformedCheckError: it cannot be read.
    """
    expected = check.expected
    if isinstance(expected, Mapping) and "key" in expected:
        return _key_of(expected)
    if not isinstance(expected, list):
        return None
    if len(expected) > _LONGEST:
        raise MalformedCheckError(f"{len(expected):,} entries", f"at most {_LONGEST:,}")
    return [entry if isinstance(entry, list) else [entry] for entry in expected]


def _key_of(expected: Mapping[str, Any]) -> _Key:
    listed, key = expected.get("items"), expected["key"]
    if not isinstance(listed, list) or len(listed) > _LONGEST:
        raise MalformedCheckError(
            f"items {shown(listed)}", f"a list of at most {_LONGEST:,} items with the key"
        )
    if not isinstance(key, str):
        raise MalformedCheckError(f"key {shown(key)}", "the name of an attribute of the items")
    origin = place_of(expected.get("origin")) if "origin" in expected else None
    if "origin" in expected and origin is None:
        raise MalformedCheckError(f"origin {shown(expected['origin'])}", "[latitude, longitude] in degrees")
    items = items_of(listed)
    values = {name: _key_value(item, key, origin) for name, item in items.items.items()}
    keys = {name: value for name, value in values.items() if value is not None}
    if items.items and not keys:
        what = f"no item has a number under {shown(key)}"
        raise MalformedCheckError(what, "items with the key, or `origin` and items with `location`")
    return _Key(items, keys, bool(expected.get("descending", False)))


def _key_value(item: Mapping[str, Any], key: str, origin: tuple[float, float] | None) -> float | None:
    if origin is None:
        return number_of(item.get(key))
    place = place_of(item.get(key, item.get("location")))
    return None if place is None else haversine_km(origin, place)


def _by_key(expected: _Key, actual: Any, sample: CheckedSample) -> CheckOutcome:
    named = named_items(expected.items, actual, sample)
    if named is None:
        return CheckOutcome(None, "no actual value and no answer is recorded")
    keys = [expected.keys[key] for key in named.keys if key in expected.keys]
    order = ordering_of(keys, expected.descending)
    detail = {
        "form": "key",
        "n": order.n,
        "tau": _finite(order.tau),
        "first_inversion": order.first_inversion,
        "from": "actual" if named.recorded else "answer",
    }
    if order.n < 2:
        return CheckOutcome(None, TOO_FEW, detail)
    return CheckOutcome(order.in_order, "" if order.in_order else WRONG, detail)


def _by_list(groups: list[list[Any]], check: RecordedCheck, sample: CheckedSample) -> CheckOutcome:
    actual: Any = check.actual
    if actual == check.expected:
        actual = [entry for group in groups for entry in group]  # also where its nested lists are entries
    if actual is None:
        flat = [entry for group in groups for entry in group]
        readable = all(isinstance(entry, str) for entry in flat) and sample["answer"]
        named = named_items(items_of(flat), None, sample) if readable else None
        if named is None or named.count < 2:
            return CheckOutcome(None, "no actual value is recorded")
        actual = list(named.keys)
    if not isinstance(actual, list):
        return recorded_outcome(check)
    if len(actual) > _LONGEST:
        return CheckOutcome(None, f"more than {_LONGEST:,} entries are recorded")
    place = _places(groups)
    entries = _numbered(actual)
    known = [place[entry] for entry in entries if entry in place]
    order = ordering_of(known)
    n_missing, n_extra = len(place.keys() - set(entries)), len(entries) - len(known)
    reason = MISSING if n_missing else EXTRA if n_extra else "" if order.in_order else WRONG
    detail = {
        "form": "list",
        "n": order.n,
        "tau": _finite(order.tau),
        "first_inversion": order.first_inversion,
        "n_missing": n_missing,
        "n_extra": n_extra,
    }
    return CheckOutcome(not reason, reason, detail)


def _places(groups: list[list[Any]]) -> dict[tuple[bytes, int], int]:
    """Return the group of each expected entry; a repeated entry counts each time."""
    flat = [(entry, at) for at, group in enumerate(groups) for entry in group]
    return dict(zip(_numbered([entry for entry, _ in flat]), (at for _, at in flat), strict=True))


def _numbered(entries: Sequence[Any]) -> list[tuple[bytes, int]]:
    seen: Counter[bytes] = Counter()
    numbered = []
    for entry in entries:
        text = orjson.dumps(entry, option=orjson.OPT_SORT_KEYS)
        numbered.append((text, seen[text]))
        seen[text] += 1
    return numbered


def _finite(value: float) -> float | None:
    return value if value == value else None


@dataclass(frozen=True)
class OrderFindings:
    """What the order checks of a run amount to."""

    in_order: Figure  # share of the questions whose lists are in order
    tau: Figure  # Kendall's tau-b, -1 to 1
    n_ordered: int  # lists of two entries and more
    n_out_of_order: int  # those that are not in order
    n_too_short: int  # lists with fewer than two entries
    inversions: Mapping[int, int]  # place of the first entry that is out of order -> lists

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**counts_of(self), **figure_values((self.in_order, self.tau))}


def _findings(run: CheckedRun) -> OrderFindings | None:
    """Return what the order checks of a run amount to; None where none lists entries."""
    checks = suite_checks(run, KEY).having("form")
    ordered = [detail for detail in checks.details if detail["n"] >= 2]
    if not ordered:
        return None
    in_order = checks.mean(lambda detail: detail["first_inversion"] is None if detail["n"] >= 2 else None)
    return OrderFindings(
        Figure("in_order", "In order", in_order),
        Figure(
            "kendall_tau",
            "Kendall's tau-b",
            checks.mean(lambda detail: detail["tau"], (-1.0, 1.0)),
            is_share=False,
        ),
        len(ordered),
        sum(detail["first_inversion"] is not None for detail in ordered),
        len(checks) - len(ordered),
        Counter(detail["first_inversion"] for detail in checks.details if detail["first_inversion"]),
    )


ORDER_SUITE = Suite(
    KEY,
    _findings,
    order_outcome,
    read_order,
    {
        "inversion": Part(
            "first out of order at place {}",
            lambda detail, places: [str(detail.get("first_inversion"))] == places,
        )
    },
)
