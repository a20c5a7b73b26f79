"""The passages of a corpus: long ones to write questions from, short ones to search, found by their words."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from ragtriage.data.chunking.chunkers import Chunk, Chunking, TokenizedText, chunks_of, count_tokens
from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.chunking.retrievers import Bm25Index
from ragtriage.data.datasets.item import GoldSpan, Stretch
from ragtriage.data.text.quotes import QuotedText, occurrences
from ragtriage.data.text.tokens import word_spans

PASSAGE_TOKENS = 400  # of a passage to write from
SAMPLED = 4_000  # characters of a document by which the length of its tokens is told
WINDOW_WORDS = 120  # of a window to search
DEPTH = 50  # windows in which gold must be found


@dataclass(frozen=True)
class Passage(Stretch):
    """A stretch of a document with its text."""

    text: str
    headings: tuple[str, ...] = ()  # above its start, the outermost first

    def holds(self, span: GoldSpan) -> bool:
        """Return whether the middle of a span lies in the passage."""
        return self.doc_id == span.doc_id and self.start <= (span.start + span.end) // 2 < self.end

    def span(self, hop: str = "") -> GoldSpan:
        """Return the passage as gold."""
        return GoldSpan(self.doc_id, self.start, self.end, self.text, hop)


class CorpusWindows:
    """A corpus in passages and in windows, each made when it is first asked for."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._texts: dict[str, QuotedText] = {}
        self._word_spans: dict[str, list[tuple[int, int]]] = {}

    @cached_property
    def passages(self) -> list[Passage]:
        """About 400 tokens each, split at headings and paragraphs; in the order of the documents."""
        passages = []
        for document in self.corpus.documents:
            # by characters, of which the beginning says how many a token has: much faster than by tokens
            sample = document.text[:SAMPLED]
            size = max(PASSAGE_TOKENS * len(sample) // max(count_tokens(sample), 1), PASSAGE_TOKENS)
            chunks = chunks_of(TokenizedText(document.text), Chunking("heading", size, unit="characters"))
            for chunk in _merged(chunks, size):
                text = document.text[chunk.start : chunk.end]
                if text.strip():
                    headings = tuple(filter(None, (document.title, *chunk.headings)))
                    passages.append(Passage(document.doc_id, chunk.start, chunk.end, text, headings))
        return passages

    @cached_property
    def windows(self) -> list[Passage]:
        """Of 120 words each, without overlap, two CJK characters as a word; in the order of the documents."""
        windows = []
        for document in self.corpus.documents:
            words = self._words(document)
            for first in range(0, len(words), WINDOW_WORDS):
                start, end = words[first][0], words[min(first + WINDOW_WORDS, len(words)) - 1][1]
                windows.append(Passage(document.doc_id, start, end, document.text[start:end]))
        return windows

    def around(self, span: GoldSpan) -> Passage:
        """Return a span with text before and after it, as long as a window where the span is no longer."""
        document = self.corpus.by_name[span.doc_id]
        words = self._words(document)
        first = max(bisect_right(words, (span.start, len(document.text))) - 1, 0)
        last = max(bisect_left(words, (span.end, 0)) - 1, first)
        before = max(WINDOW_WORDS - (last - first + 1), 0) // 2
        first = max(first - before, 0)
        last = max(last, min(first + WINDOW_WORDS - 1, len(words) - 1))
        start, end = min(words[first][0], span.start), max(words[last][1], span.end)
        return Passage(span.doc_id, start, end, document.text[start:end])

    def _words(self, document: Document) -> list[tuple[int, int]]:
        if document.doc_id not in self._word_spans:
            self._word_spans[document.doc_id] = word_spans(document.text)
        return self._word_spans[document.doc_id]

    @cached_property
    def index(self) -> Bm25Index:
        """The windows ready to be searched by words."""
        return Bm25Index([window.text for window in self.windows])

    def search(self, query: str, depth: int = DEPTH) -> list[Passage]:
        """Return the windows that fit a query best, by BM25; fewer where fewer share a word with it."""
        positions, _ = self.index.search([query], min(depth, max(len(self.windows), 1)))
        return [self.windows[int(at)] for at in positions[0] if at >= 0]

    def rank(self, query: str, spans: Sequence[GoldSpan], depth: int = DEPTH) -> int | None:
        """Return the 1-based rank of the first window with any of the spans; None beyond the depth."""
        for rank, window in enumerate(self.search(query, depth), start=1):
            if any(map(window.overlaps, spans)):
                return rank
        return None

    def locate(self, quote: str, doc_id: str = "") -> list[GoldSpan]:
        """Return every place where a quote stands, in one document or in all, in its order.

        It is looked for as it stands, and only where that fails with whitespace and typographic marks folded.
        """
        documents = [
            document for document in self.corpus.documents if not doc_id or document.doc_id == doc_id
        ]
        if not quote.strip():
            return []
        exact = [
            GoldSpan(document.doc_id, at, at + len(quote), quote)
            for document in documents
            for at in occurrences(document.text, quote)
        ]
        if exact:
            return exact
        found = []
        for document in documents:
            text = self._texts.setdefault(document.doc_id, QuotedText(document.text))
            places = [(document.doc_id, *place) for place in text.places(quote)]
            found += [GoldSpan(*place, document.text[place[1] : place[2]]) for place in places]
        return found


def _merged(chunks: Sequence[Chunk], size: int) -> Iterator[Chunk]:
    """Yield neighbours joined up to the size of a passage, with the headings that all of them stand under."""
    joined: Chunk | None = None
    for chunk in chunks:
        if joined is not None and chunk.end - joined.start <= size:
            pairs = zip(joined.headings, chunk.headings, strict=False)
            shared = tuple(own for own, other in takewhile(lambda pair: pair[0] == pair[1], pairs))
            joined = Chunk(joined.start, chunk.end, shared)
            continue
        if joined is not None:
            yield joined
        joined = chunk
    if joined is not None:
        yield joined
