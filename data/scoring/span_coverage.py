"""How much gold text a ranked list of chunks covers, computed on character ranges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Range = tuple[int, int]


@dataclass(frozen=True)
class Coverage:
    """Gold text covered by the chunks of one ranked list.

    Attributes:
        gold: number of distinct gold characters.
        new_gold: gold characters first covered at each rank.
        union: distinct characters covered up to each rank.
        lengths: characters of the chunk at each rank.
        hits: whether the chunk at each rank holds any gold character; False for a repeat of one above.
    """

    gold: int
    new_gold: list[int]
    union: list[int]
    lengths: list[int]
    hits: list[bool]


def cover(spans: Sequence[Mapping[str, Any]], chunks: Sequence[Mapping[str, Any]]) -> Coverage:
    """Count the gold characters that a ranked list covers, rank by rank.

    Args:
        spans: gold as {doc_id, start, end}; they may touch, nest and repeat.
        chunks: {doc_id, start, end} in rank order; one without offsets covers nothing.
    """
    ranges: dict[str, list[Range]] = {}
    for span in spans:
        ranges.setdefault(span["doc_id"], []).append((span["start"], span["end"]))
    gold = {doc_id: _joined(each) for doc_id, each in ranges.items()}
    seen: dict[str, list[Range]] = {}
    listed = set[tuple[str, int, int]]()
    new_gold, union, lengths, hits, total = [], [], [], [], 0
    for chunk in chunks:
        doc_id, start, end = chunk["doc_id"], chunk["start"], chunk["end"]
        if doc_id is None or start is None or end is None or start >= end:
            new_gold.append(0)
            lengths.append(0)
            hits.append(False)
        else:
            fresh = _without((start, end), seen.get(doc_id, []))
            total += _length(fresh)
            lengths.append(end - start)
            new_gold.append(_shared(fresh, gold.get(doc_id, [])))
            again = (doc_id, start, end) in listed
            hits.append(not again and _shared([(start, end)], gold.get(doc_id, [])) > 0)
            listed.add((doc_id, start, end))
            seen[doc_id] = _joined([*seen.get(doc_id, []), (start, end)])
        union.append(total)
    return Coverage(sum(map(_length, gold.values())), new_gold, union, lengths, hits)


def _joined(ranges: Iterable[Range]) -> list[Range]:
    """Join ranges that touch or overlap, in order."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _without(whole: Range, taken: Sequence[Range]) -> list[Range]:
    """Return what is left of a range without those in `taken`, which are sorted and disjoint."""
    start, end = whole
    found = []
    for first, last in taken:
        if last <= start or first >= end:
            continue
        if first > start:
            found.append((start, first))
        start = max(start, last)
    if start < end:
        found.append((start, end))
    return found


def _shared(ranges: Sequence[Range], others: Sequence[Range]) -> int:
    return sum(max(0, min(end, last) - max(start, first)) for start, end in ranges for first, last in others)


def _length(ranges: Sequence[Range]) -> int:
    return sum(end - start for start, end in ranges)
