"""Joining ranked lists with gold labels, by id or by character span, as arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ragtriage.data.store.sample_schema import Ragged, numbers, padded
from ragtriage.metrics.schema.batch import Facets, Rankings, SpanRankings
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Status

Range = tuple[int, int]


@dataclass(frozen=True)
class Coverage:
    """Gold text covered by the chunks of one ranked list."""

    gold: int  # number of distinct gold characters
    new_gold: list[int]  # gold characters first covered at each rank
    union: list[int]  # distinct characters covered up to each rank
    lengths: list[int]  # characters of the chunk at each rank
    # whether the chunk at each rank holds any gold character; False for a repeat of one above
    hits: list[bool]


def cover(spans: Sequence[Mapping[str, Any]], chunks: Sequence[Mapping[str, Any]]) -> Coverage:
    """Count the gold characters that a ranked list covers, rank by rank.

    Spans of one hop are alternatives and count as one: by the one that is covered best so far, at the length
    of the shortest. So the gold of a question never grows by a second place that answers, and what is gained
    is never more than what was read.

    Args:
        spans: gold as {doc_id, start, end} and maybe a `hop`; they may touch, nest and repeat.
        chunks: {doc_id, start, end} in rank order; one without offsets covers nothing.
    """
    needed, alternatives = _needed_and_alternatives(spans)
    ranges: dict[str, list[Range]] = {}
    for doc_id, *span in needed:
        ranges.setdefault(doc_id, []).append((span[0], span[1]))
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
            # what an earlier rank brought is no gain of this one, but its length is read all the same
            fresh = _without((start, end), seen.get(doc_id, []))
            total += _length(fresh)
            lengths.append(end - start)
            gained = sum(hop.gain(doc_id, fresh) for hop in alternatives)
            # where hops share a passage, no more is gained than was read
            new_gold.append(min(_shared(fresh, gold.get(doc_id, [])) + gained, _length(fresh)))
            # a chunk listed twice is one hit, as a document listed twice is for the metrics of documents
            again = (doc_id, start, end) in listed
            holds_gold = _shared([(start, end)], gold.get(doc_id, [])) > 0 or any(
                hop.is_in(doc_id, (start, end)) for hop in alternatives
            )
            hits.append(not again and holds_gold)
            listed.add((doc_id, start, end))
            seen[doc_id] = _joined([*seen.get(doc_id, []), (start, end)])
        union.append(total)
    total_gold = sum(map(_length, gold.values())) + sum(hop.length for hop in alternatives)
    return Coverage(total_gold, new_gold, union, lengths, hits)


Place = tuple[str, int, int]  # doc_id, start, end


def _needed_and_alternatives(spans: Sequence[Mapping[str, Any]]) -> tuple[list[Place], list[_Alternatives]]:
    """Return the spans that are needed by themselves, and the hops that have several."""
    needed: list[Place] = []
    by_hop: dict[str, dict[Place, None]] = {}
    for span in spans:
        place = (span["doc_id"], span["start"], span["end"])
        hop = span.get("hop")  # absent in runs of earlier versions
        if hop is None:
            needed.append(place)
        else:
            by_hop.setdefault(hop, {})[place] = None
    needed += [place for places in by_hop.values() if len(places) == 1 for place in places]
    return needed, [_Alternatives(list(places)) for places in by_hop.values() if len(places) > 1]


class _Alternatives:
    """The places of a hop, of which one is enough, while a list is read."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._covered = [0] * len(places)
        self.length = min(end - start for _, start, end in places)
        self._gained = 0

    def gain(self, doc_id: str, fresh: Sequence[Range]) -> int:
        """Return what text that was not read before adds to the best covered place, in characters."""
        best = 0.0
        for at, (place, start, end) in enumerate(self._places):
            if place == doc_id:
                self._covered[at] += _shared(fresh, [(start, end)])
            best = max(best, self._covered[at] / (end - start))
        gained, self._gained = self._gained, round(self.length * best)
        return self._gained - gained

    def is_in(self, doc_id: str, chunk: Range) -> bool:
        """Return whether a chunk holds a character of one of the places."""
        return any(
            place == doc_id and _shared([chunk], [(start, end)]) > 0 for place, start, end in self._places
        )


