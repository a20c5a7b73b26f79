"""Token budgets and chunk counts, worked by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ragtriage.data.scoring.gold_join import cover
from ragtriage.metrics.definitions.spans import (
    BUDGETS,
    chunk_count_ndcg,
    chunk_count_precision,
    chunk_count_recall,
    within,
)
from ragtriage.metrics.metric_registry import REGISTRY, compute, lookup
from ragtriage.metrics.schema.batch import Batch, SpanRankings
from ragtriage.metrics.schema.scores import Scores, Status

NAN = float("nan")


def _list(tokens: Sequence[float], relevant: float = 3.0) -> SpanRankings:
    """Gold of 100 characters; chunks bring 40 of it, then nothing, then 20, in 100 characters each."""
    k = len(tokens)
    return SpanRankings(
        gold_chars=np.array([100.0]),
        new_gold=np.array([[40.0, 0.0, 20.0][:k]]),
        union_chars=np.array([[100.0, 200.0, 300.0][:k]]),
        chunk_chars=np.array([[100.0, 120.0, 150.0][:k]]),  # the second and third repeat text
        status=np.array([Status.SCORED], dtype=np.int8),
        reason=np.array([""], dtype=object),
        hits=np.array([[True, False, True][:k]]),
        tokens=np.array([list(tokens)], dtype=np.float64),
        relevant_chunks=np.array([relevant]),
    )


def _at(spans: SpanRankings, name: str) -> tuple[float, int, str]:
    found = compute(Batch(n=1, documents=np.array([3]), spans=spans), (5,))[name]
    return float(found.values[0]), int(found.status[0]), str(found.reason[0])


@pytest.mark.parametrize(
    ("tokens", "recall", "precision", "iou", "ndcg", "distinct_precision", "distinct_iou"),
    [
        (
            (100, 100, 50),
            0.6,
            60 / 370,
            60 / 410,
            0.4 + 0.2 / 2,
            60 / 300,
            60 / 340,
        ),  # exactly 250: all three fit
        (
            (100, 100, 51),
            0.4,
            40 / 220,
            40 / 280,
            0.4,
            40 / 200,
            40 / 260,
        ),  # one token too many: the third is left out
        (
            (240, 20, 5),
            0.4,
            40 / 100,
            40 / 160,
            0.4,
            40 / 100,
            40 / 160,
        ),  # what follows the one that does not fit stays out
    ],
)
def test_chunks_are_taken_in_order_while_they_fit_into_250(
    tokens: Sequence[float],
    recall: float,
    precision: float,
    iou: float,
    ndcg: float,
    distinct_precision: float,
    distinct_iou: float,
) -> None:
    expected = {"recall": recall, "precision": precision, "iou": iou, "ndcg": ndcg}
    expected |= {"distinct_precision": distinct_precision, "distinct_iou": distinct_iou}
    for name, value in expected.items():
        assert _at(_list(tokens), f"span_{name}_budget@250")[0] == pytest.approx(value, abs=1e-12)


def test_a_budget_that_nothing_fits_into_has_recall_zero_and_no_precision() -> None:
    spans = _list((251, 10, 10))
    assert _at(spans, "span_recall_budget@250") == (0.0, Status.SCORED, "")
    value, status, reason = _at(spans, "span_precision_budget@250")
    assert math.isnan(value)
    assert (status, reason) == (Status.NOT_APPLICABLE, "no text was retrieved")
    assert _at(spans, "span_recall_budget@500")[0] == 0.6


def test_chunks_of_unknown_size_are_not_run() -> None:
    cut = within(_list((100, NAN, 50)), 250)
    assert cut.status.tolist() == [Status.NOT_RUN]
    assert cut.reason.tolist() == ["the tokens of the chunks were not recorded"]


def test_a_short_list_counts_as_it_is_and_the_text_warns_of_it() -> None:
    spans = _list((10, 10, 10))
    assert {_at(spans, f"span_recall_budget@{budget}")[0] for budget in BUDGETS} == {0.6}
    for name in ("recall", "precision", "iou", "ndcg"):
        metric = REGISTRY[f"span_{name}_budget@k"]
        assert metric.unit == "tokens"
        assert "list that ends before the budget" in metric.caution
    assert lookup("span_recall_budget@500").title == "Span recall in 500 tokens"


@pytest.mark.parametrize(
    ("formula", "k", "expected"),
    [
        (chunk_count_recall, 1, 1 / 3),
        (chunk_count_recall, 3, 2 / 3),
        (chunk_count_recall, 50, 2 / 3),
        (chunk_count_precision, 1, 1.0),
        (chunk_count_precision, 3, 2 / 3),
        (chunk_count_precision, 10, 2 / 10),
        (chunk_count_ndcg, 1, 1.0),
        (chunk_count_ndcg, 3, (1 + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2)),
        (chunk_count_ndcg, 10, (1 + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2)),
    ],
)
def test_chunks_with_gold_are_counted(
    formula: Callable[[SpanRankings, int], Scores], k: int, expected: float
) -> None:
    assert formula(_list((1, 1, 1)), k).values[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("relevant", "status", "reason"),
    [
        (0.0, Status.NOT_APPLICABLE, "no chunk of the index holds gold"),
        (NAN, Status.NOT_RUN, "how many chunks of the index hold gold was not recorded"),
    ],
)
def test_no_relevant_chunk_is_not_an_unknown_number_of_them(
    relevant: float, status: Status, reason: str
) -> None:
    for formula in (chunk_count_recall, chunk_count_ndcg):
        scores = formula(_list((1, 1, 1), relevant), 3)
        assert (scores.status[0], scores.reason[0]) == (status, reason)
        assert np.isnan(scores.values[0])


def test_a_chunk_that_is_listed_twice_is_one_hit() -> None:
    gold = [{"doc_id": "a", "start": 0, "end": 5}]
    chunk = {"doc_id": "a", "start": 0, "end": 9}
    other = {"doc_id": "a", "start": 3, "end": 12}
    assert cover(gold, [chunk, chunk, other, chunk]).hits == [True, False, True, False]
