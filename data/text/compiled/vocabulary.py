"""Texts as numbers: each distinct word has one, and words of one stem have one content word.

What a code point is, is told by Python's own str methods: so the compiled loops follow the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.text.context_attribution import frequency_weights
from ragtriage.data.text.tokens import (
    CLAUSE_MARKS,
    CLOSING,
    END_MARKS,
    FULL_WIDTH_MARKS,
    SPACED_CLAUSE_MARKS,
    is_cjk,
    lowered,
    stem,
    word_list,
)

KNOWN, WORD, CJK, SPACE, DIGIT, LOWER, UPPER, IN_WORD = (1 << bit for bit in range(8))
LETTER, END, NEWLINE, FULL_WIDTH, CLOSER, CLAUSE, CLAUSE_BEFORE_SPACE = (1 << bit for bit in range(8, 15))
STOP, ABBREVIATION = 1, 2  # bits of the words known from the start
FULL_STOP, PRONOUN = ord("."), ord("I")
_CODE_POINTS = 0x110000


def new_kinds() -> NDArray[np.uint16]:
    """Return the table of what each code point is, 0 where it is not told yet."""
    kinds = np.zeros(_CODE_POINTS, dtype=np.uint16)
    fill_kinds(kinds, range(0x250))
    return kinds


def fill_kinds(kinds: NDArray[np.uint16], codes: Iterable[int]) -> None:
    """Tell in a table what some code points are."""
    for code in codes:
        kinds[code] = _kind(chr(code))


def code_points(text: str) -> NDArray[Any]:
    """Return the code points of a text, lone surrogates included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _kind(char: str) -> int:
    is_word = char.isalnum()  # with "_", what \w is in a regular expression
    facts = {
        CJK: is_cjk(char),
        WORD: is_word and not is_cjk(char),
        SPACE: char.isspace(),
        DIGIT: char.isdigit(),
        LOWER: char.islower(),
        UPPER: char.isupper(),
        IN_WORD: is_word or char in "_.",
        LETTER: is_word and not char.isdecimal(),
        END: char in END_MARKS,
        NEWLINE: char == "\n",
        FULL_WIDTH: char in FULL_WIDTH_MARKS,
        CLOSER: char in CLOSING,
        CLAUSE: char in CLAUSE_MARKS,
        CLAUSE_BEFORE_SPACE: char in SPACED_CLAUSE_MARKS,
    }
    return KNOWN | sum(bit for bit, holds in facts.items() if holds)


AT_ONCE = 4_000_000  # characters whose code points are in memory at a time
Ints = NDArray[np.integer[Any]]
Borders = NDArray[np.int64]
Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """The words of n answers in order."""

    firsts: Borders  # (n + 1,) where each answer's words begin
    contents: Ints  # content word of each; -1 for a stop word
    sentences: Ints  # sentence of each
    clauses: Ints  # clause of each


