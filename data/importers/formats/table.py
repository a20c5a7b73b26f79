"""Any plain table of a run or of questions; parsing/columns.py maps its columns by names and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.beir import read_qrels
from ragtriage.data.importers.formats.table_records import Gold, records_of
from ragtriage.data.importers.importer import Importer, Options, Read, Row, ToolRows, each, question_set
from ragtriage.data.importers.parsing.cells import (
    CellError,
    is_blank,
    read_cell,
)
from ragtriage.data.importers.parsing.columns import Plan, plan_columns
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import guessed_fields, metric_name
from ragtriage.data.importers.parsing.rows import Spool, Table, object_rows, open_table
from ragtriage.data.importers.parsing.shapes import gold_passages
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.question_sets import OF_A_RUN
from ragtriage.data.store.sample_schema import FIELDS
from ragtriage.data.store.workspace import SCALES


def brought_to_samples(table: Table, tools: Iterable[ToolRows] = ()) -> Table:
    """Return a table with one row per sample and columns that say what they hold; others as they are."""
    tool = next((tool for tool in (*tools, *TOOLS) if tool.fits(set(table.columns))), None)
    return table if tool is None else tool.table(table)


GOLDEN_NAMES = {
    "name": "question_id",
    "actual_output": "answer",
    "expected_output": "reference_answer",
    "context": "reference_contexts",
    "retrieval_context": "retrieved",
}


SPAN_COLUMNS: tuple[set[str], ...] = (  # of spans, of which several belong to one question
    {"traceId", "isRootObservation"},
    {"traceId", "parentObservationId"},
    {"root_span_id", "span_id"},
    {"trace_id", "span_id"},
)
TOOLS = (
    ToolRows(
        lambda names: names >= {"input", "expected_output", "context", "source_file"},
        each(lambda row: {GOLDEN_NAMES.get(name, name): value for name, value in row.items()}),
        "read as goldens of DeepEval: `context` is the gold, nothing was retrieved",
    ),
)


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a table; a column with the pipeline or model splits it into one run each."""
    table = open_table(source, errors, options.limit, rows=options.rows)
    if any(marks <= set(table.columns) for marks in SPAN_COLUMNS):
        what = "holds the spans of traces, several to a question"
        raise source.error(what, "a table with one row per sample")
    return _runs(brought_to_samples(table), "table", source, options, errors)


def reader_of(tool: ToolRows, key: str) -> Read:
    """Return the `read` of an importer for the rows of a tool."""

    def read_rows(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
        table = tool.table(open_table(source, errors, options.limit, rows=options.rows))
        return _runs(table, key, source, options, errors)

    return read_rows


def table_importer(
    key: str, title: str, accepts: str, rows: ToolRows, read: Read | None = None, **facts: Any
) -> Importer:
    """Return the importer of a tool's rows, by their names; `read` is that of a tool that reads more."""
    read = read or reader_of(rows, key)
    facts = {"detect": lambda peek: rows.fits(set(peek.columns)), "rows": rows, **facts}
    return Importer(key=key, title=title, accepts=accepts, read=read, mapped=True, **facts)


def _runs(
    table: Table, key: str, source: InputFile, options: Options, errors: ValidationErrors
) -> list[ParsedRun]:
    labels = read_qrels(options.qrels).values() if options.qrels is not None else ()
    gold = {str(document["id"]) for documents in labels for document in documents}
    plan = plan_columns(table, options.mapping, source.name, gold_ids=gold, declared=options.metrics)
    return runs_of_table(table, plan, ParsedRun(source.stem, (), source.name, key), errors)


def runs_of_table(table: Table, plan: Plan, base: ParsedRun, errors: ValidationErrors) -> list[ParsedRun]:
    """Return the runs of a table.

    Without a run column the rows are streamed into one run; with one they are kept on disk, grouped by run.
    """
    gold = Gold.of(table, plan)
    notes = (*base.notes, *table.notes, *plan.notes, *gold.notes)
    base = replace(base, mapping=plan.shown, notes=notes, metrics={**(plan.metrics or {}), **base.metrics})
    if plan.siblings is not None and plan.siblings.scales:
        base = replace(base, config={SCALES: plan.siblings.scales, **base.config})

    rows = object_rows(table.rows(), errors, "an object with one value per column")
    column = plan.column("run")
    if column is None:
        return [replace(base, records=records_of(rows, plan, errors, gold))]
    runs = Spool()
    for line, row in rows:
        run_name = row.get(column)
        runs.add(base.name if is_blank(run_name, blank_text=True) else str(run_name), line, row)
    base = replace(base, named_by_content=True)
    return [
        replace(base, name=name, records=records_of(runs.rows(name), plan, errors, gold))
        for name in runs.keys
    ]


QUESTIONS = "table_questions"
OF_QUESTIONS = {"reference_answer", "relevant", "relevant_texts", "relevant_spans"}
OF_RUNS = (OF_A_RUN | {"retrieved_ids", "retrieved_scores", "latency_s"}) - {"prompt", "repeat", "row"}


def _read_questions(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a question set; where a column turns out to hold scores or what is a run's, the file is a run."""
    rows = open_table(source, errors, options.limit, rows=options.rows)
    plan = plan_columns(rows, options.mapping, source.name)
    targets = set(plan.fields.values())
    scored = any(target.startswith("scores.") for target in targets)
    if scored or targets & OF_RUNS or not targets & OF_QUESTIONS:
        return read(source, options, errors)

    def questions() -> Iterator[Record]:
        for line, row in object_rows(rows.rows(), errors):
            if (record := _question(row, plan, line, errors)) is not None:
                yield line, record

    return question_set(source, QUESTIONS, questions(), mapping=plan.shown, notes=(*rows.notes, *plan.notes))


def _question(row: Row, plan: Plan, line: int, errors: ValidationErrors) -> Row | None:
    record: dict[str, Any] = {}
    before = errors.total
    for column, value in row.items():
        field = plan.fields.get(column, "")
        if is_blank(value, blank_text=plan.blank_text):
            continue
        if field.startswith("tags."):
            record.setdefault("tags", {})[field.removeprefix("tags.")] = value
        elif field in FIELDS or field == "relevant_texts":
            try:
                record[field] = read_cell(field, value)
            except CellError as fault:
                errors.add(line, column, fault.what, fault.accepted)
        else:
            record[f"{column} (column)" if column in FIELDS else column] = value
    kind = record.get("query_type") or record.get("tags", {}).get("type")
    if "answerable" not in record and kind == "unanswerable":
        record["answerable"] = "no"
    passages = gold_passages(record.pop("relevant_texts", None))
    names = record.get("relevant")
    if passages and isinstance(names, list) and len(names) == len(passages):
        pairs = zip(names, passages, strict=True)
        record["relevant"] = [{"id": name, **passage} for name, passage in pairs]
    elif passages and names is None:
        record["relevant"] = passages
    return record if errors.total == before else None


IMPORTERS = (
    Importer(
        "table",
        "Table",
        "CSV, TSV, JSONL, JSON, Parquet or Excel (.xlsx) with a column that reads as the question",
        lambda peek: "question" in guessed_fields(peek.columns),
        read,
        mapped=True,
    ),
    Importer(
        QUESTIONS,
        "Table of questions",
        "a column that reads as the question and one with its reference answer or gold, and no answers",
        lambda peek: (
            "question" in (fields := guessed_fields(peek.columns))
            and bool(fields & OF_QUESTIONS)
            and not fields & OF_RUNS
            and not any(metric_name(name)[1] for name in peek.columns)
        ),
        _read_questions,
        mapped=True,
        holds="questions",
    ),
)
