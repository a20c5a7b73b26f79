"""The words of one batch of samples: which documents answers use, and how documents overlap.

Two implementations with identical results: plain Python, and the compiled loops of `ragtriage[fast]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from ragtriage.data.contexts.known_texts import KnownTexts, ReadTexts, shared_texts
from ragtriage.data.contexts.passage_overlap import (
    LONGEST,
    MOST_PAIRED,
    NEAR_DUPLICATE,
    passage_overlap,
    word_coverage,
)
from ragtriage.data.store.ragged import Ragged, padded
from ragtriage.data.text.compiled.engine import compiled_loops, is_loaded
from ragtriage.data.text.context_attribution import ContextAttributor
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray

WORTH_LOADING = 2_000_000  # bytes of text below which Python is done before the compiled loops are loaded
WORTH_CALLING = 20_000  # the same once they are


class BatchWords(Protocol):
    """The words of a batch of samples with at most `width` documents each.

    Every method takes the rows of m samples, and one text for each.
    """

    def shares(self, rows: IntArray, answers: Sequence[str]) -> FloatArray:
        """Return (m, width) shares of each answer that rest on each of its documents; NaN where none is."""

    def overlaps(self, rows: IntArray, questions: Sequence[str]) -> Overlaps:
        """Return how the documents of each sample overlap, and how each is like the question."""

    def coverage(self, rows: IntArray, references: Sequence[str]) -> FloatArray:
        """Return (m,) shares of each reference's content words that its documents have; NaN without any."""


@dataclass(frozen=True)
class Overlaps:
    """What PassageOverlap has, of m samples.

    Attributes:
        with_question: (m, width) cosine of each document with the question; NaN without a text.
        mean_pair: (m,) mean similarity of two documents; NaN with fewer than two.
        duplicate: (m, width) whether one ranked above it is a near-duplicate.
    """

    with_question: FloatArray
    mean_pair: FloatArray
    duplicate: BoolArray


def words_of(retrieved: Ragged) -> BatchWords:
    """Return the words of the documents of a batch, compiled where that is possible and worth it."""
    size = pc.sum(pc.binary_length(retrieved.field("text"))).as_py() or 0
    if size >= (WORTH_CALLING if is_loaded() else WORTH_LOADING) and (loops := compiled_loops()) is not None:
        return CompiledWords(retrieved, loops, shared_texts())
    return PlainWords(retrieved)


def with_text(retrieved: Ragged) -> BoolArray:
    """Return (n,) whether any document of a sample has a text."""
    filled = pc.fill_null(pc.greater(pc.binary_length(retrieved.field("text")), 0), False)
    samples = retrieved.sample[filled.to_numpy(zero_copy_only=False)]
    return np.asarray(np.bincount(samples, minlength=len(retrieved.lengths)) > 0, dtype=np.bool_)


class PlainWords:
    """The words of a batch by the Python code of ragtriage.data.text, a sample at a time."""

    def __init__(self, retrieved: Ragged) -> None:
        self._texts = retrieved.field("text")
        self._first = _borders(retrieved.lengths).tolist()
        self._width = retrieved.width

    def _of(self, row: int) -> list[str | None]:
        texts: list[str | None] = self._texts[self._first[row] : self._first[row + 1]].to_pylist()
        return texts

    def shares(self, rows: IntArray, answers: Sequence[str]) -> FloatArray:
        """Return (m, width) shares of each answer that rest on each of its documents; NaN where none is."""
        attributor, found = ContextAttributor(), np.full((len(rows), self._width), np.nan)
        for at, (row, answer) in enumerate(zip(rows.tolist(), answers, strict=True)):
            shares = attributor.attribute(answer, [text or "" for text in self._of(row)]).shares
            found[at, : len(shares)] = shares
        return found

    def overlaps(self, rows: IntArray, questions: Sequence[str]) -> Overlaps:
        """Return how the documents of each sample overlap, and how each is like the question."""
        shape = len(rows), self._width
        found = Overlaps(np.full(shape, np.nan), np.full(len(rows), np.nan), np.zeros(shape, dtype=np.bool_))
        for at, (row, question) in enumerate(zip(rows.tolist(), questions, strict=True)):
            overlap = passage_overlap(question, self._of(row))
            cosines = [np.nan if value is None else value for value in overlap.with_question]
            found.with_question[at, : len(cosines)] = cosines
            found.duplicate[at, : len(cosines)] = overlap.duplicate
            found.mean_pair[at] = np.nan if overlap.mean_pair is None else overlap.mean_pair
        return found

    def coverage(self, rows: IntArray, references: Sequence[str]) -> FloatArray:
        """Return (m,) shares of each reference's content words that its documents have; NaN without any."""
        found = np.full(len(rows), np.nan)
        for at, (row, reference) in enumerate(zip(rows.tolist(), references, strict=True)):
            covered = word_coverage(reference, self._of(row))
            found[at] = np.nan if covered is None else covered
        return found


