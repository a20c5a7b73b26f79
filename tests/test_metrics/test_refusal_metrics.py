"""Answerable against answered, and checks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from metric_batches import Row, answers, checks

from ragtriage.metrics.definitions import refusal
from ragtriage.metrics.definitions.system import check_pass_rate
from ragtriage.metrics.schema.batch import ANSWERABLE, Answers
from ragtriage.metrics.schema.scores import Scores, Source, Status

YES, PARTIAL, NO, TALK = range(len(ANSWERABLE))
REFUSED, ANSWERED, UNKNOWN = 1, 0, -1
NA, RUN = Status.NOT_APPLICABLE, Status.NOT_RUN

# (answerable, refused, context has gold) -> value, or why there is none
TABLE: list[tuple[Callable[[Answers], Scores], tuple[int, int, int], float | Status]] = [
    (refusal.negative_rejection_rate, (NO, REFUSED, 0), 1.0),
    (refusal.negative_rejection_rate, (NO, ANSWERED, 0), 0.0),
    (refusal.negative_rejection_rate, (NO, REFUSED, UNKNOWN), 1.0),
    (refusal.negative_rejection_rate, (YES, REFUSED, 0), 1.0),
    (refusal.negative_rejection_rate, (YES, ANSWERED, 0), 0.0),
    (refusal.negative_rejection_rate, (UNKNOWN, REFUSED, 0), 1.0),
    (refusal.negative_rejection_rate, (YES, REFUSED, 1), NA),
    (refusal.negative_rejection_rate, (NO, REFUSED, 1), NA),
    (refusal.negative_rejection_rate, (PARTIAL, REFUSED, 0), NA),
    (refusal.negative_rejection_rate, (YES, REFUSED, UNKNOWN), RUN),
    (refusal.negative_rejection_rate, (NO, UNKNOWN, 0), RUN),
    (refusal.corpus_rejection_rate, (NO, REFUSED, 0), 1.0),
    (refusal.corpus_rejection_rate, (NO, ANSWERED, 0), 0.0),
    (refusal.corpus_rejection_rate, (YES, REFUSED, 0), NA),
    (refusal.corpus_rejection_rate, (PARTIAL, REFUSED, 0), NA),
    (refusal.corpus_rejection_rate, (UNKNOWN, REFUSED, 0), RUN),
    (refusal.corpus_rejection_rate, (NO, UNKNOWN, 0), RUN),
    (refusal.over_refusal, (YES, REFUSED, 1), 1.0),
    (refusal.over_refusal, (YES, ANSWERED, 1), 0.0),
    (refusal.over_refusal, (YES, REFUSED, 0), NA),
    (refusal.over_refusal, (YES, REFUSED, UNKNOWN), RUN),
    (refusal.over_refusal, (NO, REFUSED, 1), NA),
    (refusal.over_refusal, (UNKNOWN, REFUSED, 1), 1.0),
    (refusal.over_refusal, (YES, REFUSED, 2), NA),  # a part of the gold: neither plainly right nor wrong
    (refusal.negative_rejection_rate, (YES, REFUSED, 2), NA),
    (refusal.correct_abstention, (YES, REFUSED, 2), NA),
    (refusal.correct_abstention, (YES, REFUSED, 0), 1.0),
    (refusal.correct_abstention, (YES, ANSWERED, 0), 0.0),
    (refusal.correct_abstention, (YES, REFUSED, 1), NA),
    (refusal.correct_abstention, (TALK, REFUSED, 0), NA),
    (refusal.correct_abstention, (YES, REFUSED, UNKNOWN), RUN),
    (refusal.refusal_accuracy, (YES, ANSWERED, UNKNOWN), 1.0),
    (refusal.refusal_accuracy, (YES, REFUSED, UNKNOWN), 0.0),
    (refusal.refusal_accuracy, (NO, REFUSED, UNKNOWN), 1.0),
    (refusal.refusal_accuracy, (NO, ANSWERED, UNKNOWN), 0.0),
    (refusal.refusal_accuracy, (PARTIAL, ANSWERED, UNKNOWN), NA),
    (refusal.refusal_accuracy, (UNKNOWN, ANSWERED, UNKNOWN), RUN),
    (refusal.refused, (UNKNOWN, REFUSED, UNKNOWN), 1.0),
    (refusal.refused, (NO, ANSWERED, UNKNOWN), 0.0),
    (refusal.refused, (NO, UNKNOWN, UNKNOWN), RUN),
]


def row(answerable: int, refused: int, gold: int) -> Row:
    return Row(answerable=answerable, refused=refused, context_has_gold=gold)


@pytest.mark.parametrize(("formula", "case", "expected"), TABLE)
def test_the_two_by_two(
    formula: Callable[[Answers], Scores], case: tuple[int, int, int], expected: float | Status
) -> None:
    scores = formula(answers([row(*case)]))
    if isinstance(expected, Status):
        assert scores.status[0] == expected
        assert scores.reason[0]
    else:
        assert scores.values[0] == expected


def test_a_refusal_found_by_its_phrases_is_an_estimate() -> None:
    found = answers([Row(refused=REFUSED, answerable=NO, estimated=True)])
    assert refusal.negative_rejection_rate(found).source.tolist() == [Source.ESTIMATED]


def test_check_pass_rate() -> None:
    rows = [Row(checks=[True, False, True]), Row(), Row(checks=[False])]
    scores = check_pass_rate(checks(rows), 3)
    np.testing.assert_allclose(scores.values, [2 / 3, np.nan, 0.0])
    assert scores.reason[1] == "the sample has no checks"
