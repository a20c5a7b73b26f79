from __future__ import annotations

import csv
import json
from datetime import date

import numpy as np
import pytest
from places import FIXTURES

from ragtriage.metrics.sanity.rule import CheckInput, Finding
from ragtriage.metrics.sanity.run import RULES, check_numbers
from ragtriage.metrics.schema.scores import FloatArray, MetricsError


def _found(given: CheckInput, rule: str) -> list[Finding]:
    return [finding for finding in check_numbers(given) if finding.rule == rule]


def _array(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float64)


def _pipeline(name: str) -> CheckInput:
    with (FIXTURES / "iris_vector_rag" / "scores.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["pipeline_name"] == name]
    metrics = ("answer_relevancy", "context_precision", "context_recall", "faithfulness")
    return CheckInput(
        len(rows), imported={key: _array(*(float(row[key]) for row in rows)) for key in metrics}
    )


def test_the_colbert_pipeline_is_flagged_by_its_zero_column_and_by_its_disagreement() -> None:
    given = _pipeline("colbert")
    assert given.imported["context_recall"].mean() == pytest.approx(0.914, abs=5e-4)
    (zero,) = _found(given, "zero_column")
    assert zero.severity == "warning"
    assert zero.title == "context precision is 0 in every case"
    assert "Every one of the 30 imported values of context_precision is 0.00" in zero.message
    (clash,) = _found(given, "disagreement")
    assert clash.n_affected == 28
    assert clash.rows[:3] == (0, 2, 3)
    assert len(clash.rows) == 28


def test_a_pipeline_that_was_measured_has_no_zero_column() -> None:
    assert _found(_pipeline("basic"), "zero_column") == []
    assert _found(_pipeline("noderag"), "zero_column") == []


def test_ragcheckers_own_numbers_pass_the_identities() -> None:
    read = json.loads((FIXTURES / "ragchecker" / "checking_outputs.json").read_text("utf-8"))["results"]
    names = {"precision": "answer_precision", "recall": "answer_recall", "f1": "answer_f1"}
    imported = {
        names.get(key, key): _array(*(sample["metrics"][key] for sample in read))
        for key in read[0]["metrics"]
    }
    assert len(imported) == 11
    assert check_numbers(CheckInput(len(read), imported=imported, convention="ragchecker")) == []


def _shares(faithful: FloatArray, own: FloatArray, invented: FloatArray) -> dict[str, FloatArray]:
    return {"faithfulness": faithful, "self_knowledge": own, "hallucination": invented}


def test_a_shortfall_from_zero_filling_is_named_as_the_share_of_empty_answers() -> None:
    columns = _shares(_array(0.8, 0, 0.5, 1), _array(0.1, 0, 0.25, 0), _array(0.1, 0, 0.25, 0))
    (finding,) = _found(CheckInput(4, imported=columns), "claim_shares")
    assert finding.severity == "note"
    assert "shortfall of 0.250 is the share of empty answers: 1 of 4" in finding.message
    assert finding.rows == (1,)


def test_shares_that_are_off_with_claims_are_an_error() -> None:
    columns = _shares(_array(0.8, 0, 0.5), _array(0.4, 0, 0.5), _array(0.1, 0, 0))
    known = CheckInput(3, computed=columns, has_claims=np.array([True, True, True]))
    (finding,) = _found(known, "claim_shares")
    assert finding.severity == "error"
    assert finding.rows == (0, 1)
    assert "2 of 3 samples are off" in finding.message


def test_undefined_shares_are_not_off() -> None:
    columns = _shares(_array(1, np.nan), _array(0, np.nan), _array(0, np.nan))
    assert check_numbers(CheckInput(2, computed=columns)) == []


def test_self_knowledge_stays_within_precision() -> None:
    columns = {"self_knowledge": _array(0.3, 0.6), "answer_precision": _array(0.3, 0.5)}
    (finding,) = _found(CheckInput(2, computed=columns), "self_knowledge_within_precision")
    assert finding.severity == "error"
    assert finding.rows == (1,)
    assert dict(finding.evidence)["largest excess"] == pytest.approx(0.1)


def _parts(relevant: float, irrelevant: float) -> dict[str, FloatArray]:
    return {
        "answer_precision": _array(0.5),
        "noise_sensitivity_relevant": _array(relevant),
        "noise_sensitivity_irrelevant": _array(irrelevant),
        "hallucination": _array(0.2),
    }


def test_precision_and_its_complements_add_up_to_one_where_noise_is_exclusive() -> None:
    fits, over, short = _parts(0.2, 0.1), _parts(0.3, 0.3), _parts(0.1, 0.1)
    assert _found(CheckInput(1, computed=fits, convention="ragchecker"), "precision_parts") == []
    assert len(_found(CheckInput(1, computed=over, convention="ragchecker"), "precision_parts")) == 1
    assert _found(CheckInput(1, computed=over), "precision_parts") == []  # a claim may count for both noises
    assert len(_found(CheckInput(1, computed=short), "precision_parts")) == 1


def test_mean_f1_cannot_exceed_the_f1_of_the_means() -> None:
    columns = {"answer_precision": _array(1, 0.5), "answer_recall": _array(0.5, 0.5)}
    honest = {**columns, "answer_f1": _array(2 / 3, 0.5)}
    assert _found(CheckInput(2, computed=honest), "f1_of_means") == []
    (finding,) = _found(CheckInput(2, computed={**columns, "answer_f1": _array(0.8, 0.5)}), "f1_of_means")
    assert "The mean F1 (computed) is 0.650, above 0.600" in finding.message


def test_recall_may_not_fall_as_k_grows() -> None:
    columns = {"recall@10": _array(0.5, 1.0), "recall@3": _array(0.5, 0.2), "recall@5": _array(0.8, 0.2)}
    (finding,) = _found(CheckInput(2, imported=columns), "recall_not_falling")
    assert finding.title == "recall@5 above recall@10"
    assert finding.rows == (0,)


def test_mrr_stays_within_the_hit_rate() -> None:
    columns = {"mrr@5": _array(0.5, 1.0), "hit@5": _array(1.0, 0.0)}
    (finding,) = _found(CheckInput(2, computed=columns), "mrr_within_hit")
    assert finding.rows == (1,)


def test_zeros_that_are_good_news_are_left_alone() -> None:
    columns = {
        "hallucination": np.zeros(30),
        "noise_sensitivity_relevant": np.zeros(30),
        "hit@3": np.ones(30),
    }
    assert _found(CheckInput(30, imported=columns), "zero_column") == []


def test_zeros_alone_or_few_are_not_suspicious() -> None:
    assert _found(CheckInput(30, imported={"context_precision": np.zeros(30)}), "zero_column") == []
    few = {"context_precision": np.zeros(4), "faithfulness": np.ones(4)}
    assert _found(CheckInput(4, imported=few), "zero_column") == []


def test_an_empty_column_was_not_measured() -> None:
    columns = {"answer_similarity": np.full(3, np.nan), "faithfulness": np.ones(3)}
    (finding,) = _found(CheckInput(3, imported=columns), "empty_column")
    assert finding.severity == "note"
    assert "not measured" in finding.message


def test_percentages_are_recognised() -> None:
    unscored = {"faithfulness": _array(np.nan, np.nan)}
    run = CheckInput(2, imported=unscored, off_scale={"faithfulness": _array(68.2, 0.0)})
    (finding,) = _found(run, "scale")
    assert finding.severity == "error"
    assert "none of them is scored" in finding.message
    assert "--scale faithfulness=0..100" in finding.message
    bounded = CheckInput(2, imported={"latency": _array(3.0, 9.0)}, bounds={"latency": (0.0, np.inf)})
    assert _found(bounded, "scale") == []


def test_a_value_just_outside_is_only_a_note() -> None:
    (finding,) = _found(CheckInput(2, imported={"answer_relevancy": _array(-0.0047, 1.0)}), "scale")
    assert finding.severity == "note"
    assert finding.rows == (0,)


def test_imported_is_held_against_recomputed() -> None:
    given = CheckInput(
        3,
        computed={"recall@5": _array(0.5, 1.0, np.nan)},
        imported={"recall@5": _array(0.504, 0.8, 0.3)},
    )
    (finding,) = _found(given, "recomputed")
    assert (finding.n_affected, finding.rows) == (1, (1,))
    assert "1 of 2 samples, by up to 0.200" in finding.message


def test_a_stated_mean_is_held_against_its_samples() -> None:
    given = CheckInput(
        2,
        computed={"ndcg@5": _array(0.449, 0.5), "mrr@10": _array(0.5, 0.6)},
        imported_means={"ndcg@5": 0.5326},
    )
    (finding,) = _found(given, "recomputed_means")
    assert "mean ndcg@5 of 0.5326; recomputed from its samples it is 0.4745" in finding.message


def test_where_the_questions_come_from_is_checked_only_where_it_is_said() -> None:
    assert check_numbers(CheckInput(5)) == []
    given = CheckInput(
        5,
        retrieval_test_set="faq 2",
        generation_test_set="faq 2",
        synthetic_share=1.0,
        dataset_date=date(2024, 1, 1),
        corpus_date=date(2024, 6, 1),
    )
    assert [one.rule for one in check_numbers(given)] == ["synthetic_only", "stale_dataset", "one_test_set"]
    mixed = CheckInput(5, synthetic_share=0.9, dataset_date=date(2024, 6, 1), corpus_date=date(2024, 6, 1))
    assert check_numbers(mixed) == []


def test_errors_come_before_warnings_and_notes() -> None:
    columns = {
        "self_knowledge": _array(0.6),
        "answer_precision": _array(0.5),
        "context_precision": _array(0.0),
        "context_recall": _array(1.0),
        "answer_similarity": _array(np.nan),
    }
    found = check_numbers(CheckInput(1, imported=columns))
    assert [one.severity for one in found] == ["error", "warning", "note"]


def test_every_rule_is_declared_with_its_condition() -> None:
    assert all(rule.key == key and rule.title and rule.condition for key, rule in RULES.items())
    assert RULES["zero_column"].title == "Whole columns of 0"


def test_columns_of_another_length_are_refused() -> None:
    with pytest.raises(MetricsError, match="'faithfulness' has 2 values for 3 samples"):
        CheckInput(3, computed={"faithfulness": np.zeros(2)})


def test_a_column_that_never_varies_is_doubted() -> None:
    constant, varying = np.full(20, 1.0), np.linspace(0.5, 1.0, 20)
    given = CheckInput(20, imported={"faithfulness": constant, "answer_relevancy": varying})
    (finding,) = _found(given, "constant_column")
    assert (finding.title, finding.metrics) == ("faithfulness is 1 in every case", ("faithfulness",))
    few = CheckInput(19, imported={"faithfulness": constant[:19]})
    confirmed = CheckInput(20, computed={"faithfulness": constant}, imported={"faithfulness": constant})
    assert _found(few, "constant_column") == _found(confirmed, "constant_column") == []


def test_faithful_answers_that_are_all_hallucinated_are_doubted() -> None:
    columns = {"faithfulness": np.linspace(0.9, 1.0, 20), "hallucination": np.full(20, 1.0)}
    (finding,) = _found(CheckInput(20, imported=columns), "disagreement")
    assert finding.title == "faithfulness and hallucination disagree"
    assert finding.n_affected == 20
    columns["hallucination"] = np.where(np.arange(20) < 4, 1.0, 0.0)
    assert _found(CheckInput(20, imported=columns), "disagreement") == []


@pytest.mark.parametrize(
    ("values", "declared", "n"),
    [
        ([0.999, 1.0, 0.998, 0.999, 1.0], (-1000.0, 1.0), 1),  # as converted from values of 0 to 1
        ([0.997] * 6, (-1000.0, 1.0), 1),
        ([0.75, 1.0, 0.5, 0.75, 1.0], (1.0, 5.0), 0),
        ([1.0] * 6, (1.0, 5.0), 0),
    ],
)
def test_a_declared_scale_must_be_used(values: list[float], declared: tuple[float, float], n: int) -> None:
    imported = {"faithfulness": np.array(values)}
    given = CheckInput(len(values), imported=imported, scales={"faithfulness": declared})
    assert len(_found(given, "unused_scale")) == n


@pytest.mark.parametrize(
    ("values", "declared", "n"),
    [
        ([*[0.91] * 10, *[93.5] * 90], (0.0, 100.0), 10),
        ([*[0.91] * 10, *[4.0, 5.0] * 45], (1.0, 5.0), 10),
        ([*[0.91] * 4, *[93.5] * 96], (0.0, 100.0), 0),  # fewer than a twentieth
        ([*[0.0, 1.0] * 10, *[93.5] * 80], (0.0, 100.0), 0),  # whole numbers
        ([*np.linspace(0.1, 20, 90), *[93.5] * 10], (0.0, 100.0), 0),  # low on most samples
        ([*[0.91] * 10, *[4.5] * 90], (0.0, 5.0), 0),  # a low value of that scale
    ],
)
def test_shares_among_values_of_a_declared_scale_are_doubted(
    values: list[float], declared: tuple[float, float], n: int
) -> None:
    given = np.array(values)
    imported = {"faithfulness": (given - declared[0]) / (declared[1] - declared[0])}
    off = {"faithfulness": given} if declared[0] else {}
    findings = _found(
        CheckInput(len(given), imported=imported, off_scale=off, scales={"faithfulness": declared}),
        "mixed_scales",
    )
    assert [finding.n_affected for finding in findings] == ([n] if n else [])
