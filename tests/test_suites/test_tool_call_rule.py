"""The rule that decides checks of tool calls, in each form that calls, expectations and schemas come in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragtriage.data.suites.check import CheckedSample, CheckOutcome, RecordedCheck
from ragtriage.data.suites.tool.rule import UNREADABLE, tool_call_outcome

Fields = dict[str, Any]


def outcome(
    expected: Any, actual: Any, kind: str = "tool", passed: bool | None = None, **sample: Any
) -> CheckOutcome:
    fields: Fields = {"question_id": "q1", "question": "Weather in Paris?"} | sample
    if "tools" in fields:
        fields["tools"] = json.dumps(fields["tools"])
    return tool_call_outcome(RecordedCheck("calls", kind, expected, actual, passed), CheckedSample.of(fields))


PARIS = {"name": "weather", "arguments": {"city": "Paris"}}


@pytest.mark.parametrize(
    "call",
    [
        PARIS,
        [PARIS],
        {"calls": [PARIS]},
        {"name": "weather", "args": {"city": "paris"}},
        [{"name": "weather", "kwargs": {"city": "Paris"}}],
        [{"type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}],
        [{"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Paris"}}],
    ],
)
def test_calls_in_the_forms_of_other_tools(call: Any) -> None:
    found = outcome([{"weather": {"city": ["Paris", "Paris, FR"]}}], call)
    assert (found.passed, found.reason) == (True, "")
    assert outcome(call, [PARIS]).passed is True


@pytest.mark.parametrize(
    ("expected", "actual", "passed", "reason"),
    [
        ("weather", "weather", True, ""),
        ("weather", "news", False, "a call is missing; a needless call"),
        (["weather", "news"], ["news", "weather"], True, ""),
        ("weather", ["weather", "news"], True, ""),  # asks whether it was called
        ([], [], True, ""),
        ([], [PARIS], False, "a call where none is right"),
        ({"any_call": True}, [PARIS], True, ""),
        ({"any_call": True}, [], False, "no tool was called, one was expected"),
        (
            [PARIS],
            [{"name": "weather", "arguments": {"city": "Rome"}}],
            False,
            "a wrong value of an argument",
        ),
        ([PARIS], [{"name": "weather", "arguments": "{city"}], False, "arguments that cannot be read"),
        ([PARIS], None, None, "no actual calls are recorded"),
        (None, [PARIS], None, "no expected calls are recorded"),
    ],
)
def test_verdicts(expected: Any, actual: Any, passed: bool | None, reason: str) -> None:
    found = outcome(expected, actual)
    assert (found.passed, found.reason) == (passed, reason)


def test_order_matters_only_where_the_check_says_so() -> None:
    assert outcome(["a", "b"], ["b", "a"]).passed is True
    for found in (
        outcome({"calls": ["a", "b"], "ordered": True}, ["b", "a"]),
        outcome(["a", "b"], ["b", "a"], kind="tool order"),
    ):
        assert (found.passed, found.reason) == (False, "calls in another order")
        assert (found.detail["in_order"], found.detail["common"]) == (False, 1)


@pytest.mark.parametrize(
    ("expected", "fields"),
    [
        ({"calls": ["book"], "writes": ["book"]}, {}),
        (["book"], {"tags": [{"key": "write_tools", "value": "book, cancel"}]}),
        (["book"], {"tools": [{"name": "book", "writes": True}, {"name": "find", "writes": False}]}),
        (["book"], {"tools": [{"name": "find", "annotations": {"readOnlyHint": True}}, {"name": "book"}]}),
    ],
)
def test_reads_need_not_match_where_the_tools_that_write_are_known(expected: Any, fields: Fields) -> None:
    assert outcome(["book"], ["find", "book", "find"]).passed is False
    found = outcome(expected, ["find", "book", "find"], **fields)
    assert found.passed is True
    assert (found.detail["called"], found.detail["writes"]) == (1, True)


@pytest.mark.parametrize("passed", [True, False])
def test_a_recorded_verdict_stands_and_the_calls_are_compared_beside_it(passed: bool) -> None:
    found = outcome(["weather"], ["news"], passed=passed)
    assert found.passed is passed
    assert found.detail["missing"] == ["weather"]


@pytest.mark.parametrize(
    ("expected", "actual", "kind", "passed"),
    [
        ("no error", "no error", "tool_call", True),
        ("no error", "TimeoutError", "tool_call", False),
        ("Paris", "Paris", "argument", True),
        ({"city": "Paris"}, {"city": "Rome"}, "arguments", False),
        (["a b", "c"], ["a b", "c"], "tool", True),
        (3, 4, "tool", False),
    ],
)
def test_values_that_are_no_calls_are_compared_as_they_are(
    expected: Any, actual: Any, kind: str, passed: bool
) -> None:
    found = outcome(expected, actual, kind=kind)
    assert found.passed is passed
    assert "hits" not in found.detail


@pytest.mark.parametrize(
    ("expected", "actual", "fields", "said"),
    [
        ([{"arguments": {}}], [PARIS], {}, "Sample q1: expected call 1 has no name"),
        ([PARIS], [PARIS, {"args": {}}], {}, "Sample q1: actual call 2 has no name"),
        ([PARIS], [PARIS], {"tools": [{"parameters": {}}]}, "Sample q1: tool 1 has no name"),
        ([PARIS] * 101, [PARIS] * 100, {}, "Sample q1: more than 10,000 pairs"),
        ([{"name": "f", "arguments": "{"}], [PARIS], {}, "Sample q1: expected call 1 of 'f'"),
    ],
)
def test_a_malformed_call_or_schema_is_a_sentence_that_names_the_sample(
    expected: Any, actual: Any, fields: Fields, said: str
) -> None:
    found = outcome(expected, actual, **fields)
    assert (found.passed, found.reason) == (None, UNREADABLE)
    assert str(found.detail["fault"]).startswith(said)
    assert outcome(expected, actual, passed=False, **fields).passed is False


def _book(**more: Any) -> Fields:
    return {"name": "book", "arguments": {"user_id": "u-481", "payment_id": "card_7334"}, **more}


def test_invented_identifiers_are_told_with_call_and_argument() -> None:
    found = outcome(None, [_book()], question="I am u-481, pay by card 7334.")
    assert found.detail["invented"] == [
        {"call": "book", "argument": "payment_id", "value": "card_7334", "kind": "identifier"}
    ]
    assert (found.detail["values"], found.detail["identifiers"], found.detail["undecided"]) == (2, 2, 0)


@pytest.mark.parametrize(
    ("calls", "fields"),
    [
        ([_book()], {"history": [{"role": "user", "text": "card_7334"}]}),
        ([_book()], {"account_id": "card_7334"}),
        ([_book()], {"retrieved": [{"id": "d", "text": "Pay with card_7334."}]}),
        ([{"name": "user", "arguments": {}, "result": {"cards": ["card_7334"]}}, _book()], {}),
        (
            [_book()],
            {
                "tools": [
                    {"name": "book", "parameters": {"properties": {"payment_id": {"default": "card_7334"}}}}
                ]
            },
        ),
    ],
)
def test_values_may_come_from_all_that_was_read_and_from_the_schema(calls: Any, fields: Fields) -> None:
    found = outcome(None, calls, question="I am u-481.", **fields)
    assert found.detail["invented"] == []


def test_a_value_is_undecided_where_an_earlier_result_is_missing_or_cut() -> None:
    first: Fields = {"name": "user", "arguments": {}}
    for result in ({}, {"result": "u-481 has ca", "result_chars": 600}):
        found = outcome(None, [first | result, _book()], question="I am u-481.")
        assert found.detail["invented"] == []
        assert found.detail["undecided"] == 1
    recorded = outcome(None, [first, _book(ungrounded_args=["payment_id"])], question="I am u-481.")
    assert [value["argument"] for value in recorded.detail["invented"]] == ["payment_id"]


def test_results_that_are_errors_or_empty_are_counted() -> None:
    calls = [
        {"name": "a", "result": "Error: no such user"},
        {"name": "b", "result": []},
        {"name": "c", "result": "3"},
        {"name": "d", "error": "timeout"},
        {"name": "e"},
    ]
    detail = outcome(None, calls).detail
    assert (detail["results"], detail["error_results"], detail["empty_results"]) == (4, 2, 1)


def test_deep_nesting_is_a_sentence_not_a_crash() -> None:
    deep: Any = "x"
    for _ in range(3000):
        deep = [deep]
    call = {"name": "f", "arguments": {"x": deep}}
    assert outcome([call], [call]).detail["fault"] == "Sample q1: the calls are nested too deeply."


def test_a_case_with_very_many_calls_is_looked_through_in_part() -> None:
    calls = [
        {"name": "get", "arguments": {"item_id": f"X-{place:05}"}, "result": f"next is X-{place + 1:05}"}
        for place in range(600)
    ]
    detail = outcome(None, calls, question="Follow the items from X-00000.").detail
    # The question and the results so far are looked through: 1 + 2 + ... + 446 < 100,000 < 1 + 2 + ... + 447.
    assert (detail["made"], detail["identifiers"], detail["undecided"]) == (600, 446, 154)
    assert detail["invented_identifiers"] == 0
