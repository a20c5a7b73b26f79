"""Coverage, diversity, redundancy and consistency of the context, on tables worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from metric_batches import ClaimRow, Row, batch

from ragtriage.data.suites.contexts import passage_overlap, word_coverage
from ragtriage.metrics.definitions.context_quality import alpha_dcg
from ragtriage.metrics.metric_registry import compute
from ragtriage.metrics.schema.scores import Source, Status


def test_coverage_takes_claims_before_facets_before_words() -> None:
    rows = [
        Row(retrieved=[*"ab"], reference=[ClaimRow(supported=[1]), ClaimRow(supported=[])], covered=0.9),
        Row(
            retrieved=[*"ab"], gold={"a": 1, "x": 1, "y": 1}, hops={"a": "1", "x": "1", "y": "2"}, covered=0.9
        ),
        Row(retrieved=[*"ab"], covered=0.25),
    ]
    labelled = batch(rows)
    found = compute(labelled)["context_coverage"]
    assert found.values[:2].tolist() == [0.5, 0.5]  # 1 of 2 claims, 1 of 2 hops
    assert found.status[2] == Status.NOT_RUN  # words are not a label
    assert found.source.tolist() == [Source.COMPUTED] * 3
    by_words = compute(replace(labelled, reference_claims=None, facets=None))["context_coverage"]
    assert by_words.values.tolist() == [0.9, 0.9, 0.25]
    assert by_words.source.tolist() == [Source.ESTIMATED] * 3


def test_consistency_counts_pairs_on_the_same_point() -> None:
    rows = [
        Row(says=[0, 0, 1, -1]),  # pairs 01, 02, 12: two of three differ
        Row(claims=[ClaimRow(supported=[1, 2], contradicted=[3])]),  # 12 agree, 13 and 23 do not
        Row(claims=[ClaimRow(supported=[1]), ClaimRow(supported=[2])]),  # nothing on one point
        Row(says=[0]),
    ]
    found = compute(batch(rows))["context_consistency"]
    np.testing.assert_allclose(found.values[:2], [1 / 3, 1 / 3])
    assert found.status[2:].tolist() == [Status.NOT_APPLICABLE] * 2


def test_alpha_ndcg_by_hand() -> None:
    """Facets 1, 1, 2 in this order; ideal is 1, 2, 1: (1 + 1/log2(3) + .5/2)."""
    row = Row(retrieved=[*"abc"], gold={"a": 1, "b": 1, "c": 1}, hops={"a": "1", "b": "1", "c": "2"})
    gain, ideal = 1 + 0.5 / np.log2(3) + 1 / 2, 1 + 1 / np.log2(3) + 0.5 / 2
    assert compute(batch([row]), (3,))["alpha_ndcg@3"].values[0] == pytest.approx(gain / ideal)
    assert alpha_dcg(np.array([[True, True]]), 1) == 2.0


def test_passages_are_compared_by_their_words() -> None:
    found = passage_overlap(
        "Which river crosses Cologne?",
        ["The Rhine crosses Cologne", "the rhine crosses cologne.", None, "A bridge"],
    )
    assert found.with_question[2] is None
    # content words: river, cross, cologn against rhine, cross, cologn
    assert found.with_question[0] == pytest.approx(2 / 3)
    assert found.duplicate == (False, True, False, False)
    assert found.mean_pair == pytest.approx(1 / 3)  # 1, 0 and 0
    assert word_coverage("The Rhine", ["Rhine and Main"]) == 1.0
    assert word_coverage("of the", ["Rhine"]) is None


def test_diversity_and_redundancy_need_two_texts() -> None:
    rows = [Row(overlap=[0.5, 0.1], alike=0.25, repeats=[2]), Row(overlap=[0.5])]
    found = compute(batch(rows))
    assert found["context_diversity"].values[0] == 0.75
    assert found["context_redundancy"].values[0] == 0.5
    assert found["context_similarity"].values.tolist() == [0.3, 0.5]
    for name in ("context_diversity", "context_redundancy"):
        assert found[name].status.tolist() == [Status.SCORED, Status.NOT_APPLICABLE]
        assert found[name].source[0] == Source.ESTIMATED


def test_chinese_passages_are_compared_by_pairs_of_characters() -> None:
    found = passage_overlap("莱茵河", ["莱茵河流过科隆", "莱茵河流过科隆", "多瑙河流过维也纳"])
    assert found.duplicate == (False, True, False)
    assert (found.with_question[0] or 0) > (found.with_question[2] or 0)