def _joined(ranges: Iterable[Range]) -> list[Range]:
    """Join ranges that touch or overlap, in order."""
    parts: list[Range] = []
    for start, end in sorted(ranges):
        if parts and start <= parts[-1][1]:
            parts[-1] = (parts[-1][0], max(parts[-1][1], end))
        else:
            parts.append((start, end))
    return parts


def _without(whole: Range, taken: Sequence[Range]) -> list[Range]:
    """Return what is left of a range without those in `taken`, which are sorted and disjoint."""
    start, end = whole
    rest = []
    for first, last in taken:
        if last <= start or first >= end:
            continue
        if first > start:
            rest.append((start, first))
        start = max(start, last)
    if start < end:
        rest.append((start, end))
    return rest


def _shared(ranges: Sequence[Range], others: Sequence[Range]) -> int:
    return sum(max(0, min(end, last) - max(start, first)) for start, end in ranges for first, last in others)


def _length(ranges: Sequence[Range]) -> int:
    return sum(end - start for start, end in ranges)


Match = Literal["id", "doc_id"]
SMALL_PLANE = 1_024  # ranks x gold documents up to which comparing all beats sorting
_GIVEN = ("oracle", "closed_book")
NO_LIST = "the run records no `retrieved` list for this sample"
NO_GOLD = "the sample names no gold documents (`relevant`)"
NO_FACET = "the gold documents name no facet (`hop`)"
NO_SPANS = "the sample names no gold spans (`relevant_spans`)"
NOTHING_RELEVANT = "no document is relevant to this question"
NOT_RETRIEVED = "the context was given, not retrieved"
NO_MATCH = "ids do not match: no gold id of this run occurs among its retrieved ids"


def rankings(
    table: pa.Table, match: Match = "id", column: str = "retrieved", ids_match: bool = True
) -> Rankings | None:
    """Join a ranked list of every sample with its gold documents.

    Args:
        table: Arrow table of samples.
        match: compare gold with the chunk's `id`, or with the `doc_id` it was cut from.
        column: "retrieved", or "candidates" for the longer first pass.
        ids_match: False where no gold id of the whole run occurs among its retrieved ids: nothing is scored.

    Returns:
        The joined arrays; None when no sample records gold documents.
    """
    gold, ranked = Ragged.of(table["relevant"]), Ragged.of(table[column])
    if not gold.recorded.any() or not ranked.recorded.any():
        return None
    n = table.num_rows
    status, reason = list_status(table, ranked, gold.recorded, NO_GOLD)
    gold_codes, found_codes = _codes(gold, ranked, match)
    small = 0 < gold.width * ranked.width <= SMALL_PLANE
    hops = gold.field("hop")
    if small and hops.null_count == len(hops):
        grades, ideal, units = _join_small(gold, ranked, gold_codes, found_codes, n)
        has_hops = np.zeros(n, dtype=np.bool_)
    else:
        grades, ideal, units, has_hops = _join_large(gold, ranked, gold_codes, found_codes, n)
    nothing = (status == Status.SCORED) & np.isnan(units[:, :1]).all(axis=1)
    status[nothing], reason[nothing] = Status.NOT_APPLICABLE, NOTHING_RELEVANT
    if not ids_match:
        reason[status == Status.SCORED] = NO_MATCH
        status[status == Status.SCORED] = Status.NOT_RUN
    return Rankings(grades, ideal, units, status, reason, has_hops)


