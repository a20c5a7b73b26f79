"""Means that gates judge are those that randomly drawn human labels corrected."""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.dashboard.wording.diagnosis import rate_basis
from ragtriage.dashboard.wording.formatting import source_text
from ragtriage.data.api import add_run, diagnosis_answer, diagnosis_of, gate, metrics_answer
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.diagnosis.run_digest import read_digests
from ragtriage.data.gates.report import GateReport
from ragtriage.data.labels.ratings import queue_state, rate, start_queue
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.gates.gates import GateResult

N = 300


@pytest.fixture(autouse=True)
def same_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues are drawn alike each time, so that no test fails by a rare draw."""
    monkeypatch.setattr(secrets, "randbelow", lambda _below: 7)


@pytest.fixture
def truth(workspace: RunStore) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The true faithfulness of each question of a run whose scores are 0.16 too high."""
    rng = np.random.default_rng(5)
    true = rng.uniform(0.6, 0.84, N)
    records = [
        {
            "question_id": f"q{at:03d}",
            "question": f"Question {at}?",
            "answer": "An answer.",
            "scores": {"faithfulness": float(value) + 0.16, "answer_relevancy": 0.95},
        }
        for at, value in enumerate(true)
    ]
    add_run(records, "V1", "shop", str(workspace.workspace.root))
    return np.asarray(true)


def _label(store: RunStore, truth: np.ndarray[tuple[int], np.dtype[np.float64]], n: int) -> GateReport:
    (run,) = store.runs()
    scored = store.scored(run)
    queue = start_queue(store.ledger, run.run_id, "faithfulness", "Ann")
    for row in queue_state(store.ledger, scored, queue).remaining[:n]:
        question = str(scored.question_ids[scored.question[row]])
        value = float(truth[int(question[1:])])
        rate(store.ledger, (run.run_id, question, 0), "Ann", "faithfulness", value, queue.queue_id)
    return gate(run.run_id, workspace=str(store.workspace.root))


def _faithfulness(report: GateReport) -> GateResult:
    return next(result for result in report.results if result.gate.metric == "faithfulness")


