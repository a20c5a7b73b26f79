"""The importers by format: detect the format of a file from its content, and read its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from data.errors import InputError, ValidationErrors
from data.importers.formats import inspectorraget, native, pipelines, ragas, ragchecker, table, trec, versions
from data.importers.formats.qrels import Qrels, read_qrels, with_qrels
from data.importers.parsing.field_names import guessed_fields
from data.importers.parsing.input_file import InputFile
from data.importers.parsing.json_rows import SeveralListsError
from data.importers.parsing.limits import LIFT
from data.importers.parsing.options import Options
from data.importers.parsing.rows import Table, container, open_table
from data.store.parsed_run import ParsedRun, Record

__all__ = ["FORMATS", "Importer", "detect", "read_runs"]

SHOWN_QUESTIONS = 5
Read = Callable[[InputFile, Options, ValidationErrors], list[ParsedRun]]


@dataclass(frozen=True)
class Importer:
    """One format.

    Attributes:
        title: name on screen.
        accepts: content of such a file, in a line.
        read: reads a file into parsed runs; errors of single records are added as the records are consumed.
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
    "versions": Importer("Summary scores by version", versions.ACCEPTED, versions.read),
    "table": Importer(
        "Table", "CSV, TSV, JSONL, JSON or Parquet with a column that reads as the question", table.read, True
    ),
}
DOCUMENT_FORMATS: Mapping[str, Callable[[object], bool]] = {
    "inspectorraget": inspectorraget.is_inspectorraget,
    "pipeline_results": pipelines.is_pipelines,
    "scores_json": trec.is_score_json,
}


def detect(source: InputFile, rows: str = "") -> str:
    """Return the format of a file, detected from its content: a key of FORMATS.

    Args:
        source: the file.
        rows: name of the list of rows to look at in a JSON document that holds several.

    Raises:
        InputError: the file cannot be opened, or nothing in it reads as a question.
    """
    if trec.is_trec(_first_lines(source)):
        return "trec"
    kind = container(source)
    if kind == "json" and not rows:
        document = source.document()
        for name, fits in DOCUMENT_FORMATS.items():
            if fits(document):
                return name
        if isinstance(document, dict) and isinstance(document.get("samples"), list):
            return "native"
    errors = ValidationErrors(source.name)
    rows_table = open_table(source, errors, rows=rows)
    objects = [row for _, row in rows_table.head if isinstance(row, dict)]
    if not objects and errors.total:
        errors.raise_if_any()
    if objects and ragchecker.is_ragchecker(objects[0]):
        return "ragchecker"
    return _by_columns(rows_table, source)


def _first_lines(source: InputFile) -> list[str]:
    """Return up to twenty whole lines from the beginning of a file."""
    head = source.head(1 << 16)
    try:
        lines = head.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        lines = head[: head.rfind(b"\n") + 1].decode("utf-8", "replace").split("\n")
    return lines[:20] if len(lines) > 20 else lines


def _by_columns(rows_table: Table, source: InputFile) -> str:
    if versions.is_versions(rows_table.columns):
        return "versions"
    if native.is_native(rows_table.columns):
        return "native"
    if ragas.is_ragas(rows_table.columns):
        return "ragas"
    if "question" in guessed_fields(rows_table.columns):
        return "table"
    shown = ", ".join(repr(name[:40]) for name in rows_table.columns[:12]) or "no names"
    formats = "; ".join(f"{name}: {importer.accepts}" for name, importer in FORMATS.items())
    raise source.error(
        f"is read as {rows_table.kind} with columns {shown}; none reads as the question", formats
    )


