"""Joining ranked lists with gold labels, by id or by character span, as arrays."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data.coverage import cover
from data.ragged import Ragged, numbers, padded
from metrics.inputs import Rankings, SpanRankings
from metrics.values import BoolArray, FloatArray, IntArray, Status

__all__ = ["Match", "hop_order", "list_status", "rankings", "span_rankings"]

Match = Literal["id", "doc_id"]
NO_LIST = "the run records no `retrieved` list for this sample"
NO_GOLD = "the sample names no gold documents (`relevant`)"
NO_SPANS = "the sample names no gold spans (`relevant_spans`)"
NOTHING_RELEVANT = "no document is relevant to this question"
NOT_RETRIEVED = "the context was given, not retrieved"


def rankings(table: Any, match: Match = "id", column: str = "retrieved") -> Rankings | None:
    """Join a ranked list of every sample with its gold documents.

    Args:
        table: Arrow table of samples.
        match: compare gold with the chunk's `id`, or with the `doc_id` it was cut from.
        column: "retrieved", or "candidates" for the longer first pass.

    Returns:
        The joined arrays; None when no sample records gold documents.
    """
    gold, found = Ragged.of(table["relevant"]), Ragged.of(table[column])
    if not gold.recorded.any() or not found.recorded.any():
        return None
    gold_keys, found_keys = _keys(gold, found, match)
    grade = np.maximum(numbers(gold.field("grade")), 0.0)
    best_key, best_grade = _best_grades(gold_keys, grade)
    first_key, first_at = np.unique(found_keys, return_index=True)
    first = np.zeros(len(found_keys), dtype=np.bool_)
    first[first_at] = True
    found_grade = np.where(first, _look_up(found_keys, best_key, best_grade, 0.0), 0.0)
    n = table.num_rows
    positive = grade > 0
    ranks = _look_up(gold_keys, first_key, (found.place[first_at] + 1).astype(np.float64), np.inf)
    status, reason = list_status(table, found, gold.recorded, NO_GOLD)
    nothing = (status == Status.SCORED) & (np.bincount(gold.sample[positive], minlength=n) == 0)
    status[nothing], reason[nothing] = Status.NOT_APPLICABLE, NOTHING_RELEVANT
    hops = gold.field("hop")
    has_hop = hops.is_valid().to_numpy(zero_copy_only=False)
    return Rankings(
        grades=padded(found_grade, found.sample, found.place, (n, found.width), np.nan),
        gold=_ideal(best_key, best_grade, gold_keys, gold.sample, n),
        unit_rank=_units(gold.sample, gold_keys, hops, ranks, positive, n),
        status=status,
        reason=reason,
        has_hops=np.bincount(gold.sample[positive & has_hop], minlength=n) > 0,
    )


def _keys(gold: Ragged, found: Ragged, match: Match) -> tuple[IntArray, IntArray]:
    """Number each (sample, id) pair so that equal pairs have equal numbers."""
    found_ids = found.field("id")
    if match == "doc_id":
        found_ids = pc.coalesce(found.field("doc_id"), found_ids)
    encoded = pa.concat_arrays([gold.field("id"), found_ids]).dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    keys = np.concatenate([gold.sample, found.sample]) * (len(encoded.dictionary) + 1) + codes
    return keys[: len(gold.sample)], keys[len(gold.sample) :]


def _best_grades(keys: IntArray, grade: FloatArray) -> tuple[IntArray, FloatArray]:
    """Give each key once with its highest grade."""
    order = np.lexsort((grade, keys))
    last = np.ones(len(keys), dtype=np.bool_)
    last[:-1] = keys[order][1:] != keys[order][:-1]
    return keys[order][last], grade[order][last]


def _look_up(wanted: IntArray, keys: IntArray, values: FloatArray, default: float) -> FloatArray:
    if not len(keys):
        return np.full(len(wanted), default)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], default)


def _ideal(
    best_key: IntArray, best_grade: FloatArray, keys: IntArray, sample: IntArray, n: int
) -> FloatArray:
    """Lay out the positive grades of each sample, highest first."""
    rows = np.full(len(best_key), 0, dtype=np.int64)
    if len(keys):
        unique, at = np.unique(keys, return_index=True)
        rows = sample[at][np.searchsorted(unique, best_key)]
    keep = best_grade > 0
    rows, grades = rows[keep], best_grade[keep]
    order = np.lexsort((-grades, rows))
    return _rows_to_table(rows[order], grades[order], n)


def _rows_to_table(rows: IntArray, values: FloatArray, n: int) -> FloatArray:
    counts = np.bincount(rows, minlength=n)
    starts = np.concatenate(([0], np.cumsum(counts)))[:-1]
    place = np.arange(len(rows)) - np.repeat(starts, counts)
    return padded(values, rows, place, (n, int(counts.max(initial=0))), np.nan)


def _units(
    sample: IntArray, keys: IntArray, hops: Any, ranks: FloatArray, positive: BoolArray, n: int
) -> FloatArray:
    """Give the first rank of each gold unit: a hop with its alternatives, or a document without a hop."""
    encoded = hops.dictionary_encode()
    hop_codes = encoded.indices
    is_hop = hop_codes.is_valid().to_numpy(zero_copy_only=False)
    hop = _hop_places(encoded)[pc.fill_null(hop_codes, 0).to_numpy(zero_copy_only=False).astype(np.int64)]
    span = int(keys.max(initial=0)) + 1
    unit = np.where(is_hop, span + sample * (int(hop.max(initial=0)) + 1) + hop, keys)[positive]
    rows, first = sample[positive], ranks[positive]
    order = np.lexsort((first, unit))
    keep = np.ones(len(order), dtype=np.bool_)
    keep[1:] = unit[order][1:] != unit[order][:-1]
    chosen = order[keep]
    by_row = chosen[np.lexsort((unit[chosen], rows[chosen]))]
    return _rows_to_table(rows[by_row], first[by_row], n)


def _hop_places(encoded: Any) -> IntArray:
    """Give each hop label its place: hops come in the order of their numbers, then by their text."""
    labels = encoded.dictionary.to_pylist()
    order = sorted(range(len(labels)), key=lambda at: hop_order(labels[at]))
    places = np.zeros(max(len(labels), 1), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


def hop_order(label: str) -> tuple[int, str]:
    """Order hops: those with a number by it, the others behind, by their text."""
    number = re.search(r"\d+", label)
    return (int(number[0]) if number else 10**9, label)


def list_status(
    table: Any, found: Ragged, gold_recorded: BoolArray, no_gold: str
) -> tuple[NDArray[np.int8], NDArray[np.object_]]:
    """Say for each sample whether a retrieval metric can speak of it, and why not."""
    n = table.num_rows
    status = np.zeros(n, dtype=np.int8)
    reason = np.full(n, "", dtype=object)
    mode = table["context_mode"].to_numpy(zero_copy_only=False)
    given = (mode == "oracle") | (mode == "closed_book")
    rules = [
        (~gold_recorded, Status.NOT_RUN, no_gold),
        (~found.recorded, Status.NOT_RUN, NO_LIST),
        (given, Status.NOT_APPLICABLE, NOT_RETRIEVED),
    ]
    for mask, code, why in rules:
        status[mask], reason[mask] = code, why
    return status, reason


def span_rankings(table: Any) -> SpanRankings | None:
    """Join ranked chunks that carry character offsets with gold spans; None when no sample has gold spans."""
    gold, found = Ragged.of(table["relevant_spans"]), Ragged.of(table["retrieved"])
    if not gold.recorded.any() or not found.recorded.any():
        return None
    n, width = table.num_rows, found.width
    gold_chars = np.zeros(n)
    new_gold = np.full((n, width), np.nan)
    union = np.full((n, width), np.nan)
    hits = np.zeros((n, width), dtype=np.bool_)
    for row in np.flatnonzero(gold.recorded & found.recorded):
        one = cover(table["relevant_spans"][int(row)].as_py(), table["retrieved"][int(row)].as_py())
        long = len(one.union)
        gold_chars[row], hits[row, :long] = one.gold, one.hits
        new_gold[row, :long], union[row, :long] = one.new_gold, one.union
    status, reason = list_status(table, found, gold.recorded, NO_SPANS)
    nothing = (status == Status.SCORED) & (gold_chars == 0)
    status[nothing], reason[nothing] = Status.NOT_APPLICABLE, NOTHING_RELEVANT
    tokens, relevant = _tokens(table, width), numbers(table["relevant_chunks"].combine_chunks())
    return SpanRankings(gold_chars, new_gold, union, status, reason, hits, tokens, relevant)


def _tokens(table: Any, width: int) -> FloatArray:
    """Lay out the tokens of each chunk, NaN where they were not recorded."""
    counts = Ragged.of(table["retrieved_tokens"])
    inside = counts.place < width
    sizes = numbers(counts.entries) if len(counts.sample) else np.zeros(0)
    return padded(sizes[inside], counts.sample[inside], counts.place[inside], (table.num_rows, width), np.nan)
