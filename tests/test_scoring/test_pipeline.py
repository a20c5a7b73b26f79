"""The steps of a pipeline: what survives and what is lost adds up, and each step says what it rests on."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ragtriage.data.api import add_run
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.pipeline import NOT_JUDGED, Pipeline, pipeline_of
from ragtriage.data.scoring.run_store import RunStore

GOLD = [{"id": "g", "text": "Gold."}]
OTHER = [{"id": "x", "text": "Other."}]


def _diagnosed(store: RunStore, records: list[dict[str, Any]]) -> Diagnosis:
    named = [{"question_id": f"q{at}", "question": f"{at}?", **record} for at, record in enumerate(records)]
    run = add_run(named, "V1", "shop", str(store.workspace.root))
    return diagnose(RunStore(store.workspace).scored(run), DiagnosisSettings())


def _answer(retrieved: list[dict[str, str]], faithfulness: float, **more: Any) -> dict[str, Any]:
    return {
        "answer": "An answer.",
        "retrieved": retrieved,
        "relevant": ["g"],
        "scores": {"faithfulness": faithfulness, "answer_relevancy": 0.9},
        **more,
    }


def _survivors(pipeline: Pipeline) -> dict[str, int]:
    return {step.key: step.survivors for step in pipeline.steps}


def test_each_case_is_lost_at_the_step_of_its_stage(workspace: RunStore) -> None:
    records = [
        *[_answer(GOLD, 1.0)] * 4,
        *[_answer(OTHER, 0.1)] * 3,
        *[_answer(GOLD, 0.1)] * 2,
        _answer(GOLD, 1.0, answer="I don't know.", refused=True, scores={}),
    ]
    pipeline = pipeline_of(_diagnosed(workspace, records))
    assert _survivors(pipeline) == {
        "asked": 10, "found": 7, "ranked": 7, "answered": 6, "faithful": 4, "complete": 4, "good": 4,
    }  # fmt: skip
    assert [(loss.key, loss.n) for loss in pipeline.losses()] == [
        ("retrieval_miss", 3),
        ("refused_with_context", 1),
        ("unfaithful", 2),
    ]
    basis = {step.key: step.basis for step in pipeline.steps}
    assert (basis["found"], basis["ranked"], basis["faithful"]) == ("measured", "not recorded", "measured")


def test_gold_that_the_ranking_cut_off_is_lost_there_and_not_by_the_search(workspace: RunStore) -> None:
    half = _answer(GOLD, 0.1, relevant=["g", "h"], candidates=["g", "x"])
    cut_off = {**half, "candidates": ["g", "x", "h"]}
    pipeline = pipeline_of(_diagnosed(workspace, [half, cut_off, cut_off]))
    lost = {step.key: [(loss.key, loss.n) for loss in step.losses] for step in pipeline.steps if step.losses}
    assert lost == {"found": [("partial_gold", 1)], "ranked": [("partial_gold", 2)]}


def test_a_refusal_is_lost_at_answering_where_nothing_shows_its_context(workspace: RunStore) -> None:
    refusal = {"answer": "I don't know.", "refused": True, "answerable": "yes"}
    pipeline = pipeline_of(_diagnosed(workspace, [refusal]))
    lost = {step.key: (step.basis, step.losses[0].key) for step in pipeline.steps if step.losses}
    assert lost == {"answered": ("measured", "refused")}


def test_a_wrong_route_is_a_step_only_where_it_loses_cases(workspace: RunStore) -> None:
    check = {"name": "route", "kind": "router", "passed": False}
    records = [_answer(GOLD, 1.0), _answer(GOLD, 1.0, checks=[check])]
    pipeline = pipeline_of(_diagnosed(workspace, records))
    assert _survivors(pipeline)["routed"] == 1
    assert pipeline.good == 1


def test_what_nothing_measures_is_neither_good_nor_lost_at_a_stage(workspace: RunStore) -> None:
    bare = {"answer": "An answer.", "retrieved": OTHER}
    pipeline = pipeline_of(_diagnosed(workspace, [bare, bare, bare]))
    assert [(loss.key, loss.n) for loss in pipeline.losses()] == [(NOT_JUDGED, 3)]
    assert pipeline.good == 0
    assert {step.basis for step in pipeline.steps if step.key in ("found", "ranked", "faithful")} == {
        "not recorded"
    }


def test_without_answers_nothing_is_said_of_answering(demo: RunStore) -> None:
    run = next(run for run in demo.runs("musique") if run.name == "BM25")
    pipeline = pipeline_of(diagnose(demo.scored(run), DiagnosisSettings()))
    assert {step.key for step in pipeline.steps if step.basis == "not recorded"} >= {"answered", "faithful"}


@pytest.mark.parametrize("project", ["clapnq", "iris", "mtrag", "musique", "ragchecker"])
def test_survivors_and_losses_add_up_in_every_bundled_run(demo: RunStore, project: str) -> None:
    for run in demo.runs(project):
        if run.means:
            continue
        found = diagnose(demo.scored(run), DiagnosisSettings())
        pipeline = pipeline_of(found)
        left = found.scored.n
        for step in pipeline.steps:
            left -= step.lost
            assert step.survivors == left, step
        lost, inferred = Counter[str](), Counter[str]()
        for loss in pipeline.losses():
            lost[loss.key] += loss.n
            inferred[loss.key] += loss.n_inferred
        del lost[NOT_JUDGED]
        assert lost == {entry.key: entry.n_bad for entry in found.fix_first}
        assert +inferred == {entry.key: entry.n_inferred for entry in found.fix_first if entry.n_inferred}
        assert pipeline.good == int((found.measured & ~found.bad.bad).sum())
        assert pipeline.share("good") == pipeline.good / found.scored.n
