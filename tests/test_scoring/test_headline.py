"""The headline: what counts as bad, what a pass rate rests on, and what is to be fixed first."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from command_line import run
from doc_tables import CASE_THRESHOLDS, REASONS
from places import REPOSITORY

from ragtriage.dashboard.wording.diagnosis import (
    NOTHING_MEASURED,
    fix_first_sentence,
    inference_caveat,
    no_bad_case,
    rate_clause,
    rate_title,
    stage_advice,
    stage_title,
)
from ragtriage.dashboard.wording.gates import verdict_text
from ragtriage.data.api import add_run, gate
from ragtriage.data.cases.cases import CaseFilter, keep_mask
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose, passing_of
from ragtriage.data.diagnosis.doubts import case_doubts, stage_doubt
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.diagnosis.fix_first import fix_first
from ragtriage.metrics.diagnosis.patterns import PATTERNS, CaseThresholds, bad_cases, refusals
from ragtriage.metrics.diagnosis.stage_rules import StageFeatures
from ragtriage.metrics.diagnosis.stages import STAGES, attribute_failures, stage_code
from ragtriage.metrics.gates.wording import gate_title
from ragtriage.metrics.sanity.rule import CheckInput, Finding
from ragtriage.metrics.sanity.run import check_numbers

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
        ({"answerable": "yes", "scores": {"context_recall": 1.0}}, "inferred_refusal"),
        ({"answerable": "yes"}, "refused"),
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
        ({"reference_answer": "Ann did."}, 0.0),
        ({"scores": {"context_recall": 0.1}}, 0.0),
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
    assert rate_title(found) == "No fault found, Recall@10 alone"  # its answers were not checked
    full = _diagnosis(workspace, [{**one, "scores": GOOD} for one in records], "full")
    assert full.coverage.clause() == ""
    assert rate_title(full) == "No fault found"
    right = [{**one, "scores": {**GOOD, "correctness": 1.0}} for one in records]
    assert rate_title(_diagnosis(workspace, right, "right")) == "Pass rate"


def test_not_measured_is_neither_good_nor_bad(workspace: RunStore) -> None:
    found = _diagnosis(workspace, [_record(0, scores=GOOD), _record(1)])
    assert found.coverage.anything.tolist() == [True, False]
    assert keep_mask(found, CaseFilter(bad=False)).tolist() == [True, False]
    assert keep_mask(found, CaseFilter(bad=True)).tolist() == [False, False]
    assert no_bad_case(found).startswith("No bad case among the 1 measured ones (of what was measured: ")


def test_where_the_texts_are_at_fault_no_sentence_says_no_fault(workspace: RunStore) -> None:
    found = _diagnosis(workspace, [_record(0, scores=GOOD)])
    cut = [Finding("truncated", "error", "1 of 1 answers is cut off", "", n_affected=1)]
    assert no_bad_case(found, cut).startswith("No case with another fault")
    assert rate_clause(found.answers, found.pass_rate, cut) == "No other fault found in 100 %"
    assert rate_clause(found.answers, found.pass_rate) == "No fault found in 100 %"


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
    assert [STAGES[code].key for code in found.stage] == ["inferred_refusal", "refused_with_context"]
    assert found.inferred.tolist() == [True, False]
    entries = fix_first(found.stage, np.arange(2), inferred=found.inferred)
    assert {entry.key: entry.n_inferred for entry in entries} == {
        "inferred_refusal": 1,
        "refused_with_context": 0,
    }


def _colbert(demo: RunStore) -> tuple[Diagnosis, list[Finding]]:
    (colbert,) = [one for one in demo.runs("iris") if (one.name, one.n) == ("colbert", 30)]
    scored = demo.scored(colbert)
    return diagnose(scored, DiagnosisSettings()), check_run(scored)


def test_a_stage_that_the_checks_doubt_is_not_recommended(capsys: Capture, demo: RunStore) -> None:
    found, findings = _colbert(demo)
    top = found.fix_first[0]
    assert (top.key, top.n_inferred) == ("inferred_refusal", top.n_bad)
    said = fix_first_sentence(found, findings, "at most 60 %")
    assert said.startswith(
        "No stage can be recommended yet: “Wrongly refused (inferred)” accounts for 18 "
        "of 30 bad cases, but its cases rest on Context recall (imported), which the checks doubt (every "
        "question got the same 10 documents; context_precision and context_recall disagree). Check that "
        "first."
    )
    assert "no gold is recorded, so Context recall (imported) is used" in said
    assert "at most" not in said
    text = run(capsys, demo.workspace.root, "diagnose", found.scored.run.run_id).out
    assert fix_first_sentence(found, findings) in text
    assert "Loosen the refusal instruction" not in text
    assert "Wrongly refused (inferred) (doubted)" in text
    assert " doubted by the checks: every question got the same 10 documents" in text.splitlines()[0]
    undoubted = fix_first_sentence(found, [])
    assert undoubted.startswith("Fix first: Wrongly refused (inferred), which accounts for 18")


def test_a_doubt_about_some_cases_names_their_number(workspace: RunStore) -> None:
    scores = [{"context_recall": 1.0, "context_precision": precision} for precision in (0.0, 0.9, 0.8)]
    records = [_record(at, refused=True, answerable="yes", scores=pair) for at, pair in enumerate(scores)]
    found = _diagnosis(workspace, records)
    findings = check_run(found.scored)
    doubt = stage_doubt(found, findings, "inferred_refusal")
    assert doubt is not None
    assert (doubt.n, doubt.n_cases, doubt.metrics) == (1, 3, ("context_recall",))
    assert [len(case_doubts(found, findings, row)) for row in range(3)] == [1, 0, 0]
    title = stage_title(found, "inferred_refusal", findings)
    assert title == "Wrongly refused (inferred) (1 of 3 doubted)"
    assert stage_advice(found, "inferred_refusal", findings).endswith("1 of its 3 cases are doubted: "
        "context_precision and context_recall disagree.")  # fmt: skip
    said = fix_first_sentence(found, findings)
    assert "but 1 of its cases rest on Context recall (imported), which the checks doubt" in said


def _claims(*verdicts: str) -> dict[str, Any]:
    ranks = {"supported": ([1], []), "contradicted": ([], [2]), "disputed": ([1], [2]), "open": ([], [])}
    claims = [
        {"text": verdict, "supported_by": ranks[verdict][0], "contradicted_by": ranks[verdict][1]}
        for verdict in verdicts
    ]
    return {"claims": claims, "retrieved": [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}]}


def test_an_answer_that_contradicts_itself_or_its_context_is_bad(workspace: RunStore) -> None:
    nine = ("supported",) * 9
    records = [
        _record(0, **_claims(*nine, "contradicted"), scores={"context_recall": 1, "answer_relevancy": 1}),
        _record(1, **_claims(*nine, "disputed"), scores={"context_recall": 1, "answer_relevancy": 1}),
        _record(2, scores={**GOOD, "context_recall": 1, "self_contradiction": 1}),
        _record(3, scores={**GOOD, "context_recall": 1, "contradicted": 0.1}),
        _record(4, scores={**GOOD, "context_recall": 1, "self_contradiction": 0, "contradicted": 0}),
        _record(5, refused=True, answerable="no", scores={"self_contradiction": 1}),
    ]
    found = _diagnosis(workspace, records)
    assert found.bad.bad.tolist() == [True, False, True, True, False, False]
    stages = [STAGES[code].key if code >= 0 else "" for code in found.stages.stage]
    assert stages == ["contradicts_context", "", "self_contradiction", "contradicts_context", "", ""]
    assert found.bad.reasons["contradicts_context"].tolist() == [True, False, False, True, False, False]
    assert PATTERNS[found.pattern[0]].key == "hallucination"
    assert PATTERNS[found.pattern[1]].key == "healthy"


def test_documents_that_disagree_are_no_mistake_of_the_answer(demo: RunStore) -> None:
    """Two claims on a flag stand in two documents; a third, on a former flag, contradicts them."""
    (example,) = demo.runs("ragchecker")
    found = diagnose(demo.scored(example), DiagnosisSettings())
    (row,) = np.flatnonzero(found.scored.values("contradicted") > 0)
    assert not found.bad.reasons["contradicts_context"][row]
    assert found.scored.stage_features["contradicts_context"][row] == 0


def test_gold_that_was_compared_here_is_not_doubted(demo: RunStore) -> None:
    (bm25,) = [one for one in demo.runs("musique") if one.name == "BM25"]
    found = diagnose(demo.scored(bm25), DiagnosisSettings())
    assert fix_first_sentence(found, check_run(found.scored)).startswith("Fix first: ")
    assert inference_caveat(found, found.fix_first[0]) == ""
    assert all(stage_doubt(found, check_run(found.scored), stage.key) is None for stage in STAGES)


def test_gates_that_rest_on_what_is_doubted_say_so_in_the_same_sentence(demo: RunStore) -> None:
    found, _ = _colbert(demo)
    report = gate(found.scored.run.run_id, workspace=str(demo.workspace.root))
    judged = {
        gate_title(result.gate): result
        for result in report.results
        if result.mean is not None and result.gate.kind != "guardrail"  # latency rests on no context
    }
    assert judged
    for result in judged.values():
        assert "every question got the same 10 documents" in result.doubt
        assert result.sentence.endswith(f"; doubted by the checks: {result.doubt}.")
    assert "context precision is 0 in every case" in judged["Context precision: at least 0.70"].doubt
    assert "Pass rate: at least 0.50 (doubted)" in verdict_text(report)
    assert not any(result.doubt for result in report.results if result.mean is None)


def test_a_doubted_baseline_is_named(demo: RunStore) -> None:
    found, _ = _colbert(demo)
    (basic,) = [one for one in demo.runs("iris") if (one.name, one.n) == ("basic", 30)]
    report = gate(basic.run_id, found.scored.run.run_id, workspace=str(demo.workspace.root))
    (change,) = [result for result in report.results if result.gate.kind == "regression"
                 and result.gate.metric == "context_recall"]  # fmt: skip
    assert "; in the baseline: every question got the same 10 documents" in change.doubt


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
    columns = {"all_hops_recall@1": np.zeros(30), "recall@1": np.linspace(0.2, 0.6, 30)}
    assert [one.rule for one in check_numbers(CheckInput(30, computed=columns))] == []
    assert [one.rule for one in check_numbers(CheckInput(30, imported=columns))] == ["zero_column"]


def test_the_page_of_the_words_is_the_declarations() -> None:
    assert set(CASE_THRESHOLDS) == {one.name for one in fields(CaseThresholds)}
    every = {name: np.zeros(1) for name in ("context", "faithfulness", "answer_relevancy", "correctness")}
    assert list(REASONS) == list(bad_cases(every).reasons)
    assert "[docs/diagnosis.md](docs/diagnosis.md)" in (DOCS.parent.parent / "README.md").read_text("utf-8")
