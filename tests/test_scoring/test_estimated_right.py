"""Right by text, as a metric of a run: what is scored, what stays open, and when there is no mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.text.right_by_text import right_by_text
from ragtriage.metrics.schema.scores import Source, Status

RIGHT, OTHER, OPEN = "It is Ann Lee.", "It is Bob Ray.", "It is Lee Ray."
REFUSED = "I cannot answer that."


def _scored(store: RunStore, answers: Sequence[str | None], reference: str | None = "Ann Lee") -> ScoredRun:
    records: list[dict[str, Any]] = [
        {
            "question_id": f"q{at:03}",
            "question": f"Who leads team {at}?",
            "answer": answer,
            "reference_answer": reference,
        }
        for at, answer in enumerate(answers)
    ]
    return store.scored(add_run(records, "run", "p", str(store.workspace.root)))


def test_same_is_1_other_is_0_and_the_rest_is_not_run(workspace: RunStore) -> None:
    scored = _scored(workspace, [RIGHT, OTHER, OPEN, REFUSED, "", None])
    column = scored.column("right_by_text")
    assert column is not None
    np.testing.assert_array_equal(column.values, [1, 0, np.nan, 0, 0, np.nan])
    assert (column.source == Source.ESTIMATED).all()
    assert column.status[2] == column.status[5] == Status.NOT_RUN
    np.testing.assert_array_equal(scored.stage_features["text_outcome"], [2, 0, 1, 0, 0, np.nan])
    assert scored.stage_features["text_score"][0] > scored.stage_features["text_score"][2] > 0


def test_without_references_it_is_missing_and_says_so(workspace: RunStore) -> None:
    scored = _scored(workspace, [RIGHT, OTHER], None)
    assert "right_by_text" not in scored.metrics
    assert scored.missing["right_by_text"] == "needs reference answers: `reference_answer`"


@pytest.mark.parametrize(("n_open", "mean"), [(3, 4 / 7), (4, None)])
def test_above_three_in_ten_open_there_are_bounds_and_no_mean(
    workspace: RunStore, n_open: int, mean: float | None
) -> None:
    answers = [RIGHT] * 4 + [OTHER] * (6 - n_open) + [OPEN] * n_open
    run = _scored(workspace, answers).run
    summary = workspace.summary(run)["right_by_text"]
    assert summary.mean == (None if mean is None else pytest.approx(mean))
    assert summary.n_applicable == 10
    assert (summary.worst, summary.best) == ((None, None) if mean else (0.4, 0.8))
    assert workspace.summary(run)["right_by_text"].sources == {"estimated": 10 - n_open}


@pytest.mark.parametrize(
    ("answer", "reference", "outcome"),
    [
        ("Theft must be reported within 5 weeks.", "Report theft within 5 days.", "other"),
        ("The limit is 300 dollars.", "300 euros", "other"),
        ("It takes 14 days.", "two weeks", "unknown"),
        ("The limit is 300 USD.", "$300", "same"),
        (
            "It has 5 users; each further one is $6 per month.",
            "5 users, extra ones $6/month",
            "unknown",
        ),
    ],
)
def test_a_number_in_another_unit_is_another_value(answer: str, reference: str, outcome: str) -> None:
    match = right_by_text(answer, [reference], "What do the terms of theft say?")
    assert match is not None
    assert match.outcome == outcome
