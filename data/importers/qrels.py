"""Relevance labels from a file of their own, joined to the records of a run by question id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from data.drafts import Record
from data.errors import Problems
from data.importers.source import Source

__all__ = ["Qrels", "read_qrels", "with_qrels"]

ACCEPTED = "lines `question_id 0 document_id grade` (TREC), or tab-separated question, document, grade (BEIR)"

Qrels = dict[str, list[dict[str, Any]]]


def read_qrels(source: Source) -> Qrels:
    """Read TREC qrels, or BEIR's with their header: question id -> [{id, grade}].

    Raises:
        InputError: some line is neither.
    """
    problems = Problems(source.name)
    qrels: Qrels = defaultdict(list)
    for line, text in source.lines(problems):
        parts = text.rstrip("\r\n").split("\t") if text.count("\t") == 2 else text.split()
        if line == 1 and parts[-1].strip().lower() in {"score", "grade", "rel", "relevance"}:
            continue
        grade = _grade(parts[-1])
        if len(parts) not in (3, 4) or grade is None:
            problems.add(line, "", f"found {text.strip()[:60]!r}", ACCEPTED)
            continue
        qrels[parts[0].strip()].append({"id": parts[-2].strip(), "grade": grade})
    problems.raise_if_any()
    return dict(qrels)


def with_qrels(records: Iterable[Record], qrels: Qrels) -> Iterator[Record]:
    """The records with `relevant` from the labels of their question; without labels they stay as they are."""
    for line, record in records:
        found = qrels.get(str(record.get("question_id"))) if isinstance(record, dict) else None
        yield line, record if found is None or not isinstance(record, dict) else {**record, "relevant": found}


def _grade(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
