"""The verdict as a sentence: every state of it, and that all who show it say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import run as command

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.headlines.triage import (
    gate_phrase,
    gates_unreadable,
    report_headline,
    reported_means_headline,
    river_statement,
)
from ragtriage.data.api import add_run, gate
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.gates.report import GateReport
from ragtriage.data.scoring.run_store import RunStore

ALL = {"context_recall": 1.0, "faithfulness": 1.0, "answer_relevancy": 1.0, "correctness": 1.0}
RIGHT = {"faithfulness": 1.0, "correctness": 1.0}
LEVELS = (0.0, 0.02, -0.02, 0.03, -0.03)
FAITHFUL = '[[gate]]\nmetric = "faithfulness"\nat_least = 0.85\nseverity = "block"\n'
RELEVANT = '[[gate]]\nmetric = "answer_relevancy"\nat_least = 0.75\nseverity = "block"\n'
NOISY = '[[gate]]\nmetric = "context_precision"\nat_least = 0.7\nseverity = "warn"\n'
DROP = '[[gate]]\nkind = "regression"\nmetric = "faithfulness"\nseverity = "block"\n'
SAFE = '[[gate]]\nkind = "checks"\nchecks = "safety"\nat_least = 1.0\nseverity = "block"\n'
CRITICAL = '[[gate]]\nkind = "critical"\nseverity = "block"\n'


def _records(level: float, n: int = 40, spread: float = 1.0, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"q{at:03d}",
            "question": f"Question {at}?",
            "answer": "An answer.",
            "scores": {
                "faithfulness": min(1.0, max(0.0, level + spread * LEVELS[at % 5])),
                "correctness": 1.0 - at % 2 / 10,
            },
            **more,
        }
        for at in range(n)
    ]


def _judged(
    store: RunStore, records: list[dict[str, Any]], gates: str, base: list[dict[str, Any]] | None = None
) -> GateReport:
    root = store.workspace.root
    config = root / "own.toml"
    config.write_text(gates, encoding="utf-8")
    before = "" if base is None else add_run(base, "basic", "shop", str(root)).run_id
    run = add_run(records, "V2", "shop", str(root))
    return gate(run.run_id, before, str(config), str(root))


def _headline(store: RunStore, records: list[dict[str, Any]], gates: str, **more: Any) -> Headline:
    return report_headline(_judged(store, records, gates, **more))


def test_good_when_every_blocking_gate_holds(workspace: RunStore) -> None:
    found = _headline(workspace, _records(0.95), FAITHFUL)
    assert (found.state, found.statement) == ("good", "V2: ready to ship")
    assert found.detail.startswith("Pass rate 100 % (")
    assert found.detail.endswith("; 1 blocking gate holds (40 questions)")
    assert not found.doubt


def test_warnings_and_gates_without_a_subject_are_told_beside_it(workspace: RunStore) -> None:
    records = _records(0.95)
    for at, record in enumerate(records):
        record["scores"]["context_precision"] = 0.2 + LEVELS[at % 5]
        record["scores"]["context_recall"] = 0.9 + LEVELS[at % 5]
    found = _headline(workspace, records, FAITHFUL + NOISY + SAFE)
    assert found.state == "good"
    assert found.detail.endswith("; one warning gate fails: context precision 0.20, needs 0.70")
    assert "1 gate had nothing to judge by" in found.detail


def test_bad_names_the_gates_that_fail_with_their_numbers(workspace: RunStore) -> None:
    found = _headline(workspace, _records(0.26), FAITHFUL + DROP, base=_records(0.78))
    assert (found.state, found.statement) == ("bad", "V2: do not ship")
    fail = "faithfulness 0.26, needs 0.85; faithfulness −0.52 against basic (40 questions)"
    assert found.detail == f"40 of 40 cases unfaithful. 2 blocking gates fail: {fail}"


def test_cannot_tell_names_what_would_settle_it(workspace: RunStore) -> None:
    found = _headline(workspace, _records(0.80, 10, 3), FAITHFUL)
    assert (found.state, found.statement) == ("cannot tell", "V2: 4 of 10 cases unfaithful")
    assert found.detail.startswith(
        "Cannot tell yet: no blocking gate fails, 1 is undecided: faithfulness 0.80, needs 0.85 "
        "(10 questions). About "
    )
    assert found.detail.endswith("About 160 questions would settle it, 150 more")
    needed = int(found.detail.split("About ")[1].split(" ")[0].replace(",", ""))
    assert needed > 10


def test_a_value_at_its_threshold_is_not_promised_to_be_settled(workspace: RunStore) -> None:
    found = _headline(workspace, _records(0.85, 10, 3), FAITHFUL)
    assert found.state == "cannot tell"
    assert "would narrow the interval to 0.05 either way" in found.detail
    assert "times as many" not in found.detail
    found = _headline(workspace, _records(0.85, 120, 3), FAITHFUL)
    assert "would stay open with 100 times as many questions" in found.detail


def test_not_measured_says_what_to_record(workspace: RunStore) -> None:
    records = _records(0.95)
    for record in records:
        record["scores"] = {}
    found = _headline(workspace, records, FAITHFUL + RELEVANT)
    assert (found.state, found.statement) == ("not measured", "V2: no verdict, 2 blocking gates not measured")
    assert "needs the claims of the answer (claims) and" in found.detail
    assert "needs judge results (ragtriage judge)" in found.detail
    assert "`" not in found.detail


@pytest.mark.parametrize(
    ("n", "why"), [(10, "none of 10 questions has a value"), (1, "its one question has no value")]
)
def test_a_metric_that_failed_everywhere_is_named_once(workspace: RunStore, n: int, why: str) -> None:
    records = _records(0.95, n, scores={"faithfulness": None})
    found = _headline(workspace, records, FAITHFUL)
    assert found.detail == f"Faithfulness: {why}"


def test_too_few_questions_are_no_verdict(workspace: RunStore) -> None:
    found = _headline(workspace, _records(0.95, 3), FAITHFUL)
    assert (found.state, found.statement) == ("not measured", "V2: no verdict, too few questions")
    assert "measured on 3 questions, needs at least 5" in found.detail


def test_gates_with_nothing_to_judge_by_are_no_verdict(workspace: RunStore) -> None:
    found = _headline(workspace, _records(0.95), SAFE)
    assert (found.state, found.statement) == ("not measured", "V2: no verdict, nothing to judge by")


def test_doubt_stands_in_its_own_line_and_takes_the_promise_away(workspace: RunStore) -> None:
    same = [{"id": "d1", "text": "A document."}]
    found = _headline(workspace, _records(0.95, retrieved=same), FAITHFUL)
    assert (found.state, found.statement) == ("doubted", "V2: gates hold, numbers doubted")
    assert found.doubt.startswith("every question got the same document")
    failing = _headline(workspace, _records(0.3, retrieved=same), FAITHFUL)
    assert failing.state == "bad"
    assert "every question got the same document" in failing.text


def test_checks_and_critical_cases_have_their_own_phrases(workspace: RunStore) -> None:
    records, before = _records(0.95, 20), _records(0.95, 20)
    for at, record in enumerate(records):
        record["checks"] = [{"name": "toxic", "kind": "safety", "passed": at != 0}]
        record["tags"] = before[at]["tags"] = {"critical": "yes"}
        if at < 3:
            record["scores"] = {"faithfulness": 0.1}
    report = _judged(workspace, records, SAFE + CRITICAL, before)
    phrases = [gate_phrase(result, report.baseline_name) for result in report.results]
    assert phrases == [
        "checks of kind safety: 95 % pass, 100 % must",
        "3 critical cases of 20 newly fail",
    ]


def test_summary_scores_and_broken_gates_have_a_headline() -> None:
    means = reported_means_headline("V3")
    assert (means.state, means.statement) == ("not measured", "V3: no verdict, summary scores only")
    broken = gates_unreadable("V3", "gates.toml: at_least is 9")
    assert (broken.state, broken.detail) == ("not measured", "gates.toml: at_least is 9")


@pytest.mark.parametrize("name", ["V", "a name " * 30])
def test_a_statement_stays_short(workspace: RunStore, name: str) -> None:
    run = add_run(_records(0.2), name, "shop", str(workspace.workspace.root))
    found = report_headline(gate(run.run_id, "", None, str(workspace.workspace.root)))
    assert len(found.statement) <= 70
    assert not found.statement.endswith((".", "?"))


def test_losses_name_the_step_where_most_are_lost(demo: RunStore) -> None:
    runs = {(run.name, run.n): run for run in demo.runs("iris")}
    for run in runs.values():
        diagnosis = gate(run.run_id, "", None, str(demo.workspace.root)).diagnosis
        assert diagnosis is not None
        told, lost = river_statement(diagnosis), int(diagnosis.bad.bad.sum())
        assert told.startswith(f"{lost:,} of " if lost else "None of ")
        if lost and "step:" in told:
            assert told.endswith(f"({max(stage.n_bad for stage in diagnosis.fix_first)})")
            assert "(inferred)" not in told


@pytest.mark.parametrize(
    ("n", "scores", "told"),
    [
        (10, {"faithfulness": 1.0}, "No fault found in 10 cases, answers not checked"),
        (10, RIGHT, "None of 10 cases fails so far, 10 not fully measured"),
        (1, RIGHT, "The only case is not fully measured"),
        (1, {}, "The only case cannot be called good or bad"),
        (10, {}, "None of 10 cases can be called good or bad"),
        (1, ALL, "The only case does not fail"),
        (10, ALL, "None of 10 cases fails"),
        (1, {**ALL, "faithfulness": 0.1}, "The only case fails, at one step: unfaithful (1)"),
    ],
)
def test_no_loss_is_told_as_far_as_it_is_known(
    workspace: RunStore, n: int, scores: dict[str, float], told: str
) -> None:
    run = add_run(_records(1.0, n, scores=scores), "V2", "shop", str(workspace.workspace.root))
    assert river_statement(diagnose(workspace.scored(run), DiagnosisSettings())) == told


def test_the_command_and_its_files_say_the_same_sentence(
    workspace: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = _judged(workspace, _records(0.26), FAITHFUL)
    found, target = report_headline(report), tmp_path / "summary.md"
    root, config = workspace.workspace.root, str(workspace.workspace.root / "own.toml")
    words = ("gate", report.run.run_id, "--config", config)
    told = command(capsys, root, *words, "--markdown", str(target))
    assert " ".join(told.out.split()).startswith(found.text)
    lines = target.read_text(encoding="utf-8").replace("\\", "").splitlines()
    assert lines[0] == f"## ❌ {found.statement}"
    assert found.detail in lines[2]


def test_too_few_questions_hide_no_metric_that_is_missing(workspace: RunStore) -> None:
    records = _records(0.95, 3)
    for record in records:
        record["scores"] = {"faithfulness": 0.95}
    found = _headline(workspace, records, FAITHFUL + RELEVANT)
    assert found.statement == "V2: no verdict, 1 blocking gate not measured and 1 on too few questions"
