"""Checks of the suite format, and what a hostile pattern or schema can do to them: nothing."""

from __future__ import annotations

import json
import sys
from types import FrameType
from typing import Any

import pytest

from ragtriage.data.api import add_run
from ragtriage.data.errors import InputError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.suites.check import CheckedSample, CheckOutcome, RecordedCheck
from ragtriage.data.suites.check_table import check_table
from ragtriage.data.suites.format import format_outcome
from ragtriage.data.suites.registry import outcome_of

SCHEMA = {
    "type": "object",
    "required": ["city"],
    "properties": {"city": {"type": "string", "pattern": "^[A-Z]"}, "km": {"type": "number"}},
    "additionalProperties": False,
}
BOMB = {
    "$ref": "#/$defs/a0",
    "$defs": {f"a{at}": {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(40)} | {"a40": {}},
}

NESTED = {"items": {"items": {"oneOf": [{"type": "string"}, {"minimum": 2}]}}}


def _format(expected: Any, answer: str | None, question: str = "Which city is it?") -> CheckOutcome:
    sample = CheckedSample.of({"answer": answer, "question": question})
    return format_outcome(RecordedCheck("f", "format", expected, None, None), sample)


@pytest.mark.parametrize(
    ("expected", "answer", "passed", "reason"),
    [
        ({"regex": "^[A-Z]{3}-[0-9]+$"}, "ABC-12", True, ""),
        ({"regex": "^[A-Z]{3}-[0-9]+$"}, "see ABC-12", False, "the answer does not match the pattern"),
        ({"json_schema": SCHEMA}, '{"city": "Paris", "km": 3}', True, ""),
        ({"json_schema": SCHEMA}, '{"city": "paris"}', False, "the JSON breaks the schema"),
        ({"json_schema": SCHEMA}, '{"city": "Paris", "zip": 1}', False, "the JSON breaks the schema"),
        ({"json_schema": SCHEMA}, "Here it is: {}", False, "the answer is not JSON"),
        ({"json_schema": True}, "[1", False, "the answer is not JSON"),
        ({"json_schema": {"uniqueItems": True}}, "[1, 1]", False, "the JSON breaks the schema"),
        ({"json_schema": {"uniqueItems": True}}, "[1, 1.0]", False, "the JSON breaks the schema"),
        ({"json_schema": {"uniqueItems": True}}, "[1, true]", True, ""),
        ({"max_words": 3}, "one two three", True, ""),
        ({"max_words": 3}, "one two three four", False, "the answer has too many words"),
        ({"min_chars": 5, "max_chars": 6}, "abcde", True, ""),
        ({"min_chars": 5}, "abcd", False, "the answer has too few characters"),
        ({"language": "same"}, "It is the capital of the country.", True, ""),
        ({"language": "same"}, "这是该国的首都。", False, "the answer is in another language"),
        ({"language": "zh"}, "这是该国的首都。", True, ""),
        ({"language": "same"}, "42", None, "the language cannot be detected"),
        ({"max_words": 1, "language": "same"}, "42 43", False, "the answer has too many words"),
        ({"max_words": 3}, None, None, "no actual value and no answer is recorded"),
    ],
)
def test_an_answer_has_the_format(
    expected: Any, answer: str | None, passed: bool | None, reason: str
) -> None:
    outcome = _format(expected, answer)
    assert (outcome.passed, outcome.reason) == (passed, reason)


def test_each_rule_of_a_check_is_told_apart() -> None:
    detail = _format({"max_words": 1, "regex": "^x", "language": "same"}, "Paris is the capital city.").detail
    assert {rule: each["passed"] for rule, each in detail.items()} == {
        "max_words": False,
        "regex": False,
        "language": True,
    }
    assert detail["max_words"]["found"] == 5


def test_any_other_expected_value_is_compared_as_it_stands() -> None:
    def passed(expected: Any, actual: Any) -> bool | None:
        return format_outcome(
            RecordedCheck("f", "format", expected, actual, None), CheckedSample.of({})
        ).passed

    assert passed("json", "json") is True
    assert passed({"kind": "x"}, {"kind": "y"}) is False


@pytest.mark.parametrize(
    ("expected", "answer", "passed"),
    [
        ({"regex": "(a+)+$"}, "a" * 50_000 + "b", False),
        ({"json_schema": {"pattern": "(a+)+$"}}, '"' + "a" * 50_000 + 'b"', False),
        ({"json_schema": BOMB}, "1", None),
        ({"json_schema": {"$ref": "#"}}, "1", None),
        ({"json_schema": {"$ref": "http://127.0.0.1:9/x.json"}}, "1", None),
        ({"json_schema": {"$ref": "file:///etc/passwd"}}, "1", None),
        ({"json_schema": {"items": {"$ref": "#"}, "type": "array"}}, "[" * 900 + "]" * 900, None),
        ({"json_schema": {"allOf": [True], "$ref": "#/allOf/x"}}, "1", None),
        ({"json_schema": NESTED}, "[" + ",".join(["[" + ",".join(["2"] * 300) + "]"] * 300) + "]", None),
    ],
)
def test_no_pattern_or_schema_hangs_or_fetches(expected: Any, answer: str, passed: bool | None) -> None:
    assert _format(expected, answer).passed is passed


def test_a_schema_that_refers_to_itself_ends_far_from_the_limit_of_the_interpreter() -> None:
    """There, a compiled library would panic; whether it does depends on the caller's own depth."""
    depths = []

    def depth(frame: FrameType, event: str, _: Any) -> None:
        calls = 0
        caller: FrameType | None = frame
        while caller := caller and caller.f_back:
            calls += 1
        depths.append(calls)

    sys.setprofile(depth)
    try:
        assert _format({"json_schema": {"$ref": "#"}}, "1").passed is None
    finally:
        sys.setprofile(None)
    assert max(depths) - min(depths) < sys.getrecursionlimit() * 0.6


def test_a_schema_of_trees_checks_their_leaves() -> None:
    tree = {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]}
    for leaf, passed in (("1", True), ('"x"', False)):
        value = "[" * 40 + leaf + "]" * 40
        assert _format({"json_schema": tree}, value).passed is passed