@dataclass(frozen=True)
class Documents:
    """What is kept of n texts compared as bags of words; each pair is (n + 1,) borders and entries."""

    vocabulary: Vocabulary  # of their words
    words: tuple[Borders, Ints]  # the distinct words of each text
    contents: tuple[Borders, Ints]  # its distinct content words
    places: tuple[Borders, tuple[Ints, Ints]]  # content words with the sentences that have them, as a pair

    def __len__(self) -> int:
        """Return how many texts there are."""
        return len(self.words[0]) - 1

    def and_then(self, more: Documents) -> Documents:
        """Return these texts and more of the same vocabulary, whose numbers follow."""
        (borders, (held, places)), (other_borders, (other_held, other_places)) = self.places, more.places
        joined, all_held = _joined([(borders, held), (other_borders, other_held)])
        all_places = np.concatenate((places, other_places))
        return Documents(
            self.vocabulary,
            _joined([self.words, more.words]),
            _joined([self.contents, more.contents]),
            (joined, (all_held, all_places)),
        )

    def attributed(self, answers: Answers, lists: Borders, documents: Borders) -> Shares:
        """Return the share of each document in its answer, as ContextAttributor.attribute does.

        Args:
            answers: n of the same vocabulary.
            lists: (n + 1,) where the documents of each begin.
            documents: their numbers, in rank order.
        """
        widths = np.diff(lists)
        weights_from = np.zeros(int(widths.max(initial=0)) + 1, dtype=np.int64)
        weights: list[float] = []
        for width in np.unique(widths).tolist():
            weights_from[width] = len(weights)
            weights += frequency_weights(width)
        read = answers.firsts, answers.contents, answers.sentences, answers.clauses
        borders, (held, places) = self.places
        shares: Shares = self.vocabulary.loops.attributed(
            read,
            lists,
            documents,
            (borders, held, places),
            (weights_from, np.array(weights, dtype=np.float64)),
            self.vocabulary.contents_known,
        )
        return shares

    def compared(
        self,
        questions: Documents,
        lists: Borders,
        documents: Borders,
        in_words: Borders,
        most: int,
        near: float,
    ) -> tuple[Shares, Shares, NDArray[np.bool_]]:
        """Return what ragtriage.data.suites.contexts compares.

        Args:
            questions: n of the same vocabulary.
            lists: (n + 1,) where the documents of each begin.
            documents: their numbers in rank order; -1 for none.
            in_words: the same; the texts whose words, not content words, are compared.
            most: documents of a question that are compared with each other.
            near: similarity from which a document is a near-duplicate of one above it.

        Returns:
            of each document its cosine with the question, NaN for none; of each question the mean Jaccard
            similarity of its pairs, NaN without one; of each document whether it is a near-duplicate.
        """
        vocabulary = self.vocabulary
        cosines, means, duplicate = vocabulary.loops.compared(
            questions.contents,
            lists,
            (documents, *self.contents),
            (in_words, *self.words),
            (most, near),
            (vocabulary.contents_known, vocabulary.words_known),
        )
        return cosines, means, duplicate

    def covered(self, references: Documents, lists: Borders, documents: Borders) -> Shares:
        """Return the share of each reference's content words that its documents have; NaN without any.

        Args:
            references: n of the same vocabulary.
            lists: (n + 1,) where the documents of each begin.
            documents: their numbers; -1 for none.
        """
        counts = self.vocabulary.loops.covered(
            references.contents, lists, documents, *self.contents, self.vocabulary.contents_known
        )
        sizes = np.diff(references.contents[0])
        return np.where(sizes > 0, counts / np.maximum(sizes, 1), np.nan)


