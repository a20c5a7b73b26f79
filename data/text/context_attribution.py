"""Context attribution: which retrieved documents an answer draws on, estimated from shared words.

Paraphrase goes unseen, and words that two documents share are credited to both. Wherever these numbers are
shown, they are marked as estimated.
"""

import math
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragtriage.data.text.tokens import content_tokens, lowered, split_clauses, split_sentences

# The thresholds were set on 108 expert answers of ScholarQABench with their citations, eight passages of
# other answers on the same subject mixed in: 85 % of the documents found here are cited there, 80 % of those
# cited are found. Whole sentences do as well there, but find 2 rather than 4 of the 6 documents that
# RAGChecker's example labels as entailing a claim, because its sentences are long.
CLAUSE_WORDS = 4  # clauses of fewer content words are joined to the next: they are found by chance
SUPPORT = 0.4  # weighted share of a clause's content words that its evidence must hold
RELATIVE = 0.8  # a document supports a clause only if it covers nearly as much of it as the best one does
SHARED_WORDS = 3  # two shared words are a topic, three are a statement about it
EVIDENCE_SENTENCES = 2  # a clause is spread over at most this many sentences of a document
SHARE_PARTS = 1e9  # shares are multiples of its inverse
POSTINGS = 64  # sentences kept per word: more would cost time without telling them apart
_CACHED = 4096  # documents an attributor keeps: runs repeat the same chunks over many questions


@dataclass(frozen=True)
class SupportSpan:
    """The parts of one document that support a sentence."""

    rank: int  # 1-based rank of the document
    coverage: float  # weighted share 0..1 of the sentence's content words found in the spans
    spans: tuple[tuple[int, int], ...]  # half-open character ranges in the document's text, in text order


@dataclass(frozen=True)
class SentenceSupport:
    """One sentence of the answer and what supports it."""

    start: int  # first character in the answer
    end: int  # character behind the last
    spans: tuple[SupportSpan, ...]  # supporting documents, the best first; empty where none supports it


@dataclass(frozen=True)
class ContextAttribution:
    """The documents that one answer draws on."""

    # share of the answer's content words, a sentence at a time, that rest on the document at rank i +
    # 1. Words found in several supporting documents are split between them; the shares add up to 1 less
    # what rests on none
    shares: tuple[float, ...]
    used: tuple[int, ...]  # 1-based ranks with a share above 0, ascending
    sentences: tuple[SentenceSupport, ...]  # the answer's sentences that have content words, in order


class _Document:
    """A document's tokens, and its sentences once they are needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.tokens = content_tokens(lowered(text))

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        return split_sentences(self._text)

    @cached_property
    def postings(self) -> dict[str, list[int]]:
        """Token -> numbers of the first sentences that have it."""
        lower, postings = lowered(self._text), defaultdict[str, list[int]](list)
        for number, (start, end) in enumerate(self.sentences):
            for token in content_tokens(lower[start:end]):
                if len(postings[token]) < POSTINGS:
                    postings[token].append(number)
        return postings


class ContextAttributor:
    """Attributes answers to documents; keeps the tokens of the documents it saw last.

    Not safe to share between threads.
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
        contexts = [self._document(text) for text in documents]
        lower = lowered(answer)
        clauses = [(span, _clauses(lower, *span)) for span in split_sentences(answer)]
        answer_words = [words for _, parts in clauses for words in parts]
        # inverse document frequencies over the sample's documents; absent words weigh like rare ones
        tokens = set().union(*answer_words)
        frequencies = frequency_weights(len(contexts))
        bags = [document.tokens for document in contexts]
        weights = {token: frequencies[sum(token in bag for bag in bags)] for token in tokens}
        total = sum(weights[word] for words in answer_words for word in words)
        held = [defaultdict[int, float](float) for _ in contexts]  # weight of words by how many share them
        sentences = []
        for (start, end), parts in clauses:
            support = [_support(words, contexts, weights) for words in parts]
            for words, spans in zip(parts, support, strict=True):
                for word in words:
                    ranks = [span.rank for span in spans if word in contexts[span.rank - 1].tokens]
                    for rank in ranks:
                        held[rank - 1][len(ranks)] += weights[word]
            if parts:
                sentences.append(SentenceSupport(start, end, _merged(support, parts, weights)))
        shares = tuple(_share(weight_by_count, total) for weight_by_count in held)
        used = tuple(rank for rank, share in enumerate(shares, start=1) if share > 0)
        return ContextAttribution(shares, used, tuple(sentences))

    def _document(self, text: str) -> _Document:
        document = self._documents.get(text)
        if document is None:
            document = self._documents[text] = _Document(text)
            if len(self._documents) > self._cached:
                self._documents.popitem(last=False)
        return document


