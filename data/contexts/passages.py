"""The passages of a batch of samples as arrays: how they overlap, and the answers they are labelled with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragtriage.data.contexts.batch_words import BatchWords, with_text
from ragtriage.data.store.ragged import Ragged
from ragtriage.data.store.sample_reader import further_fields
from ragtriage.data.text.folding import folded_question
from ragtriage.data.text.refusal_detection import refused_answers
from ragtriage.metrics.schema.batch import Passages
from ragtriage.metrics.schema.scores import IntArray


def passages_of(table: Any, retrieved: Ragged, words: BatchWords) -> Passages | None:
    """Return how the passages of samples overlap; None where no document has a text.

    Args:
        table: the samples, an Arrow table.
        retrieved: their documents.
        words: the words of these.
    """
    if not len(retrieved.sample) or retrieved.field("text").null_count == len(retrieved.sample):
        return None
    n, width = table.num_rows, retrieved.width
    with_question, mean_pair = np.full((n, width), np.nan), np.full(n, np.nan)
    duplicate, covered = np.zeros((n, width), dtype=np.bool_), np.full(n, np.nan)
    asked, references = table["question"].to_pylist(), table["reference_answer"].to_pylist()
    rows = np.flatnonzero(with_text(retrieved))
    overlaps = words.overlaps(rows, [asked[row] or "" for row in rows.tolist()])
    with_question[rows], duplicate[rows] = overlaps.with_question, overlaps.duplicate
    mean_pair[rows] = overlaps.mean_pair
    refused = refused_answers(table["reference_answer"])
    answered = [row for row in rows.tolist() if references[row] and not refused[row]]
    if answered:
        at = np.array(answered, dtype=np.int64)
        covered[at] = words.coverage(at, [references[row] for row in answered])
    return Passages(with_question, mean_pair, duplicate, covered, _answers_given(retrieved, n))


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
