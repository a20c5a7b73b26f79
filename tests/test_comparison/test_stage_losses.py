"""What is lost in retrieval and what in generation, by hand and against the paired comparison itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.cases.comparison_cohorts import OracleGapCohort, oracle_gap_cohort, oracle_gap_cohort_key
from ragtriage.data.comparison.oracle_gap import (
    ONE_PASSAGE,
    cautions,
    context_modes,
    generator_of,
    lost_rows,
    oracle_gap,
    original_of,
    outcome_metrics_of,
    paired_runs_of,
    right_from,
)
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.statistics.intervals import interval
from ragtriage.metrics.statistics.paired import paired

RETRIEVED = [1.0, 0.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.5]
ORACLE = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.5, 1.0, 1.0, 1.0]
CLOSED = [0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]


def _records(values: list[float], mode: str | None = None, **more: Any) -> list[dict[str, Any]]:
    gold = {} if mode is None else {"context_mode": mode}
    return [
        {
            "question_id": f"q{at:02d}",
            "question": f"Question {at}?",
            "answer": f"{mode} {at}",
            "retrieved": None
            if mode == "closed_book"
            else [{"id": "a", "text": "a"}, {"id": "b", "text": "b"}],
            "scores": {"correctness": value},
            **gold,
            **more,
        }
        for at, value in enumerate(values)
    ]


def _run(store: RunStore, records: list[dict[str, Any]], name: str, **config: Any) -> Run:
    dataset = str(config.pop("dataset", ""))
    return add_run(records, name, "p", str(store.workspace.root), config, dataset)


def _diagnosis(store: RunStore, records: list[dict[str, Any]], name: str) -> Diagnosis:
    return diagnose(store.scored(_run(store, records, name)), DiagnosisSettings())


@pytest.fixture
def three(workspace: RunStore) -> tuple[Diagnosis, Diagnosis, Diagnosis]:
    return (
        _diagnosis(workspace, _records(RETRIEVED), "retrieved"),
        _diagnosis(workspace, _records(ORACLE, "oracle"), "oracle"),
        _diagnosis(workspace, _records(CLOSED, "closed_book"), "closed"),
    )


def test_the_losses_by_hand(three: tuple[Diagnosis, Diagnosis, Diagnosis]) -> None:
    found = oracle_gap(three[0], three[1], "correctness", three[2])
    assert [(one.key, one.n) for one in found.gaps] == [
        ("retrieval", 12),
        ("generation", 12),
        ("context", 12),
    ]
    values = {one.key: one.value for one in found.gaps}
    assert values["retrieval"] == pytest.approx((8.5 - 4.5) / 12)
    assert values["generation"] == pytest.approx(1 - 8.5 / 12)
    assert values["context"] == pytest.approx((4.5 - 1.5) / 12)
    assert (found.retrieved, found.oracle, found.closed_book) == (4.5 / 12, 8.5 / 12, 1.5 / 12)
    assert values["retrieval"] + values["generation"] == pytest.approx(1 - found.retrieved)
    assert found.sources == (("imported",), ("imported",), ("imported",))
    assert found.unpaired == 0


def test_the_intervals_are_those_of_the_paired_comparison(
    three: tuple[Diagnosis, Diagnosis, Diagnosis],
) -> None:
    found = oracle_gap(three[0], three[1], "correctness", three[2])
    low, high, less = (np.array(values) for values in (RETRIEVED, ORACLE, CLOSED))
    clusters = np.arange(12)
    for key, expected in (
        ("retrieval", paired(low, high, clusters)),
        ("context", paired(less, low, clusters)),
    ):
        one = found.gap(key)  # type: ignore[arg-type] # the two words are kinds of losses
        assert one is not None
        assert (one.value, one.low, one.high) == (expected.difference, expected.low, expected.high)
        assert expected.method.startswith(f"{one.method} interval")
    lacking, generation = interval(1 - high, clusters, 12), found.gap("generation")
    assert generation is not None
    assert (generation.low, generation.high) == (lacking.low, lacking.high)
    assert generation.low < generation.value < generation.high
    assert (generation.method, generation.too_few) == ("dirichlet", False)


def test_repeats_are_averaged_and_only_shared_questions_count(workspace: RunStore) -> None:
    twice = [{**one, "repeat": at} for at, one in enumerate(_records([1.0, 1.0])[:1] * 2)]
    twice[1]["scores"] = {"correctness": 0.0}
    extra = _records([0.0, 0.0, 1.0])[2:]
    original = _diagnosis(workspace, [*twice, *extra], "retrieved")
    oracle = _diagnosis(workspace, _records([1.0, 0.0], "oracle"), "oracle")
    found = oracle_gap(original, oracle, "correctness")
    assert [(one.key, one.value, one.n) for one in found.gaps] == [
        ("retrieval", 0.5, 1),
        ("generation", 0.0, 1),
    ]
    assert (found.unpaired, found.retrieved) == (1, 0.5)
    assert all(one.too_few for one in found.gaps)


def test_what_is_not_measured_is_no_zero(workspace: RunStore) -> None:
    lacking = _records([1.0, 1.0, 1.0])
    lacking[1]["scores"] = {"correctness": None}
    original = _diagnosis(workspace, lacking, "retrieved")
    records = _records([0.0, 0.0, 0.0], "oracle")
    records[2]["scores"] = {}
    oracle = _diagnosis(workspace, records, "oracle")
    found = oracle_gap(original, oracle, "correctness")
    assert [one.n for one in found.gaps] == [1, 1]
    assert found.gaps[0].value == -1.0
    none = oracle_gap(original, oracle, "faithfulness")
    assert [one.n for one in none.gaps] == [0, 0]
    assert np.isnan([none.gaps[0].value, none.retrieved, none.oracle]).all()


def test_an_oracle_run_alone_has_the_loss_in_generation(
    three: tuple[Diagnosis, Diagnosis, Diagnosis],
) -> None:
    found = oracle_gap(None, three[1], "correctness")
    assert [one.key for one in found.gaps] == ["generation"]
    assert found.gaps[0].value == pytest.approx(1 - 8.5 / 12)
    assert found.sources[0] == ()
    assert lost_rows(three[1], three[1], "correctness", "generation").sum() == 3
    assert not lost_rows(three[1], three[1], "correctness", "retrieval").any()


def test_the_cases_of_each_loss(three: tuple[Diagnosis, Diagnosis, Diagnosis]) -> None:
    found = oracle_gap(three[0], three[1], "correctness")
    assert found.right == 0.5
    assert found.counts == {
        (True, True): 5,
        (True, False): 1,
        (False, True): 4,
        (False, False): 2,
    }
    lost = {
        where: np.flatnonzero(lost_rows(three[0], three[1], "correctness", where)).tolist()
        for where in ("retrieval", "generation")
    }
    assert lost == {"retrieval": [1, 4, 8, 10], "generation": [2, 6]}


def test_all_repeats_of_a_lost_question_are_among_its_cases(workspace: RunStore) -> None:
    records = [{**one, "repeat": at} for one in _records([0.0, 1.0]) for at in range(2)]
    original = _diagnosis(workspace, records, "retrieved")
    oracle = _diagnosis(workspace, _records([1.0, 1.0], "oracle"), "oracle")
    assert lost_rows(original, oracle, "correctness", "retrieval").tolist() == [True, True, False, False]


def test_one_source_stands_on_both_sides(workspace: RunStore) -> None:
    def rated(value: float) -> list[dict[str, Any]]:
        return [{"annotator": "x", "metric": "correctness", "value": value, "low": 0, "high": 1}]

    left = _records([0.0, 0.0, 0.0])
    left[0]["human"] = rated(1.0)
    original = _diagnosis(workspace, left, "retrieved")
    oracle = _diagnosis(workspace, _records([1.0, 1.0, 1.0], "oracle"), "oracle")
    found = oracle_gap(original, oracle, "correctness")
    assert original.scored.values("correctness")[0] == 1.0  # a person's word comes first elsewhere
    assert (found.retrieved, found.sources[:2]) == (0.0, (("imported",), ("imported",)))
    other = _records([0.0, 0.0, 0.0], "oracle")
    for one in other:
        one["scores"], one["human"] = {}, rated(1.0)
    mixed = oracle_gap(original, _diagnosis(workspace, other, "by people"), "correctness")
    assert mixed.sources[:2] == (("human",), ("human",))
    assert mixed.gaps[0].n == 1
    plain = _diagnosis(workspace, _records([0.5, 0.0, 0.0]), "plain")
    apart = oracle_gap(plain, _diagnosis(workspace, other, "by people"), "correctness")
    assert apart.sources[:2] == (("imported",), ("human",))


def test_the_first_quality_that_both_have_comes_first(workspace: RunStore) -> None:
    more = {"scores": {"faithfulness": 1.0, "rouge_l": 0.5, "answer_similarity": 0.5, "win_rate": 1.0}}
    original = _diagnosis(workspace, _records([1.0, 0.0], None, **more), "retrieved")
    oracle = _diagnosis(workspace, _records([1.0, 0.0], "oracle", **more), "oracle")
    assert outcome_metrics_of([original, oracle]) == ["faithfulness", GOOD_SHARE, "rouge_l"]
    both = [_diagnosis(workspace, _records(RETRIEVED, mode), str(mode)) for mode in (None, "oracle")]
    assert outcome_metrics_of(both)[:1] == ["correctness"]
    bare = [_diagnosis(workspace, _records([1.0], None, scores={}, retrieved=None), "bare")]
    assert outcome_metrics_of(bare) == []


def test_a_pass_rate_of_what_was_not_measured_is_no_quality(workspace: RunStore) -> None:
    original = _diagnosis(workspace, _records([0.0, 1.0], scores={"faithfulness": 0.2}), "retrieved")
    unjudged = _records([0.0, 0.0], "oracle", scores={"rouge_l": 0.1}, answerable="yes")
    oracle = _diagnosis(workspace, unjudged, "oracle")
    assert oracle.pass_rate.n_scored == 0, "that a question can be answered says nothing of its answer"
    assert outcome_metrics_of([original, oracle]) == []
    assert outcome_metrics_of([original]) == ["faithfulness", GOOD_SHARE]


def test_the_pass_rate_is_the_diagnoses_own(three: tuple[Diagnosis, Diagnosis, Diagnosis]) -> None:
    found = oracle_gap(three[0], three[1], GOOD_SHARE)
    assert found.retrieved == pytest.approx(three[0].pass_rate.mean)
    assert found.oracle == pytest.approx(three[1].pass_rate.mean)
    assert found.sources[0] == ("case thresholds",)
    assert (right_from(GOOD_SHARE, CaseThresholds()), right_from("faithfulness", CaseThresholds())) == (
        0.5,
        0.8,
    )


def test_samples_of_another_mode_are_left_out(workspace: RunStore) -> None:
    records = _records([1.0, 1.0, 0.0])
    records[2]["context_mode"] = "oracle"
    found = _diagnosis(workspace, records, "mostly retrieved")
    mine, mode = context_modes(found.scored)
    assert (mine.tolist(), mode) == ([True, True, False], "retrieved")
    oracle = _diagnosis(workspace, _records([1.0, 1.0, 1.0], "oracle"), "oracle")
    assert oracle_gap(found, oracle, "correctness").gaps[0].n == 2


def test_partners_are_found_by_origin_first_then_by_questions(workspace: RunStore) -> None:
    original = _run(workspace, _records(RETRIEVED), "v1", model="m", dataset="set")
    made = _run(
        workspace, _records(ORACLE, "oracle"), "made", generated_from=original.run_id, generator_model="c"
    )
    again = _run(workspace, _records(RETRIEVED, "retrieved"), "again", generated_from=original.run_id)
    like = _run(workspace, _records(ORACLE, "oracle"), "like", model="m", dataset="set")
    _run(workspace, _records(ORACLE, "oracle"), "other", model="n")
    _run(workspace, _records(CLOSED, "closed_book"), "closed", generated_from=original.run_id)
    few = _records(ORACLE[:6], "oracle")
    for at, one in enumerate(few[1:]):
        one["question_id"], one["question"] = f"another {at}", f"Another {at}?"
    _run(workspace, few, "few in common")
    _run(workspace, _records(ORACLE, "oracle"), "other set", dataset="another")
    runs = workspace.runs("p")
    found = paired_runs_of(original, runs, workspace.scored)
    assert (found.mode, [one.name for one in found.oracle]) == ("retrieved", ["made", "like", "other"])
    assert [one.name for one in found.closed_book] == ["closed"]
    assert [one.name for one in paired_runs_of(again, runs, workspace.scored).oracle][:1] == ["made"]
    assert paired_runs_of(made, runs, workspace.scored).mode == "oracle"
    assert paired_runs_of(made, runs, workspace.scored).oracle == ()
    assert original_of(made, runs) == original
    assert original_of(like, runs) is None


def test_what_else_differs_is_said(workspace: RunStore) -> None:
    original = _run(workspace, _records(RETRIEVED), "v1", model="m", prompt="p1")
    one_passage = _records(ORACLE, "oracle", retrieved=[{"id": "a", "text": "a"}])
    oracle = _run(workspace, one_passage, "oracle", model="n", prompt="p1")
    told = cautions(original, oracle, workspace.scored(oracle))
    assert told == ["the generator differs: m in this run, n in the other", ONE_PASSAGE]
    same = _run(workspace, _records(ORACLE, "oracle"), "same", model="m", prompt="p1")
    assert cautions(original, same, workspace.scored(same)) == []
    unknown = _run(workspace, _records(RETRIEVED), "unknown")
    nobody = _run(workspace, _records(ORACLE, "oracle"), "nobody")
    assert "neither run records its generator" in cautions(unknown, nobody, workspace.scored(nobody))[0]
    made = {"model": "m", "generator_model": "c", "generator_prompt": "v"}
    assert generator_of(made) == ("c", "v")


def test_a_mark_names_its_two_runs(three: tuple[Diagnosis, Diagnosis, Diagnosis]) -> None:
    text = oracle_gap_cohort_key("retrieval", "abc", GOOD_SHARE)
    assert oracle_gap_cohort(text) == OracleGapCohort("retrieval", "abc", GOOD_SHARE)
    assert oracle_gap_cohort("gold_missed") is None
    assert "right with the gold documents" in cohort_title(text)
    with pytest.raises(DataError, match="two runs"):
        cohort_rows(three[0].scored, text)
