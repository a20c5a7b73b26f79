"""The refusal table: the context holds the answer or not, by refused or not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.cases.refusal_cohorts import REFUSAL_CELLS, refusal_counts
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
    run = add_run(json.loads(json.dumps(records)), "t", workspace=str(workspace.workspace.root))
    scored = workspace.scored(run)
    counts = {"answered": 4, "over_refusal": 3, "unsupported_answer": 2, "rejected": 2}
    assert refusal_counts(scored) == counts
    assert {cell: int(cohort_rows(scored, f"refusal:{cell}").sum()) for cell in REFUSAL_CELLS} == counts
    assert cohort_title("refusal:over_refusal").endswith("over-refusal")
    with pytest.raises(DataError, match="accepted: answered"):
        cohort_rows(scored, "refusal:nothing")
    summary = workspace.summary(run)
    assert summary["negative_rejection_rate"].mean == pytest.approx(2 / 4)
    assert (summary["corpus_rejection_rate"].mean, summary["corpus_rejection_rate"].n_scored) == (1.0, 1)