def test_a_schema_that_cannot_be_applied_to_a_value_is_not_measured() -> None:
    for actual in (10**400, float("nan")):
        check = RecordedCheck("f", "format", {"json_schema": {"multipleOf": 0.5}}, actual, None)
        found = format_outcome(check, CheckedSample.of({"answer": "", "question": "?"}))
        assert (found.passed, found.reason) == (None, "the schema cannot be evaluated")


MALFORMED = [
    ("format", {"regex": "("}, "missing )"),
    ("format", {"regex": "(?=a)b"}, "invalid perl operator"),
    ("format", {"regex": "a" * 3000}, "more than 2,000"),
    ("format", {"regex": 3}, "accepted: text"),
    ("format", {"json_schema": {"type": "objekt"}}, "json_schema: type"),
    ("format", {"json_schema": {"patternProperties": {"(a+)+": {}}}}, "patternProperties is not supported"),
    ("format", {"json_schema": {"properties": {"a": {"pattern": "(?<=a)"}}}}, "pattern"),
    ("format", {"json_schema": 3}, "neither an object"),
    ("format", {"json_schema": {"anyOf": [{"type": "null"}] * 3_000}}, "more than 2,000 objects"),
    ("format", {"max_words": -1}, "a whole number of 0 or more"),
    ("format", {"language": "English"}, 'a code such as "en"'),
    ("format", {"regex": "a", "colour": 1}, "unknown 'colour'"),
    ("filter", {"items": [{"stars": 3}], "constraints": {}}, "an object with `id` or `name`"),
    ("filter", {"items": ["1"]}, "items without constraints"),
    ("filter", {"stars": {">=": "many"}}, "a number"),
    ("filter", {"place": {"near": [1], "km": 2}}, "[latitude, longitude]"),
    ("filter", {"place": {"near": [1, 2]}}, "[latitude, longitude]"),
    ("filter", [{"field": "stars", "op": "~", "value": 3}], "operator '~'"),
    ("order", {"key": "stars", "items": [{"id": "1"}]}, "no item has a number under 'stars'"),
    ("order", {"key": "stars"}, "a list of at most"),
    ("order", {"key": "x", "origin": [1], "items": []}, "[latitude, longitude] in degrees"),
    ("memory", {"fact": ""}, "text"),
    ("memory", {"fact": "x", "day": "yesterday"}, "a day such as"),
    ("memory", {"fact": "x", "day": "2023-05-02", "asked": "2023-05-01"}, "not earlier"),
    ("memory", {"memory_id": "m", "k": 0}, "a whole number of 1 or more"),
    ("isolation", {"canary": ["", "x"]}, "a text, or a list of texts"),
]


@pytest.mark.parametrize(("kind", "expected", "told"), MALFORMED)
def test_a_malformed_check_is_one_sentence_that_names_the_sample(
    workspace: RunStore, kind: str, expected: Any, told: str
) -> None:
    check = {"name": "c", "kind": kind, "expected": expected}
    record = {"question_id": "q-17", "question": "What?", "answer": "a", "checks": [check]}
    with pytest.raises(InputError) as caught:
        add_run([{"question": "Fine?", "checks": []}, record], "run", "p", str(workspace.workspace.root))
    sentence = str(caught.value)
    assert len(sentence.splitlines()) == 1
    assert all(part in sentence for part in ("checks[0].expected", "'q-17'", told, "accepted: "))
    stored = {"name": "c", "kind": kind, "expected": json.dumps(expected), "actual": None, "passed": None}
    outcome = outcome_of(stored, CheckedSample.of({"answer": "a"}))[1]
    assert (outcome.passed, outcome.reason) == (None, "the check is malformed")


def test_a_run_with_formats_is_scored(workspace: RunStore) -> None:
    check = {"name": "short", "kind": "format", "expected": {"max_words": 2}}
    records = [
        {"question": f"{answer}?", "answer": answer, "checks": [check]} for answer in ("Paris", "It is Paris")
    ]
    checks = check_table(workspace.scored(add_run(records, "run", "p", str(workspace.workspace.root))))
    assert checks is not None
    assert checks.passed.tolist() == [1, 0]
