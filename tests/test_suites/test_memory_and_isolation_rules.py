"""Checks of the suites memory and isolation; the latter also follow from the accounts of a run."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ragtriage.data.api import add_run
from ragtriage.data.cases.checks import case_checks
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check import CheckedSample, CheckOutcome, RecordedCheck
from ragtriage.data.suites.check_table import check_table
from ragtriage.data.suites.isolation import isolation_outcome
from ragtriage.data.suites.memory import memory_outcome

DOCUMENTS = [{"id": "ann/1", "text": "Ann likes TEA\nand jam."}, {"id": "ann/2", "text": "Ann went to Rome."}]


def _memory(expected: Any, actual: Any = None, answer: str | None = "You like tea.") -> CheckOutcome:
    sample = CheckedSample.of({"answer": answer, "retrieved": DOCUMENTS})
    return memory_outcome(RecordedCheck("m", "memory", expected, actual, None), sample)


@pytest.mark.parametrize(
    ("expected", "actual", "recalled", "rank"),
    [
        ({"memory_id": "ann/2"}, None, True, 2),
        ({"memory_id": ["ann/2", "ann/9"]}, None, True, 2),
        ({"memory_id": "ann/2", "k": 1}, None, False, None),
        ({"memory_id": "ann/3"}, ["ann/3"], True, 1),
        ({"fact": "like  Tea"}, None, True, None),
        ({"fact": "like coffee"}, None, False, None),
        ({"fact": "coffee"}, "Coffee, as you said", True, None),
        ({"turn": "likes tea and jam"}, None, True, 1),
        ({"turn": "likes coffee"}, None, False, None),
        ({"fact": "coffee"}, True, True, None),
    ],
)
def test_a_turn_is_recalled(expected: Any, actual: Any, recalled: bool, rank: int | None) -> None:
    outcome = _memory(expected, actual)
    assert (outcome.passed, outcome.detail["rank"]) == (recalled, rank)


def test_the_age_is_told_or_follows_from_two_days() -> None:
    assert _memory({"fact": "tea", "days": 3}).detail["gap"] == "2 to 3 days"
    assert _memory({"fact": "tea", "day": "2023-05-02", "asked": "2023-05-12T08:00"}).detail["days"] == 10
    assert _memory({"fact": "tea", "day": "2023-05-02"}).detail["gap"] is None


def test_nothing_recorded_is_not_measured() -> None:
    assert _memory({"fact": "tea"}, None, None).passed is None


def test_a_secret_must_not_be_told() -> None:
    def told(answer: str | None) -> bool | None:
        check = RecordedCheck("s", "privacy", {"secret": ["Falsify work results", "PIN 7731"]}, None, None)
        return isolation_outcome(check, CheckedSample.of({"answer": answer})).passed

    assert told("I would rather not say.") is True
    assert told("Jane wanted to falsify  work results.") is False
    assert told("pin 7731") is False
    assert told(None) is None


def _document(owner: str | None, **more: Any) -> dict[str, Any]:
    account = {} if owner is None else {"account_id": owner}
    return {"id": f"{owner}-1", "text": "t", **account, **more}


RECORDS: list[dict[str, Any]] = [
    {"question": "own?", "account_id": "ann", "retrieved": [_document("ann"), _document(None)]},
    {"question": "leak?", "account_id": "ann", "retrieved": [_document("ann"), _document("bob")]},
    {
        "question": "told?",
        "account_id": "ann",
        "answer": "It is Blue-42.",
        "retrieved": [_document("bob", canary="blue-42")],
    },
    {"question": "who?", "retrieved": [_document("bob")]},
    {"question": "shared?", "account_id": "ann", "retrieved": [_document(None)]},
    {"question": "nothing?", "account_id": "ann"},
]


def _scored(store: RunStore, records: list[dict[str, Any]]) -> ScoredRun:
    return store.scored(add_run(records, "run", "p", str(store.workspace.root)))


def test_accounts_alone_make_a_suite(workspace: RunStore) -> None:
    scored = _scored(workspace, RECORDS)
    checks = check_table(scored)
    assert checks is not None
    assert checks.suite.values == ("isolation",)
    assert checks.sample.tolist() == [0, 1, 2, 2, 3]
    assert checks.passed.tolist() == [1, 0, 0, 0, -1]
    assert [checks.name.values[code] for code in checks.name.codes[2:4]] == [
        "documents of other accounts",
        "other accounts in the answer",
    ]
    assert checks.values("actual", [1]) == [["bob"]]
    assert checks.values("detail", [1])[0]["first_rank"] == 2


def test_a_leak_is_the_stage_of_its_case(workspace: RunStore) -> None:
    features = _scored(workspace, RECORDS).stage_features["check_failed"]
    assert features[[0, 1, 2]].tolist() == [0, 1, 1]
    assert np.isnan(features[[4, 5]]).all()


def test_a_recorded_check_of_the_same_name_counts(workspace: RunStore) -> None:
    recorded = {"name": "documents of other accounts", "kind": "isolation", "passed": True}
    checks = check_table(_scored(workspace, [{**RECORDS[1], "checks": [recorded]}]))
    assert checks is not None
    assert checks.passed.tolist() == [1]


def test_runs_without_accounts_get_no_checks(workspace: RunStore) -> None:
    assert check_table(_scored(workspace, RECORDS[4:])) is None


def test_hostile_account_names_and_canaries_are_texts(workspace: RunStore) -> None:
    name = '<script>alert("account_id")</script>'
    record = {
        "question": "q?",
        "account_id": name,
        "answer": "x",
        "retrieved": [_document(name), _document("b", canary=[1, None, "", {"a": 1}])],
    }
    checks = check_table(_scored(workspace, [record]))
    assert checks is not None
    assert checks.passed.tolist() == [0]
    assert json.loads(checks.texts("expected", [0])[0] or "") == [name]


def test_a_case_shows_the_checks_of_its_accounts(workspace: RunStore) -> None:
    sample = _scored(workspace, RECORDS).samples.read([1])[0]
    (check,) = case_checks(sample)
    assert (check.name, check.passed) == ("documents of other accounts (isolation)", False)
    assert (check.expected, check.actual) == ("ann", "bob")
    assert check.reason == "a document of another account was retrieved"
