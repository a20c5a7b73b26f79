"""Relevance labels (qrels) from a separate file, joined to the records of a run by question id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.trec import is_score_json
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import Record

ACCEPTED = (
    "lines `question_id 0 document_id grade` (TREC), tab-separated question, document, grade (BEIR), or JSON "
    "{question id: {document id: grade}}"
)

Qrels = dict[str, list[dict[str, Any]]]


def read_qrels(source: InputFile) -> Qrels:
    """Read TREC qrels, BEIR's with their header, or JSON: question id -> [{id, grade}].

    Raises:
        InputError: the file is none of these.
    """
    if source.head(64).lstrip()[:1] == b"{":
        return _of_json(source)
    errors = ValidationErrors(source.name)
    qrels: Qrels = defaultdict(list)
    for line, text in source.lines(errors):
        parts = text.rstrip("\r\n").split("\t") if text.count("\t") == 2 else text.split()
        if line == 1 and parts[-1].strip().lower() in {"score", "grade", "rel", "relevance"}:
            continue
        grade = _grade(parts[-1])
        if len(parts) not in (3, 4) or grade is None:
            errors.add(line, "", f"found {text.strip()[:60]!r}", ACCEPTED)
            continue
        qrels[parts[0].strip()].append({"id": parts[-2].strip(), "grade": grade})
    errors.raise_if_any()
    return dict(qrels)


def _of_json(source: InputFile) -> Qrels:
    document = source.document()
    if not is_score_json(document):
        raise source.error("is not JSON of relevance labels", ACCEPTED)
    return {
        str(question): [{"id": str(name), "grade": float(grade)} for name, grade in grades.items()]
        for question, grades in document.items()
    }


def with_qrels(records: Iterable[Record], qrels: Qrels) -> Iterator[Record]:
    """Yield the records with `relevant` from the labels of their question, if it has any."""
    for line, record in records:
        labels = qrels.get(str(record.get("question_id"))) if isinstance(record, dict) else None
        yield (
            line,
            record if labels is None or not isinstance(record, dict) else {**record, "relevant": labels},
        )


def _grade(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
