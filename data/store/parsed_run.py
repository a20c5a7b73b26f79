"""A run as an importer parsed it, not yet in a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Record = tuple[int, object]  # 1-based line or row, and its value in the native form


@dataclass(frozen=True)
class MappedColumn:
    """How a column of the source is mapped to a field, for the preview."""

    column: str  # name in the file
    field: str  # field of the sample it fills, "scores.<metric>", "tags.<key>", or "" if it is kept as extra
    example: str  # the first value, shortened
    why: str = ""  # what it was guessed from
    more: tuple[str, ...] = ()  # the values after the first, shortened, at most two
    judges: bool = False  # whether it holds verdicts or ratings, which a person may have given


@dataclass(frozen=True)
class ParsedRun:
    """A run as an importer read it."""

    name: str  # its name, from the content or from the name of the file
    records: Iterable[Record]  # (line, record) pairs in the native form; consumed once, may be a generator
    file: str  # name of the file for messages
    format: str  # key of the importer
    named_by_content: bool = False  # whether the name is in the file (then it is part of the run's identity)
    config: Mapping[str, Any] = field(default_factory=dict)  # pipeline configuration from the file
    dataset: str = ""  # name of the question set, or ""
    dataset_version: str = ""
    corpus_version: str = ""  # version of the documents, or ""
    created_at: datetime | None = None  # time of the run, if the file has it; naive UTC
    mapping: tuple[MappedColumn, ...] = ()  # how the columns were mapped to fields, where that was guessed
    notes: tuple[str, ...] = ()  # notes for the reader: assumptions, rows left out and why
    # measurements of producing the run, e.g. seconds by step; not part of its identity.
    measured: Mapping[str, float] = field(default_factory=dict)
    # metric -> mean, for an aggregate-only run, which has no records
    means: Mapping[str, float] = field(default_factory=dict)
    # what the file declares of its metrics, by name: {direction, range, title}
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # of a question set, the corpus in its file: {id, text, title}; complete once the records are consumed
    documents: Sequence[Mapping[str, str]] = ()
    # returns further notes, once the records are consumed
    closing_notes: Callable[[], tuple[str, ...]] | None = None
    # schemas of the tools that the system could call in all samples that list none of their own
    tools: Sequence[Mapping[str, Any]] = ()
    questions: bool = False  # whether it is a question set: questions with gold, without answers of a system
    question_ids: Set[str] | None = None  # of all records, where they are known before the records are read

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, with those that are known once the records are consumed."""
        return (*self.notes, *(self.closing_notes() if self.closing_notes is not None else ()))
