"""A corpus to be chunked: text and Markdown files, or JSONL of documents."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from data.errors import DataError, ValidationErrors
from data.importers.parsing.source import Source
from data.importers.parsing.streams import TEXT_ACCEPTED

__all__ = ["Corpus", "Document", "corpus_of", "read_corpus"]

TEXT_ENDINGS = (".txt", ".md")
ACCEPTED_FILES = "a folder of .txt and .md files, such files themselves, or JSONL of documents"
MOST_NAMED = 10  # documents in a note
ACCEPTED_RECORD = "an object with `id` (or `_id`, `doc_id`), `text`, and maybe `title`"


@dataclass(frozen=True)
class Document:
    """One text of a corpus.

    Attributes:
        doc_id: its name; for a file its path inside the folder without the ending.
        text: as stored: line ends are not translated, offsets count its characters.
        title: what to call it in front of its chunks; "" where nothing names it.
        file: name with the ending, "" for a line of JSONL.
    """

    doc_id: str
    text: str
    title: str = ""
    file: str = ""


@dataclass(frozen=True)
class Corpus:
    """Documents under one name.

    Attributes:
        name: what to call the corpus.
        documents: in the order of their files and lines.
        notes: what the reader should know, e.g. which documents are empty.
    """

    name: str
    documents: tuple[Document, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def version(self) -> str:
        """Hash over ids, titles and texts."""
        digest = hashlib.sha256()
        for one in self.documents:
            for part in (one.doc_id, one.title, one.text):
                digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()[:12]

    @cached_property
    def by_name(self) -> dict[str, Document]:
        """The documents by id, and by file name where that names no other."""
        named = {one.file: one for one in self.documents if one.file}
        return {**named, **{one.doc_id: one for one in self.documents}}

    @property
    def characters(self) -> int:
        """Characters of all texts."""
        return sum(len(one.text) for one in self.documents)


def read_corpus(paths: Sequence[str | Path]) -> Corpus:
    """Read a corpus from folders and files.

    Raises:
        DataError: nothing is there, a file cannot be read, or two documents bear one id.
    """
    found = [(name, path) for given in paths for name, path in _files(Path(given))]
    if not found:
        shown = ", ".join(str(path) for path in paths) or "nothing"
        raise DataError(f"corpus {shown}: holds no text; accepted: {ACCEPTED_FILES}")
    first = Path(paths[0]).expanduser().resolve()
    name = first.stem if first.is_file() else first.name
    return corpus_of(((inside, Source.from_path(path)) for inside, path in found), name)


def _files(given: Path) -> Iterator[tuple[str, Path]]:
    """Give the files of a folder with their names inside it, in order; a file stands for itself."""
    given = given.expanduser()
    if not given.exists():
        raise DataError(f"corpus {given}: does not exist; accepted: {ACCEPTED_FILES}")
    if not given.is_dir():
        yield given.name, given
        return
    for folder, inner, names in os.walk(given):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            if path.suffix.lower() in TEXT_ENDINGS and not name.startswith("."):
                yield path.relative_to(given).as_posix(), path


def corpus_of(sources: Iterable[tuple[str, Source]], name: str) -> Corpus:
    """Make a corpus of files, each with the name it bears in the corpus."""
    documents: dict[str, Document] = {}
    bare = []
    for inside, source in sources:
        before = len(documents)
        for line, one in _documents(inside, source):
            if one.doc_id in documents:
                raise source.error(f"document id {one.doc_id!r} is there already", "each id once", line)
            documents[one.doc_id] = one
        bare += [inside] if len(documents) == before else []
    empty = [one.doc_id for one in documents.values() if not one.text.strip()]
    if len(empty) == len(documents):
        raise DataError(f"corpus {name}: every document is empty; accepted: {ACCEPTED_FILES}")
    notes = (
        _named("empty documents", empty),
        _named("files without documents", bare),
    )
    return Corpus(name, tuple(documents.values()), tuple(filter(None, notes)))


def _named(what: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{what}: {', '.join(names[:MOST_NAMED])}{more}" if names else ""


def _documents(inside: str, source: Source) -> Iterator[tuple[int | None, Document]]:
    filled = source.size > 0  # before anything else: a file that is not there is told here
    if source.ending in TEXT_ENDINGS:
        yield None, _text_document(inside, source)
    elif source.ending not in (".jsonl", ".ndjson"):
        raise source.error(f"has the ending {source.ending or '(none)'!r}", ACCEPTED_FILES)
    elif filled:
        yield from _json_documents(source)


def _text_document(inside: str, source: Source) -> Document:
    try:
        text = source.whole().decode("utf-8") if source.size else ""
    except UnicodeDecodeError as error:
        what = f"byte {error.start + 1} (0x{error.object[error.start]:02x}) is not UTF-8"
        raise source.error(what, TEXT_ACCEPTED) from error
    doc_id = inside.removesuffix(".gz").rpartition(".")[0]
    return Document(doc_id, text, doc_id.rpartition("/")[2].replace("_", " "), inside)


def _json_documents(source: Source) -> Iterator[tuple[int, Document]]:
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
        else:
            yield line, Document(str(name), body, str(record.get("title") or ""))
    problems.raise_if_any()


def _record(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
