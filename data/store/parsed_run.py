"""What an importer hands over: the facts of one run and its records, not yet in a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

__all__ = ["MappedColumn", "ParsedRun", "Record"]

Record = tuple[int, object]  # 1-based line or row, and what stands there in the native form


@dataclass(frozen=True)
class MappedColumn:
    """How one column of the source was understood, for the preview.

    Attributes:
        column: name in the file.
        field: field of the sample it fills, "scores.<metric>", "tags.<key>", or "" where it is kept as extra.
        example: the first value, shortened.
    """

    column: str
    field: str
    example: str


@dataclass(frozen=True)
class ParsedRun:
    """One run as an importer read it.

    Attributes:
        name: what to call it; a name the content gives, or one made from the file's name.
        records: (line, record) pairs in the native form; read once, may be a generator.
        file: name of the file for messages.
        format: key of the importer.
        named_by_content: whether the name came from inside the file (then it is part of the run's identity).
        config: pipeline configuration known from the file.
        dataset: name of the question set, or "".
        dataset_version: its version, or "".
        corpus_version: version of the documents, or "".
        created_at: when the run was made, if the file says so; naive UTC.
        mapping: how the columns were understood, where there was something to guess.
        notes: what the reader should know: assumptions made, rows left alone and why.
        measured: what making the run took, e.g. seconds by step; no part of its identity.
        means: metric -> mean, for a version that is known by its means alone; such a draft has no records.
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
