"""What the user said about a file beside the file itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from data.importers.parsing.source import Source

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """How to read a file.

    Attributes:
        format: key of an importer, or "auto" to tell it by the content.
        mapping: column of the file -> field of the sample (see parsing.columns); "" keeps it as extra.
        name: what to call the run; with several runs in the file it stands before each one's own name.
        config: pipeline configuration to record beside what the file says.
        qrels: relevance labels for the questions of the file, joined by question id.
        queries: texts of the questions, for runs that name them by id.
        corpus: texts of the documents, likewise.
        dataset: name of the question set.
        dataset_version: its version.
        corpus_version: version of the documents.
        limit: read only so many records, for a preview; None for all.
    """

    format: str = "auto"
    mapping: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    qrels: Source | None = None
    queries: Source | None = None
    corpus: Source | None = None
    dataset: str = ""
    dataset_version: str = ""
    corpus_version: str = ""
    limit: int | None = None
