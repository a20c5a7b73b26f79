"""What nothing measured is a dash or a sentence: never 0, never a traceback, never "not computed"."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from command_line import run

import ragtriage
from ragtriage.dashboard.present.case_html.case import context_html, highlights_of
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.wording.diagnosis import bad_cases_text, case_conclusion
from ragtriage.data.api import add_run
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.context_use import context_use_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.sanity.rule import CheckInput
from ragtriage.metrics.sanity.run import check_numbers

Capture = pytest.CaptureFixture[str]
ALONE = "has summary scores only; accepted: a run with samples"


def _summary_only(demo: RunStore) -> Run:
    return next(entry for entry in demo.runs("version history") if entry.means)


def _loaded(store: RunStore, records: list[dict[str, Any]], name: str = "run") -> Diagnosis:
    scored = store.scored(add_run(records, name, "p", str(store.workspace.root)))
    return diagnose(scored, DiagnosisSettings())


@pytest.mark.parametrize("command", ["diagnose", "gate"])
def test_a_run_of_summary_scores_alone_is_answered_in_a_sentence(
    capsys: Capture, demo: RunStore, command: str
) -> None:
    summary, root = _summary_only(demo), demo.workspace.root
    answer = run(capsys, root, command, summary.run_id)
    assert answer.code == 2
    assert ALONE in answer.err
    with pytest.raises(ragtriage.RagtriageError, match=ALONE):
        getattr(ragtriage, command)(summary.run_id, workspace=str(root))
    with pytest.raises(DataError, match=ALONE):
        diagnose(demo.scored(summary), DiagnosisSettings())
    with pytest.raises(DataError, match=ALONE):
        StoryView(demo, summary).diagnosis  # noqa: B018 -- reading it diagnoses the run


def test_a_column_of_0_that_is_computed_here_too_is_measured() -> None:
    zero, some = np.zeros(6), np.full(6, 0.4)
    imported = {"recall@1": zero, "faithfulness": some}
    rules = [finding.rule for finding in check_numbers(CheckInput(6, {"recall@1": zero}, imported))]
    assert rules == []
    assert [finding.rule for finding in check_numbers(CheckInput(6, {}, imported))] == ["zero_column"]


def test_what_is_computed_here_is_never_told_as_an_empty_column(demo: RunStore) -> None:
    for entry in demo.runs():
        if entry.n:
            empty = [finding for finding in check_run(demo.scored(entry)) if finding.rule == "empty_column"]
            assert all("imported" in finding.message for finding in empty)


def test_a_document_that_a_claim_cites_is_not_called_ignored(workspace: RunStore) -> None:
    record: dict[str, Any] = {
        "question_id": "q",
        "question": "Which river?",
        "answer": "It runs through eleven states. Bread needs flour.",
        "retrieved": [
            {"id": "nile", "text": "The Nile crosses Egypt, Sudan and nine other countries."},
            {"id": "bread", "text": "Bread needs flour and water."},
        ],
        "claims": [{"text": "eleven states", "supported_by": [1]}, {"text": "flour"}],
    }
    scored = _loaded(workspace, [record]).scored
    sample = scored.samples.read([0])[0]
    highlights = highlights_of(sample)
    assert (highlights.used, highlights.used_how) == (frozenset({1, 2}), "estimated")
    assert "ignored" not in context_html(sample, highlights)
    context_use = context_use_of(scored)
    assert context_use is not None
    assert context_use.use.used.tolist() == [[True, True]]
    assert scored.values("ignored_top_ranked").tolist() == [0.0]
    labelled = {**record, "claims": [{"text": "eleven states", "supported_by": [1]}]}
    highlights = highlights_of(_loaded(workspace, [labelled], "labelled").scored.samples.read([0])[0])
    assert (highlights.used, highlights.used_how) == (frozenset({1}), "from claim labels")


def test_a_run_of_which_nothing_is_measured_has_no_number_of_bad_cases(
    capsys: Capture, workspace: RunStore
) -> None:
    records = [{"question_id": f"q{at}", "question": "?", "answer": "a"} for at in range(10)]
    found = _loaded(workspace, records, "bare")
    assert bad_cases_text(found) == "none of 10 cases is measured"
    assert found.worst_slices == []
    text = run(capsys, workspace.workspace.root, "diagnose", "bare").out
    assert text.startswith("None of 10 cases is measured; pass rate –.")


def test_a_pass_rate_does_not_rest_on_refusals_found_by_phrases_alone(
    capsys: Capture, workspace: RunStore
) -> None:
    answers = ["In 1998.", "Forty litres.", "Mrs Hale.", "On Tuesdays.", "By post.", "I don't know."]
    records: list[dict[str, Any]] = [
        {"question_id": f"q{at}", "question": f"Question {at}?", "answer": answer, "reference_answer": "So."}
        for at, answer in enumerate(answers)
    ]
    found = _loaded(workspace, records, "plain")
    assert found.pass_rate.n_scored == 0
    assert found.fix_first == []
    text = " ".join(run(capsys, workspace.workspace.root, "diagnose", "plain").out.split())
    assert text.startswith("None of 6 cases is measured; pass rate –.")
    assert "Record one of them, run the judge, or label cases" in text
    labelled = [{**record, "answerable": "yes"} for record in records]
    assert _loaded(workspace, labelled, "labelled").pass_rate.n_scored == 1
    scored = [{**record, "scores": {"correctness": 0.9}} for record in records[:5]]
    mixed = _loaded(workspace, [*scored, records[5]], "mixed")
    assert (mixed.pass_rate.n_scored, int(mixed.bad.bad.sum())) == (6, 1)


def test_a_case_that_is_not_measured_names_what_it_lacks(capsys: Capture, workspace: RunStore) -> None:
    records = [
        {"question_id": f"q{at}", "question": "?", "answer": "a", "scores": {"context_recall": 1, **more}}
        for at, more in enumerate([{"faithfulness": 1}, {}])
    ]
    found = _loaded(workspace, records, "partly")
    assert case_conclusion(found, 0) == "Not measured: answer relevancy"
    assert case_conclusion(found, 1) == "Not measured: faithfulness, answer relevancy"
    text = run(capsys, workspace.workspace.root, "diagnose", "partly").out
    assert "Missing: faithfulness (1 case), answer relevancy (2 cases)." in " ".join(text.split())


def test_slices_are_compared_over_measured_cases_alone(workspace: RunStore) -> None:
    def record(at: int, part: str, **scores: float) -> dict[str, Any]:
        return {
            "question_id": f"q{at}",
            "question": "?",
            "answer": "a",
            "tags": {"part": part},
            "scores": scores,
        }

    bad = [record(at, "a", faithfulness=0.1) for at in range(20)]
    open_cases = [record(20 + at, "b") for at in range(40)]
    found = _loaded(workspace, bad + open_cases)
    assert found.bad.bad.sum() == 20
    assert [worst for worst in found.worst_slices if worst.name == "part"] == []
