from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import FIXTURES

from ragtriage.metrics.diagnosis.check_kinds import CHECK_KINDS
from ragtriage.metrics.diagnosis.context_metric import ContextColumn, choose_per_question
from ragtriage.metrics.diagnosis.explanations import evidence_sentence
from ragtriage.metrics.diagnosis.fix_first import fix_first
from ragtriage.metrics.diagnosis.patterns import (
    PATTERNS,
    CaseThresholds,
    bad_cases,
    pattern,
    pattern_code,
)
from ragtriage.metrics.diagnosis.slices import Concentration, concentration, fisher_upper, worst_slices
from ragtriage.metrics.diagnosis.stage_rules import StageFeatures
from ragtriage.metrics.diagnosis.stages import DEFAULT_ORDER, STAGES, attribute_failures, stage_code
from ragtriage.metrics.diagnosis.symptoms import SYMPTOMS, SymptomEdges, symptoms
from ragtriage.metrics.schema.scores import FloatArray, MetricsError

NAN = float("nan")
maybe = st.one_of(st.just(NAN), st.floats(0, 1))
rows = st.tuples(maybe, maybe, maybe, st.sampled_from([-1, 0, 1]), maybe)


def _iris() -> dict[str, FloatArray]:
    with (FIXTURES / "iris_vector_rag" / "scores.csv").open(encoding="utf-8") as lines:
        read = list(csv.DictReader(lines))
    return {name: np.array([float(row[name]) for row in read]) for name in read[0] if name != "pipeline_name"}


def _patterns(*cases: tuple[float, float, float, int]) -> list[str]:
    context, faith, relevance, refused = (
        np.array(column, dtype=np.float64) for column in zip(*cases, strict=True)
    )
    return [PATTERNS[code].key for code in pattern(context, faith, relevance, refused.astype(np.int8))]


def test_the_table_of_patterns() -> None:
    assert _patterns(
        (0.9, 0.9, 0.2, 0),
        (0.9, 0.3, 0.9, 0),
        (0.9, 0.3, 0.1, 0),
        (0.2, 0.9, 0.9, 0),
        (0.9, 0.9, 0.9, 0),
        (0.2, 0.1, 0.0, 1),
        (0.5, 0.8, 0.5, -1),
    ) == ["wrong_section", "hallucination", "hallucination", "retrieval", "healthy", "refusal", "healthy"]


def test_a_missing_value_matters_only_where_it_decides() -> None:
    assert _patterns(
        (0.2, NAN, NAN, 0),
        (0.9, 0.3, NAN, 0),
        (0.9, 0.9, NAN, 0),
        (NAN, 0.1, 0.1, 0),
        (0.9, NAN, 0.1, 0),
    ) == ["retrieval", "hallucination", "not_measured", "not_measured", "not_measured"]


def test_wrong_against_the_reference_is_told_from_healthy() -> None:
    good = np.array([0.9, 0.9])
    codes = pattern(good, good, good, np.zeros(2, dtype=bool), correct=np.array([0.0, 0.5]))
    assert [PATTERNS[code].key for code in codes] == ["disputed", "healthy"]


@given(st.lists(rows, min_size=1, max_size=30))
def test_every_sample_falls_into_exactly_one_pattern(
    cases: list[tuple[float, float, float, int, float]],
) -> None:
    context, faith, relevance, refused, correct = (np.array(column) for column in zip(*cases, strict=True))
    codes = pattern(context, faith, relevance, refused.astype(np.int8), correct=correct)
    counts = [int((codes == code).sum()) for code in range(len(PATTERNS))]
    assert sum(counts) == len(cases)
    for code, one in zip(codes, range(len(cases)), strict=True):
        levels = PATTERNS[code].levels
        values = zip((context[one], faith[one], relevance[one]), (0.5, 0.8, 0.5), levels, strict=True)
        assert all(level == "any" or (value >= cut) == (level == "high") for value, cut, level in values)