def _join_small(
    gold: Ragged, found: Ragged, gold_codes: IntArray, found_codes: IntArray, n: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Join short lists by comparing every place with every gold document, a column at a time.

    Returns:
        (n, K) grades, (n, G) ideal grades, (n, G) first ranks of the gold documents, as in Rankings.
    """
    lists, wanted = found.spread(found_codes, -1), gold.spread(gold_codes, -2)
    value = gold.spread(np.maximum(numbers(gold.field("grade")), 0.0), 0.0)
    for later in range(1, wanted.shape[1]):
        for earlier in range(later):
            twice = (wanted[:, later] == wanted[:, earlier]) & (wanted[:, later] >= 0)
            if twice.any():
                value[twice, earlier] = np.maximum(value[twice, earlier], value[twice, later])
                value[twice, later], wanted[twice, later] = 0.0, -2
    grades = np.where(lists >= 0, 0.0, np.nan)
    ranks = np.full((n, gold.width), np.inf)
    for at in range(gold.width):
        row, place = np.divmod(np.flatnonzero(lists == wanted[:, at : at + 1]), found.width)
        first = np.ones(len(row), dtype=np.bool_)
        first[1:] = row[1:] != row[:-1]
        row, place = row[first], place[first]
        grades[row, place] = value[row, at]  # a repeat of the document further down stays at 0
        ranks[row, at] = place + 1
    relevant = value > 0
    ranks[~relevant] = np.nan
    ideal = -np.sort(np.where(relevant, -value, np.nan), axis=1)  # NaN comes last
    width = int((~np.isnan(ideal)).any(axis=0).sum())
    return grades, ideal[:, :width], _left(ranks)[:, :width]


def _left(values: FloatArray) -> FloatArray:
    """Move the NaN of each row behind its other values, which keep their order."""
    gap = np.isnan(values)
    if not (gap[:, :-1] & ~gap[:, 1:]).any():
        return values
    return np.take_along_axis(values, np.argsort(gap, axis=1, kind="stable"), axis=1)


def _join_large(
    gold: Ragged, found: Ragged, gold_codes: IntArray, found_codes: IntArray, n: int
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Join lists of any length, and gold with hops, by sorting (sample, document) pairs.

    Returns:
        What _join_small gives, the ranks being those of gold units, and (n,) whether the gold names hops.
    """
    size = int(max(gold_codes.max(initial=0), found_codes.max(initial=0))) + 1
    gold_keys, found_keys = gold.sample * size + gold_codes, found.sample * size + found_codes
    grade = np.maximum(numbers(gold.field("grade")), 0.0)
    # each key once, with its highest grade
    order = np.lexsort((grade, gold_keys))
    last = np.ones(len(gold_keys), dtype=np.bool_)
    last[:-1] = gold_keys[order][1:] != gold_keys[order][:-1]
    best_key, best_grade = gold_keys[order][last], grade[order][last]
    first_key, first_at = np.unique(found_keys, return_index=True)
    first = np.zeros(len(found_keys), dtype=np.bool_)
    first[first_at] = True
    found_grade = np.where(first, _look_up(found_keys, best_key, best_grade, 0.0), 0.0)
    positive = grade > 0
    ranks = _look_up(gold_keys, first_key, (found.place[first_at] + 1).astype(np.float64), np.inf)
    hops = gold.field("hop")
    has_hop = hops.is_valid().to_numpy(zero_copy_only=False)
    rows = np.full(len(best_key), 0, dtype=np.int64)
    if len(gold_keys):
        unique, at = np.unique(gold_keys, return_index=True)
        rows = gold.sample[at][np.searchsorted(unique, best_key)]
    keep = best_grade > 0
    rows, grades = rows[keep], best_grade[keep]
    by_grade = np.lexsort((-grades, rows))
    return (
        padded(found_grade, found.sample, found.place, (n, found.width), np.nan),
        _rows_to_table(rows[by_grade], grades[by_grade], n),
        _units(gold.sample, gold_keys, hops, ranks, positive, n),
        np.bincount(gold.sample[positive & has_hop], minlength=n) > 0,
    )


def _codes(gold: Ragged, found: Ragged, match: Match) -> tuple[IntArray, IntArray]:
    """Number the document ids so that equal ids have equal numbers."""
    found_ids = found.field("id")
    if match == "doc_id":
        found_ids = pc.coalesce(found.field("doc_id"), found_ids)
    encoded = pa.concat_arrays([gold.field("id"), found_ids]).dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    if encoded.null_count:
        codes = codes.astype(np.int64)
    return codes[: len(gold.entries)], codes[len(gold.entries) :]


def _look_up(wanted: IntArray, keys: IntArray, values: FloatArray, default: float) -> FloatArray:
    if not len(keys):
        return np.full(len(wanted), default)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], default)


