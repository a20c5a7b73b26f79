"""The headlines of the Datasets page in every state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragtriage.dashboard.headlines.datasets import EMPTY, ReviewCounts, review_headline
from ragtriage.dashboard.headlines.headline import State
from ragtriage.metrics.statistics.intervals import Interval, interval


def _rate(kept: int, rejected: int) -> Interval:
    values = np.array([1.0] * kept + [0.0] * rejected)
    return interval(values, np.arange(len(values)), len(values), binary=True)


STARTED = ReviewCounts(48, 10, 9, 1, 48, _rate(9, 1))


@pytest.mark.parametrize(
    ("counts", "state", "statement"),
    [
        (STARTED, "cannot tell", "10 of 48 read, 38 to go"),
        (ReviewCounts(48, 0, 0, 0, 48), "cannot tell", "0 of 48 read, 48 to go"),
        (ReviewCounts(48, 48, 44, 4, 48, _rate(44, 4)), "good", "All 48 read, 44 kept"),
        (ReviewCounts(48, 20, 11, 9, 48, _rate(11, 9)), "bad", "9 of 20 rejected: make them anew"),
        (ReviewCounts(48, 9, 1, 8, 48, _rate(1, 8)), "cannot tell", "9 of 48 read, 39 to go"),
        (replace(STARTED, listed=0), "empty", "Nothing to read with this filter"),
    ],
)
def test_how_far_a_review_is(counts: ReviewCounts, state: State, statement: str) -> None:
    headline = review_headline(counts)
    assert (headline.state, headline.statement) == (state, statement)
    assert len(headline.statement) <= 70


def test_without_a_dataset_both_ways_to_one_are_named() -> None:
    assert EMPTY.state == "empty"
    assert "dataset make" in EMPTY.detail
    assert "from-questions" in EMPTY.detail
