"""The conclusion of the Retrieval page in every state."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from ragtriage.dashboard.headlines.retrieval import (
    TopGold,
    no_gold_headline,
    nothing_retrieved,
    retrieval_headline,
)
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.statistics.intervals import interval, questions_to_exclude

SAME = Finding("same_list", "warning", "Every question got the same 10 documents", "All did.")
IDS = Finding("ids", "warning", "Ids do not match", "None of the 3 gold ids occurs.")


def _top(held: int, n: int, **more: object) -> TopGold:
    values = np.array([1.0] * held + [0.0] * (n - held))
    share = interval(values, np.arange(n), n, True)
    return replace(TopGold(5, "hops", 2, share, 10, held, n, reachable=n), **more)  # type: ignore[arg-type] # fields


@pytest.mark.parametrize(
    ("top", "state", "statement"),
    [
        (_top(68, 68), "good", "V1: the top 5 hold both hops for 68 of 68 questions"),
        (_top(16, 68), "bad", "V1: the top 5 hold both hops for 16 of 68 questions"),
        (
            _top(60, 68, need="gold", hops=1),
            "cannot tell",
            "V1: too few questions (68) to say whether 5 documents are enough",
        ),
        (
            _top(9, 68, need="any gold", hops=1, k=1),
            "bad",
            "V1: the top document holds gold for 9 of 68 questions",
        ),
        (_top(16, 68, k=1), "cannot tell", "V1: the top 1 cannot hold both hops"),
    ],
)
def test_the_share_is_held_against_nine_in_ten(top: TopGold, state: str, statement: str) -> None:
    found = retrieval_headline("V1", top)
    assert (found.state, found.statement, found.doubt) == (state, statement, "")
    assert len(found.statement) <= 70


def test_the_detail_says_where_the_rest_is_lost() -> None:
    top = _top(
        16, 68, in_list=22, hop_counts=(("1", 55, 68), ("2", 19, 68)), has_candidates=True, reachable=49
    )
    detail = retrieval_headline("V1", top).detail
    for fact in ("24 % [15 % to 35 %], n = 68", "55 of 68", "19 of 68", "adds 6 cases", "27 more"):
        assert fact in detail
    unclear = retrieval_headline("V1", _top(60, 68)).detail
    assert "questions would settle it" in unclear


def test_advice_to_ask_more_questions_uses_the_interval_on_display() -> None:
    detail = retrieval_headline("V1", _top(30, 30, k=4)).detail
    assert "[88 % to 100 %]" in detail
    assert "about 36 questions would settle it" in detail
    for held, n in ((30, 30), (27, 29), (60, 68), (9, 9), (8, 9), (200, 215)):
        found = retrieval_headline("V1", _top(held, n))
        advised = re.search(r"about ([\d,]+) questions", found.detail)
        assert advised is None or int(advised[1].replace(",", "")) > n
        assert found.state != "cannot tell" or f"too few questions ({n})" in found.statement


@pytest.mark.parametrize(("held", "n"), [(30, 30), (10, 11), (60, 68), (200, 215), (0, 5)])
def test_as_many_questions_as_advised_leave_the_limit_outside(held: int, n: int) -> None:
    share = _top(held, n).share
    needed = questions_to_exclude(share, 0.8)
    assert needed is not None

    def undecided(size: int) -> bool:
        values = np.array([1.0] * round(share.mean * size) + [0.0] * (size - round(share.mean * size)))
        found = interval(values, np.arange(size), size, True)
        return found.low < 0.8 <= found.high

    assert not undecided(10 * needed)
    if share.mean in (0, 1):
        assert not undecided(needed)
        assert undecided(needed - 1)


def test_k_beyond_the_lists_speaks_of_what_they_hold() -> None:
    found = retrieval_headline("V1", _top(68, 68, k=999, longest=4))
    assert found.statement == "V1: the top 4 hold both hops for 68 of 68 questions"


def test_one_list_for_all_is_doubted_first() -> None:
    found = retrieval_headline("V1", _top(68, 68), [SAME])
    assert found.state == "doubted"
    assert found.doubt == "every question got the same 10 documents"


def test_without_gold_without_lists_and_with_ids_that_never_match() -> None:
    assert no_gold_headline("V1").state == "not measured"
    assert "--qrels" in no_gold_headline("V1").detail
    assert nothing_retrieved("V1") == no_gold_headline("V1", asks_gold=True)
    assert nothing_retrieved("V1").state == "empty"
    unmatched = no_gold_headline("V1", [IDS])
    assert (unmatched.state, unmatched.doubt) == ("doubted", "ids do not match")
    assert "None of the 3 gold ids" in unmatched.detail
