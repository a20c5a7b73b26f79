"""Which retrieved documents an answer draws on, estimated from shared words alone: no model, no network.

An estimate: paraphrase goes unseen, and what two documents share is credited to both. Whoever shows these
numbers marks them as estimated.
"""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from metrics.text.sentences import split_clauses, split_sentences
from metrics.text.tokens import content_tokens, lowered

__all__ = [
    "ContextAttribution",
    "ContextAttributor",
    "SentenceSupport",
    "SupportSpan",
    "attribute_answer",
    "split_sentences",
]

# The thresholds were set on 108 expert answers of ScholarQABench with their citations, eight passages of
# other answers on the same subject mixed in: 86 % of the documents found here are cited there, 79 % of those
# cited are found. Whole sentences do as well there, but find 2 rather than 4 of the 6 documents that
# RAGChecker's example labels as entailing a claim, because its sentences are long.
CLAUSE_WORDS = 4  # clauses of fewer content words are joined to the next: they are found by chance
SUPPORT = 0.4  # weighted share of a clause's content words that its evidence must hold
RELATIVE = 0.8  # a document supports a clause only if it covers nearly as much of it as the best one does
SHARED_WORDS = 3  # two shared words are a topic, three are a statement about it
EVIDENCE_SENTENCES = 2  # a clause is spread over at most this many sentences of a document
_POSTINGS = 64  # sentences remembered a word: more would cost time without telling them apart
_CACHED = 4096  # documents held by an Attributor: runs repeat the same chunks over many questions


@dataclass(frozen=True)
class SupportSpan:
    """Where a document supports a sentence.

    Attributes:
        rank: 1-based rank of the document.
        coverage: weighted share 0..1 of the sentence's content words found in the spans.
        spans: half-open character ranges in the document's text, in text order.
    """

    rank: int
    coverage: float
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SentenceSupport:
    """One sentence of the answer and what supports it.

    Attributes:
        start: first character in the answer.
        end: character behind the last.
        evidence: supporting documents, the best first; empty where none supports it.
    """

    start: int
    end: int
    spans: tuple[SupportSpan, ...]


@dataclass(frozen=True)
class ContextAttribution:
    """Which documents one answer draws on.

    Attributes:
        shares: share of the answer's content words, a sentence at a time, that rest on the document at rank
            i + 1. Words found in several supporting documents are split between them; the shares add up to 1
            less what rests on none.
        used: 1-based ranks with a share above 0, ascending.
        sentences: the answer's sentences that have content words, in order.
    """

    shares: tuple[float, ...]
    used: tuple[int, ...]
    sentences: tuple[SentenceSupport, ...]


class _Document:
    """A document's tokens; its sentences only once it may support something."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.tokens = content_tokens(lowered(text))

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        return split_sentences(self._text)

    @cached_property
    def postings(self) -> dict[str, list[int]]:
        """Word -> the first sentences that have it, by number."""
        lower, found = lowered(self._text), defaultdict[str, list[int]](list)
        for number, (start, end) in enumerate(self.sentences):
            for token in content_tokens(lower[start:end]):
                if len(found[token]) < _POSTINGS:
                    found[token].append(number)
        return found


class ContextAttributor:
    """Attributes answers to documents; remembers the tokens of the last documents it saw.

    Not safe to share between threads: give each its own.
    """

    def __init__(self, cached: int = _CACHED) -> None:
        self._cached = cached
        self._documents: OrderedDict[str, _Document] = OrderedDict()

    def attribute(self, answer: str, documents: Sequence[str]) -> ContextAttribution:
        """Estimate which documents the answer draws on.

        The answer is read clause by clause. A document supports a clause when two of its sentences hold at
        least 0.4 of the clause's content words, weighted by how few of the sample's documents have them
        (inverse document frequency), at least three of them, and 0.8 of what the best document holds.

        Args:
            answer: text of the answer; an empty one uses nothing.
            documents: texts in rank order. A repeated text shares its credit among its ranks.
        """
        held = [self._document(text) for text in documents]
        read = _read(answer)
        clauses = [words for _, parts in read for words in parts]
        weights = _weights(set().union(*clauses), held)
        total = sum(weights[word] for words in clauses for word in words)
        shares = [0.0] * len(held)
        sentences = []
        for (start, end), parts in read:
            support = [_support(words, held, weights) for words in parts]
            for words, evidence in zip(parts, support, strict=True):
                _credit(shares, words, evidence, held, weights, total)
            if parts:
                sentences.append(SentenceSupport(start, end, _merged(support, parts, weights)))
        used = tuple(rank for rank, share in enumerate(shares, start=1) if share > 0)
        return ContextAttribution(tuple(shares), used, tuple(sentences))

    def _document(self, text: str) -> _Document:
        found = self._documents.get(text)
        if found is None:
            found = self._documents[text] = _Document(text)
            if len(self._documents) > self._cached:
                self._documents.popitem(last=False)
        return found


def attribute_answer(answer: str, documents: Sequence[str]) -> ContextAttribution:
    """Attribute one answer; for many, an Attributor saves reading repeated documents again."""
    return ContextAttributor(cached=len(documents)).attribute(answer, documents)


def _read(answer: str) -> list[tuple[tuple[int, int], list[set[str]]]]:
    """The answer's sentences with the content words of their clauses, short clauses joined to the next."""
    lower = lowered(answer)
    return [((start, end), _clauses(lower, start, end)) for start, end in split_sentences(answer)]


