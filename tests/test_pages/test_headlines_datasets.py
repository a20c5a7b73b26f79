"""The headlines of the Datasets page in every state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragtriage.dashboard.headlines.datasets import (
    EMPTY,
    DatasetFacts,
    ReviewCounts,
    VersionFacts,
    datasets_headline,
    resolution_text,
    review_headline,
    versions_headline,
)
from ragtriage.dashboard.headlines.headline import State
from ragtriage.data.datasets.resolution import resolution_of
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
        (ReviewCounts(48, 48, 48, 0, 48, _rate(48, 0)), "good", "All 48 read, 48 kept"),
        (
            ReviewCounts(27, 27, 23, 1, 27, _rate(23, 1), 3),
            "good",
            "23 of 27 kept, 1 rejected, 3 disputed",
        ),
        (ReviewCounts(48, 20, 11, 9, 48, _rate(11, 9)), "bad", "9 of 20 rejected: regenerate them"),
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


READ = DatasetFacts(
    name="handbook", n=200, read=200, kept=200, disputed=0, used=200, with_gold=200, spans=240, gone=0,
    dev_in_runs=0, pages=42,
    covered=42, bare=0.0, missing=(), marked=3, resolution=resolution_of(200),
)  # fmt: skip
UNREAD = replace(READ, n=48, read=8, kept=8, used=48, missing=("adversarial",))
KEPT = replace(READ, kept=190, used=190)


@pytest.mark.parametrize(
    ("facts", "state", "statement"),
    [
        (READ, "good", "handbook: 200 questions reviewed, all pages covered"),
        (KEPT, "good", "handbook: 190 of 200 questions kept, all pages covered"),
        (replace(KEPT, disputed=4, used=186), "cannot tell",
            "handbook: readers differ on 4 of 200 questions"),
        (replace(READ, kept=0, used=0, with_gold=0, spans=0), "bad", "handbook: none of 200 questions kept"),
        (replace(READ, covered=41, bare=0.02), "good",
            "handbook: 200 questions reviewed, 41 of 42 pages covered"),
        (replace(UNREAD, gone=12, spans=48), "bad", "handbook: 12 of 48 gold spans are gone"),
        (replace(READ, gone=1, spans=1), "bad", "handbook: 1 of 1 gold span is gone"),
        (replace(UNREAD, dev_in_runs=9), "bad", "handbook: 9 dev questions in the test numbers"),
        (UNREAD, "cannot tell", "handbook: 8 of 48 questions reviewed, none adversarial"),
        (replace(UNREAD, read=0, missing=()), "cannot tell", "handbook: 0 of 48 questions reviewed"),
        (replace(READ, covered=26, bare=0.25), "cannot tell", "handbook: 16 of 42 pages have no question"),
        (replace(READ, missing=("multi-hop", "adversarial")), "cannot tell",
            "handbook: no multi-hop and no adversarial questions"),
        (replace(READ, with_gold=0, spans=0), "not measured", "handbook: no gold, only questions"),
    ],
)  # fmt: skip
def test_what_a_dataset_is_worth(facts: DatasetFacts, state: State, statement: str) -> None:
    headline = datasets_headline(facts)
    assert (headline.state, headline.statement) == (state, statement)
    assert len(headline.statement) <= 70


def test_the_worst_comes_first() -> None:
    everything = replace(UNREAD, gone=2, dev_in_runs=3, bare=0.5, covered=1)
    assert "gone" in datasets_headline(everything).statement
    assert "dev" in datasets_headline(replace(everything, gone=0)).statement
    assert (
        "8 of 48 questions reviewed"
        in datasets_headline(replace(everything, gone=0, dev_in_runs=0)).statement
    )


def test_what_a_set_can_show_says_what_it_rests_on() -> None:
    assert resolution_text(resolution_of(48)) == (
        "48 questions show a change of 21 points, 210 would show 10, if 27 % differ between two versions."
    )
    assert resolution_text(resolution_of(2)).startswith("2 questions can show no change")
    ran = np.array([[1.0] * 30 + [0.0] * 18, [1.0] * 25 + [0.0] * 15 + [1.0] * 8])
    assert "differ" not in resolution_text(resolution_of(48, ran))


V1 = VersionFacts("handbook", 1, 48, 48, 0, 0, 0)
CHANGED = replace(V1, fates={"same": 46, "moved": 10, "changed": 2, "gone": 1}, to_read=3, questions=48)


@pytest.mark.parametrize(
    ("facts", "state", "statement"),
    [
        (V1, "good", "handbook v1: 48 questions, all read"),
        (replace(V1, n_read=8), "cannot tell", "handbook v1: 40 of 48 questions unread"),
        (replace(V1, waiting=3), "good", "handbook v1: 48 questions, all read"),
        (replace(V1, edited=2), "cannot tell", "The draft differs from v1"),
        (VersionFacts("handbook", 0, 0, 0, 0, 0, 0), "cannot tell", "handbook: no version yet"),
        (CHANGED, "doubted", "The corpus changed: 3 of 48 questions need another look"),
        (replace(CHANGED, to_read=0, fates={"same": 49, "moved": 10, "changed": 0, "gone": 0}), "good",
            "The corpus changed, and all gold stands in it"),
        (replace(CHANGED, to_read=0, fates={"same": 59, "moved": 0, "changed": 0, "gone": 0}), "good",
            "All gold stands in this corpus where it was"),
    ],
)  # fmt: skip
def test_what_versions_are_worth(facts: VersionFacts, state: State, statement: str) -> None:
    headline = versions_headline(facts)
    assert (headline.state, headline.statement) == (state, statement)
    assert len(headline.statement) <= 70


def test_questions_that_nobody_read_wait_and_are_not_added() -> None:
    assert versions_headline(replace(V1, waiting=3)).detail == "The draft has 3 more questions to review."
    detail = versions_headline(replace(V1, added=1, waiting=3)).detail
    assert detail.startswith("0 questions edited, 0 rejected, 1 added. 3 more to review. Freezing")
