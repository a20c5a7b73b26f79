"""Which cases the filters "contradicted" and "right without context" hold."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.scoring.run_store import RunStore

GOLD, OTHER = {"id": "a", "text": "Refunds take 30 days."}, {"id": "b", "text": "The shop opens at nine."}


def _sample(name: str, document: dict[str, str], **more: Any) -> dict[str, Any]:
    claim = {"text": "Refunds take 30 days.", "in_reference": True}
    return {
        "question_id": name,
        "question": f"How long do refunds take, case {name}?",
        "answer": "Refunds take 30 days.",
        "reference_answer": "30 days",
        "retrieved": [document],
        "relevant": [{"id": "a", "grade": 1}],
        "claims": [claim | more.pop("claim", {})],
        **more,
    }


@pytest.mark.parametrize(
    ("key", "held"),
    [("contradicted", ["against"]), ("right_without_context", ["memory", "against"])],
)
def test_the_filters_hold_what_they_say(workspace: RunStore, key: str, held: list[str]) -> None:
    samples = [
        _sample("found", GOLD, claim={"supported_by": [1]}),
        _sample("memory", OTHER, claim={"supported_by": []}),
        _sample("against", OTHER, claim={"supported_by": [], "contradicted_by": [1]}),
        _sample("wrong", OTHER, answer="Refunds take 90 days.", scores={"correctness": 0.0}),
        _sample("refused", OTHER, answer="I could not find this in the documents.", claims=[]),
    ]
    run = add_run(samples, "V1", "shop", str(workspace.workspace.root))
    scored = workspace.scored(run)
    rows = cohort_rows(scored, f"answer:{key}")
    assert [str(scored.question_ids[scored.question[row]]) for row in rows.nonzero()[0]] == held
    assert cohort_title(f"answer:{key}")
