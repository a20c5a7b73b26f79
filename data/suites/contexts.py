"""The passages of samples compared by their words: with the question, with each other, with the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import combinations
from math import sqrt
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from ragtriage.data.store.sample_reader import further_fields
from ragtriage.data.store.sample_schema import Ragged, padded
from ragtriage.data.text.compiled.engine import compiled_loops, is_loaded
from ragtriage.data.text.compiled.vocabulary import Documents, Vocabulary, new_kinds
from ragtriage.data.text.context_attribution import ContextAttributor
from ragtriage.data.text.refusal_detection import refused_answers
from ragtriage.data.text.tokens import content_tokens, folded_question, lowered, surface_tokens
from ragtriage.metrics.schema.batch import Passages
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray

NEAR_DUPLICATE = 0.8  # Jaccard similarity of two passages that say the same
KEPT = 4096  # passages whose words are kept: the passages of a corpus return question after question
LONGEST = 20_000  # characters of a passage that are compared
MOST_PAIRED = 10  # passages of a question that are compared with each other: the work grows with the square


@dataclass(frozen=True)
class PassageOverlap:
    """How the passages of one question overlap."""

    # of each passage, cosine of its distinct content words with the question's; None where the passage
    # has no text
    with_question: tuple[float | None, ...]
    # mean Jaccard similarity of the distinct words of two passages; None with fewer than two
    mean_pair: float | None
    duplicate: tuple[bool, ...]  # of each passage, whether one ranked above it is a near-duplicate


def passage_overlap(question: str, passages: Sequence[str | None]) -> PassageOverlap:
    """Compare passages, in rank order, with the question and, the first MOST_PAIRED, with each other."""
    asked = content_tokens(lowered(question[:LONGEST]))
    similarity = tuple(_cosine(asked, _content(text[:LONGEST])) if text else None for text in passages)
    words = {rank: _words(text[:LONGEST]) for rank, text in enumerate(passages[:MOST_PAIRED]) if text}
    pairs = {pair: _jaccard(words[pair[0]], words[pair[1]]) for pair in combinations(words, 2)}
    later = {below for (_, below), value in pairs.items() if value >= NEAR_DUPLICATE}
    total = 0.0
    for value in pairs.values():  # not sum(): its last digit depends on the version of Python
        total += value
    return PassageOverlap(
        similarity,
        total / len(pairs) if pairs else None,
        tuple(rank in later for rank in range(len(passages))),
    )


def word_coverage(reference: str, passages: Sequence[str | None]) -> float | None:
    """Return the share of a reference answer's content words that any passage has; None where it has none."""
    wanted = content_tokens(lowered(reference[:LONGEST]))
    if not wanted:
        return None
    there = set().union(*(_content(text[:LONGEST]) for text in passages if text))
    return len(wanted & there) / len(wanted)


@lru_cache(maxsize=KEPT)
def _content(text: str) -> frozenset[str]:
    return frozenset(content_tokens(lowered(text)))


@lru_cache(maxsize=KEPT)
def _words(text: str) -> frozenset[str]:
    return frozenset(surface_tokens(text))


def _cosine(first: set[str], other: frozenset[str]) -> float:
    return len(first & other) / sqrt(len(first) * len(other)) if first and other else 0.0


def _jaccard(first: frozenset[str], other: frozenset[str]) -> float:
    """Return the words in both / the words in either; 1 where neither has one."""
    shared = len(first & other)
    whole = len(first) + len(other) - shared
    return shared / whole if whole else 1.0


MOST_CHARACTERS = 32_000_000  # of the texts that are kept: about 100 MB with what is known of them
MOST_WORDS = 1_000_000  # different ones


@dataclass(frozen=True)
class ReadTexts:
    """m texts among the documents that were read."""

    documents: Documents  # all that were read so far
    texts: IntArray  # (m,) number of each text among them
    contents: IntArray  # (m,) number of the text whose content words are compared; -1 for an empty text
    words: IntArray  # (m,) the same of the text whose words are compared


