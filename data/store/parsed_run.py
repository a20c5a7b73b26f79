"""A run as an importer parsed it, not yet in a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Record = tuple[int, object]  # 1-based line or row, and its value in the native form


@dataclass(frozen=True)
class MappedColumn:
    """How a column of the source is mapped to a field, for the preview.

    Attributes:
        column: name in the file.
        field: field of the sample it fills, "scores.<metric>", "tags.<key>", or "" if it is kept as extra.
        example: the first value, shortened.
        why: what it was guessed from.
    """

    column: str
    field: str
    example: str
    why: str = ""


@dataclass(frozen=True)
class ParsedRun:
    """A run as an importer read it.

    Attributes:
        name: its name, from the content or from the name of the file.
        records: (line, record) pairs in the native form; consumed once, may be a generator.
        file: name of the file for messages.
        format: key of the importer.
        named_by_content: whether the name is in the file (then it is part of the run's identity).
        config: pipeline configuration from the file.
        dataset: name of the question set, or "".
        dataset_version: its version, or "".
        corpus_version: version of the documents, or "".
        created_at: time of the run, if the file has it; naive UTC.
        mapping: how the columns were mapped to fields, where that was guessed.
        notes: notes for the reader: assumptions, rows left out and why.
        measured: measurements of producing the run, e.g. seconds by step; not part of its identity.
        means: metric -> mean, for an aggregate-only run, which has no records.
        metrics: what the file declares of its metrics, by name: {direction, range, title}.
        documents: of a question set, the corpus in its file: {id, text, title}; complete once the records are
            consumed.
        closing_notes: returns further notes, once the records are consumed.
        tools: schemas of the tools that the system could call in all samples that list none of their own.
        questions: whether it is a question set: questions with gold, without answers of a system.
        question_ids: of all records, where they are known before the records are read.
    """

    name: str
    records: Iterable[Record]
    file: str
    format: str
    named_by_content: bool = False
    config: Mapping[str, Any] = field(default_factory=dict)
    dataset: str = ""
    dataset_version: str = ""
    corpus_version: str = ""
    created_at: datetime | None = None
    mapping: tuple[MappedColumn, ...] = ()
    notes: tuple[str, ...] = ()
    measured: Mapping[str, float] = field(default_factory=dict)
    means: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    documents: Sequence[Mapping[str, str]] = ()
    closing_notes: Callable[[], tuple[str, ...]] | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    questions: bool = False
    question_ids: Set[str] | None = None

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, with those that are known once the records are consumed."""
        return (*self.notes, *(self.closing_notes() if self.closing_notes is not None else ()))