def attribute_answer(answer: str, documents: Sequence[str]) -> ContextAttribution:
    """Attribute one answer; for many, a ContextAttributor spares tokenizing repeated documents again."""
    return ContextAttributor(cached=len(documents)).attribute(answer, documents)


@lru_cache(maxsize=256)
def frequency_weights(documents: int) -> list[float]:
    """Return the weight of a word by how many of a sample's documents have it, 0 to all of them."""
    # Rounded to multiples of 2 ** -20, whose sums are exact and so do not depend on the order of a set.
    counts = range(documents + 1)
    return [round(math.log1p(documents / max(1, count)) * 2**20) / 2**20 or 1.0 for count in counts]


def _clauses(lower: str, start: int, end: int) -> list[set[str]]:
    """Return the content words of a sentence by clause, short clauses joined to the next."""
    clauses: list[set[str]] = []
    pending: set[str] = set()
    for left, right in split_clauses(lower, start, end):
        pending |= content_tokens(lower[left:right])
        if len(pending) >= CLAUSE_WORDS:
            clauses.append(pending)
            pending = set()
    if pending and clauses:
        clauses[-1] |= pending
    elif pending:
        clauses.append(pending)
    return clauses


def _support(
    words: set[str], contexts: list[_Document], weights: dict[str, float]
) -> tuple[SupportSpan, ...]:
    """Return the documents that support a clause, the best first."""
    total = sum(weights[word] for word in words)
    least = min(SHARED_WORDS, len(words))
    candidates = []
    for rank, document in enumerate(contexts, start=1):
        shared = words & document.tokens
        if len(shared) >= least and sum(map(weights.__getitem__, shared)) >= SUPPORT * total:
            span = _support_span(rank, shared, document, weights, total)
            if span.coverage >= SUPPORT:
                candidates.append(span)
    best = max((span.coverage for span in candidates), default=0.0)
    near_best = [span for span in candidates if span.coverage >= RELATIVE * best]
    return tuple(sorted(near_best, key=lambda span: (-span.coverage, span.rank)))


def _support_span(
    rank: int, shared: set[str], document: _Document, weights: dict[str, float], total: float
) -> SupportSpan:
    """Pick the sentences of the document greedily: each adds most of the shared words not yet covered."""
    uncovered, spans, covered = set(shared), [], 0.0
    for _ in range(EVIDENCE_SENTENCES):
        gains = defaultdict[int, float](float)
        for word in sorted(uncovered):
            for number in document.postings[word]:
                gains[number] += weights[word]
        if not gains:
            break
        best = max(gains, key=lambda number: (gains[number], -number))
        spans.append(document.sentences[best])
        covered += gains[best]
        uncovered = {word for word in uncovered if best not in document.postings[word]}
    return SupportSpan(rank, min(1.0, covered / total), tuple(sorted(spans)))


def _share(held: Mapping[int, float], total: float) -> float:
    """Return a document's share of the answer: a word that it shares with others is split evenly.

    It is rounded so that shares that are equal by rights compare as equal, whatever they were summed from.
    """
    share = 0.0
    for count in sorted(held):
        share += held[count] / (count * total)
    return round(share * SHARE_PARTS) / SHARE_PARTS


def _merged(
    support: list[tuple[SupportSpan, ...]], parts: list[set[str]], weights: dict[str, float]
) -> tuple[SupportSpan, ...]:
    """Merge the support of a sentence's clauses by document, weighted by the clauses' sizes."""
    sizes = [sum(weights[word] for word in words) for words in parts]
    coverage: dict[int, float] = {}
    ranges: dict[int, set[tuple[int, int]]] = {}
    for size, spans in zip(sizes, support, strict=True):
        for span in spans:
            coverage[span.rank] = coverage.get(span.rank, 0.0) + span.coverage * size / sum(sizes)
            ranges.setdefault(span.rank, set()).update(span.spans)
    ranks = sorted(coverage, key=lambda rank: (-coverage[rank], rank))
    return tuple(SupportSpan(rank, coverage[rank], tuple(sorted(ranges[rank]))) for rank in ranks)