def _rows_to_table(rows: IntArray, values: FloatArray, n: int) -> FloatArray:
    counts = np.bincount(rows, minlength=n)
    starts = np.concatenate(([0], np.cumsum(counts)))[:-1]
    place = np.arange(len(rows)) - np.repeat(starts, counts)
    return padded(values, rows, place, (n, int(counts.max(initial=0))), np.nan)


def _units(
    sample: IntArray, keys: IntArray, hops: Any, ranks: FloatArray, positive: BoolArray, n: int
) -> FloatArray:
    """Return the first rank of each gold unit: a hop with its alternatives, or a document without a hop.

    Documents come in the order in which the gold names them, hops behind them in that of hop_order, so that
    the units of two joins of the same gold stand in the same columns.
    """
    encoded = hops.dictionary_encode()
    hop_codes = encoded.indices
    is_hop = hop_codes.is_valid().to_numpy(zero_copy_only=False)
    labels = encoded.dictionary.to_pylist()
    by_place = sorted(range(len(labels)), key=lambda at: hop_order(labels[at]))
    places = np.zeros(max(len(labels), 1), dtype=np.int64)
    places[by_place] = np.arange(len(by_place))
    hop = places[pc.fill_null(hop_codes, 0).to_numpy(zero_copy_only=False).astype(np.int64)]
    span = int(keys.max(initial=0)) + 1
    unit = np.where(is_hop, span + sample * (int(hop.max(initial=0)) + 1) + hop, keys)[positive]
    named, at = np.unique(keys, return_index=True)
    place = np.where(is_hop, len(keys) + hop, at[np.searchsorted(named, keys)])[positive]
    rows, first = sample[positive], ranks[positive]
    order = np.lexsort((first, unit))
    keep = np.ones(len(order), dtype=np.bool_)
    keep[1:] = unit[order][1:] != unit[order][:-1]
    chosen = order[keep]
    by_row = chosen[np.lexsort((place[chosen], rows[chosen]))]
    return _rows_to_table(rows[by_row], first[by_row], n)


def hop_order(label: str) -> tuple[int, str]:
    """Order hops: those with a number by it, the others behind, by their text."""
    number = re.search(r"\d+", label)
    return (int(number[0]) if number else 10**9, label)


def list_status(
    table: pa.Table, found: Ragged, gold_recorded: BoolArray, no_gold: str
) -> tuple[NDArray[np.int8], NDArray[np.object_]]:
    """Return for each sample whether a retrieval metric applies to it, and why not."""
    n = table.num_rows
    status = np.zeros(n, dtype=np.int8)
    reason = np.full(n, "", dtype=object)
    by_hand = pc.is_in(table["context_mode"], pa.array(_GIVEN)).to_numpy()
    rules = [
        (~gold_recorded, Status.NOT_RUN, no_gold),
        (~found.recorded, Status.NOT_RUN, NO_LIST),
        (by_hand, Status.NOT_APPLICABLE, NOT_RETRIEVED),
    ]
    for mask, code, why in rules:
        status[mask], reason[mask] = code, why
    return status, reason


def span_rankings(table: pa.Table, column: str = "retrieved") -> SpanRankings | None:
    """Join ranked chunks that carry character offsets with gold spans; None when no sample has gold spans.

    Args:
        table: Arrow table of samples.
        column: "retrieved", or "candidates" for the longer first pass.
    """
    gold, ranked = Ragged.of(table["relevant_spans"]), Ragged.of(table[column])
    if not gold.recorded.any() or not ranked.recorded.any():
        return None
    n, width = table.num_rows, ranked.width
    gold_chars = np.zeros(n)
    new_gold = np.full((n, width), np.nan)
    union, lengths = np.full((n, width), np.nan), np.full((n, width), np.nan)
    hits = np.zeros((n, width), dtype=np.bool_)
    for row in np.flatnonzero(gold.recorded & ranked.recorded):
        coverage = cover(table["relevant_spans"][int(row)].as_py(), table[column][int(row)].as_py())
        long = len(coverage.union)
        gold_chars[row], hits[row, :long] = coverage.gold, coverage.hits
        new_gold[row, :long], union[row, :long] = coverage.new_gold, coverage.union
        lengths[row, :long] = coverage.lengths
    status, reason = list_status(table, ranked, gold.recorded, NO_SPANS)
    nothing = (status == Status.SCORED) & (gold_chars == 0)
    status[nothing], reason[nothing] = Status.NOT_APPLICABLE, NOTHING_RELEVANT
    if column != "retrieved":
        return SpanRankings(gold_chars, new_gold, union, lengths, status, reason, hits)
    tokens, relevant = _tokens(table, width), numbers(table["relevant_chunks"].combine_chunks())
    return SpanRankings(gold_chars, new_gold, union, lengths, status, reason, hits, tokens, relevant)


