"""Checks with values that no reader expects: huge numbers, NaN, deep nesting, halves of surrogate pairs."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.store.parsed_run import normalise
from ragtriage.data.store.sample_schema import SCHEMA
from ragtriage.data.suites.isolation import accounts_of_document
from ragtriage.data.suites.registry import check_problems, evaluated_checks

KINDS = (
    "router",
    "tool",
    "filter",
    "order",
    "safety",
    "over refusal",
    "memory",
    "isolation",
    "format",
    "own",
)
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "number": 3,
    "huge": 10**400,
    "nan": float("nan"),
    "text": "x",
    "empty": "",
    "surrogate": "\ud800x",
    "list": [1, "a", None, {}],
    "object": {"a": 1, "b": [2]},
    "huge inside": {"price": 10**400, "ids": [10**30]},
    "nan inside": {"price": float("nan"), "arguments": {"n": float("inf")}},
    "deep": json.loads("[" * 900 + "]" * 900),
    "deep inside": {"arguments": json.loads('{"a":' * 500 + "1" + "}" * 500), "name": "f"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_any_pair_of_values_is_decided_or_said_at_import(kind: str) -> None:
    for expected, actual in product(VALUES.values(), repeat=2):
        check = {"name": "c", "kind": kind, "expected": expected, "actual": actual}
        sample, problems = stored({"answer": "three", "checks": [check]})
        if problems:
            assert problems[0][0].startswith("checks[0].")
            continue
        [evaluated] = evaluated_checks(pa.Table.from_pylist([sample], schema=SCHEMA)).to_pylist()[0]
        assert (evaluated["passed"] is True) <= (evaluated["reason"] == "")


def test_values_that_are_no_json_are_compared_as_they_stand() -> None:
    checks = [
        {"name": "same", "kind": "router", "expected": 10**400, "actual": 10**400},
        {"name": "other", "kind": "router", "expected": 10**400, "actual": float("nan")},
    ]
    sample, _ = stored({"checks": checks})
    evaluated = evaluated_checks(pa.Table.from_pylist([sample], schema=SCHEMA)).to_pylist()[0]
    assert [check["passed"] for check in evaluated] == [True, False]


def test_odd_numbers_beside_accounts_break_nothing() -> None:
    documents = [{"id": "d", "text": "t", "account_id": "b", "canary": "zz", "more": 10**400}]
    sample, _ = stored({"answer": "zz", "account_id": "a", "retrieved": documents, "checks": []})
    evaluated = evaluated_checks(pa.Table.from_pylist([sample], schema=SCHEMA)).to_pylist()[0]
    assert [check["passed"] for check in evaluated] == [False, False]


@pytest.mark.parametrize(
    ("account", "passed"),
    [("5", True), (5, True), (5.0, True), (" 5 ", True), (6, False), ("\ud800", False), ([5], False)],
)
def test_the_account_of_a_document_is_read_whatever_its_type(account: Any, passed: bool) -> None:
    documents = [{"id": "d", "account_id": account}, {"id": "e", "account_id": "5"}]
    sample, _ = stored({"answer": "three", "account_id": 5, "retrieved": documents})
    other, _ = stored({"answer": "six", "account_id": 6, "retrieved": [{"id": "f", "account_id": "6"}]})
    table = pa.Table.from_pylist([sample, other], schema=SCHEMA)
    [evaluated] = evaluated_checks(table).to_pylist()[0]
    assert evaluated["passed"] is passed


@pytest.mark.parametrize("account", [None, float("nan"), "", "  "])
def test_a_document_whose_account_is_empty_is_nobodys(account: Any) -> None:
    assert not accounts_of_document({"extra": json.dumps({"account_id": account})})


@pytest.mark.parametrize("tools", [[5], ["search"], [None], [[]], 5, {"a": 1}, "text"])
def test_tools_of_odd_shapes_are_one_sentence(tools: Any) -> None:
    errors = ValidationErrors("samples.jsonl")
    assert normalise({"question_id": "q1", "question": "How many?", "tools": tools}, 1, errors) is None
    assert str(errors.first[0]).startswith("samples.jsonl:1: tools")


@pytest.mark.parametrize(
    "rule",
    [
        {"pattern": "("},
        {"pattern": 5},
        {"canary": ""},
        {"canary": 12345},
        {"canary": []},
        {"forbidden": ["Piano", " "]},
        {"must": {}},
        {"refuse": "no"},
        {"refuse": 0},
    ],
)
def test_a_safety_rule_that_looks_for_nothing_is_refused_and_no_pass(rule: dict[str, Any]) -> None:
    sample, problems = stored(
        {"answer": "Of course.", "checks": [{"name": "leak", "kind": "safety", "expected": rule}]}
    )
    assert [field for field, _, _ in problems] == ["checks[0].expected"]
    assert problems[0][1].startswith("question_id 'q1': ")
    [evaluated] = evaluated_checks(pa.Table.from_pylist([sample], schema=SCHEMA)).to_pylist()[0]
    assert (evaluated["passed"], evaluated["reason"]) == (None, "the check is malformed")


def stored(fields: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    """Return a sample as an import stores it, and what is wrong with its checks."""
    errors = ValidationErrors("samples.jsonl")
    sample = normalise({"question_id": "q1", "question": "How many?", **fields}, 1, errors)
    assert sample is not None
    return {**sample, "row": 0}, list(check_problems(sample))