@pytest.mark.parametrize(
    ("signal", "cutoff", "before_refusals", "with_refusals_out"),
    [
        ("context_precision", 0.7, 149, 111),
        ("context_recall", 0.8, 31, 28),
        ("context_precision", 0.5, 127, 89),
        ("context_recall", 0.5, 23, 21),
    ],
)
def test_the_choice_of_signal_moves_the_count_of_retrieval_problems_on_iris(
    signal: str, cutoff: float, before_refusals: int, with_refusals_out: int
) -> None:
    # 149 and 31 of 210 are counts at the gate thresholds 0.70 and 0.80 with refusals left in; at the case
    # cut-off of 0.5 they are 127 and 23. detect_refusal finds 38 refusals, which are routed out first.
    iris = _iris()
    assert len(iris[signal]) == 210
    triple = iris[signal], iris["faithfulness"], iris["answer_relevancy"]
    retrieval = pattern_code("retrieval")
    everyone = pattern(*triple, np.zeros(210, dtype=bool), CaseThresholds(context=cutoff))
    assert int((everyone == retrieval).sum()) == before_refusals
    refused = iris["refused"] == 1
    assert int(refused.sum()) == 38
    routed = pattern(*triple, refused, CaseThresholds(context=cutoff))
    assert int((routed == retrieval).sum()) == with_refusals_out
    assert int((routed == pattern_code("refusal")).sum()) == 38


def test_each_question_has_the_first_context_metric_that_was_measured_for_it() -> None:
    columns = [
        ContextColumn("context_precision", "imported", np.array([0.1, 0.1, 0.1, 0.1, NAN])),
        ContextColumn("context_relevance", "own", np.array([0.1, 0.1, 0.1, NAN, NAN])),
        ContextColumn("recall@5", "own", np.array([0.5, 0.5, NAN, NAN, NAN])),
        ContextColumn("recall@10", "own", np.array([1.0, 1.0, NAN, NAN, NAN])),
        ContextColumn("all_hops_recall@10", "own", np.array([0.0, NAN, NAN, NAN, NAN])),
    ]
    choice = choose_per_question(columns, 5)
    assert [choice.metric_at(row) for row in range(5)] == [
        "all_hops_recall@10",
        "recall@10",
        "context_relevance",
        "context_precision",
        None,
    ]
    np.testing.assert_array_equal(choice.values, [0.0, 1.0, 0.1, 0.1, NAN])
    assert choice.prevailing == "all_hops_recall@10"
    assert choose_per_question([], 2).prevailing is None


def test_a_stand_in_speaks_only_where_nothing_else_does() -> None:
    own = ContextColumn("any_relevant", "own", np.array([1.0]))
    imported = ContextColumn("context_recall", "imported", np.array([0.0]))
    share = ContextColumn("context_relevance", "own", np.array([0.1]))
    assert choose_per_question([share, imported, own], 1).prevailing == "any_relevant"
    assert choose_per_question([share, imported], 1).prevailing == "context_recall"
    assert choose_per_question([share], 1).prevailing == "context_relevance"


def test_a_bad_case_misses_a_cutoff_fails_a_check_or_was_marked_bad() -> None:
    found = bad_cases(
        {"context": np.array([0.9, 0.4, 0.9, 0.9, 0.4, NAN]), "faithfulness": np.full(6, 0.9)},
        checks_failed=np.array([False, False, True, False, False, False]),
        human_bad=np.array([False, False, False, True, False, False]),
        human_good=np.array([False, False, False, True, True, False]),
    )
    assert found.bad.tolist() == [False, True, True, True, False, False]
    assert found.overruled.tolist() == [False, False, False, False, True, False]
    assert found.reasons["context"].tolist() == [False, True, False, False, True, False]


def test_refusing_the_unanswerable_is_right_and_answering_it_is_bad() -> None:
    found = bad_cases(
        {"context": np.full(3, 0.1), "answer_relevancy": np.zeros(3)},
        refused=np.array([1, 0, 1], dtype=np.int8),
        answerable=np.array([2, 2, 0], dtype=np.int8),
    )
    assert found.bad.tolist() == [False, True, True]
    assert found.reasons["answered_unanswerable"].tolist() == [False, True, False]


