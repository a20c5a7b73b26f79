"""Answers in a language in which estimates were not measured are neither right, nor wrong, nor answered."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import run

from ragtriage.dashboard.wording.diagnosis import rate_basis
from ragtriage.data.api import add_run, diagnosis_of, gate
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.scoring.run_store import RunStore

HINDI = "मुझे साल में कितने दिन की छुट्टी मिलती है?"
REFUSAL = "मुझे इसकी जानकारी नहीं है, कृपया मानव संसाधन विभाग से पूछें।"


@pytest.fixture
def hindi(workspace: RunStore) -> RunStore:
    """A run of which every answer is a refusal in Hindi, with scores that look fine."""
    records = [
        {
            "question_id": f"q{at:02d}",
            "question": HINDI,
            "answer": REFUSAL,
            "reference_answer": "साल में पच्चीस दिन की छुट्टी मिलती है।",
            "scores": {"faithfulness": 0.97, "answer_relevancy": 0.95},
        }
        for at in range(40)
    ]
    add_run(records, "V1", "hindi", str(workspace.workspace.root))
    return RunStore(workspace.workspace)


def test_refusals_in_another_language_are_no_right_answers(hindi: RunStore) -> None:
    (stored,) = hindi.runs()
    scored = hindi.scored(stored)
    assert np.isnan(scored.stage_features["text_outcome"]).all()
    assert np.isnan(scored.values("right_by_text")).all()
    diagnosis = diagnosis_of(hindi, stored, DiagnosisSettings())
    assert (diagnosis.answers.n, diagnosis.answers.checked, diagnosis.answers.enough) == (40, 0, False)
    assert "refusals and right by text not measured in Hindi" in rate_basis(diagnosis)
    report = gate(stored.run_id, workspace=str(hindi.workspace.root))
    assert report.conclusion().state == "not_checked"
    assert {"Refusals not measured in Hindi", "Right by text not measured in Hindi"} <= set(report.cautions)


def test_the_commands_say_where_estimates_are_not_measured(
    hindi: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    (stored,) = hindi.runs()
    said = " ".join(run(capsys, hindi.workspace.root, "diagnose", stored.run_id).out.split())
    assert "no fault found in 100 %" in said
    assert "not measured in Hindi" in said
