"""Metrics of answers leave refusals out, and comparisons say what that does to their pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import run

from ragtriage.data.api import add_run, comparison_answer, comparisons_with, gate
from ragtriage.data.comparison.answered import refusal_sentence
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.schema.scores import Status

Capture = pytest.CaptureFixture[str]
NONE = "I cannot answer that from the documents."


def _record(at: int, answer: str = "Ann.", relevancy: float = 0.9, **more: Any) -> dict[str, Any]:
    return {
        "question_id": f"q{at:02d}",
        "question": f"Question {at}?",
        "answer": answer,
        "answerable": "no" if at < 4 else "yes",
        "scores": {"answer_relevancy": relevancy, "faithfulness": relevancy, "context_recall": 1.0},
        **more,
    }


def _two(store: RunStore) -> tuple[Run, Run]:
    """The baseline answers all; the new run refuses four unanswerable and two answerable questions."""
    root = str(store.workspace.root)
    base = add_run([_record(at) for at in range(16)], "base", "p", root)
    records = [_record(at, NONE, 0.0) if at < 6 else _record(at) for at in range(16)]
    return base, add_run(records, "new", "p", root)


def test_a_right_abstention_does_not_lower_relevancy(workspace: RunStore) -> None:
    base, new = _two(workspace)
    assert workspace.summary(base)["answer_relevancy"].mean == pytest.approx(0.9)
    relevancy = workspace.summary(new)["answer_relevancy"]
    assert relevancy.mean == pytest.approx(0.9)
    assert (relevancy.n_scored, relevancy.n_applicable) == (10, 10)
    column = workspace.scored(new).column("answer_relevancy")
    assert column is not None
    assert (column.status[:6] == Status.NOT_APPLICABLE).all()
    diagnosis = diagnose(workspace.scored(new), DiagnosisSettings())
    assert diagnosis.bad.bad.tolist() == [False] * 4 + [True] * 2 + [False] * 10


def test_refusals_count_0_is_a_named_convention(workspace: RunStore, capsys: Capture) -> None:
    _, new = _two(workspace)
    root = workspace.workspace.root
    answer = run(capsys, root, "metrics", new.run_id, "--convention", "refusals_0", "--json").json
    assert answer["convention"] == "refusals_0"
    relevancy = answer["metrics"]["answer_relevancy"]
    assert (relevancy["mean"], relevancy["n_scored"]) == (pytest.approx(10 * 0.9 / 16), 16)
    as_recorded = run(capsys, root, "metrics", new.run_id, "--convention", "ragchecker", "--json").json
    assert as_recorded["metrics"]["answer_relevancy"]["n_scored"] == 16


def test_pairs_lost_to_refusals_are_told_with_both_sides_in_full(
    workspace: RunStore, capsys: Capture
) -> None:
    base, new = _two(workspace)
    (comparison,) = comparisons_with(workspace, base, [new], "all")
    by_metric = {pairs.metric: pairs for pairs in comparison.refusals}
    assert set(by_metric) == {"answer_relevancy", "faithfulness"}
    relevancy = by_metric["answer_relevancy"]
    assert (relevancy.n_one_side, relevancy.n_rightly, relevancy.n_pairs) == (6, 4, 10)
    assert relevancy.base == pytest.approx(0.9)
    assert relevancy.other == pytest.approx(0.9 * 10 / 12)
    assert relevancy.difference.n_pairs == 12
    sentence = refusal_sentence(relevancy)
    assert "compares 10 pairs of answers: 6 shared questions were dropped" in sentence
    assert "because one run refused (4 of them correctly)." in sentence
    assert "counted as 0: 0.900 in the baseline, 0.750 in the other run, −0.150" in sentence
    assert sentence in comparison.warnings
    assert sentence in run(capsys, workspace.workspace.root, "compare", "base", "new").out.replace("\n", " ")
    (side,) = comparison_answer(base, [new], [comparison], "all")["comparisons"]
    assert side["refusals"][0]["run_with_refusals"] == pytest.approx(0.75)
    report = gate("new", "base", workspace=str(workspace.workspace.root))
    assert sentence in report.warnings


def test_runs_that_refuse_the_same_questions_lose_no_pairs(workspace: RunStore) -> None:
    base, new = _two(workspace)
    (comparison,) = comparisons_with(workspace, new, [new], "all")
    assert comparison.refusals == ()
    (forth,) = comparisons_with(workspace, new, [base], "all")
    assert forth.refusals[0].difference.difference == pytest.approx(0.15)


def test_a_refused_question_with_a_reference_answer_is_wrongly_refused(
    workspace: RunStore, tmp_path: Path
) -> None:
    references = ["Ann did.", NONE, "", None]
    records = [
        {"question_id": f"q{at}", "question": "?", "answer": NONE, "reference_answer": reference}
        for at, reference in enumerate(references)
    ]
    scored = workspace.scored(add_run(records, "run", "p", str(workspace.workspace.root)))
    found = diagnose(scored, DiagnosisSettings())
    assert found.refusals.wrong.tolist() == [True, False, False, False]
    assert found.bad.bad.tolist() == [True, False, False, False]