EVERY_STAGE: dict[str, dict[str, float]] = {
    "answered_unanswerable": {"answerable": 2, "refused": 0},
    "refused_with_context": {"refused": 1, "gold_in_context": 1, "answerable": 0},
    "inferred_refusal": {"refused": 1, "context": 0.9},
    **{
        f"check_{kind.key}": {"failed_kinds": float(1 << code), "gold_in_context": 1}
        for code, kind in enumerate(CHECK_KINDS)
    },
    "missed": {"gold_in_context": 0, "gold_in_candidates": 0, "has_candidates": 1},
    "misranked": {"gold_in_context": 0, "gold_in_candidates": 0.5, "has_candidates": 1},
    "retrieval_miss": {"gold_in_context": 0, "has_candidates": 0},
    "partial_gold": {"gold_in_context": 0.5},
    "inferred_miss": {"context": 0.2, "faithfulness": 0.1},
    "followed_noise": {"gold_in_context": 1, "noise_sensitivity": 0.5, "faithfulness": 0.1},
    "inferred_noise": {"context": 0.9, "noise_sensitivity": 0.5, "faithfulness": 0.1},
    "wrong_format": {"gold_in_context": 1, "format_failed": 1},
    "self_contradiction": {"contradicts_itself": 1, "faithfulness": 0.1},
    "contradicts_context": {"gold_in_context": 1, "contradicts_context": 1, "faithfulness": 0.9},
    "unfaithful": {"gold_in_context": 1, "faithfulness": 0.7, "answer_relevancy": 0.1},
    "left_out": {"gold_in_context": 1, "faithfulness": 1, "context_utilization": 0.2},
    "off_question": {"context": 0.9, "faithfulness": 1, "answer_relevancy": 0.3, "correctness": 0},
    "refused": {"refused": 1, "answerable": 0},
    "wrong": {"context": 0.9, "faithfulness": 1, "answer_relevancy": 0.9, "correctness": 0},
    "check_other": {"failed_kinds": float(1 << len(CHECK_KINDS))},
    "unexplained": {"correctness": 1},
}


def _evidence(cases: list[dict[str, float]], bad: bool = True) -> StageFeatures:
    names = {name for case in cases for name in case}
    arrays = {name: np.array([case.get(name, NAN) for case in cases]) for name in names}
    return StageFeatures(bad=np.full(len(cases), bad), **arrays)


def test_every_stage_owns_the_case_made_for_it() -> None:
    assert tuple(EVERY_STAGE) == DEFAULT_ORDER
    result = attribute_failures(_evidence(list(EVERY_STAGE.values())))
    assert [STAGES[code].key for code in result.stage] == list(EVERY_STAGE)


def test_every_stage_has_a_short_name_of_its_own_and_reads_after_a_count() -> None:
    assert len({stage.title for stage in STAGES}) == len(STAGES)
    assert all(len(stage.title.split()) <= 3 for stage in STAGES)
    assert STAGES[stage_code("refused_with_context")].count(1200) == "1,200 wrongly refused"
    assert STAGES[stage_code("retrieval_miss")].count(1) == "1 missed by retrieval"
    assert all(("(inferred)" in stage.title) == stage.inferred for stage in STAGES)


def test_good_cases_belong_to_no_stage() -> None:
    result = attribute_failures(_evidence(list(EVERY_STAGE.values()), bad=False))
    assert set(result.stage.tolist()) == {-1}
    assert not result.matches.any()


def test_a_refusal_is_neither_unfaithful_nor_off_the_question() -> None:
    case = {"refused": 1.0, "faithfulness": 0.0, "answer_relevancy": 0.0, "correctness": 0.0}
    assert STAGES[attribute_failures(_evidence([case])).stage[0]].key == "refused"
    missed = attribute_failures(_evidence([{**case, "gold_in_context": 0.0}]))
    assert STAGES[missed.stage[0]].key == "retrieval_miss"


def test_without_gold_a_low_signal_is_a_retrieval_miss_named_as_inferred() -> None:
    iris = _iris()
    evidence = StageFeatures(
        bad=np.ones(210, dtype=bool),
        refused=iris["refused"],
        context=iris["context_recall"],
        faithfulness=iris["faithfulness"],
        answer_relevancy=iris["answer_relevancy"],
    )
    stages = attribute_failures(evidence).stage
    owned = {STAGES[code].key: int((stages == code).sum()) for code in set(stages.tolist())}
    assert owned["inferred_miss"] == 23
    assert owned["inferred_refusal"] == 36
    assert STAGES[stage_code("inferred_miss")].inferred
    assert sum(owned.values()) == 210


@given(st.permutations(DEFAULT_ORDER), st.lists(st.sampled_from(list(EVERY_STAGE)), min_size=2, max_size=2))
def test_the_first_matching_stage_wins_in_any_order(order: list[str], picked: list[str]) -> None:
    merged = EVERY_STAGE[picked[0]] | EVERY_STAGE[picked[1]]
    result = attribute_failures(_evidence([merged]), order)
    wanted = [key for key in order if key != "unexplained" and result.matches[0, stage_code(key)]]
    assert STAGES[result.stage[0]].key == (wanted[0] if wanted else "unexplained")


