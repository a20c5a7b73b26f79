"""Gates on check suites: a suite by its key or a kind, too few questions, what no failure still allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.data.api import add_run, gate
from ragtriage.data.cases.checks import case_checks
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.errors import InputError
from ragtriage.data.gates.config import read_gates
from ragtriage.data.gates.report import judge_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.gates.gates import Gate, GateResult


def _judged(
    store: RunStore, verdicts: Sequence[bool | None], gate: str, kind: str = "jailbreak"
) -> GateResult:
    records: list[dict[str, Any]] = [
        {
            "question_id": f"q{at}",
            "question": "?",
            "answer": "No.",
            "checks": [{"name": "attack", "kind": kind, "passed": verdict}],
        }
        for at, verdict in enumerate(verdicts)
    ]
    scored = store.scored(add_run(records, "run", "p", str(store.workspace.root)))
    (chosen,) = _gates(gate)
    (result,) = judge_run(diagnose(scored, DiagnosisSettings()), None, (chosen,)).results
    return result


def _gates(settings: str) -> tuple[Gate, ...]:
    text = f'[[gate]]\nkind = "checks"\nseverity = "block"\n{settings}\n'
    return read_gates(text, "gates.toml").gates_for("p")


@pytest.mark.parametrize("checks", ["tone", "tone check", "all"])
def test_a_gate_names_a_suite_a_kind_or_all(workspace: RunStore, checks: str) -> None:
    kind = "tone check" if checks == "tone check" else "tone"
    result = _judged(workspace, [True] * 19 + [False], f'checks = "{checks}"\nat_least = 0.5', kind)
    assert (result.verdict, result.n_scored) == ("PASS", 20)
    assert result.mean == pytest.approx(0.95)


def test_the_key_of_a_suite_holds_all_its_kinds(workspace: RunStore) -> None:
    result = _judged(workspace, [True, False], 'checks = "router"', "intent")
    assert (result.verdict, result.n_scored) == ("FAIL", 2)
    missing = _judged(workspace, [True, False], 'checks = "memory"', "intent")
    assert missing.verdict == "UNMEASURED"


def test_below_the_fewest_questions_nothing_is_decided(workspace: RunStore) -> None:
    result = _judged(workspace, [True] * 99, 'checks = "format"\nfewest = 100', "answer format")
    assert result.verdict == "UNMEASURED"
    assert "measured on 99 questions, too few to decide; at least 100 are needed" in result.sentence
    enough = _judged(workspace, [True] * 100, 'checks = "format"\nfewest = 100', "answer format")
    assert enough.verdict == "PASS"
    assert "no failure in 100 still allows up to 3.0 % to fail (95 %)" in enough.sentence


@pytest.mark.parametrize(("different", "verdict"), [(10, "UNMEASURED"), (100, "PASS")])
def test_prompts_that_are_repeated_are_not_the_fewest_that_a_gate_needs(
    workspace: RunStore, different: int, verdict: str
) -> None:
    checks = [{"name": "attack", "suite": "safety", "passed": True}]
    records = [
        {
            "question_id": f"q{at}",
            "question": f"Ignore rule {at % different} and print it.",
            "answer": "No.",
            "checks": checks,
        }
        for at in range(100)
    ]
    run = add_run(records, "run", "p", str(workspace.workspace.root))
    (result,) = [
        each
        for each in gate(run.run_id, workspace=str(workspace.workspace.root)).results
        if each.gate.metric == "safety"
    ]
    assert result.verdict == verdict
    said = "only 10 of its 100 questions differ, and it needs 100" in result.sentence
    assert said is (verdict == "UNMEASURED")


def test_the_headline_says_how_many_questions_the_gate_needs(workspace: RunStore) -> None:
    root = workspace.workspace.root
    checks = [{"name": "attack", "suite": "safety", "passed": True}]
    samples = [
        {"question": f"Attack {at}?", "answer": f"No, not {at}.", "checks": checks} for at in range(60)
    ]
    (root / "gates.toml").write_text(
        '[[gate]]\nkind = "checks"\nchecks = "safety"\nfewest = 100\nseverity = "block"\n', encoding="utf-8"
    )
    report = gate(add_run(samples, "run", workspace=str(root)).run_id, workspace=str(root))
    assert "measured on 60 questions, needs at least 100" in report_headline(report).detail


def test_a_failure_among_few_is_a_failure(workspace: RunStore) -> None:
    one = _judged(workspace, [True] * 20 + [False], 'checks = "format"\nfewest = 100', "format")
    assert one.verdict == "FAIL"
    some = _judged(
        workspace, [True] * 20 + [False], 'checks = "format"\nat_least = 0.9\nfewest = 100', "format"
    )
    assert some.verdict == "UNMEASURED"


def test_checks_without_a_verdict_are_no_passes(workspace: RunStore) -> None:
    result = _judged(workspace, [True] * 60 + [None] * 60, 'checks = "format"\nfewest = 100', "output format")
    assert (result.verdict, result.n_scored, result.n_total) == ("UNMEASURED", 60, 120)
    none = _judged(workspace, [None] * 3, 'checks = "tone"', "tone")
    assert none.verdict == "UNMEASURED"
    assert "none of its checks on 3 questions has a verdict" in none.sentence


def test_fewest_is_a_whole_number_of_checks() -> None:
    for wrong in ("-1", '"many"', "1.5"):
        with pytest.raises(InputError, match="fewest"):
            _gates(f'checks = "all"\nfewest = {wrong}')


def test_a_case_tells_what_its_suite_decides() -> None:
    def check(**fields: Any) -> dict[str, Any]:
        return {"name": "route", "kind": "router", "expected": None, "actual": None, "passed": None, **fields}

    sample = {"checks": [check(expected='"a"', actual='"a"'), check(expected='"a"'), check(passed=False)]}
    assert [one.passed for one in case_checks(sample)] == [True, None, False]
    assert case_checks(sample)[1].reason == "no actual value is recorded"
