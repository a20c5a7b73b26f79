"""The passages of a batch of samples as arrays: how they overlap, and the answers they are labelled with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from data.contexts.passage_overlap import passage_overlap, word_coverage
from data.store.ragged import Ragged
from data.store.sample_reader import further_fields
from data.text.folding import folded_question
from data.text.refusal_detection import detect_refusal
from metrics.schema.batch import Passages
from metrics.schema.scores import IntArray

__all__ = ["passages_of"]


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
        answer = further_fields(extra, "answer").get("answer")
        if isinstance(answer, str) and answer.strip():
            code = codes.setdefault(folded_question(answer), len(codes))
            says[retrieved.sample[at], retrieved.place[at]] = code
    return says
