"""Claim metrics on hand-worked answers, in both conventions."""

from __future__ import annotations

import numpy as np
import pytest
from metric_batches import ClaimRow, Row, batch

from ragtriage.metrics.metric_registry import compute
from ragtriage.metrics.schema.metric import Convention
from ragtriage.metrics.schema.scores import Scores, Source, Status

# Two relevant documents (1, 2), one irrelevant (3), one document nobody needs (4).
REFERENCE = [
    ClaimRow(1, [1]),  # said by the context and by the answer
    ClaimRow(0, [1, 2]),  # said by the context, left out
    ClaimRow(1, []),  # known to the model only
    ClaimRow(0, []),  # nobody says it
]
CLAIMS = [
    ClaimRow(1, [1]),  # right and supported
    ClaimRow(1, []),  # self-knowledge
    ClaimRow(0, [2]),  # noise of a relevant document
    ClaimRow(0, [2, 3]),  # noise of both kinds
    ClaimRow(0, [3], [1]),  # noise of an irrelevant document, contradicted by another
    ClaimRow(0, []),  # hallucination
    ClaimRow(0, [], [2, 4]),  # hallucination, contradicted
    ClaimRow(1, [1, 2]),  # right and supported
]
DOCUMENTS = ["a", "b", "c", "d"]
FULL = Row(retrieved=DOCUMENTS, claims=CLAIMS, reference=REFERENCE)


def scored(row: Row, convention: Convention = "default") -> dict[str, Scores]:
    return compute(batch([row]), convention=convention)


def value(key: str, row: Row = FULL, convention: Convention = "default") -> float:
    return float(scored(row, convention)[key].values[0])


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("answer_precision", 3 / 8),
        ("answer_recall", 2 / 4),
        ("answer_f1", 2 * (3 / 8) * (2 / 4) / (3 / 8 + 2 / 4)),
        ("context_recall", 2 / 4),
        ("chunk_precision", 2 / 4),
        ("context_utilization", 1 / 2),
        ("noise_sensitivity_relevant", 2 / 8),
        ("noise_sensitivity_irrelevant", 2 / 8),
        ("hallucination", 2 / 8),
        ("self_knowledge", 1 / 8),
        ("faithfulness", 5 / 8),
        ("contradicted", 2 / 8),
        ("ungrounded", 3 / 8),
        ("omission", 1 / 4),
    ],
)
def test_a_hand_worked_answer(key: str, expected: float) -> None:
    assert value(key) == pytest.approx(expected, abs=1e-12)


