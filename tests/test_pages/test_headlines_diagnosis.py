"""The conclusion of the Diagnosis page in every state."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.dashboard.headlines.diagnosis import diagnosis_headline
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.data.api import add_run, gate
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.scoring.run_store import RunStore

GOOD = {"context_recall": 1.0, "faithfulness": 1.0, "answer_relevancy": 1.0}


def _headline(store: RunStore, scores: list[dict[str, float]], **more: Any) -> Headline:
    records = [
        {"question_id": f"q{at}", "question": f"{at}?", "answer": "An answer.", "scores": of_case, **more}
        for at, of_case in enumerate(scores)
    ]
    scored = store.scored(add_run(records, "V1", "p", str(store.workspace.root)))
    return diagnosis_headline("V1", diagnose(scored, DiagnosisSettings()), check_run(scored))


@pytest.mark.parametrize(
    ("scores", "state", "statement"),
    [
        ([GOOD] * 5, "good", "V1: all 5 cases are healthy"),
        ([GOOD] * 4, "cannot tell", "V1: all 4 cases are healthy, too few to tell"),
        ([GOOD], "cannot tell", "V1: the one case is healthy, too few to tell"),
        (
            [{**GOOD, "context_recall": 0.1}] * 2 + [GOOD],
            "bad",
            "V1: 2 of 3 cases lack the context they need",
        ),
        ([{**GOOD, "faithfulness": 0.1}, GOOD], "bad", "V1: 1 of 2 cases goes beyond its context"),
        ([{**GOOD, "answer_relevancy": 0.1}] * 2, "bad", "V1: 2 of 2 cases use the wrong section"),
        (
            [{"faithfulness": 0.1, "answer_relevancy": 0.9}] * 10,
            "bad",
            "V1: 10 of 10 cases are bad, 10 unfaithful",
        ),
        ([{"faithfulness": 0.1, "answer_relevancy": 0.9}], "bad", "V1: 1 of 1 case is bad, 1 unfaithful"),
        ([{"faithfulness": 1.0}] * 3, "cannot tell", "V1: 3 of 3 cases lack a deciding value"),
        ([{}] * 2, "not measured", "V1: no deciding metric is measured"),
    ],
)
def test_the_statement_follows_what_most_bad_cases_share(
    workspace: RunStore, scores: list[dict[str, float]], state: str, statement: str
) -> None:
    found = _headline(workspace, scores)
    assert (found.state, found.statement, found.doubt) == (state, statement, "")
    assert len(found.statement) <= 70
    assert state == "not measured" or "n = " in found.detail


def test_refusals_are_a_conclusion_of_their_own(workspace: RunStore) -> None:
    found = _headline(workspace, [GOOD] * 4, refused=True, answerable="yes")
    assert (found.state, found.statement) == ("bad", "V1: 4 of 4 cases are wrong refusals")
    assert "4 wrongly refused" in found.detail


def test_right_refusals_alone_are_no_verdict_on_diagnosis_and_triage(workspace: RunStore) -> None:
    root = str(workspace.workspace.root)
    records = [
        {"question_id": f"q{at}", "question": f"{at}?", "answer": "", "answerable": "no"} for at in range(10)
    ]
    run = add_run(records, "V1", "p", root)
    diagnosis = diagnose(workspace.scored(run), DiagnosisSettings())
    assert diagnosis.coverage.of_refusals_alone
    found = diagnosis_headline("V1", diagnosis, [])
    assert (found.state, found.statement) == (
        "cannot tell",
        "V1: all 10 cases judged by answerability alone",
    )
    assert "scores of the answers" in found.detail
    assert report_headline(gate(run.run_id, "", None, root)).state == "not measured"


def test_without_answers_and_values_the_run_is_empty(workspace: RunStore) -> None:
    scored = workspace.scored(
        add_run([{"question_id": "q", "question": "?"}], "V1", "p", str(workspace.workspace.root))
    )
    found = diagnosis_headline("V1", diagnose(scored, DiagnosisSettings()), [], has_answers=False)
    assert (found.state, found.statement) == ("empty", "V1: no answers in this run")


def test_a_doubted_run_says_so_in_its_headline(demo: RunStore) -> None:
    (colbert,) = [run for run in demo.runs("iris") if (run.name, run.n) == ("colbert", 30)]
    scored = demo.scored(colbert)
    found = diagnosis_headline("colbert", diagnose(scored, DiagnosisSettings()), check_run(scored))
    assert (found.state, found.statement) == ("doubted", "colbert: 20 of 30 cases are wrong refusals")
    assert "every question got the same 10 documents" in found.doubt
    assert "18 wrongly refused (inferred)" in found.detail
