"""The refusal table: the context holds the answer or not, by refused or not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragtriage.dashboard.wording.diagnosis import refusal_rates_text
from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.cases.refusal_cohorts import REFUSAL_CELLS, REFUSAL_RATES, refusal_counts
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore

GOLD, OTHER = {"id": "gold", "text": "Paris"}, {"id": "other", "text": "Rome"}


def _record(number: int, holds: bool, refused: bool, **more: Any) -> dict[str, Any]:
    return {
        "question_id": f"q{number}",
        "question": "Capital of France?",
        "answer": "I cannot answer that." if refused else "Paris.",
        "refused": refused,
        "retrieved": [GOLD if holds else OTHER],
        "relevant": [{"id": "gold"}],
        **more,
    }


def test_every_sample_is_in_one_cell_and_each_cell_opens_its_cases(workspace: RunStore) -> None:
    cells = [(True, False)] * 4 + [(True, True)] * 3 + [(False, False)] * 2 + [(False, True)]
    records = [_record(number, *cell) for number, cell in enumerate(cells)]
    records.append(_record(90, False, True, answerable="no", relevant=[]))
    records.append(_record(91, True, True, answerable="partial"))
    both = [{"id": "gold"}, {"id": "second"}]
    records += [_record(92, True, False, relevant=both), _record(93, True, True, relevant=both)]
    counts = {"answered": 4, "over_refusal": 4, "unsupported_answer": 2, "rejected": 2}
    counts |= {"part_answered": 1, "part_refused": 1}
    run = add_run(json.loads(json.dumps(records)), "t", workspace=str(workspace.workspace.root))
    scored = workspace.scored(run)
    assert refusal_counts(scored) == counts
    assert {cell: int(cohort_rows(scored, f"refusal:{cell}").sum()) for cell in REFUSAL_CELLS} == counts
    assert cohort_title("refusal:over_refusal").endswith("over-refusal")
    with pytest.raises(DataError, match="accepted: answered"):
        cohort_rows(scored, "refusal:nothing")
    summary = workspace.summary(run)
    assert summary["negative_rejection_rate"].mean == pytest.approx(2 / 4)
    assert (summary["corpus_rejection_rate"].mean, summary["corpus_rejection_rate"].n_scored) == (1.0, 1)


def test_over_refusals_are_those_of_the_stage_and_two_rates_are_told_apart(workspace: RunStore) -> None:
    """Four of five answerable questions are refused, but only one of them with the answer in its context."""
    both = [{"id": "gold"}, {"id": "second"}]
    records = [_record(0, True, True), _record(1, True, False), _record(2, False, True)]
    records += [
        _record(3, True, True, relevant=both),
        _record(4, True, True, answerable="yes", relevant=both),
    ]
    records += [_record(5, True, True, answerable="no", relevant=[])]
    run = add_run(json.loads(json.dumps(records)), "t", workspace=str(workspace.workspace.root))
    found = diagnose(workspace.scored(run), DiagnosisSettings())
    assert refusal_counts(found.scored)["over_refusal"] == found.stage_counts()["refused_with_context"] == 1
    assert found.stage_counts()["partial_gold"] == refusal_counts(found.scored)["part_refused"] == 2
    summary = workspace.summary(run)
    rates = {name: (summary[name].mean, summary[name].n_scored) for name in REFUSAL_RATES[:2]}
    assert rates == {"refused_answerable": (4 / 5, 5), "over_refusal": (1 / 2, 2)}
    text = refusal_rates_text(found)
    assert text.startswith("Refused although answerable: 80 %")
    assert "of 2 questions whose context holds the answer" in text
