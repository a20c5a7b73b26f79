"""Rank and span metrics on hand-worked lists."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from metric_batches import Row, labels, rankings, span_rankings

from ragtriage.metrics.definitions import retrieval, spans
from ragtriage.metrics.definitions.imported import context_precision, context_relevance
from ragtriage.metrics.schema.batch import Rankings, SpanRankings
from ragtriage.metrics.schema.scores import Scores, Status

# d2 (grade 2) at rank 2, d1 (grade 1) at ranks 4 and again at 5, d9 (grade 1) never found
LIST = Row(retrieved=["x", "d2", "y", "d1", "d1"], gold={"d1": 1, "d2": 2, "d9": 1})


def value(scores: Scores) -> float:
    assert scores.status.tolist() == [Status.SCORED]
    return float(scores.values[0])


@pytest.mark.parametrize(
    ("formula", "k", "expected"),
    [
        (retrieval.recall, 1, 0.0),
        (retrieval.recall, 2, 1 / 3),
        (retrieval.recall, 10, 2 / 3),
        (retrieval.precision, 2, 1 / 2),
        (retrieval.precision, 5, 2 / 5),  # the repeat at rank 5 holds its place and is not relevant
        (retrieval.precision, 10, 2 / 10),  # a list of 5 still divides by 10
        (retrieval.hit, 1, 0.0),
        (retrieval.hit, 2, 1.0),
        (retrieval.reciprocal_rank, 1, 0.0),
        (retrieval.reciprocal_rank, 5, 1 / 2),
        (retrieval.average_precision, 2, (1 / 2) / 3),
        (retrieval.average_precision, 5, (1 / 2 + 2 / 4) / 3),
        (retrieval.ndcg, 1, 0.0),
        (retrieval.ndcg, 2, (2 / np.log2(3)) / (2 + 1 / np.log2(3))),
        (retrieval.ndcg, 10, (2 / np.log2(3) + 1 / np.log2(5)) / (2 + 1 / np.log2(3) + 1 / 2)),
    ],
)
def test_a_hand_worked_list(formula: Callable[[Rankings, int], Scores], k: int, expected: float) -> None:
    assert value(formula(rankings([LIST]), k)) == pytest.approx(expected, abs=1e-12)


def test_exponential_gain_takes_two_to_the_grade_minus_one() -> None:
    expected = (3 / np.log2(3)) / (3 + 1 / np.log2(3))
    assert value(retrieval.ndcg(rankings([LIST]), 2, exponential=True)) == pytest.approx(expected, abs=1e-12)


def test_alternatives_of_a_hop_satisfy_it_together() -> None:
    hops = {"a": "1", "b": "1", "c": "2"}
    table = rankings([Row(retrieved=["b", "x", "c"], gold={"a": 1, "b": 1, "c": 1}, hops=hops)])
    assert [value(retrieval.recall(table, k)) for k in (1, 2, 3)] == [0.5, 0.5, 1.0]
    assert [value(retrieval.all_hops_recall(table, k)) for k in (1, 2, 3)] == [0.0, 0.0, 1.0]


def test_all_hops_recall_needs_hops() -> None:
    scores = retrieval.all_hops_recall(rankings([LIST]), 5)
    assert scores.status.tolist() == [Status.NOT_APPLICABLE]
    assert scores.reason.tolist() == ["the gold documents of the question name no hops"]


FORMULAS = [
    retrieval.recall,
    retrieval.precision,
    retrieval.hit,
    retrieval.reciprocal_rank,
    retrieval.ndcg,
    retrieval.average_precision,
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_an_empty_list_is_zero_and_an_unrecorded_one_is_not_run(
    formula: Callable[[Rankings, int], Scores],
) -> None:
    rows = [Row(retrieved=[], gold={"a": 1}), Row(gold={"a": 1}), Row(retrieved=["a"], gold={})]
    scores = formula(rankings(rows), 3)
    assert scores.status.tolist() == [Status.SCORED, Status.NOT_RUN, Status.NOT_APPLICABLE]
    assert scores.values[0] == 0.0
    assert scores.reason.tolist() == [
        "",
        "no list or no gold was recorded",
        "the question has no relevant document",
    ]


def test_gold_that_turns_out_empty_is_not_applicable() -> None:
    table = rankings([LIST])
    bare = Rankings(
        table.grades, np.empty((1, 0)), np.empty((1, 0)), table.status, table.reason, table.has_hops
    )
    scores = retrieval.recall(bare, 3)
    assert (scores.status[0], scores.reason[0]) == (
        Status.NOT_APPLICABLE,
        "the question has no relevant document",
    )


# gold of 100 characters; chunks bring 40 + 60 other, 0 + 50 (a repeat of gold already read), 40 + 10
CHUNKS = Row(spans=[(40, 60), (0, 50), (40, 10)], gold_chars=100)


@pytest.mark.parametrize(
    ("formula", "k", "expected"),
    [
        (spans.span_recall, 1, 0.4),
        (spans.span_recall, 2, 0.4),
        (spans.span_recall, 5, 0.8),
        (spans.span_precision, 1, 40 / 100),
        (spans.span_precision, 2, 40 / 150),
        (spans.span_precision, 5, 80 / 200),
        (spans.span_iou, 1, 40 / (100 + 100 - 40)),
        (spans.span_iou, 5, 80 / (200 + 100 - 80)),
        (spans.span_ndcg, 1, 0.4),
        (spans.span_ndcg, 5, (40 + 40 / 2) / 100),
    ],
)
def test_hand_worked_spans(formula: Callable[[SpanRankings, int], Scores], k: int, expected: float) -> None:
    assert value(formula(span_rankings([CHUNKS]), k)) == pytest.approx(expected, abs=1e-12)


def test_span_precision_of_nothing_is_not_applicable_while_recall_is_zero() -> None:
    table = span_rankings([Row(spans=[], gold_chars=10), Row(spans=[(0, 5)], gold_chars=0), Row()])
    precision, recall = spans.span_precision(table, 3), spans.span_recall(table, 3)
    assert precision.reason.tolist() == [
        "no text was retrieved",
        "the question has no gold text",
        "no spans were recorded",
    ]
    assert recall.values[0] == 0.0
    assert recall.status.tolist() == [Status.SCORED, Status.NOT_APPLICABLE, Status.NOT_RUN]


def test_context_metrics_from_relevance_labels() -> None:
    rows = [
        Row(retrieved=["a", "b", "c"], labels=[0, 1, 1]),
        Row(retrieved=["a", "b"], labels=[0, 0]),
        Row(retrieved=["a", "b"], labels=[1]),
        Row(retrieved=[]),
    ]
    documents = np.array([3, 2, 2, 0])
    relevance = context_relevance(labels(rows), documents)
    precision = context_precision(labels(rows), documents)
    assert relevance.values[:2].tolist() == pytest.approx([2 / 3, 0.0])
    assert precision.values[:2].tolist() == pytest.approx([(1 / 2 + 2 / 3) / 2, 0.0])
    for scores in (relevance, precision):
        assert scores.status[2:].tolist() == [Status.NOT_RUN, Status.NOT_APPLICABLE]
        assert scores.reason[2] == "not every retrieved document has a relevance label"