def test_a_judge_that_is_too_kind_passes_no_gate_once_people_have_labelled(
    workspace: RunStore, truth: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> None:
    raw = _faithfulness(_label(workspace, truth, 0))
    assert (raw.verdict, raw.raw) == ("PASS", None)
    few = _faithfulness(_label(workspace, truth, 29))
    assert few.mean == raw.mean
    report = _label(workspace, truth, 150)
    corrected = _faithfulness(report)
    assert corrected.mean == pytest.approx(truth.mean(), abs=0.02)
    assert corrected.raw == pytest.approx(raw.mean)
    assert corrected.verdict == "FAIL"
    assert "corrected by human labels (0.8" in corrected.sentence
    assert "by human labels (0.8" in report_headline(report).detail
    assert report.to_dict()["gates"][0]["raw"] == pytest.approx(raw.mean)
    (run,) = workspace.runs()
    store = RunStore(workspace.workspace)
    summary = metrics_answer(store, store.find(run.run_id), store.options(run))["metrics"]["faithfulness"]
    assert (summary["mean"], summary["raw"], summary["n_labels"]) == (corrected.mean, corrected.raw, 179)
    assert "corrected by 179 random labels (raw 0.8" in source_text(store.summary(run)["faithfulness"])


def test_labels_of_good_and_bad_cases_correct_the_pass_rate(
    workspace: RunStore, truth: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> None:
    (run,) = workspace.runs()
    scored = workspace.scored(run)
    path = workspace.workspace.root / "gates.toml"
    path.write_text('[[gate]]\nmetric = "pass rate"\nat_least = 0.6\nseverity = "block"\n', encoding="utf-8")
    queue = start_queue(workspace.ledger, run.run_id, "pass", "Ann")
    for row in queue_state(workspace.ledger, scored, queue).remaining[:100]:
        question = str(scored.question_ids[scored.question[row]])
        verdict = "pass" if truth[int(question[1:])] > 0.78 else "fail"
        case = (run.run_id, question, 0)
        workspace.ledger.add_label(case, "Ann", verdict, queue_id=queue.queue_id)  # type: ignore[arg-type]
    (result,) = gate(run.run_id, workspace=str(workspace.workspace.root)).results
    assert result.mean == pytest.approx((truth > 0.78).mean(), abs=0.08)
    assert result.raw is not None
    assert result.raw > 0.5
    assert result.verdict == "FAIL"
    diagnosis = diagnosis_of(workspace, run, DiagnosisSettings())
    assert diagnosis.pass_rate.mean == result.mean
    assert diagnosis_answer(diagnosis, DiagnosisSettings())["pass_rate"]["raw"] == result.raw
    assert "corrected by 100 random labels" in rate_basis(diagnosis)
    assert read_digests(workspace, [run])[run.run_id].pass_rate == result.mean


def test_twenty_labels_correct_a_pass_rate_that_rests_on_words(workspace: RunStore) -> None:
    records = [
        {
            "question_id": f"q{at:03d}",
            "question": f"Which town number {at}?",
            "answer": "Paris" if at % 3 else "Lyon",
            "reference_answer": "Paris",
        }
        for at in range(90)
    ]
    add_run(records, "V1", "towns", str(workspace.workspace.root))
    (run,) = workspace.runs()
    scored = workspace.scored(run)
    queue = start_queue(workspace.ledger, run.run_id, "pass", "Ann")
    remaining = queue_state(workspace.ledger, scored, queue).remaining
    for at, row in enumerate(remaining[:20]):
        if at == 19:
            assert diagnosis_of(workspace, run, DiagnosisSettings()).label_correction is None
        case = (run.run_id, str(scored.question_ids[scored.question[row]]), 0)
        workspace.ledger.add_label(case, "Ann", "pass", queue_id=queue.queue_id)
    corrected = diagnosis_of(workspace, run, DiagnosisSettings()).label_correction
    assert corrected is not None
    assert (corrected.n_labelled, corrected.method) == (20, "post-stratified")
    assert corrected.raw == pytest.approx(2 / 3)
    assert corrected.mean > 0.85


@pytest.mark.parametrize("what", ["pass", "correctness"])
def test_random_labels_that_find_few_right_answers_keep_a_run_from_shipping(
    workspace: RunStore, what: str
) -> None:
    """Every score calls every answer right, and people two of three; from 30 labels on these count."""
    records = [
        {
            "question_id": f"q{at:03d}",
            "question": f"Question {at}?",
            "answer": f"Answer {at}.",
            "scores": dict.fromkeys(("correctness", "faithfulness", "answer_relevancy"), 0.9 + at % 9 / 100),
        }
        for at in range(200)
    ]
    root = str(workspace.workspace.root)
    run = add_run(records, "V1", "shop", root)
    assert gate(run.run_id, workspace=root).conclusion().state == "ship"
    queue = start_queue(workspace.ledger, run.run_id, what, "Ann")
    for at, row in enumerate(queue_state(workspace.ledger, workspace.scored(run), queue).remaining[:60]):
        case = (run.run_id, str(workspace.scored(run).question_ids[workspace.scored(run).question[row]]), 0)
        if what == "pass":
            workspace.ledger.add_label(case, "Ann", "pass" if at % 3 else "fail", queue_id=queue.queue_id)
        else:
            rate(workspace.ledger, case, "Ann", what, float(at % 3 > 0), queue.queue_id)
    report = gate(run.run_id, workspace=root)
    assert report.diagnosis is not None
    assert report.diagnosis.pass_rate.mean == pytest.approx(2 / 3, abs=0.01)
    assert report.conclusion().state == "cannot_tell"
    assert report.halves == {"right answers": "66 % of the answers are right"}


def test_an_answer_rated_right_is_no_good_case_where_something_else_fails_it(workspace: RunStore) -> None:
    scores = {"correctness": 1.0, "answer_relevancy": 0.95}
    records = [
        {"question_id": f"q{at}", "question": f"Question {at}?", "scores": scores | {"faithfulness": at % 2}}
        for at in range(60)
    ]
    run = add_run(records, "V1", "shop", str(workspace.workspace.root))
    queue = start_queue(workspace.ledger, run.run_id, "correctness", "Ann")
    for row in queue_state(workspace.ledger, workspace.scored(run), queue).remaining[:40]:
        question = str(workspace.scored(run).question_ids[workspace.scored(run).question[row]])
        rate(workspace.ledger, (run.run_id, question, 0), "Ann", "correctness", 1.0, queue.queue_id)
    rated = diagnosis_of(RunStore(workspace.workspace), run, DiagnosisSettings())
    assert rated.label_correction is not None
    assert rated.pass_rate.mean == pytest.approx(0.5, abs=0.03)
    assert rated.answers.drawn == 40
