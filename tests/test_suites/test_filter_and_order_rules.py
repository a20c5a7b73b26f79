"""Checks of the suites filter and order, each decided from its values or from the answer."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.data.suites.check import CheckedSample, CheckOutcome, RecordedCheck
from ragtriage.data.suites.filter import filter_outcome
from ragtriage.data.suites.order import order_outcome

HOTELS = [
    {"id": "1", "name": "Acorn Guest House", "area": "north", "stars": 4, "location": [52.2157, 0.1335]},
    {"id": "2", "name": "Acorn", "area": "south", "stars": 3, "location": [52.19, 0.12]},
    {"id": "3", "name": "The Lensfield Hotel", "area": "south", "stars": 3, "location": [52.2, 0.12]},
]
CENTRE = [52.2053, 0.1218]


def _sample(answer: str | None = None, **fields: Any) -> CheckedSample:
    return CheckedSample.of({"answer": answer, **fields})


def _filter(expected: Any, actual: Any = None, answer: str | None = None) -> CheckOutcome:
    return filter_outcome(RecordedCheck("f", "filter", expected, actual, None), _sample(answer))


def _order(expected: Any, actual: Any = None, answer: str | None = None) -> CheckOutcome:
    return order_outcome(RecordedCheck("o", "order", expected, actual, None), _sample(answer))


@pytest.mark.parametrize(
    ("expected", "actual", "passed"),
    [
        ({"area": "north", "stars": {">=": 4}}, {"stars": {"gte": "4"}, "area": "North"}, True),
        ({"area": "north"}, [{"field": "area", "op": "=", "value": "north"}], True),
        ({"area": ["north"]}, {"area": "north"}, True),
        ({"area": ["north", "south"]}, {"area": ["south", "north"]}, True),
        ({"area": "north", "stars": 4}, {"area": "north"}, False),
        ({"stars": {">=": 4}}, {"stars": {"<=": 4}}, False),
        ({"date": {"from": "2024", "to": "2025"}}, {"date": {"to": "2025", "from": "2024"}}, True),
        ({"location": {"near": CENTRE, "km": 2}}, {"location": {"near": CENTRE, "km": 3}}, False),
        ({}, {}, True),
        ({}, {"area": "north"}, False),
    ],
)
def test_extracted_constraints_are_compared_with_the_expected_ones(
    expected: Any, actual: Any, passed: bool
) -> None:
    assert _filter(expected, actual).passed is passed


def test_what_is_missing_and_what_is_wrong_is_told() -> None:
    detail = _filter({"area": "north", "stars": {">=": 4}}, {"area": "north", "price": "cheap"}).detail
    assert (detail["n_found"], detail["n_expected"], detail["n_both"]) == (2, 2, 1)
    assert (detail["missing"], detail["wrong"]) == (["stars >= 4"], ["price = cheap"])
    assert detail["fields"] == {"area": True, "stars": False}


NORTH = {"items": HOTELS, "constraints": {"area": "north"}}
SOUTH = {"items": HOTELS, "constraints": {"area": "south"}}
WEST = {"items": HOTELS, "constraints": {"area": "west"}}


@pytest.mark.parametrize(
    ("expected", "actual", "answer", "passed", "reason"),
    [
        (SOUTH, ["2", "3"], None, True, ""),
        (SOUTH, ["lensfield hotel", "ACORN"], None, True, ""),
        (SOUTH, [{"id": 2}, {"name": "The Lensfield-Hotel"}], None, True, ""),
        (SOUTH, ["2"], None, False, "a right item is missing"),
        ({**SOUTH, "limit": 1}, ["2"], None, True, ""),
        (SOUTH, ["1", "2", "3"], None, False, "an item breaks a constraint"),
        (SOUTH, ["2", "3", "Grand Palace"], None, False, "names an item that is not in the list"),
        (SOUTH, [], None, False, "says that there is none although items are right"),
        (WEST, ["1"], None, False, "names an item although none is right"),
        (WEST, ["Grand Palace"], None, False, "names an item although none is right"),
        (WEST, [], None, True, ""),
        (WEST, [], "There are no hotels in the west.", True, ""),
        (WEST, [], "You could stay at the Acorn Guest House.", False, "names an item although none is right"),
        (WEST, None, "I could not find any hotel there.", True, ""),
        (
            WEST,
            None,
            "Here you are:\n1. Grand Palace\n2. Hilton",
            False,
            "names an item although none is right",
        ),
        (WEST, None, "You will love it.", None, "cannot tell whether the answer names an item"),
        (NORTH, None, "The Acorn guest house is in the north.", True, ""),  # not "Acorn", which is in it
        (SOUTH, None, "Sorry, no hotels match.", False, "says that there is none although items are right"),
        (SOUTH, None, "You will love it.", False, "names none of the right items"),
        (SOUTH, None, None, None, "no actual value and no answer is recorded"),
        ({"ids": ["2"], "items": HOTELS}, ["2"], None, True, ""),
        (["2", "3"], ["3", "2"], None, True, ""),
        ([], ["2"], None, False, "names an item although none is right"),
    ],
)
def test_returned_items_are_held_against_the_satisfying_ones(
    expected: Any, actual: Any, answer: str | None, passed: bool | None, reason: str
) -> None:
    outcome = _filter(expected, actual, answer)
    assert (outcome.passed, outcome.reason) == (passed, reason)


def test_precision_recall_and_violations_are_in_the_detail() -> None:
    both = {"items": HOTELS, "constraints": {"area": "south", "stars": {">=": 3}}}
    detail = _filter(both, ["1", "2"]).detail
    assert (detail["n_found"], detail["n_expected"], detail["n_both"]) == (2, 2, 1)
    assert detail["violations"] == {"area = south": 1, "stars >= 3": 0}


def test_names_in_chinese_are_found_without_spaces() -> None:
    items = [
        {"id": "1", "name": "北京饭店", "area": "north"},
        {"id": "2", "name": "上海饭店", "area": "east"},
    ]
    expected = {"items": items, "constraints": {"area": "north"}}
    assert _filter(expected, None, "推荐北京饭店。").passed is True
    assert _filter(expected, None, "推荐上海饭店。").passed is False
    assert _filter({"items": items, "constraints": {"area": "west"}}, None, "没有符合的饭店。").passed is True


BY_STARS = {"key": "stars", "descending": True, "items": HOTELS}
BY_DISTANCE = {"key": "location", "origin": CENTRE, "items": HOTELS}


@pytest.mark.parametrize(
    ("expected", "actual", "answer", "passed", "inversion"),
    [
        (BY_STARS, ["1", "2", "3"], None, True, None),
        (BY_STARS, ["1", "3", "2"], None, True, None),  # a tie, in any order
        (BY_STARS, ["2", "1", "3"], None, False, 2),
        (BY_STARS, None, "First the Acorn Guest House, then the Lensfield Hotel.", True, None),
        (BY_STARS, None, "First the Lensfield Hotel, then the Acorn Guest House.", False, 2),
        (BY_STARS, ["1", "Grand Palace", "2"], None, True, None),
        (BY_DISTANCE, ["3", "1", "2"], None, True, None),  # 0.6, 1.4 and 1.7 km
        (BY_DISTANCE, ["3", "2", "1"], None, False, 3),
        (["a", ["b", "c"], "d"], ["a", "c", "b", "d"], None, True, None),
        (["a", ["b", "c"], "d"], ["c", "a", "b", "d"], None, False, 2),
        (["search", "search", "answer"], ["search", "search", "answer"], None, True, None),
        (["search", "search", "answer"], ["search", "answer"], None, False, None),
        (["a", "b"], ["a", "b", "x"], None, False, None),
        ([["a", "b"], ["c"]], [["a", "b"], ["c"]], None, True, None),
        (["a", "b"], None, None, None, None),
        (BY_STARS, ["1"], None, None, None),
        ("a > b", "a > b", None, True, None),
        ("a > b", "b > a", None, False, None),
    ],
)
def test_items_stand_in_the_declared_order(
    expected: Any, actual: Any, answer: str | None, passed: bool | None, inversion: int | None
) -> None:
    outcome = _order(expected, actual, answer)
    assert outcome.passed is passed
    assert outcome.detail.get("first_inversion") == inversion


def test_tau_is_in_the_detail() -> None:
    assert _order(["a", "b", "c"], ["a", "c", "b"]).detail["tau"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("rule", [filter_outcome, order_outcome])
@pytest.mark.parametrize("passed", [True, False])
def test_a_recorded_verdict_stands(rule: Any, passed: bool) -> None:
    check = RecordedCheck("f", "filter", ["1", "2"], ["2", "1"], passed)
    assert rule(check, _sample()).passed is passed


def test_true_and_one_ask_for_different_items() -> None:
    items = [{"id": "a", "pool": True}, {"id": "b", "pool": 1}]
    assert _filter({"items": items, "constraints": {"pool": True}}, ["a"]).passed is True
    assert _filter({"items": items, "constraints": {"pool": 1}}, ["b"]).passed is True
