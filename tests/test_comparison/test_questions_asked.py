"""A run that lacks questions: its pass rate is read both ways at every door."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_line import run as command

from ragtriage.dashboard.headlines.compare import compare_headline, drawn_metrics
from ragtriage.dashboard.pages.triage.overview import triage_tiles
from ragtriage.data.api import add_run, comparisons_with, gate
from ragtriage.data.comparison.questions_asked import questions_asked
from ragtriage.data.scoring.run_store import RunStore

N = 100


def _samples(n: int) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"q{at:03d}",
            "question": f"Question {at}?",
            "answer": "An answer.",
            "scores": {"correctness": float(at % 4 > 0), "faithfulness": 0.97, "answer_relevancy": 0.9},
        }
        for at in range(n)
    ]


@pytest.mark.parametrize(("n", "rate", "failed"), [(60, "75 %", "45 %"), (96, "75 %", "72 %")])
def test_missing_questions_of_the_baseline_are_read_as_failed_too(
    workspace: RunStore, capsys: pytest.CaptureFixture[str], n: int, rate: str, failed: str
) -> None:
    root = str(workspace.workspace.root)
    base, run = (add_run(_samples(many), f"V{many}", "shop", root) for many in (N, n))
    said = (
        f"answered {n} of the 100 questions of the baseline: pass rate {rate} of those answered, {failed} "
        "with the missing ones as failed."
    )
    report = gate(run.run_id, base.run_id, workspace=root)
    assert report.warnings[0] == f"This run {said}"
    assert any(each.gate.kind == "questions" for each in report.results) == (n < 95)
    (comparison,) = comparisons_with(workspace, base, [run], "headline")
    assert f"The other run {said}" in comparison.warnings
    printed = command(capsys, workspace.workspace.root, "compare", base.run_id, run.run_id).out
    assert f"The other run {said}" in " ".join(printed.split())
    headline = compare_headline("v", {"v": comparison}, {"v": "V2"}, "V1", drawn_metrics(comparison))
    assert f"V2 {said}" in headline.detail
    assert "with the missing ones" not in headline.doubt
    assert report.diagnosis is not None
    tile = triage_tiles(report.diagnosis, workspace.summary(run), [], report, comparison, "V100")[0]
    assert f"of those answered; {failed} with {N - n} missing as failed" in tile.foot


def test_the_question_set_that_a_run_names_comes_first(
    workspace: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    root = workspace.workspace.root
    questions = root / "handbook.jsonl"
    records = (
        {"question_id": f"q{at:03d}", "question": f"Question {at}?", "reference_answer": f"It is {at}."}
        for at in range(N)
    )
    questions.write_text("\n".join(map(json.dumps, records)), "utf-8")
    assert command(capsys, root, "import", str(questions)).code == 0
    samples = _samples(50)
    run = add_run(samples, "V1", "shop", str(root), dataset="handbook")
    report = gate(run.run_id, workspace=str(root))
    assert report.diagnosis is not None
    asked = questions_asked(report.diagnosis)
    assert (asked.answered, asked.of, asked.whose) == (50, N, "the question set handbook")
    assert report.verdict == "FAIL", "more than 5 % are missing"
    assert questions_asked(report.diagnosis).sentence("V1").startswith("V1 answered 50 of the 100 questions")
