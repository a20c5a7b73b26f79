"""Which documents the answer draws on, against where they were ranked."""

from __future__ import annotations

import numpy as np
import pytest
from metric_batches import Row, use

from ragtriage.metrics.definitions.alignment import (
    deep_reliance,
    ignored_top_ranked,
    rank_use_gap,
    used_nothing,
    wasted_context,
)
from ragtriage.metrics.schema.batch import ContextUse
from ragtriage.metrics.schema.scores import Scores, Source, Status

FIVE = ["a", "b", "c", "d", "e"]
NAN = float("nan")


def table(*used: dict[int, float] | None, refused: int = 0) -> ContextUse:
    return use([Row(retrieved=FIVE, used=ranks, refused=refused) for ranks in used])


def test_ignoring_the_first_document() -> None:
    scores = ignored_top_ranked(table({1: NAN, 3: NAN}, {2: NAN}, {}, None))
    assert scores.values[:3].tolist() == [0.0, 1.0, 1.0]
    assert scores.status[3] == Status.NOT_RUN


def test_an_answer_that_used_nothing_counts_as_ignoring_and_is_marked() -> None:
    rows = [
        Row(retrieved=FIVE, used={}, refused=0),
        Row(retrieved=FIVE, used={}, refused=1),
        Row(retrieved=FIVE, used={2: 1.0}, refused=0),
        Row(retrieved=FIVE, refused=0),
        Row(retrieved=[], used={}, refused=0),
    ]
    assert used_nothing(use(rows)).tolist() == [True, False, False, False, False]


@pytest.mark.parametrize("formula", [ignored_top_ranked, rank_use_gap])
def test_refusals_and_missing_documents_are_not_applicable(formula: object) -> None:
    assert callable(formula)
    rows = [Row(retrieved=FIVE, used={1: 1.0}, refused=1), Row(retrieved=[], used={}, refused=0)]
    scores = formula(use(rows))
    assert isinstance(scores, Scores)
    assert scores.status.tolist() == [Status.NOT_APPLICABLE] * 2
    assert scores.reason.tolist() == [
        "the answer is a refusal, so it uses no document",
        "no document was handed to the generator",
    ]


def test_wasted_context_divides_by_what_was_there() -> None:
    assert wasted_context(table({1: NAN, 4: NAN}), 3).values[0] == pytest.approx(2 / 3)
    assert wasted_context(table({1: NAN, 4: NAN}), 10).values[0] == pytest.approx(3 / 5)
    assert wasted_context(table({}), 3).values[0] == 1.0


def test_deep_reliance_is_the_share_of_used_documents_below_the_cut() -> None:
    assert deep_reliance(table({1: NAN, 4: NAN, 5: NAN}), 3).values[0] == pytest.approx(2 / 3)
    assert deep_reliance(table({1: NAN}), 5).values[0] == 0.0
    assert deep_reliance(table({}), 3).reason[0] == "the answer uses none of its documents"


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ({1: 0.5, 2: 0.3, 3: 0.2}, 0.0),  # the retriever's order
        ({1: 0.5, 2: 0.5}, 0.0),  # ties go to the better rank
        ({5: 1.0}, 1.0),  # the top has nothing to do with the answer
        ({2: 0.7, 1: 0.3}, 1 - 0.9 / 1.9),  # depth 1: no overlap; depth 2: all
        ({1: 0.5, 4: 0.5}, 1 - (1 + 0.9 / 2) / 1.9),
        ({4: 0.6, 1: 0.3, 2: 0.1}, 1 - (0 + 0.9 / 2 + 0.81 * 2 / 3) / (1 + 0.9 + 0.81)),
    ],
)
def test_rank_use_gap(used: dict[int, float], expected: float) -> None:
    assert rank_use_gap(table(used)).values[0] == pytest.approx(expected, abs=1e-12)


def test_a_lower_persistence_weighs_the_first_rank_more() -> None:
    crossed = table({2: 0.7, 1: 0.3})
    assert rank_use_gap(crossed, p=0.5).values[0] == pytest.approx(1 - 0.5 / 1.5)


def test_rank_use_gap_needs_shares() -> None:
    scores = rank_use_gap(table({1: 0.5, 2: NAN}))
    assert scores.status[0] == Status.NOT_RUN
    assert scores.reason[0] == "how much of the answer rests on each document was not recorded"


def test_estimated_use_gives_estimated_values() -> None:
    rows = [Row(retrieved=FIVE, used={1: 1.0}, refused=0, estimated=True)]
    assert ignored_top_ranked(use(rows)).source.tolist() == [Source.ESTIMATED]


def test_ranks_past_the_end_of_the_list_do_not_count() -> None:
    stray = use([Row(retrieved=["a", "b"], used={2: 1.0, 6: 1.0}, refused=0)])
    assert deep_reliance(stray, 1).values[0] == 1.0
    assert wasted_context(stray, 5).values[0] == 0.5
    assert not np.any(used_nothing(stray))
