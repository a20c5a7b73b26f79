"""MuSiQue: multi-hop questions with paragraphs, of which the supporting ones are gold, each for its hop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer, question_set
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import object_rows
from ragtriage.data.importers.parsing.shapes import others
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_schema import document_id

KEY = "musique"
ACCEPTED = "a list of {idx, paragraph_text, is_supporting}"


def _detect(peek: Peek) -> bool:
    paragraphs = peek.first.get("paragraphs")
    return (
        isinstance(paragraphs, list)
        and bool(paragraphs)
        and isinstance(paragraphs[0], Mapping)
        and "is_supporting" in paragraphs[0]
        and "question" in peek.first
    )


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    corpus = _Paragraphs()
    return question_set(source, KEY, _records(source, options, errors, corpus), documents=corpus.documents)


class _Paragraphs:
    """The different paragraphs of all questions: the corpus of the set."""

    def __init__(self) -> None:
        self.documents: list[dict[str, str]] = []
        self._ids: set[str] = set()

    def add(self, entry: Mapping[str, Any]) -> None:
        text, title = entry.get("paragraph_text"), entry.get("title")
        if not isinstance(text, str) or not text.strip() or document_id(text) in self._ids:
            return
        self._ids.add(document_id(text))
        named = {"title": title} if isinstance(title, str) and title else {}
        self.documents.append({"id": document_id(text), "text": text, **named})


def _records(
    source: InputFile, options: Options, errors: ValidationErrors, corpus: _Paragraphs
) -> Iterator[Record]:
    known = (
        "id",
        "paragraphs",
        "question",
        "question_decomposition",
        "answer",
        "answer_aliases",
        "answerable",
    )
    for line, row in object_rows(source, errors, options.limit):
        paragraphs = row.get("paragraphs")
        if not isinstance(paragraphs, list) or not all(isinstance(entry, Mapping) for entry in paragraphs):
            errors.add(line, "paragraphs", "is not a list of objects", ACCEPTED)
            continue
        for entry in paragraphs:
            corpus.add(entry)
        steps = row.get("question_decomposition")
        hops = _hops(steps if isinstance(steps, list) else [])
        gold = [entry for entry in paragraphs if entry.get("is_supporting")]
        gold.sort(key=lambda entry: hops.get(entry.get("idx"), len(hops) + 1))
        answerable = row.get("answerable")
        record = {
            "question_id": row.get("id"),
            "question": row.get("question"),
            "reference_answer": row.get("answer"),
            "relevant": [_passage(entry, hops) for entry in gold],
            "query_type": f"{len(hops)}-hop" if hops else None,
            "answerable": {True: "yes", False: "no"}.get(answerable)
            if isinstance(answerable, bool)
            else None,
        }
        aliases = {"answer_aliases": row["answer_aliases"]} if row.get("answer_aliases") else {}
        yield line, {**others(row, known), **aliases, **record}


def _hops(steps: list[Any]) -> dict[Any, int]:
    """Return index of a paragraph -> the first hop that it supports, counted from 1."""
    hops: dict[Any, int] = {}
    for hop, step in enumerate(steps, start=1):
        if isinstance(step, Mapping) and isinstance(step.get("paragraph_support_idx"), int):
            hops.setdefault(step["paragraph_support_idx"], hop)
    return hops


def _passage(entry: Mapping[str, Any], hops: Mapping[Any, int]) -> dict[str, Any]:
    hop = hops.get(entry.get("idx"))
    return {"text": entry.get("paragraph_text"), **({} if hop is None else {"hop": hop})}


IMPORTERS = (
    Importer(
        KEY,
        "MuSiQue",
        "rows with question, answer and paragraphs of {paragraph_text, is_supporting}",
        _detect,
        _read,
        holds="questions",
        written_by="MuSiQue 1.0",
    ),
)
