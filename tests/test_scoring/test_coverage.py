"""Coverage of gold text by chunks, against a slow and obvious count of characters."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.data.scoring.gold_join import Coverage, cover


@st.composite
def _spans(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Ranges in two short documents, so that they touch, nest, repeat and cross."""
    found = []
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, 18))
        end = start + draw(st.integers(1, 8))
        found.append({"doc_id": draw(st.sampled_from(["a", "b"])), "start": start, "end": end})
    return found


def _slowly(spans: list[dict[str, Any]], chunks: list[dict[str, Any]]) -> Coverage:
    gold = {(one["doc_id"], at) for one in spans for at in range(one["start"], one["end"])}
    seen: set[tuple[str, int]] = set()
    listed: list[dict[str, Any]] = []
    new_gold, union, hits = [], [], []
    for one in chunks:
        read = {(one["doc_id"], at) for at in range(one["start"], one["end"])}
        new_gold.append(len((read - seen) & gold))
        hits.append(bool(read & gold) and one not in listed)
        listed.append(one)
        seen |= read
        union.append(len(seen))
    return Coverage(len(gold), new_gold, union, [one["end"] - one["start"] for one in chunks], hits)


@settings(max_examples=400)
@given(spans=_spans(), chunks=_spans())
def test_ranges_count_as_characters_do(spans: list[dict[str, Any]], chunks: list[dict[str, Any]]) -> None:
    assert cover(spans, chunks) == _slowly(spans, chunks)


def test_a_chunk_without_its_place_covers_nothing() -> None:
    gold = [{"doc_id": "a", "start": 0, "end": 4}]
    lost = {"doc_id": None, "start": None, "end": None}
    found = cover(gold, [lost, {"doc_id": "a", "start": 2, "end": 9}])
    assert found == Coverage(4, [0, 2], [0, 7], [0, 7], [False, True])


@settings(max_examples=200)
@given(first=_spans(), second=_spans(), chunks=_spans())
def test_a_second_place_that_answers_never_costs_recall(
    first: list[dict[str, Any]], second: list[dict[str, Any]], chunks: list[dict[str, Any]]
) -> None:
    places = [{**span, "hop": "1"} for span in (*first[:1], *second[:2])]
    for place in places:
        alone, together = cover([place], chunks), cover(places, chunks)
        for rank in range(1, len(chunks) + 1):
            recall = sum(together.new_gold[:rank]) / together.gold
            # the shares of two lengths are whole characters: at most one of the shorter is lost to rounding
            assert recall >= sum(alone.new_gold[:rank]) / alone.gold - 0.5 / together.gold - 1e-9
            assert sum(together.new_gold[:rank]) <= together.union[rank - 1]


def test_alternatives_count_as_one_and_every_hop_is_needed() -> None:
    short = {"doc_id": "a", "start": 0, "end": 10, "hop": "1"}
    long = {"doc_id": "b", "start": 0, "end": 100, "hop": "1"}
    other = {"doc_id": "c", "start": 0, "end": 30, "hop": "2"}
    half = {"doc_id": "b", "start": 0, "end": 50}
    # by hand: hop 1 is worth its shorter place; half of the longer one gives 5, the rest of it the other 5
    found = cover([short, long, other], [half, {"doc_id": "b", "start": 50, "end": 100}, short, other])
    assert found.gold == 40
    assert found.new_gold == [5, 5, 0, 30]
    assert found.hits == [True, True, True, True]
    # a hop with one place, and a place that is listed twice, are spans like any other
    assert cover([other, other], [half]) == cover([{**other, "hop": None}], [half])
