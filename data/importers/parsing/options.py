"""The user's options for the import of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragtriage.data.declarations import Declaration
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.question_sets import LoadedSet


@dataclass(frozen=True)
class Options:
    """Options of an import.

    Attributes:
        format: key of an importer, or "auto" to detect it from the content.
        mapping: column of the file -> field of the sample (see parsing.columns); "" keeps it as extra.
        rows: name of the list of rows to read in a JSON document that holds several.
        name: name of the run; with several runs in the file, a prefix of their own names.
        config: pipeline configuration to record on top of the file's own.
        qrels: relevance labels, joined by question id.
        queries: texts of the questions, for runs that have only their ids.
        corpus: texts of the documents, likewise.
        metrics: what is declared of imported metrics, by name.
        all_topics: whether judged questions without results count as empty lists, as for trec_eval -c.
        dataset: name of the question set.
        dataset_version: its version.
        corpus_version: version of the documents.
        limit: number of records to read, for a preview; None for all.
        questions: question set whose gold and references are joined, by question.
        tools: schemas of the tools of the whole run, for samples that list none of their own.
        companions: other files of the same tool that complete this one, e.g. scores joined by trace id.
    """

    format: str = "auto"
    mapping: Mapping[str, str] = field(default_factory=dict)
    rows: str = ""
    name: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    qrels: InputFile | None = None
    queries: InputFile | None = None
    corpus: InputFile | None = None
    metrics: Mapping[str, Declaration] = field(default_factory=dict)
    all_topics: bool = False
    dataset: str = ""
    dataset_version: str = ""
    corpus_version: str = ""
    limit: int | None = None
    questions: LoadedSet | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    companions: tuple[InputFile, ...] = ()
