"""A corpus read once for all configurations of a grid: its tokens, headings, words, and its chunks."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from ragtriage.data.chunking.chunkers import Chunk, Chunking, TokenizedText, chunks_of
from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.text.tokens import search_runs, search_tokens

_SIGMA = "\N{GREEK CAPITAL LETTER SIGMA}"  # its lower case depends on what stands around it


@dataclass(frozen=True)
class CorpusChunk:
    """One chunk with the document that it is part of."""

    document: Document
    chunk: Chunk

    @property
    def text(self) -> str:
        """The chunk as it is stored."""
        return self.document.text[self.chunk.start : self.chunk.end]

    @property
    def above(self) -> str:
        """Title and headings above its start, a line each."""
        return "\n".join(dict.fromkeys(filter(None, (self.document.title, *self.chunk.headings))))

    def indexed(self, headings: bool) -> str:
        """Return what is indexed: the text, under title and headings where asked for."""
        return "\n".join(filter(None, (self.above if headings else "", self.text)))


@dataclass(frozen=True)
class Split:
    """A corpus in chunks."""

    chunks: Sequence[CorpusChunk]  # in the order of the documents
    tokens: Sequence[int]  # of each chunk
    seconds: float  # that splitting took


class DocumentWords:
    """The search tokens of a text, found once however often it is split."""

    def __init__(self, text: str) -> None:
        self._text, self._lower = text, text.lower()
        self._whole = (
            len(self._lower) == len(text) and _SIGMA not in text
        )  # lower case character by character
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._first: list[int] = [0]  # of a run's tokens
        self._tokens: list[str] = []
        for start, end, tokens in search_runs(self._lower) if self._whole else ():
            self._starts.append(start)
            self._ends.append(end)
            self._tokens += tokens
            self._first.append(len(self._tokens))

    def between(self, start: int, end: int) -> list[str]:
        """Return the search tokens of a range of the text; a run that a border cuts has those of its part."""
        if not self._whole:
            return search_tokens(self._text[start:end])
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        if first >= last:
            return []
        head: list[str] = []
        tail: list[str] = []
        if self._starts[first] < start:
            head = search_tokens(self._lower[start : min(self._ends[first], end)])
            first += 1
        if first < last and self._ends[last - 1] > end:
            last -= 1
            tail = search_tokens(self._lower[self._starts[last] : end])
        return [*head, *self._tokens[self._first[first] : self._first[last]], *tail]


class PreparedCorpus:
    """The texts of a corpus, tokenized and read for their words once.

    The chunks of the last splitting are kept, for the configuration that indexes them under their headings.

    Args:
        corpus: the texts.
        by_words: whether they are searched by their words.
    """

    def __init__(self, corpus: Corpus, by_words: bool) -> None:
        self._corpus, self._last = corpus, dict[Chunking, Split]()
        self.texts = {document.doc_id: TokenizedText(document.text) for document in corpus.documents}
        self._words: dict[str, DocumentWords] = {}
        import_module("semchunk")  # not in the time of the first configuration
        for text in self.texts.values():
            _ = text.starts, text.headings
        if by_words:
            self._words = {doc_id: DocumentWords(text.text) for doc_id, text in self.texts.items()}

    def split(self, chunking: Chunking) -> Split:
        """Return the chunks of the corpus."""
        key = replace(chunking, headings=False)
        if key not in self._last:
            self._last = {}  # not two at a time: chunks may take as much memory as the texts
            self._last[key] = self._split(key)
        return self._last[key]

    def _split(self, chunking: Chunking) -> Split:
        began = time.perf_counter()
        chunks = [
            CorpusChunk(document, chunk)
            for document in self._corpus.documents
            for chunk in chunks_of(self.texts[document.doc_id], chunking)
        ]
        ranges = ((self.texts[entry.document.doc_id], entry.chunk) for entry in chunks)
        tokens = [text.size(chunk.start, chunk.end, "tokens") for text, chunk in ranges]
        return Split(chunks, tokens, time.perf_counter() - began)

    def words(self, entry: CorpusChunk, headings: bool) -> list[str]:
        """Return the search tokens of what is indexed of a chunk."""
        inside = self._words[entry.document.doc_id].between(entry.chunk.start, entry.chunk.end)
        return [*search_tokens(entry.above), *inside] if headings else inside