def test_a_stage_left_out_of_the_order_owns_nothing() -> None:
    result = attribute_failures(_evidence([EVERY_STAGE["missed"]]), ["unfaithful"])
    assert STAGES[result.stage[0]].key == "unexplained"
    assert result.matches[0, stage_code("missed")]


def test_orders_with_unknown_or_repeated_stages_are_refused() -> None:
    with pytest.raises(MetricsError, match="unknown stage 'mised'; known: answered_unanswerable, "):
        attribute_failures(_evidence([{}]), ["mised"])
    with pytest.raises(MetricsError, match="twice"):
        attribute_failures(_evidence([{}]), ["missed", "missed"])


def test_evidence_of_another_length_is_refused() -> None:
    with pytest.raises(MetricsError, match="'faithfulness' has 2 entries for 1 samples"):
        attribute_failures(StageFeatures(bad=np.ones(1, dtype=bool), faithfulness=np.zeros(2)))


@pytest.mark.parametrize(
    ("stage", "row", "sentence"),
    [
        ("missed", {"n_candidates": 20}, "no gold document among 20 candidates"),
        ("missed", {}, "no gold document among the candidates"),
        (
            "misranked",
            {"gold_rank": 12, "n_candidates": 20, "n_context": 5},
            "gold document at rank 12 of 20 candidates, not among 5 documents of the context",
        ),
        ("partial_gold", {"gold_in_context": 0.5, "n_gold": 2}, "1 of 2 gold documents in the context"),
        (
            "inferred_miss",
            {"context": 0.25, "context_signal": "context_recall"},
            "no gold recorded; context_recall 0.25",
        ),
        ("unfaithful", {"faithfulness": -4.34e-19}, "faithfulness 0.00"),
        ("left_out", {"context_utilization": 0.2}, "the answer uses 20 % of what the context provides"),
        (
            "off_question",
            {"answer_relevancy": 0.3, "faithfulness": NAN},
            "answer relevancy 0.30 with faithfulness not recorded",
        ),
    ],
)
def test_the_evidence_reads_as_a_sentence(
    stage: str, row: dict[str, float | str | None], sentence: str
) -> None:
    assert evidence_sentence(stage, row) == sentence


@pytest.mark.parametrize("stage", DEFAULT_ORDER)
def test_every_stage_has_a_sentence_even_without_figures(stage: str) -> None:
    assert len(evidence_sentence(stage, {})) > 15
    unknown: dict[str, float | str | None] = dict.fromkeys(("context", "omission", "faithfulness"), NAN)
    assert " nan" not in evidence_sentence(stage, unknown)


def test_the_symptoms_of_the_table_at_the_edges_of_the_guide() -> None:
    low = {"answer_precision": 0.29, "hallucination": 0.31, "answer_recall": 0.29, "context_recall": 0.2}
    assert [symptom.key for symptom in symptoms(low)] == ["hallucinates", "starved"]
    assert [symptom.key for symptom in symptoms({**low, "faithfulness": 0.49})] == [
        "hallucinates",
        "starved",
        "everything_low",
    ]
    noisy = {
        "answer_precision": 0.2,
        "noise_sensitivity_relevant": 0.2,
        "noise_sensitivity_irrelevant": 0.35,
        "hallucination": NAN,
        "answer_recall": 0.2,
        "context_utilization": 0.1,
    }
    assert [symptom.key for symptom in symptoms(noisy)] == ["misled", "underuses"]
    assert symptoms({}) == []
    assert len(SYMPTOMS) == 5


def test_everything_low_is_seen_on_precision_recall_and_f1_alone_and_the_edges_can_be_set() -> None:
    history = {"answer_precision": 0.2825, "answer_recall": 0.3991, "answer_f1": 0.2626}
    assert symptoms(history) == []
    edges = SymptomEdges(low=0.4, low_f1=0.4)
    (symptom,) = symptoms(history, edges)
    assert symptom.key == "everything_low"
    assert "below 0.4" in symptom.condition_at(edges)
    assert [found.key for found in symptoms(dict.fromkeys(history, 0.1))] == ["everything_low"]


