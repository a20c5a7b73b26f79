"""Which format a file is in, told by its content, and the one door to all importers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from data.errors import InputError, ValidationErrors
from data.importers.formats import inspectorraget, native, pipelines, ragas, ragchecker, table, trec, versions
from data.importers.formats.qrels import Qrels, read_qrels, with_qrels
from data.importers.parsing.columns import guessed_fields
from data.importers.parsing.options import Options
from data.importers.parsing.rows import Table, container, open_table
from data.importers.parsing.source import Source
from data.store.parsed_run import ParsedRun, Record

__all__ = ["FORMATS", "Importer", "detect", "read_runs"]

Read = Callable[[Source, Options, ValidationErrors], list[ParsedRun]]


@dataclass(frozen=True)
class Importer:
    """One format.

    Attributes:
        title: name for people.
        accepts: what a file of it holds, in a line.
        read: reads a file into drafts; record problems go to the given Problems as records are taken.
        mapped: whether a mapping of columns applies.
    """

    title: str
    accepts: str
    read: Read
    mapped: bool = False


FORMATS: Mapping[str, Importer] = {
    "native": Importer(
        "ragtriage", "JSONL, JSON, CSV or Parquet with `question` and other fields of a sample", native.read
    ),
    "ragas": Importer(
        "Ragas", "a table with user_input, response, retrieved_contexts, or the 0.1 names", ragas.read, True
    ),
    "ragchecker": Importer("RAGChecker", "results with query, response, gt_answer", ragchecker.read),
    "inspectorraget": Importer(
        "InspectorRAGet", "JSON with models, metrics, tasks and results or evaluations", inspectorraget.read
    ),
    "pipeline_results": Importer(
        "Pipeline results", "JSON with pipeline_results: {pipeline: [rows]}", pipelines.read, True
    ),
    "trec": Importer("TREC run", trec.ACCEPTED, trec.read),
    "scores_json": Importer("Run as JSON, as BEIR and ranx write it", trec.JSON_ACCEPTED, trec.read_json),
    "versions": Importer("Versions by their means", versions.ACCEPTED, versions.read),
    "table": Importer(
        "Table", "CSV, TSV, JSONL, JSON or Parquet with a column that reads as the question", table.read, True
    ),
}
DOCUMENT_FORMATS: Mapping[str, Callable[[object], bool]] = {
    "inspectorraget": inspectorraget.is_inspectorraget,
    "pipeline_results": pipelines.is_pipelines,
    "scores_json": trec.is_score_json,
}


def detect(source: Source) -> str:
    """Tell the format of a file by its content: a key of FORMATS.

    Raises:
        InputError: the file cannot be opened, or nothing in it reads as a question.
    """
    if trec.is_trec(_first_lines(source)):
        return "trec"
    kind = container(source)
    if kind == "json":
        document = source.document()
        for name, fits in DOCUMENT_FORMATS.items():
            if fits(document):
                return name
        if isinstance(document, dict) and isinstance(document.get("samples"), list):
            return "native"
    problems = ValidationErrors(source.name)
    found = open_table(source, problems)
    rows = [row for _, row in found.head if isinstance(row, dict)]
    if not rows and problems.total:
        problems.raise_if_any()
    if rows and ragchecker.is_ragchecker(rows[0]):
        return "ragchecker"
    return _by_columns(found, source)


def _first_lines(source: Source) -> list[str]:
    """Give up to twenty lines of the beginning, all whole; none where it is no text."""
    head = source.head(1 << 16)
    try:
        lines = head.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        lines = head[: head.rfind(b"\n") + 1].decode("utf-8", "replace").split("\n")
    return lines[:20] if len(lines) > 20 else lines


def _by_columns(found: Table, source: Source) -> str:
    if versions.is_versions(found.columns):
        return "versions"
    if native.is_native(found.columns):
        return "native"
    if ragas.is_ragas(found.columns):
        return "ragas"
    if "question" in guessed_fields(found.columns):
        return "table"
    shown = ", ".join(repr(name[:40]) for name in found.columns[:12]) or "no names"
    formats = "; ".join(f"{name}: {importer.accepts}" for name, importer in FORMATS.items())
    raise source.refuse(f"is read as {found.kind} with columns {shown}; none reads as the question", formats)


def read_runs(source: Source, options: Options, problems: ValidationErrors) -> list[ParsedRun]:
    """Read the runs of a file.

    Records may be generators: problems of single records are gathered in `problems` while they are taken,
    so that `problems.raise_if_any()` belongs after the last record.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    name = _format_of(source, options)
    if name not in FORMATS:
        raise source.refuse(f"asked to be read as {name!r}", f"auto, {', '.join(FORMATS)}")
    if options.mapping and not FORMATS[name].mapped:
        mapped = [key for key, importer in FORMATS.items() if importer.mapped]
        raise source.refuse(f"is {name}, which takes no mapping of columns", ", ".join(mapped))
    drafts = FORMATS[name].read(source, options, problems)
    if not drafts:
        problems.raise_if_any()
        raise source.refuse("holds no records", FORMATS[name].accepts)
    qrels = None if options.qrels is None else read_qrels(options.qrels)
    return [
        _with_options(draft, options, qrels, len(drafts) > 1, problems) for draft in _distinctly_named(drafts)
    ]


def _format_of(source: Source, options: Options) -> str:
    if options.format != "auto":
        return options.format
    if not options.mapping:
        return detect(source)
    try:
        found = detect(source)
    except InputError:
        return "table"  # the mapping may name the question that was not found
    return "table" if found == "native" else found


def _distinctly_named(drafts: list[ParsedRun]) -> list[ParsedRun]:
    """The drafts with names of which no two are the same."""
    taken: set[str] = set()
    named = []
    for draft in drafts:
        name = next(
            candidate
            for n in range(1, len(drafts) + 1)
            if (candidate := draft.name if n == 1 else f"{draft.name} ({n})") not in taken
        )
        taken.add(name)
        named.append(replace(draft, name=name))
    return named


def _with_options(
    draft: ParsedRun, options: Options, qrels: Qrels | None, several: bool, problems: ValidationErrors
) -> ParsedRun:
    records = draft.records if qrels is None else with_qrels(draft.records, qrels)
    notes = draft.notes if qrels is None else (*draft.notes, *_unanswered(draft, qrels))
    name, named_by_content = draft.name, draft.named_by_content
    if options.name:
        name = f"{options.name} {draft.name}" if several else options.name
        named_by_content = True  # a name the user chose tells two runs of the same content apart
    return replace(
        draft,
        name=name,
        named_by_content=named_by_content,
        records=() if draft.means else _not_empty(records, problems),
        notes=notes,
        config={**draft.config, **options.config},
        dataset=options.dataset or draft.dataset,
        dataset_version=options.dataset_version or draft.dataset_version,
        corpus_version=options.corpus_version or draft.corpus_version,
    )


def _unanswered(draft: ParsedRun, qrels: Qrels) -> list[str]:
    """Say which judged questions a ranked run leaves out, where that can be told without reading twice."""
    if not isinstance(draft.records, list):
        return []
    asked = {str(record["question_id"]) for _, record in draft.records}
    left = len(qrels.keys() - asked)
    if not left:
        return []
    return [
        f"judged questions that the run does not have: {left:,}; they are left out of the means, as "
        f"trec_eval "
        "does without -c"
    ]


def _not_empty(records: Iterable[Record], problems: ValidationErrors) -> Iterator[Record]:
    count = 0
    for record in records:
        count += 1
        yield record
    if not count and not problems.total:
        problems.add(None, "", "holds no records", "at least one record with a question")