def read_runs(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the runs of a file.

    Records may be generators: errors of single records are added to `errors` as they are consumed, so call
    `errors.raise_if_any()` after the last record.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    name = _format_of(source, options)
    if name not in FORMATS:
        raise source.error(f"asked to be read as {name!r}", f"auto, {', '.join(FORMATS)}")
    if options.mapping and not FORMATS[name].mapped:
        mapped = [key for key, importer in FORMATS.items() if importer.mapped]
        raise source.error(f"is {name}, which takes no mapping of columns", ", ".join(mapped))
    runs = FORMATS[name].read(source, options, errors)
    if not runs:
        errors.raise_if_any()
        raise source.error("holds no records", FORMATS[name].accepts)
    qrels = None if options.qrels is None else read_qrels(options.qrels)
    for file in filter(None, (source, options.qrels)):
        file.remark_repeated_keys(errors)
    several = len(runs) > 1
    runs = [_with_options(run, options, qrels, several, errors) for run in _distinctly_named(runs)]
    return [replace(run, records=_limited(run.records, source)) for run in runs]


def _limited(records: Iterable[Record], source: InputFile) -> Iterator[Record]:
    limit = source.limits.samples
    for count, record in enumerate(records):
        if count == limit:
            raise source.error(f"holds more than {limit:,} samples", f"at most {limit:,} a run{LIFT}")
        yield record


def _format_of(source: InputFile, options: Options) -> str:
    if options.format != "auto":
        return options.format
    if not options.mapping:
        return detect(source, options.rows)
    try:
        detected = detect(source, options.rows)
    except SeveralListsError:
        raise
    except InputError:
        return "table"  # the mapping may name the question that was not found
    return "table" if detected == "native" else detected


def _distinctly_named(runs: list[ParsedRun]) -> list[ParsedRun]:
    """Return the runs with a number added to names that occur again."""
    taken: set[str] = set()
    renamed = []
    for run in runs:
        name = next(
            candidate
            for n in range(1, len(runs) + 1)
            if (candidate := run.name if n == 1 else f"{run.name} ({n})") not in taken
        )
        taken.add(name)
        renamed.append(replace(run, name=name))
    return renamed


def _with_options(
    run: ParsedRun, options: Options, qrels: Qrels | None, several: bool, errors: ValidationErrors
) -> ParsedRun:
    if qrels is not None:
        run = _labelled(run, options, qrels)
    name, named_by_content = run.name, run.named_by_content
    if options.name:
        name = f"{options.name} {run.name}" if several else options.name
        named_by_content = True  # a name the user chose tells two runs of the same content apart
    return replace(
        run,
        name=name,
        named_by_content=named_by_content,
        records=() if run.means else _not_empty(run.records, errors),
        config={**run.config, **options.config},
        dataset=options.dataset or run.dataset,
        dataset_version=options.dataset_version or run.dataset_version,
        corpus_version=options.corpus_version or run.corpus_version,
    )


def _labelled(run: ParsedRun, options: Options, qrels: Qrels) -> ParsedRun:
    """Return a run with relevance labels; judged questions without results are told, or added as empty lists.

    Which those are is known only where the records are held and were read whole.
    """
    records, notes = run.records, run.notes
    if isinstance(records, list) and options.limit is None:
        present = {str(record["question_id"]) for _, record in records}
        lacking = [question for question in qrels if question not in present]
        if lacking:
            notes = (*notes, _unanswered(lacking, len(qrels), options.all_topics))
        if lacking and options.all_topics:
            texts = trec.read_queries(options.queries) if options.queries else {}
            records = records + [
                (1, {"question_id": question, "question": texts.get(question, question), "retrieved": []})
                for question in lacking
            ]
    return replace(run, records=with_qrels(records, qrels), notes=notes)


def _unanswered(lacking: Sequence[str], judged: int, counted: bool) -> str:
    shown = ", ".join(lacking[:SHOWN_QUESTIONS]) + (" ..." if len(lacking) > SHOWN_QUESTIONS else "")
    treated = (
        "counted as empty lists, as trec_eval -c does"
        if counted
        else "left out of the means, as trec_eval does; --all-topics counts them as empty lists"
    )
    return f"judged questions without results: {len(lacking):,} of {judged:,} ({shown}); {treated}"


def _not_empty(records: Iterable[Record], errors: ValidationErrors) -> Iterator[Record]:
    count = 0
    for record in records:
        count += 1
        yield record
    if not count and not errors.total:
        errors.add(None, "", "holds no records", "at least one record with a question")
