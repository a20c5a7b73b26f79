"""The headline: what counts as bad, what a pass rate rests on, and what is to be fixed first."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from command_line import run
from places import REPOSITORY

from dashboard.wording.diagnosis import NOTHING_MEASURED, inference_caveat, no_bad_case, rate_title
from data.api import add_run
from data.cases.cases import CaseFilter, keep_mask
from data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose, passing_of
from data.scoring.run_store import RunStore
from data.scoring.sanity import check_run
from docs.doc_tables import CASE_THRESHOLDS, REASONS, diagnosis_tables
from metrics.diagnosis.fix_first import fix_first
from metrics.diagnosis.patterns import CaseThresholds, bad_cases, refusals
from metrics.diagnosis.stages import STAGES, StageFeatures, attribute_failures, stage_code
from metrics.sanity.columns import disputes
from metrics.sanity.run import CheckInput, check_numbers

Capture = pytest.CaptureFixture[str]
NAN = float("nan")
DOCS = REPOSITORY / "docs" / "diagnosis.md"
GOOD = {"faithfulness": 1.0, "answer_relevancy": 1.0}


def _diagnosis(store: RunStore, records: list[dict[str, Any]], name: str = "run") -> Diagnosis:
    made = add_run(records, name, "p", str(store.workspace.root))
    return diagnose(store.scored(made), DiagnosisSettings())


def _record(at: int = 0, **more: Any) -> dict[str, Any]:
    return {"question_id": f"q{at}", "question": f"Question {at}?", "answer": "Ann.", **more}


def _gold(*ids: str) -> dict[str, Any]:
    return {"retrieved": [{"id": one, "text": one} for one in ids], "relevant": [{"id": "gold"}]}


@pytest.mark.parametrize(
    ("more", "stage"),
    [
        ({"answerable": "yes", **_gold("gold")}, "refused_with_context"),
        (_gold("gold"), "refused_with_context"),
        ({"answerable": "yes", **_gold("other")}, "retrieval_miss"),
        ({"answerable": "yes", "scores": {"context_recall": 1.0}}, "refused_with_context"),
        ({"answerable": "yes"}, "unexplained"),
        ({"answerable": "partial", **_gold("gold")}, "refused_with_context"),
    ],
)
def test_a_refusal_of_what_has_an_answer_is_bad_and_owned(
    workspace: RunStore, more: dict[str, Any], stage: str
) -> None:
    found = _diagnosis(workspace, [_record(refused=True, **more)])
    assert found.bad.bad.tolist() == [True]
    assert found.bad.reasons["wrongly_refused"].tolist() == [True]
    assert found.pass_rate.mean == 0.0
    assert STAGES[found.stages.stage[0]].key == stage


@pytest.mark.parametrize(
    "more", [{}, {"answerable": "conversational"}, {"scores": GOOD | {"context_recall": 1.0}}]
)
def test_a_refusal_of_which_nothing_says_whether_it_was_right_is_not_measured(
    workspace: RunStore, more: dict[str, Any]
) -> None:
    found = _diagnosis(workspace, [_record(refused=True, **more)])
    assert not found.bad.bad.any()
    assert np.isnan(passing_of(found)).all()
    assert found.pass_rate.n_scored == 0


@pytest.mark.parametrize(
    ("more", "good"),
    [
        ({"answerable": "no"}, 1.0),
        ({"scores": {"correctness": 1.0}}, 1.0),
        ({"scores": {"faithfulness": 0.1}}, 0.0),
    ],
)
def test_a_refusal_is_measured_by_its_label_the_reference_or_a_missed_cutoff(
    workspace: RunStore, more: dict[str, Any], good: float
) -> None:
    assert passing_of(_diagnosis(workspace, [_record(refused=True, **more)])).tolist() == [good]


@pytest.mark.parametrize("refused", [None, False])
def test_an_empty_answer_is_an_abstention(workspace: RunStore, refused: bool | None) -> None:
    recorded = {} if refused is None else {"refused": refused, "refused_source": "imported"}
    records = [_record(at, **recorded) | {"answer": text} for at, text in enumerate(["", " \n", "Ann."])]
    found = _diagnosis(workspace, [{**record, "answerable": "no"} for record in records])
    assert found.scored.stage_features["refused"].tolist() == [1.0, 1.0, 0.0]
    assert found.stage_counts()["answered_unanswerable"] == 1


def test_an_answer_that_was_not_recorded_is_neither_refusal_nor_answer(workspace: RunStore) -> None:
    found = _diagnosis(workspace, [_record(answerable="no") | {"answer": None}])
    assert np.isnan(found.scored.stage_features["refused"]).all()


def test_what_is_known_of_refusals_by_hand() -> None:
    refused = np.array([1, 1, 1, 1, 0, 0, -1], dtype=np.int8)
    answerable = np.array([0, 2, -1, -1, 2, 0, 2], dtype=np.int8)
    gold = np.array([NAN, NAN, 0.0, NAN, NAN, 1.0, NAN])
    found = refusals(7, refused, answerable, gold)
    assert np.flatnonzero(found.wrong).tolist() == [0, 2]
    assert np.flatnonzero(found.right).tolist() == [1]
    assert np.flatnonzero(found.open).tolist() == [3]
    assert np.flatnonzero(found.answered).tolist() == [4]


def test_that_a_question_can_be_answered_says_nothing_of_its_answer(workspace: RunStore) -> None:
    found = _diagnosis(workspace, [_record(at, answerable="yes", refused=False) for at in range(3)])
    assert not found.measured.any()
    assert no_bad_case(found) == NOTHING_MEASURED
    assert found.fix_first == []


def test_a_pass_rate_of_contexts_alone_says_so(workspace: RunStore) -> None:
    records = [_record(at, **_gold("gold" if at else "other")) for at in range(4)]
    found = _diagnosis(workspace, records)
    assert found.pass_rate.mean == pytest.approx(0.75)
    assert found.coverage.names == ("recall@10",)
    assert (int(found.measured.sum()), int(found.coverage.fully.sum())) == (4, 1)
    assert found.coverage.clause() == ("of what was measured: Recall@10 alone; 1 of 4 cases fully measured")
    assert rate_title(found) == "Pass rate, Recall@10 alone"
    full = _diagnosis(workspace, [{**one, "scores": GOOD} for one in records], "full")
    assert full.coverage.clause() == ""
    assert rate_title(full) == "Pass rate"


def test_not_measured_is_neither_good_nor_bad(workspace: RunStore) -> None:
    found = _diagnosis(workspace, [_record(0, scores=GOOD), _record(1)])
    assert found.coverage.anything.tolist() == [True, False]
    assert keep_mask(found, CaseFilter(bad=False)).tolist() == [True, False]
    assert keep_mask(found, CaseFilter(bad=True)).tolist() == [False, False]
    assert no_bad_case(found).startswith("No bad case among the 1 measured ones (of what was measured: ")


def test_what_was_not_measured_raises_no_bound() -> None:
    stage = np.array([stage_code("missed"), -1, -1, -1], dtype=np.int8)
    measured = np.array([True, True, False, False])
    (found,) = fix_first(stage, np.arange(4), measured=measured)
    assert (found.pass_rate_now, found.pass_rate_if_perfect) == (0.5, 1.0)


def test_the_command_says_what_the_pass_rate_rests_on(
    capsys: Capture, workspace: RunStore, demo: RunStore
) -> None:
    answer = run(capsys, demo.workspace.root, "diagnose", "BM25", "--json").json
    assert (answer["n_measured"], answer["n_fully_measured"]) == (68, 47)
    assert answer["measured_by"] == {"all_hops_recall@10": 68}
    assert answer["partial_gold"] == {"hop 2 missed": 40, "hop 1 missed": 2}
    text = run(capsys, demo.workspace.root, "diagnose", "BM25").out
    assert "of what was measured: All-hops recall@10 alone; 47 of 68 cases fully measured" in text
    assert "they sum to 68" in text
    assert "they sum to 47" in text
    _diagnosis(workspace, [_record()], "bare")
    bare = run(capsys, workspace.workspace.root, "diagnose", "bare").out
    assert "pass rate –" in bare
    assert NOTHING_MEASURED in bare
    assert "No bad case" not in bare


def test_what_the_signal_tells_in_place_of_gold_is_inferred() -> None:
    refused = {"refused": np.ones(2), "context": np.ones(2), "gold_in_context": np.array([NAN, 1.0])}
    found = attribute_failures(StageFeatures(bad=np.ones(2, dtype=bool), **refused))
    assert [STAGES[code].key for code in found.stage] == ["refused_with_context"] * 2
    assert found.inferred.tolist() == [True, False]
    (entry,) = fix_first(found.stage, np.arange(2), inferred=found.inferred)
    assert entry.n_inferred == 1


def test_a_priority_that_the_checks_doubt_says_so(capsys: Capture, demo: RunStore) -> None:
    (colbert,) = [one for one in demo.runs("iris") if (one.name, one.n) == ("colbert", 30)]
    scored = demo.scored(colbert)
    found, findings = diagnose(scored, DiagnosisSettings()), check_run(scored)
    top = found.fix_first[0]
    assert (top.key, top.n_inferred) == ("refused_with_context", top.n_bad)
    said = inference_caveat(found, top, findings)
    assert "no gold is recorded, and Context recall (imported) stands in for it" in said
    assert "context_precision and context_recall disagree" in said
    assert "doubt" not in inference_caveat(found, top, [])
    assert said in run(capsys, demo.workspace.root, "diagnose", colbert.run_id).out
    assert disputes(findings, "faithfulness") == []
    (bm25,) = [one for one in demo.runs("musique") if one.name == "BM25"]
    with_gold = diagnose(demo.scored(bm25), DiagnosisSettings())
    assert inference_caveat(with_gold, with_gold.fix_first[0], findings) == ""


def test_the_unexplained_is_never_first_beside_another_stage(workspace: RunStore, capsys: Capture) -> None:
    missed, rest = stage_code("missed"), stage_code("unexplained")
    stage = np.array([rest, rest, rest, missed], dtype=np.int8)
    assert [one.key for one in fix_first(stage, np.arange(4))] == ["missed", "unexplained"]
    assert [one.key for one in fix_first(stage, np.arange(4), by="owner")] == ["retrieval", "unexplained"]
    _diagnosis(workspace, [_record(scores={"answer_relevancy": 0.1})], "odd")
    text = run(capsys, workspace.workspace.root, "diagnose", "odd").out
    assert "1 of 1 bad cases cannot be explained by what is recorded" in text
    assert "Fix first" not in text


def test_a_zero_that_was_computed_is_a_zero() -> None:
    columns = {"all_hops_recall@1": np.zeros(30), "recall@1": np.full(30, 0.4)}
    assert [one.rule for one in check_numbers(CheckInput(30, computed=columns))] == []
    assert [one.rule for one in check_numbers(CheckInput(30, imported=columns))] == ["zero_column"]


def test_the_page_of_the_words_is_the_declarations() -> None:
    before, _, rest = DOCS.read_text(encoding="utf-8").partition("<!-- diagnosis tables: begin -->\n")
    tables, _, after = rest.partition("\n<!-- diagnosis tables: end -->")
    assert before
    assert after
    assert tables.strip() == diagnosis_tables()
    assert set(CASE_THRESHOLDS) == {one.name for one in fields(CaseThresholds)}
    every = {name: np.zeros(1) for name in ("context", "faithfulness", "answer_relevancy", "correctness")}
    assert list(REASONS) == list(bad_cases(every).reasons)
    assert "[docs/diagnosis.md](docs/diagnosis.md)" in (DOCS.parent.parent / "README.md").read_text("utf-8")
