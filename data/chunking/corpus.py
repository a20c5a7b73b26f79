"""The corpus of a grid search: text and Markdown files, or JSONL of documents."""

from __future__ import annotations

import hashlib
import json
import os
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from ragtriage.data.chunking.chunkers import Chunk, Chunking, TokenizedText, chunks_of
from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.importers.parsing.input_file import TEXT_ACCEPTED, InputFile
from ragtriage.data.store.sample_models import is_unicode
from ragtriage.data.text.tokens import search_runs, search_tokens

TEXT_ENDINGS = (".txt", ".md")
ACCEPTED_FILES = "a folder of .txt and .md files, such files themselves, or JSONL of documents"
MOST_NAMED = 10  # documents in a note
ACCEPTED_RECORD = "an object with `id` (or `_id`, `doc_id`), `text`, and maybe `title`"


@dataclass(frozen=True)
class Document:
    """One text of a corpus."""

    doc_id: str  # its id; for a file its path inside the folder without the ending
    text: str  # as stored: line ends are not translated, offsets count its characters
    title: str = ""  # put in front of its chunks; "" for none
    file: str = ""  # name with the ending, "" for a line of JSONL


@dataclass(frozen=True)
class Corpus:
    """Documents under one name."""

    name: str
    documents: tuple[Document, ...]  # in the order of their files and lines
    notes: tuple[str, ...] = ()  # what the reader should know, e.g. which documents are empty

    @cached_property
    def version(self) -> str:
        """Hash over ids, titles and texts."""
        digest = hashlib.sha256()
        for document in self.documents:
            for part in (document.doc_id, document.title, document.text):
                digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()[:12]

    @cached_property
    def by_name(self) -> dict[str, Document]:
        """The documents by id, and by file name where that is not an id."""
        by_file = {document.file: document for document in self.documents if document.file}
        return {**by_file, **{document.doc_id: document for document in self.documents}}

    @property
    def characters(self) -> int:
        """Characters of all texts."""
        return sum(len(document.text) for document in self.documents)


def read_corpus(paths: Sequence[str | Path]) -> Corpus:
    """Read a corpus from folders and files.

    Raises:
        DataError: there is no text, a file cannot be read, or two documents have the same id.
    """
    files = [(name, path) for root in paths for name, path in _files(Path(root))]
    if not files:
        shown = ", ".join(str(path) for path in paths) or "nothing"
        raise DataError(f"corpus {shown}: contains no text; accepted: {ACCEPTED_FILES}")
    first = Path(paths[0]).expanduser().resolve()
    name = first.stem if first.is_file() else first.name
    return corpus_of(((inside, InputFile.from_path(path)) for inside, path in files), name)


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """List the files of a folder with their names inside it, in order; of a file, itself."""
    root = root.expanduser()
    if not root.exists():
        raise DataError(f"corpus {root}: does not exist; accepted: {ACCEPTED_FILES}")
    if not root.is_dir():
        yield root.name, root
        return
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            if path.suffix.lower() in TEXT_ENDINGS and not name.startswith("."):
                yield path.relative_to(root).as_posix(), path


def corpus_of(sources: Iterable[tuple[str, InputFile]], name: str) -> Corpus:
    """Build a corpus from files, each with its name in the corpus."""
    documents: dict[str, Document] = {}
    without_documents = []
    for inside, source in sources:
        before = len(documents)
        for line, document in _documents(inside, source):
            if document.doc_id in documents:
                raise source.error(f"document id {document.doc_id!r} occurs twice", "each id once", line)
            documents[document.doc_id] = document
        without_documents += [inside] if len(documents) == before else []
    empty = [document.doc_id for document in documents.values() if not document.text.strip()]
    if len(empty) == len(documents):
        raise DataError(f"corpus {name}: every document is empty; accepted: {ACCEPTED_FILES}")
    notes = (_listing("empty documents", empty), _listing("files without documents", without_documents))
    return Corpus(name, tuple(documents.values()), tuple(filter(None, notes)))


def _listing(what: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{what}: {', '.join(names[:MOST_NAMED])}{more}" if names else ""


def _documents(inside: str, source: InputFile) -> Iterator[tuple[int | None, Document]]:
    filled = source.size > 0  # before anything else: raises where the file does not exist
    if source.ending in TEXT_ENDINGS:
        try:
            text = source.whole().decode("utf-8") if source.size else ""
        except UnicodeDecodeError as error:
            what = f"byte {error.start + 1} (0x{error.object[error.start]:02x}) is not UTF-8"
            raise source.error(what, TEXT_ACCEPTED) from error
        doc_id = inside.removesuffix(".gz").rpartition(".")[0]
        yield None, Document(doc_id, text, doc_id.rpartition("/")[2].replace("_", " "), inside)
    elif source.ending not in (".jsonl", ".ndjson"):
        raise source.error(f"has the ending {source.ending or '(none)'!r}", ACCEPTED_FILES)
    elif filled:
        yield from _json_documents(source)


def _json_documents(source: InputFile) -> Iterator[tuple[int, Document]]:
    problems = ValidationErrors(source.name)
    for line, text in source.lines(problems):
        record = _record(text)
        if record is None:
            problems.add(line, "", "is not a document", ACCEPTED_RECORD)
            continue
        name = next((record[key] for key in ("id", "_id", "doc_id") if record.get(key) is not None), None)
        body = next((record[key] for key in ("text", "contents", "content") if key in record), None)
        if not isinstance(name, str | int) or isinstance(name, bool) or name == "":
            problems.add(line, "id", "missing or no text", ACCEPTED_RECORD)
        elif not isinstance(body, str):
            problems.add(line, "text", "missing or no text", ACCEPTED_RECORD)
        elif not is_unicode(f"{name}{body}{record.get('title')}"):
            problems.add(line, "", "holds half of a surrogate pair", "text, in valid Unicode")
        else:
            yield line, Document(str(name), body, str(record.get("title") or ""))
    problems.raise_if_any()


def _record(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


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