class Vocabulary:
    """The words met so far; texts that are compared with each other are read into one."""

    def __init__(self, loops: ModuleType, kinds: NDArray[np.uint16]) -> None:
        """Begin with the stop words and abbreviations.

        Args:
            loops: the compiled loops.
            kinds: what code points are, see ragtriage.data.text.compiled.vocabulary.
        """
        self.loops = loops
        self._kinds = kinds
        self._count = np.zeros(1, dtype=np.int64)
        self._state: Any = (
            np.full(1 << 16, -1, dtype=np.int32),
            np.zeros((1 << 15) + 1, dtype=np.uint64),
            np.zeros((1 << 15) + 1, dtype=np.int64),
            np.zeros(1 << 18, dtype=np.uint32),
        )
        self._number_of: dict[str, int] = {}  # of content words
        self._content_of = np.zeros(0, dtype=np.int32)
        self._marks = np.zeros(0, dtype=np.uint8)
        stop_words, abbreviations = word_list("stop_words"), word_list("abbreviations")
        known = sorted(stop_words | abbreviations)
        self._add(known)
        self._marks = np.array(
            [STOP * (word in stop_words) + ABBREVIATION * (word in abbreviations) for word in known],
            dtype=np.uint8,
        )

    @property
    def words_known(self) -> int:
        """How many words there are."""
        return int(self._count[0])

    @property
    def contents_known(self) -> int:
        """How many content words there are."""
        return len(self._number_of)

    def documents(self, texts: Sequence[str]) -> Documents:
        """Read texts that are compared as bags of words."""
        parts = []
        for firsts, words, contents, sentences, _ in self._slabs(texts):
            parts.append(
                self.loops.postings(firsts, words, contents, sentences, self.words_known, self.contents_known)
            )
        words_of, contents_of, places_of = zip(*parts, strict=True)
        held = _joined([(borders, both[0]) for borders, both in places_of])
        places = np.concatenate([both[1] for _, both in places_of])
        return Documents(self, _joined(words_of), _joined(contents_of), (held[0], (held[1], places)))

    def answers(self, texts: Sequence[str]) -> Answers:
        """Read texts whose clauses are attributed to documents."""
        parts = [
            (firsts, (contents, sentences, clauses))
            for firsts, _, contents, sentences, clauses in self._slabs(texts)
        ]
        firsts, contents = _joined([(firsts, read[0]) for firsts, read in parts])
        sentences, clauses = (np.concatenate([read[at] for _, read in parts]) for at in (1, 2))
        return Answers(firsts, contents, sentences, clauses)

    def _slabs(self, texts: Sequence[str]) -> Iterator[tuple[Borders, Ints, Ints, Ints, Ints]]:
        """Read texts a few million characters at a time; yield first words, words, contents, places."""
        for slab in _cut(texts):
            borders = np.concatenate(([0], np.cumsum([len(text) for text in slab]))).astype(np.int64)
            original = code_points("".join(slab))
            lower = code_points("".join(map(lowered, slab)))
            for codes in (original, lower):
                fill_kinds(self._kinds, self.loops.strange(codes, self._kinds).tolist())
            firsts, (words, kept, sentences, clauses), self._state = self.loops.read(
                original, lower, borders, self._kinds, self._marks, self._state, self._count
            )
            self._number_contents()
            contents = np.where(kept, self._content_of[words], np.int32(-1))
            yield firsts, words, contents, sentences, clauses

    def _add(self, words: Sequence[str]) -> None:
        """Give words numbers in order, whatever characters they have."""
        for word in words:
            codes = code_points(word)
            self.loops.add(codes, self._state, self._count)
        self._number_contents()

    def _number_contents(self) -> None:
        """Stem the words that are new: Python's own stemmer, once a distinct word."""
        _, _, starts, pool = self._state
        known, now = len(self._content_of), self.words_known
        borders = starts[known : now + 1]
        text = pool[borders[0] : borders[-1]].tobytes().decode("utf-32-le", "surrogatepass")
        ends = (borders - borders[0]).tolist()
        number_of, new = self._number_of, np.empty(now - known, dtype=np.int32)
        for at in range(now - known):
            new[at] = number_of.setdefault(stem(text[ends[at] : ends[at + 1]]), len(number_of))
        self._content_of = np.concatenate((self._content_of, new))


def _cut(texts: Sequence[str]) -> Iterator[list[str]]:
    """Cut texts into lists of about AT_ONCE characters; one empty list where there are none."""
    slab: list[str] = []
    size = 0
    for text in texts:
        if slab and size + len(text) > AT_ONCE:
            yield slab
            slab, size = [], 0
        slab.append(text)
        size += len(text)
    yield slab


def _joined(parts: Sequence[tuple[Borders, Ints]]) -> tuple[Borders, Ints]:
    """Join lists that are given as borders and entries."""
    offsets = np.cumsum([0, *(len(entries) for _, entries in parts)])
    borders = [part[1:] + offset for (part, _), offset in zip(parts, offsets[:-1], strict=True)]
    zero = np.zeros(1, dtype=np.int64)
    return np.concatenate((zero, *borders)), np.concatenate([entries for _, entries in parts])
