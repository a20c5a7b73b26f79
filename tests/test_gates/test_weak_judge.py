"""A judge that passes what people fail doubts the numbers that rest on it, where it does so."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.data.api import add_run, diagnosis_of, gate
from ragtriage.data.comparison.compare import compare
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.diagnosis.doubts import pass_rate_doubts
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.diagnosis.weak_judge import WEAK_JUDGE, weak_judges
from ragtriage.data.judge.judge_run import RecordedLabels, publish_recorded
from ragtriage.data.labels.ratings import rate
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.judge_results import JudgedClaim, JudgeReply, RequestedLabels, reply_payload

ENGLISH = "What does the handbook say about leave in the year number {}, and who decides about it?"
FINNISH = "Mitä käsikirja sanoo lomasta vuonna numero {}, ja kuka siitä meillä lopulta päättää?"


@pytest.fixture
def judged(workspace: RunStore) -> RunStore:
    """A run in two languages whose judge is right in English and passes everything in Finnish."""
    records = [
        {
            "question_id": f"q{at:02d}",
            "question": (FINNISH if at % 2 else ENGLISH).format(at),
            "answer": "Ten days.",
            "retrieved": [{"id": "a", "text": "Ten days of leave."}],
        }
        for at in range(48)
    ]
    run = add_run(records, "V1", "leave", str(workspace.workspace.root))
    labels = {f"q{at:02d}": _labels(bool(at % 2 or at % 4)) for at in range(48)}
    publish_recorded(workspace.workspace, run, RecordedLabels("a judge", "p", "for this test", labels))
    return RunStore(workspace.workspace)


def _labels(supported: bool) -> dict[str, Any]:
    claims = (JudgedClaim("Ten days.", (1,) if supported else (), (), None),)
    form = RequestedLabels(answer=True, reference=False, ranks=(1,))
    reply = JudgeReply(form, False, "fully", "complete", None, False, (1,), (1,), claims, (), ())
    return reply_payload(reply)


def _rate_all(store: RunStore, finnish: bool) -> ScoredRun:
    (run,) = store.runs()
    for at in range(48):
        if finnish or at % 2 == 0:
            good = bool(at % 4) if at % 2 == 0 else at % 4 == 1
            rate(store.ledger, (run.run_id, f"q{at:02d}", 0), "Ann", "faithfulness", float(good))
    return store.scored(run)


def test_a_judge_that_people_bear_out_is_not_doubted(judged: RunStore) -> None:
    assert weak_judges(_rate_all(judged, finnish=False)) == []


def test_a_judge_that_is_blind_in_one_language_is_doubted_there(judged: RunStore) -> None:
    scored = _rate_all(judged, finnish=True)
    (finding,) = weak_judges(scored)
    assert finding.title == "The judge of faithfulness passes bad answers in Finnish"
    assert "Of 12 answers in Finnish that people rate below 0.8, the judge of" in finding.message
    assert "faithfulness fails 0" in finding.message
    assert "It holds in English." in finding.message
    assert all(scored.question_ids[scored.question[row]] for row in finding.rows)
    assert len(finding.rows) == 24


def test_the_doubt_stands_at_the_gate_and_the_pass_rate(judged: RunStore) -> None:
    scored = _rate_all(judged, finnish=True)
    findings = check_run(scored)
    assert WEAK_JUDGE in [finding.rule for finding in findings]
    diagnosis = diagnosis_of(judged, scored.run, DiagnosisSettings())
    assert WEAK_JUDGE in [finding.rule for finding in pass_rate_doubts(diagnosis, findings)]
    report = gate(scored.run.run_id, workspace=str(judged.workspace.root))
    doubts = [result.doubt for result in report.results if result.gate.metric == "faithfulness"]
    assert "the judge of faithfulness passes bad answers in Finnish" in doubts[0]


def test_a_comparison_names_the_run_whose_judge_is_doubted(judged: RunStore) -> None:
    scored = _rate_all(judged, finnish=True)
    other = add_run(
        [{"question_id": "q00", "question": ENGLISH, "answer": "Ten days.", "scores": {"faithfulness": 1.0}}],
        "V2",
        "leave",
        str(judged.workspace.root),
    )
    before, after = (diagnosis_of(judged, stored, DiagnosisSettings()) for stored in (scored.run, other))
    warnings = compare(before, after, ["faithfulness"]).warnings
    (warning,) = (each for each in warnings if "passes bad" in each)
    assert warning == "The judge of faithfulness passes bad answers in Finnish, of the baseline."
