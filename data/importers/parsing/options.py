"""The user's options for the import of a file, and the schemas of tools that one of them names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragtriage.data.declarations import Declaration
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import Record
from ragtriage.data.store.question_sets import LoadedSet
from ragtriage.metrics.suites.tool_schemas import tool_schemas


@dataclass(frozen=True)
class Options:
    """Options of an import."""

    format: str = "auto"  # key of an importer, or "auto" to detect it from the content
    # column of the file -> field of the sample (see parsing.columns); "" keeps it as extra
    mapping: Mapping[str, str] = field(default_factory=dict)
    # name of the list of rows, or of the sheet, to read in a file that holds several; "*" is every sheet
    rows: str = ""
    name: str | None = None  # name of the run; with several runs in the file, a prefix of their own names
    # pipeline configuration to record on top of the file's own
    config: Mapping[str, Any] = field(default_factory=dict)
    qrels: InputFile | None = None  # relevance labels, joined by question id
    queries: InputFile | None = None  # texts of the questions, for runs that have only their ids
    corpus: InputFile | None = None  # texts of the documents, likewise
    # what is declared of imported metrics, by name
    metrics: Mapping[str, Declaration] = field(default_factory=dict)
    # whether judged questions without results count as empty lists, as for trec_eval -c
    all_topics: bool = False
    dataset: str = ""
    dataset_version: str = ""  # its version
    corpus_version: str = ""  # version of the documents
    limit: int | None = None  # number of records to read, for a preview; None for all
    questions: LoadedSet | None = None  # question set whose gold and references are joined, by question
    # schemas of the tools of the whole run, for samples that list none of their own
    tools: tuple[Mapping[str, Any], ...] = ()
    # other files of the same tool that complete this one, e.g. scores joined by trace id.
    companions: tuple[InputFile, ...] = ()


TOOLS_ACCEPTED = "a list of tools with a name and a JSON schema of the arguments, or {tools: [...]}"


def read_tools(source: InputFile) -> tuple[Mapping[str, Any], ...]:
    """Read a JSON file with the schemas of tools: a list, or an object with it as `tools`, as MCP lists them.

    Raises:
        InputError: it holds no such list, or a schema is malformed.
    """
    document = source.document()
    tools = document.get("tools") if isinstance(document, Mapping) else document
    fault = tools_fault(tools)
    if fault:
        raise source.error(fault, TOOLS_ACCEPTED)
    return tuple(tools) if isinstance(tools, list) else ()


def tools_fault(tools: object) -> str:
    """Return what is wrong with a list of tools; "" where nothing is."""
    if not isinstance(tools, list) or not all(isinstance(tool, Mapping) for tool in tools):
        return "holds no list of tools"
    try:
        tool_schemas(tools)
    except ValueError as fault:
        return str(fault).partition("; accepted")[0]
    return ""


def with_tools(records: Iterable[Record], tools: Iterable[Mapping[str, Any]]) -> Iterator[Record]:
    """Yield records with the tools of the run where they list none of their own."""
    shared = list(tools)
    for line, record in records:
        if isinstance(record, dict) and record.get("tools") is None:
            yield line, {**record, "tools": shared}
        else:
            yield line, record