class KnownTexts:
    """The texts that were read so far. Where they become too many, all are forgotten."""

    def __init__(self) -> None:
        self._documents: Documents | None = None
        self._numbers: dict[str, tuple[int, int, int]] = {}  # those that ReadTexts has, by text
        self._characters = 0

    def read(self, texts: Sequence[str], loops: ModuleType) -> ReadTexts:
        """Return distinct texts as numbers, those that are new read by the compiled loops."""
        documents = self._documents
        if documents is None or self._is_full(documents):
            documents = Vocabulary(loops, _kinds()).documents([])
            self._numbers, self._characters = {}, 0
        unread: list[str] = []
        for text in texts:
            if text not in self._numbers:
                self._numbers[text] = _numbered(text, len(documents) + len(unread), unread)
        if unread:
            self._characters += sum(map(len, unread))
            documents = documents.and_then(documents.vocabulary.documents(unread))
        self._documents = documents
        numbers = np.array([self._numbers[text] for text in texts], dtype=np.int64).reshape(-1, 3)
        return ReadTexts(documents, *numbers.T)

    def _is_full(self, documents: Documents) -> bool:
        return self._characters > MOST_CHARACTERS or documents.vocabulary.words_known > MOST_WORDS


def _numbered(text: str, number: int, unread: list[str]) -> tuple[int, int, int]:
    """Return the numbers of a text, the first of which is given; it is appended to the unread ones.

    So are what is compared of a long text, and a form of it that has other words.
    """
    first, compared = number - len(unread), text[:LONGEST]
    contents = words = number
    unread.append(text)
    if len(text) > LONGEST:
        contents = words = first + len(unread)
        unread.append(compared)
    if not text.isascii() and len(small := compared.lower()) != len(compared):
        words = first + len(unread)  # of which surface_tokens makes other words
        unread.append(small)
    return (number, contents, words) if text else (number, -1, -1)


@cache
def _kinds() -> NDArray[np.uint16]:
    return new_kinds()


_shared: ContextVar[KnownTexts | None] = ContextVar("shared", default=None)


@contextmanager
def sharing_texts() -> Iterator[None]:
    """Have the batches that are scored within share what is read of their documents."""
    token = _shared.set(KnownTexts())
    try:
        yield
    finally:
        _shared.reset(token)


def shared_texts() -> KnownTexts:
    """Return the texts that the batches share, or none yet."""
    return _shared.get() or KnownTexts()


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
    """What PassageOverlap has, of m samples."""

    with_question: FloatArray  # (m, width) cosine of each document with the question; NaN without a text
    mean_pair: FloatArray  # (m,) mean similarity of two documents; NaN with fewer than two
    duplicate: BoolArray  # (m, width) whether one ranked above it is a near-duplicate


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
        attributor, by_row = ContextAttributor(), np.full((len(rows), self._width), np.nan)
        for at, (row, answer) in enumerate(zip(rows.tolist(), answers, strict=True)):
            shares = attributor.attribute(answer, [text or "" for text in self._of(row)]).shares
            by_row[at, : len(shares)] = shares
        return by_row

    def overlaps(self, rows: IntArray, questions: Sequence[str]) -> Overlaps:
        """Return how the documents of each sample overlap, and how each is like the question."""
        shape = len(rows), self._width
        overlaps = Overlaps(
            np.full(shape, np.nan), np.full(len(rows), np.nan), np.zeros(shape, dtype=np.bool_)
        )
        for at, (row, question) in enumerate(zip(rows.tolist(), questions, strict=True)):
            overlap = passage_overlap(question, self._of(row))
            cosines = [np.nan if value is None else value for value in overlap.with_question]
            overlaps.with_question[at, : len(cosines)] = cosines
            overlaps.duplicate[at, : len(cosines)] = overlap.duplicate
            overlaps.mean_pair[at] = np.nan if overlap.mean_pair is None else overlap.mean_pair
        return overlaps

    def coverage(self, rows: IntArray, references: Sequence[str]) -> FloatArray:
        """Return (m,) shares of each reference's content words that its documents have; NaN without any."""
        coverage = np.full(len(rows), np.nan)
        for at, (row, reference) in enumerate(zip(rows.tolist(), references, strict=True)):
            covered = word_coverage(reference, self._of(row))
            coverage[at] = np.nan if covered is None else covered
        return coverage


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


def passages_of(table: Any, retrieved: Ragged, words: BatchWords) -> Passages | None:
    """Return how the passages of samples overlap; None where no document has a text."""
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
