"""The retrieved documents compared by their words, and what they say of the facets of the question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from data.scoring.gold_join import Match, list_status
from data.store.ragged import Ragged
from data.text.passage_overlap import passage_overlap, word_coverage
from data.text.refusal_detection import detect_refusal
from metrics.schema.batch import Facets, Passages
from metrics.schema.scores import BoolArray, IntArray, Status

__all__ = ["facets_of", "passages_of"]

NO_FACET = "the gold documents name no facet (`hop`)"


def passages_of(table: Any) -> Passages | None:
    """Return how the passages of an Arrow table of samples overlap; None where no document has a text."""
    retrieved = Ragged.of(table["retrieved"])
    if not len(retrieved.sample) or retrieved.field("text").null_count == len(retrieved.sample):
        return None
    n, width = table.num_rows, retrieved.width
    with_question, mean_pair = np.full((n, width), np.nan), np.full(n, np.nan)
    duplicate, words = np.zeros((n, width), dtype=np.bool_), np.full(n, np.nan)
    texts = _lists(retrieved.field("text").to_pylist(), retrieved)
    questions, references = table["question"].to_pylist(), table["reference_answer"].to_pylist()
    for row, passages in texts.items():
        if not any(passages):
            continue
        overlap = passage_overlap(questions[row] or "", passages)
        at = slice(0, len(passages))
        with_question[row, at] = [np.nan if value is None else value for value in overlap.with_question]
        duplicate[row, at] = overlap.duplicate
        mean_pair[row] = np.nan if overlap.mean_pair is None else overlap.mean_pair
        reference = references[row]
        answers = bool(reference) and not detect_refusal(reference).refused
        covered = word_coverage(reference, passages) if answers else None
        words[row] = np.nan if covered is None else covered
    return Passages(with_question, mean_pair, duplicate, words, _answers_given(retrieved, n))


def _lists(values: Sequence[Any], ragged: Ragged) -> Mapping[int, list[Any]]:
    lists: dict[int, list[Any]] = {}
    for row, value in zip(ragged.sample.tolist(), values, strict=True):
        lists.setdefault(row, []).append(value)
    return lists


def _answers_given(retrieved: Ragged, n: int) -> IntArray:
    """Return (n, K) codes of the `answer` that documents are labelled to give; equal texts, equal codes."""
    says = np.full((n, retrieved.width), -1, dtype=np.int64)
    codes: dict[str, int] = {}
    for at, extra in enumerate(retrieved.field("extra").to_pylist()):
        if not extra or '"answer"' not in extra:
            continue
        answer = json.loads(extra).get("answer")
        if isinstance(answer, str) and answer.strip():
            code = codes.setdefault(" ".join(answer.casefold().split()), len(codes))
            says[retrieved.sample[at], retrieved.place[at]] = code
    return says


def facets_of(table: Any, match: Match = "id") -> Facets | None:
    """Return what the documents say of the facets that gold documents name; None where none names one."""
    gold, found = Ragged.of(table["relevant"]), Ragged.of(table["retrieved"])
    hops = gold.field("hop")
    if not len(gold.sample) or hops.null_count == len(hops) or not found.recorded.any():
        return None
    n = table.num_rows
    named = np.bincount(gold.sample[hops.is_valid().to_numpy(zero_copy_only=False)], minlength=n) > 0
    status, reason = list_status(table, found, gold.recorded, NO_FACET)
    without = ~named & (status == Status.SCORED)
    status[without], reason[without] = Status.NOT_APPLICABLE, NO_FACET
    key = "doc_id" if match == "doc_id" else "id"
    ids = _lists(found.field(key).to_pylist(), found)
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
