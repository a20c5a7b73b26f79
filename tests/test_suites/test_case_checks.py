"""The checks of one case: the verdict of their suite, and calls as a person reads them."""

from __future__ import annotations

import json
from typing import Any

from ragtriage.dashboard.present.case_html.report_case import check_rows
from ragtriage.data.cases.checks import case_checks, failed_checks_text


def _check(kind: str, expected: Any, actual: Any, passed: bool | None = None) -> dict[str, Any]:
    texts = {"expected": expected, "actual": actual}
    stored = {key: None if value is None else json.dumps(value) for key, value in texts.items()}
    return {"name": "c", "kind": kind, "passed": passed, **stored}


def test_a_check_without_a_verdict_has_neither_passed_nor_failed() -> None:
    sample = {"question_id": "q", "checks": [_check("router", "a", None), _check("router", "a", "b")]}
    assert [(row["Result"], row["Reason"]) for row in check_rows(sample)] == [
        ("failed", ""),
        ("not measured", "no actual value is recorded"),
    ]
    assert failed_checks_text(sample) == 'c (router): expected "a", got "b"'


def test_calls_are_read_in_words_with_what_is_wrong() -> None:
    expected = [{"book": {"room": ["A", "Room A"], "day": [1]}}]
    actual = [
        {"name": "find", "args": {}, "result": "x" * 5000},
        {"name": "book", "args": {"room": "B", "day": 1}},
    ]
    (check,) = case_checks({"question_id": "q", "checks": [_check("tool", expected, actual)]})
    assert check.expected == 'book(room: ["A", "Room A"], day: 1)'
    assert check.actual == "find(); book(room: B, day: 1)"
    assert check.passed is False
    assert check.faults == 'needless: find; room of book is B, expected ["A", "Room A"]'


def test_calls_that_pass_by_their_rule_pass_on_the_case_too() -> None:
    sample = {"question_id": "q", "checks": [_check("tool", [{"f": {"x": ["a b"]}}], [{"f": {"x": "A-B"}}])]}
    (check,) = case_checks(sample)
    assert (check.passed, check.faults) == (True, "")
    assert check_rows(sample)[0]["Result"] == "passed"


def test_invented_identifiers_and_no_call_are_told() -> None:
    sample = {
        "question_id": "q",
        "question": "?",
        "checks": [_check("tool", [], [{"name": "pay", "args": {"card_id": "card_7334"}}])],
    }
    (check,) = case_checks(sample)
    assert (check.expected, check.passed) == ("no call", False)
    assert check.faults == "needless: pay; invented: card_id = card_7334 in pay"


def test_calls_of_one_tool_are_counted() -> None:
    calls = [{"name": "pay"}, {"name": "find"}, {"name": "pay"}]
    (check,) = case_checks({"question_id": "q", "checks": [_check("tool", [{"name": "find"}], calls)]})
    assert check.faults == "needless: pay (2 times)"
