"""MuSiQue: multi-hop questions with paragraphs, of which the supporting ones are gold, each for its hop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer, Row, read_each
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.shapes import items, mapping, others
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.sample_schema import document_id

KEY = "musique"
READ = ("id", "paragraphs", "question", "question_decomposition", "answer", "answer_aliases", "answerable")
ACCEPTED = "a list of {idx, paragraph_text, is_supporting}"


def _detect(peek: Peek) -> bool:
    first = items(peek.first.get("paragraphs"))[:1]
    return "question" in peek.first and any("is_supporting" in mapping(entry) for entry in first)


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    documents: list[dict[str, str]] = []  # the different paragraphs of all questions
    ids: set[str] = set()

    def sample(row: Row, line: int, errors: ValidationErrors) -> Row | None:
        paragraphs = row.get("paragraphs")
        if not isinstance(paragraphs, list) or not all(isinstance(entry, Mapping) for entry in paragraphs):
            errors.add(line, "paragraphs", "is not a list of objects", ACCEPTED)
            return None
        for document in filter(None, map(_document, paragraphs)):
            if document["id"] not in ids:
                ids.add(document["id"])
                documents.append(document)
        return _sample(row, paragraphs)

    return read_each(KEY, sample, questions=True, documents=documents)(source, options, errors)


def _document(paragraph: Mapping[str, Any]) -> dict[str, str] | None:
    text, title = paragraph.get("paragraph_text"), paragraph.get("title")
    if not isinstance(text, str) or not text.strip():
        return None
    named = {"title": title} if isinstance(title, str) and title else {}
    return {"id": document_id(text), "text": text, **named}


def _sample(row: Row, paragraphs: list[Mapping[str, Any]]) -> Row:
    answerable = row.get("answerable")
    hops: dict[Any, int] = {}  # index of a paragraph -> the first hop that it supports, counted from 1
    for hop, step in enumerate(items(row.get("question_decomposition")), start=1):
        if isinstance(step, Mapping) and isinstance(step.get("paragraph_support_idx"), int):
            hops.setdefault(step["paragraph_support_idx"], hop)
    gold = [(entry, hops.get(entry.get("idx"))) for entry in paragraphs if entry.get("is_supporting")]
    gold.sort(key=lambda passage: passage[1] or len(hops) + 1)
    passages = [({"text": entry.get("paragraph_text")}, hop) for entry, hop in gold]
    record = {
        "question_id": row.get("id"),
        "question": row.get("question"),
        "reference_answer": row.get("answer"),
        "relevant": [{**passage, **({} if hop is None else {"hop": hop})} for passage, hop in passages],
        "query_type": f"{len(hops)}-hop" if hops else None,
        "answerable": ("no", "yes")[answerable] if isinstance(answerable, bool) else None,
    }
    aliases = {"answer_aliases": row["answer_aliases"]} if row.get("answer_aliases") else {}
    return {**others(row, READ), **aliases, **record}


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