def _tokens(table: pa.Table, width: int) -> FloatArray:
    """Return the number of tokens of each chunk, NaN where it was not recorded."""
    counts = Ragged.of(table["retrieved_tokens"])
    inside = counts.place < width
    sizes = numbers(counts.entries) if len(counts.sample) else np.zeros(0)
    return padded(sizes[inside], counts.sample[inside], counts.place[inside], (table.num_rows, width), np.nan)


def facets_of(table: pa.Table, match: Match = "id") -> Facets | None:
    """Return what the documents say of the facets that gold documents name; None where none names one."""
    gold, ranked = Ragged.of(table["relevant"]), Ragged.of(table["retrieved"])
    hops = gold.field("hop")
    if not len(gold.sample) or hops.null_count == len(hops) or not ranked.recorded.any():
        return None
    n = table.num_rows
    named = np.bincount(gold.sample[hops.is_valid().to_numpy(zero_copy_only=False)], minlength=n) > 0
    status, reason = list_status(table, ranked, gold.recorded, NO_FACET)
    without = ~named & (status == Status.SCORED)
    status[without], reason[without] = Status.NOT_APPLICABLE, NO_FACET
    key = "doc_id" if match == "doc_id" else "id"
    ids = _lists(ranked.field(key).to_pylist(), ranked)
    labels = _lists(list(zip(gold.field("id").to_pylist(), hops.to_pylist(), strict=True)), gold)
    rows = {row: labels[row] for row in np.flatnonzero(status == Status.SCORED).tolist()}
    return Facets(*_matrices(rows, ids, n), status, reason)


def _matrices(
    labels: Mapping[int, list[tuple[str, str | None]]], ids: Mapping[int, list[str | None]], n: int
) -> tuple[BoolArray, BoolArray]:
    """Return (n, K, F) the facets of the ranked documents, and (n, G, F) those of the gold documents."""
    facets = {row: list(dict.fromkeys(hop or name for name, hop in pairs)) for row, pairs in labels.items()}
    documents = {row: list(dict.fromkeys(name for name, _ in pairs)) for row, pairs in labels.items()}
    depth = max((len(ids.get(row, ())) for row in labels), default=0)
    wide = max(map(len, facets.values()), default=0)
    ranked = np.zeros((n, depth, wide), dtype=np.bool_)
    gold = np.zeros((n, max(map(len, documents.values()), default=0), wide), dtype=np.bool_)
    for row, pairs in labels.items():
        place = _places(ids.get(row, ()))
        for name, hop in pairs:
            facet = facets[row].index(hop or name)
            gold[row, documents[row].index(name), facet] = True
            if name in place:
                ranked[row, place[name], facet] = True
    return ranked, gold


def _places(ids: Sequence[str | None]) -> dict[str, int]:
    """Return the first place of each document of a ranked list."""
    places: dict[str, int] = {}
    for place, name in enumerate(ids):
        if name is not None:
            places.setdefault(name, place)
    return places


def _lists(values: Sequence[Any], ragged: Ragged) -> Mapping[int, list[Any]]:
    lists: dict[int, list[Any]] = {}
    for row, value in zip(ragged.sample.tolist(), values, strict=True):
        lists.setdefault(row, []).append(value)
    return lists
