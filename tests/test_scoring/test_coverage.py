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