class CompiledWords:
    """The words of a batch by the compiled loops, all samples at once; each distinct text is read once."""

    def __init__(self, retrieved: Ragged, loops: ModuleType, known: KnownTexts | None = None) -> None:
        self._loops, self._known = loops, known or KnownTexts()
        self._width, self._first = retrieved.width, _borders(retrieved.lengths)
        encoded = pc.dictionary_encode(retrieved.field("text"))
        self._distinct: list[str] = [*encoded.dictionary.to_pylist(), ""]
        missing = len(self._distinct) - 1  # a document without a text is an empty one
        numbers = pc.fill_null(encoded.indices, missing).to_numpy(zero_copy_only=False)
        self._numbers = numbers.astype(np.int64)

    def _lists(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return where the documents of each of some samples begin, and the numbers of their texts."""
        borders = _borders(self._first[rows + 1] - self._first[rows])
        shifts = np.repeat(self._first[rows] - borders[:-1], np.diff(borders))
        return borders, self._numbers[np.arange(borders[-1]) + shifts]

    def _padded(self, values: NDArray[Any], borders: IntArray, fill: Any) -> NDArray[Any]:
        sample = np.repeat(np.arange(len(borders) - 1), np.diff(borders))
        place = np.arange(len(values)) - borders[sample]
        return padded(values, sample, place, (len(borders) - 1, self._width), fill)

    @cached_property
    def _read(self) -> ReadTexts:
        """The distinct texts of the batch, read."""
        return self._known.read(self._distinct, self._loops)

    def shares(self, rows: IntArray, answers: Sequence[str]) -> FloatArray:
        """Return (m, width) shares of each answer that rest on each of its documents; NaN where none is."""
        documents = self._read.documents
        borders, numbers = self._lists(rows)
        shares = documents.attributed(
            documents.vocabulary.answers(answers), borders, self._read.texts[numbers]
        )
        return self._padded(shares, borders, np.nan)

    def overlaps(self, rows: IntArray, questions: Sequence[str]) -> Overlaps:
        """Return how the documents of each sample overlap, and how each is like the question."""
        read = self._read
        asked = read.documents.vocabulary.documents([question[:LONGEST] for question in questions])
        borders, numbers = self._lists(rows)
        cosines, means, duplicate = read.documents.compared(
            asked, borders, read.contents[numbers], read.words[numbers], MOST_PAIRED, NEAR_DUPLICATE
        )
        return Overlaps(
            self._padded(cosines, borders, np.nan), means, self._padded(duplicate, borders, False)
        )

    def coverage(self, rows: IntArray, references: Sequence[str]) -> FloatArray:
        """Return (m,) shares of each reference's content words that its documents have; NaN without any."""
        read = self._read
        wanted = read.documents.vocabulary.documents([reference[:LONGEST] for reference in references])
        borders, numbers = self._lists(rows)
        return read.documents.covered(wanted, borders, read.contents[numbers])


def _borders(lengths: IntArray) -> IntArray:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
