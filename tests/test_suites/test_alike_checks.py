"""Equal checks are evaluated once, unless their rule looked at the sample."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.suites.check import CheckedSample, CheckOutcome, RecordedCheck
from ragtriage.data.suites.check_table import check_table
from ragtriage.data.suites.registry import SUITES
from ragtriage.data.suites.suite import Suite
from ragtriage.metrics.schema.scores import IntArray


def _passed(store: RunStore, answers: list[str]) -> list[int]:
    check = {"name": "tone", "kind": "tone", "expected": "calm", "actual": "calm"}
    records: list[dict[str, Any]] = [
        {"question_id": f"q{at}", "question": "?", "answer": answer, "checks": [check]}
        for at, answer in enumerate(answers)
    ]
    checks = check_table(store.scored(add_run(records, "run", "p", str(store.workspace.root))))
    assert checks is not None
    passed: IntArray = checks.passed.astype(int)
    return list(passed.tolist())


def test_a_rule_that_reads_the_sample_is_asked_each_time(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rule(_: RecordedCheck, sample: CheckedSample) -> CheckOutcome:
        return CheckOutcome(sample["answer"] == "yes")

    monkeypatch.setitem(SUITES, "tone", Suite("tone", rule=rule))
    assert _passed(workspace, ["yes", "no", "yes"]) == [1, 0, 1]


def test_a_rule_that_does_not_is_asked_once(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def rule(check: RecordedCheck, _: CheckedSample) -> CheckOutcome:
        asked.append(check)
        return CheckOutcome(True)

    monkeypatch.setitem(SUITES, "tone", Suite("tone", rule=rule))
    assert _passed(workspace, ["a", "b", "c"]) == [1, 1, 1]
    assert len(asked) == 1