def test_what_to_fix_first_is_an_upper_bound_over_questions() -> None:
    missed, unfaithful = stage_code("missed"), stage_code("unfaithful")
    stage = np.array([missed, -1, missed, unfaithful, -1, -1], dtype=np.int8)
    questions = np.array([0, 0, 1, 2, 3, 3])
    first, second = fix_first(stage, questions)
    assert (first.key, first.n_bad) == ("missed", 2)
    assert first.share == pytest.approx(2 / 3)
    assert first.pass_rate_now == pytest.approx((0.5 + 0 + 0 + 1) / 4)
    assert first.pass_rate_if_perfect == pytest.approx((1 + 1 + 0 + 1) / 4)
    assert second.pass_rate_if_perfect == pytest.approx((0.5 + 0 + 1 + 1) / 4)
    assert first.bound == "at most"
    owners = fix_first(stage, questions, by="owner")
    assert [(one.key, one.n_bad) for one in owners] == [("retrieval", 2), ("generation", 1)]


def test_an_oracle_run_sharpens_the_bound() -> None:
    missed = stage_code("missed")
    stage = np.array([missed, missed, -1], dtype=np.int8)
    oracle = np.array([1, 0, -1], dtype=np.int8)
    (found,) = fix_first(stage, np.arange(3), oracle_bad=oracle)
    assert found.pass_rate_if_perfect == pytest.approx(2 / 3)
    assert found.n_oracle == 2
    assert "less 1 cases" in found.bound
    assert fix_first(np.full(3, -1, dtype=np.int8), np.arange(3)) == []


def test_the_tea_taster_is_fishers() -> None:
    assert fisher_upper(3, 4, 4, 8) == pytest.approx(17 / 70)
    assert fisher_upper(4, 4, 4, 8) == pytest.approx(1 / 70)
    assert fisher_upper(0, 4, 4, 8) == 1.0
    assert fisher_upper(5, 4, 4, 8) == 0.0


def test_the_normal_limit_takes_over_smoothly() -> None:
    exact = fisher_upper(3_100, 10_000, 300_000, 1_000_000)
    assert fisher_upper(3_100, 10_000, 300_000, 1_000_001) == pytest.approx(exact, rel=0.02)


def test_the_worst_slice_is_found_and_corrected_for_looking() -> None:
    rng = np.random.default_rng(8)
    kind = np.array(["how"] * 40 + ["why"] * 40 + ["when"] * 3 + [""] * 17, dtype=object)
    bad = rng.random(100) < 0.15
    bad[40:80] = rng.random(40) < 0.7
    document = rng.integers(-1, 4, 100)
    found = worst_slices(bad, {"query type": kind, "document": document})
    assert (found[0].name, found[0].value) == ("query type", "why")
    assert found[0].rate > found[0].rate_rest
    assert found[0].adjusted_p == pytest.approx(found[0].p * found[0].n_looked_at)
    assert all(one.value not in ("", "when", "-1") for one in found)


def test_repeats_do_not_make_a_slice_look_surer() -> None:
    bad = np.array([True] * 6 + [False] * 6)
    value = np.array(["a"] * 6 + ["b"] * 6, dtype=object)
    once = worst_slices(bad, {"tag": value})
    thrice = worst_slices(np.repeat(bad, 3), {"tag": np.repeat(value, 3)}, np.repeat(np.arange(12), 3))
    assert once == thrice
    with pytest.raises(MetricsError, match="slice 'tag' has 2 values for 12 rows"):
        worst_slices(bad, {"tag": value[:2]})


def test_concentration_names_every_value_that_is_worse_than_the_rest() -> None:
    kind = np.repeat(["a", "b", "c", "d"], 20)
    bad = np.repeat([False, False, True, True], 20)
    bad[[0, 20]] = True
    found = concentration(worst_slices(bad, {"kind": kind}, limit=None), int(bad.sum()))
    assert found == Concentration("kind", ("c", "d"), 40, 40, 42)


def test_concentration_needs_half_of_the_bad_cases_and_more_than_chance() -> None:
    kind = np.array(["rare"] * 10 + ["other"] * 190)
    bad = np.zeros(200, dtype=np.bool_)
    bad[:8] = True  # nearly all of the rare ones
    bad[10:40] = True  # and many more elsewhere
    assert concentration(worst_slices(bad, {"kind": kind}, limit=None), int(bad.sum())) is None
    even = np.arange(200) % 2 == 0
    halves = np.repeat(["left", "right"], 100)
    assert concentration(worst_slices(even, {"kind": halves}, limit=None), int(even.sum())) is None