def test_ragchecker_keeps_the_two_kinds_of_noise_apart() -> None:
    assert value("noise_sensitivity_irrelevant", convention="ragchecker") == pytest.approx(1 / 8)
    keys = ("answer_precision", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant", "hallucination")
    assert sum(value(key, convention="ragchecker") for key in keys) == pytest.approx(1.0)


ANSWER_SIDE = [
    "answer_precision",
    "faithfulness",
    "hallucination",
    "self_knowledge",
    "contradicted",
    "ungrounded",
]
REFERENCE_SIDE = ["answer_recall", "context_recall", "chunk_precision", "context_utilization", "omission"]
BOTH_SIDES = ["answer_f1", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant"]


@pytest.mark.parametrize("key", ANSWER_SIDE + BOTH_SIDES)
def test_an_answer_without_claims(key: str) -> None:
    row = Row(retrieved=DOCUMENTS, claims=[], reference=REFERENCE)
    default, ragchecker = scored(row)[key], scored(row, "ragchecker")[key]
    assert (default.status[0], default.reason[0]) == (Status.NOT_APPLICABLE, "the answer makes no claims")
    assert (ragchecker.status[0], ragchecker.values[0]) == (Status.SCORED, 0.0)


@pytest.mark.parametrize("key", REFERENCE_SIDE + BOTH_SIDES)
def test_a_reference_without_claims(key: str) -> None:
    row = Row(retrieved=DOCUMENTS, claims=CLAIMS, reference=[])
    default, ragchecker = scored(row)[key], scored(row, "ragchecker")[key]
    assert default.status[0] == Status.NOT_APPLICABLE
    assert str(default.reason[0]).startswith("the reference answer has no claims")
    assert (ragchecker.status[0], ragchecker.values[0]) == (Status.SCORED, 0.0)


@pytest.mark.parametrize("key", ANSWER_SIDE + REFERENCE_SIDE + BOTH_SIDES)
def test_claims_that_were_not_recorded_are_not_run_in_both_conventions(key: str) -> None:
    other = FULL  # so that the blocks exist
    for convention in ("default", "ragchecker"):
        scores = compute(batch([Row(retrieved=DOCUMENTS), other]), convention=convention)[key]
        assert scores.status.tolist() == [Status.NOT_RUN, Status.SCORED]
        assert "were not recorded" in scores.reason[0]


def test_one_claim_of_unknown_support_stops_what_rests_on_support() -> None:
    row = Row(retrieved=DOCUMENTS, claims=[*CLAIMS, ClaimRow(1, None)], reference=REFERENCE)
    status = {key: scores.status[0] for key, scores in scored(row).items()}
    needing = ["faithfulness", "hallucination", "self_knowledge", "contradicted", "ungrounded"]
    needing += ["noise_sensitivity_relevant", "noise_sensitivity_irrelevant"]
    assert all(status[key] == Status.NOT_RUN for key in needing)
    assert status["answer_precision"] == status["answer_f1"] == status["context_recall"] == Status.SCORED


def test_one_claim_without_verdict_stops_what_rests_on_the_reference() -> None:
    row = Row(retrieved=DOCUMENTS, claims=[*CLAIMS, ClaimRow(-1, [1])], reference=REFERENCE)
    status = {key: scores.status[0] for key, scores in scored(row).items()}
    needing = [
        "answer_precision",
        "answer_f1",
        "hallucination",
        "self_knowledge",
        "noise_sensitivity_relevant",
    ]
    assert all(status[key] == Status.NOT_RUN for key in needing)
    assert status["faithfulness"] == status["answer_recall"] == Status.SCORED


def test_an_answer_given_without_documents_is_unsupported() -> None:
    row = Row(retrieved=[], claims=[ClaimRow(1), ClaimRow(0)], reference=[ClaimRow(1)])
    assert value("faithfulness", row) == 0.0
    assert value("hallucination", row) == value("self_knowledge", row) == 0.5
    assert value("context_recall", row) == 0.0
    assert scored(row)["chunk_precision"].reason[0] == "no document was retrieved"
    assert scored(row)["context_utilization"].status[0] == Status.NOT_APPLICABLE
    for key in ("faithfulness", "hallucination", "self_knowledge", "chunk_precision", "context_utilization"):
        assert value(key, row, "ragchecker") == 0.0  # as its code: no documents, no grounding metrics


def test_f1_is_zero_when_nothing_is_right_and_nothing_found() -> None:
    row = Row(retrieved=DOCUMENTS, claims=[ClaimRow(0)], reference=[ClaimRow(0)])
    assert value("answer_f1", row) == 0.0


def test_word_overlap_cannot_show_contradiction() -> None:
    row = Row(retrieved=DOCUMENTS, claims=CLAIMS, reference=REFERENCE, estimated=True)
    scores = scored(row)
    assert scores["contradicted"].status[0] == Status.NOT_RUN
    assert scores["faithfulness"].source[0] == Source.ESTIMATED
    assert scores["answer_f1"].source[0] == Source.ESTIMATED  # one estimated side is enough
    assert scores["context_recall"].source[0] == Source.COMPUTED


def test_contradiction_that_was_not_recorded_is_not_zero() -> None:
    full = batch([FULL])
    assert full.claims is not None
    unknown = np.zeros(len(full.claims.sample), dtype=np.bool_)
    claims = type(full.claims)(**{**vars(full.claims), "contradiction_known": unknown})
    scores = compute(type(full)(**{**vars(full), "claims": claims}))["contradicted"]
    assert scores.reason[0] == "which documents contradict the claims was not recorded"


IN_PART = [
    ClaimRow(1, [], partly=[1]),  # right, a part of it in a relevant document
    ClaimRow(0, [], partly=[3]),  # wrong, a part of it in an irrelevant document
    ClaimRow(2, [1]),  # right in part, supported
    ClaimRow(2, []),  # right in part, not supported
]
PARTS = Row(retrieved=DOCUMENTS, claims=IN_PART, reference=[ClaimRow(2, [1]), ClaimRow(0, [2])])


@pytest.mark.parametrize("convention", ["default", "ragchecker"])
def test_what_is_said_or_supported_in_part_counts_a_half_and_the_parts_still_add_up(
    convention: Convention,
) -> None:
    expected = {
        "faithfulness": 2 / 4,
        "ungrounded": 2 / 4,
        "self_knowledge": 1 / 4,
        "hallucination": 1 / 4,
        "answer_precision": 2 / 4,
        "noise_sensitivity_relevant": 0.5 / 4,
        "noise_sensitivity_irrelevant": 0.5 / 4,
        "answer_recall": 0.5 / 2,
        "context_utilization": 0.5 / 2,
        "omission": 1.5 / 2,
        "intrinsic_hallucination": 0.0,
        "extrinsic_hallucination": 2 / 4,
    }
    assert {key: value(key, PARTS, convention) for key in expected} == pytest.approx(expected)