def _clauses(lower: str, start: int, end: int) -> list[set[str]]:
    found: list[set[str]] = []
    open_words: set[str] = set()
    for a, b in split_clauses(lower, start, end):
        open_words |= content_tokens(lower[a:b])
        if len(open_words) >= CLAUSE_WORDS:
            found.append(open_words)
            open_words = set()
    if open_words and found:
        found[-1] |= open_words
    elif open_words:
        found.append(open_words)
    return found


def _weights(tokens: set[str], held: list[_Document]) -> dict[str, float]:
    """Inverse document frequency over the sample's documents; a word found nowhere weighs like a rare one."""
    by_count = [_exact(math.log1p(len(held) / max(1, count))) for count in range(len(held) + 1)]
    bags = [document.tokens for document in held]
    return {token: by_count[sum(token in bag for bag in bags)] or 1.0 for token in tokens}


def _exact(weight: float) -> float:
    """The weight on a grid of 2 ** -20: its sums are exact, so the order of a set does not show in them."""
    return round(weight * 2**20) / 2**20


def _support(words: set[str], held: list[_Document], weights: dict[str, float]) -> tuple[SupportSpan, ...]:
    total = sum(weights[word] for word in words)
    least = min(SHARED_WORDS, len(words))
    found = []
    for rank, document in enumerate(held, start=1):
        shared = words & document.tokens
        if len(shared) >= least and sum(weights[word] for word in shared) >= SUPPORT * total:
            evidence = _evidence(rank, shared, document, weights, total)
            if evidence.coverage >= SUPPORT:
                found.append(evidence)
    best = max((evidence.coverage for evidence in found), default=0.0)
    near = [evidence for evidence in found if evidence.coverage >= RELATIVE * best]
    return tuple(sorted(near, key=lambda evidence: (-evidence.coverage, evidence.rank)))


def _merged(
    support: list[tuple[SupportSpan, ...]], parts: list[set[str]], weights: dict[str, float]
) -> tuple[SupportSpan, ...]:
    """The evidence of a sentence: that of its clauses, by document."""
    sizes = [sum(weights[word] for word in words) for words in parts]
    coverage: dict[int, float] = {}
    spans: dict[int, set[tuple[int, int]]] = {}
    for size, evidence in zip(sizes, support, strict=True):
        for item in evidence:
            coverage[item.rank] = coverage.get(item.rank, 0.0) + item.coverage * size / sum(sizes)
            spans.setdefault(item.rank, set()).update(item.spans)
    ranks = sorted(coverage, key=lambda rank: (-coverage[rank], rank))
    return tuple(SupportSpan(rank, coverage[rank], tuple(sorted(spans[rank]))) for rank in ranks)


def _evidence(
    rank: int, shared: set[str], document: _Document, weights: dict[str, float], total: float
) -> SupportSpan:
    """The sentences of the document that, one after the other, add most of the shared words."""
    open_words, spans, covered = set(shared), [], 0.0
    for _ in range(EVIDENCE_SENTENCES):
        gains = defaultdict[int, float](float)
        for word in sorted(open_words):
            for number in document.postings[word]:
                gains[number] += weights[word]
        if not gains:
            break
        best = max(gains, key=lambda number: (round(gains[number], 9), -number))
        spans.append(document.sentences[best])
        covered += gains[best]
        open_words = {word for word in open_words if best not in document.postings[word]}
    return SupportSpan(rank, min(1.0, covered / total), tuple(sorted(spans)))


def _credit(
    shares: list[float],
    words: set[str],
    evidence: tuple[SupportSpan, ...],
    held: list[_Document],
    weights: dict[str, float],
    total: float,
) -> None:
    """Add each word's part of the answer to the supporting documents that have it."""
    for word in sorted(words):
        holders = [item.rank for item in evidence if word in held[item.rank - 1].tokens]
        for rank in holders:
            shares[rank - 1] += weights[word] / len(holders) / total
