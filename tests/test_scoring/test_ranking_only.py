"""Runs without answers are rankings: a threshold that the list cannot reach makes no case bad."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ragtriage.dashboard.headlines.diagnosis import diagnosis_headline
from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.data.api import add_run, gate
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.ranking import ranking_of
from ragtriage.data.scoring.run_store import RunStore


def _question(at: int, relevant: int, found: int, hops: bool = False) -> dict[str, Any]:
    gold = [{"id": f"{at}-{each}", **({"hop": str(each)} if hops else {})} for each in range(relevant)]
    others = [{"id": f"{at}-other-{each}"} for each in range(10 - found)]
    return {
        "question_id": f"q{at}",
        "question": f"Question {at}?",
        "retrieved": [{"id": entry["id"]} for entry in gold[:found]] + others,
        "relevant": gold,
    }


def _diagnosis(store: RunStore, questions: list[dict[str, Any]]) -> Diagnosis:
    return diagnose(
        store.scored(add_run(questions, "run", "p", str(store.workspace.root))), DiagnosisSettings()
    )


def test_more_relevant_documents_than_places_make_no_bad_cases(workspace: RunStore) -> None:
    found = _diagnosis(workspace, [_question(at, 30, 8) for at in range(10)])
    assert not found.bad.bad.any()
    assert not found.measured.any()
    ranking = ranking_of(found)
    assert ranking is not None
    assert (ranking.metric, ranking.k, ranking.beyond_k) == ("ndcg@10", 10, 10)
    assert ranking.capped_recall == pytest.approx(0.8)
    headline = diagnosis_headline("run", found, (), has_answers=False)
    assert headline.statement == "run: retrieval only, nDCG@10 0.87"  # 3.954 of 4.544
    assert "80 % of what 10 can hold is found" in headline.detail
    gated = report_headline(gate(found.scored.run.run_id, workspace=str(workspace.workspace.root)))
    assert (gated.statement, "faithfulness needs" in gated.text.lower()) == (headline.statement, False)
    assert "such as ndcg@10, would decide" in gated.detail


def test_where_the_list_can_hold_them_or_hops_are_named_the_pass_rate_stays(workspace: RunStore) -> None:
    few = _diagnosis(workspace, [_question(0, 3, 3), _question(1, 3, 1)])
    np.testing.assert_array_equal(few.bad.bad, [False, True])
    hops = _diagnosis(workspace, [_question(0, 12, 10, hops=True), _question(1, 2, 2, hops=True)])
    np.testing.assert_array_equal(hops.bad.bad, [True, False])


def test_a_run_with_answers_is_no_ranking(workspace: RunStore) -> None:
    assert ranking_of(_diagnosis(workspace, [{**_question(0, 3, 3), "answer": "Yes."}])) is None
