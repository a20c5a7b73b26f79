"""Any plain table of a run or of questions; parsing/columns.py maps its columns by names and values."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ragtriage.data.errors import ValidationError, ValidationErrors
from ragtriage.data.importers.formats.beir import read_qrels
from ragtriage.data.importers.formats.own_tables import Reshaped, reshaped
from ragtriage.data.importers.formats.table_records import Gold, records_of
from ragtriage.data.importers.importer import Options, Peek, Read, Reader, Row, ToolRows, each, question_set
from ragtriage.data.importers.parsing.cells import CellError, is_blank, read_cell
from ragtriage.data.importers.parsing.columns import OF_SAMPLING, RATE, Plan, plan_columns
from ragtriage.data.importers.parsing.headings import mapped
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import NothingMeasuredError, guessed_fields, metric_name
from ragtriage.data.importers.parsing.rows import Spool, Table, object_rows, open_table
from ragtriage.data.importers.parsing.shapes import gold_passages
from ragtriage.data.store.parsed_run import ParsedRun, Record, normalise
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
    """Read a table; a column with the pipeline or model splits it into one run each.

    Without an answer, a document or a score it is a question set where it has gold or reference answers, or
    is asked to be one.
    """
    table = open_table(source, errors, options.limit, rows=options.rows)
    if any(marks <= set(table.columns) for marks in SPAN_COLUMNS):
        what = "holds the spans of traces, several to a question"
        raise source.error(what, "a table with one row per sample")
    if any(tool.fits(set(table.columns)) for tool in TOOLS):
        return _runs(brought_to_samples(table), "table", source, options, errors)
    shape = reshaped(table, options.mapping)
    plan = _fitting_plan(shape, source, options)
    if _has_anything_of_a_run(shape.table, plan):
        return runs_of_table(shape.table, plan, ParsedRun(source.stem, (), source.name, "table"), errors)
    has_gold = not OF_QUESTIONS.isdisjoint(plan.fields.values())
    if (
        options.as_questions and not has_gold
    ):  # what is no field of a question is kept beside it, such as a list of answers
        return runs_of_table(shape.table, plan, ParsedRun(source.stem, (), source.name, "table"), errors)
    if not has_gold and options.format != QUESTIONS:
        what = "holds nothing that can be measured: no column with an answer, a document or a score"
        accepted = f"{mapped('answer', 'COLUMN')}; or `--format {QUESTIONS}` for questions alone"
        fault = ValidationError(source.name, None, "", what, accepted)
        raise NothingMeasuredError(fault, shape.table.columns)
    return _question_set(source, shape.table, plan, errors)


def _has_anything_of_a_run(table: Table, plan: Plan) -> bool:
    """Return whether a table has what is measured in a run: answers, documents, scores, labels or checks."""
    targets = set(plan.fields.values())
    if targets & OF_RUNS or {target.partition(".")[0] for target in targets} & {"scores", "human", "checks"}:
        return True
    question = plan.column("question")
    cells = [row.get(question) for _, row in table.head if isinstance(row, dict)]
    return any(isinstance(cell, dict | list) for cell in cells)


MOST_TRIED = 20  # rows on which a guess is tried
FEWEST_TRIED = 5


def _fitting_plan(shape: Reshaped, source: InputFile, options: Options) -> Plan:
    """Return the plan of a table; a guess that fails on most of the first rows gives way to the next best."""
    gold = _gold_ids(options)
    dropped: dict[str, str] = {}
    tried: dict[str, str] = {}
    while True:
        plan = plan_columns(
            *(shape.table, {**dropped, **options.mapping}, source.name),
            gold_ids=gold,
            declared=options.metrics,
            proposed=shape.proposed,
        )
        settled = {*dropped, *options.mapping, plan.column("question")}
        misfit = next((name for name in _misfits(shape.table, plan) if name not in settled), None)
        if misfit is None:
            notes = [f"column {name!r} does not fit {field}: kept as extra" for name, field in tried.items()]
            return replace(plan, notes=(*notes, *plan.notes))
        tried[misfit] = plan.fields[misfit]
        dropped[misfit] = ""


def _gold_ids(options: Options) -> set[str]:
    """Return the ids of the relevant documents in the file of labels; none where there is no such file."""
    labels = read_qrels(options.qrels).values() if options.qrels is not None else ()
    return {str(document["id"]) for documents in labels for document in documents}


def _misfits(table: Table, plan: Plan) -> list[str]:
    """Return the columns whose cells are errors in most of the first rows."""
    rows = [(line, row) for line, row in table.head[:MOST_TRIED] if isinstance(row, dict)]
    faults: Counter[str] = Counter()
    for line, row in rows if len(rows) >= FEWEST_TRIED else ():
        errors = ValidationErrors("table")
        for _, record in records_of([(line, dict(row))], plan, errors, Gold(False, ())):
            normalise(record, line, errors)
        faults.update({error.field.partition(" (as ")[0].partition("[")[0] for error in errors.first})
    columns = {field: name for name, field in plan.fields.items()}
    named = ((columns.get(name, name), n) for name, n in faults.items() if 2 * n > len(rows))
    # a rate that is out of range is an error, or the plain means would be shown
    return [name for name, _ in named if plan.fields.get(name, RATE) not in OF_SAMPLING]


def reader_of(tool: ToolRows, key: str) -> Read:
    """Return the `read` of an importer for the rows of a tool."""

    def read_rows(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
        table = tool.table(open_table(source, errors, options.limit, rows=options.rows))
        return _runs(table, key, source, options, errors)

    return read_rows


def table_reader(
    key: str, rows: ToolRows, read: Read | None = None, detect: Callable[[Peek], bool] | None = None
) -> Reader:
    """Return the reader of a tool's rows, known by their names; `read` is that of a tool that reads more."""
    detect = detect or (lambda peek: rows.fits(set(peek.columns)))
    return Reader(read or reader_of(rows, key), detect, rows)


def _runs(
    table: Table, key: str, source: InputFile, options: Options, errors: ValidationErrors
) -> list[ParsedRun]:
    gold = _gold_ids(options)
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
OF_RUNS = {
    *("answer", "retrieved", "retrieved_ids", "candidates", "scores", "human", "checks", "refused"),
    *("claims", "citations", "used", "relevant_chunks"),
}


def _question_set(source: InputFile, rows: Table, plan: Plan, errors: ValidationErrors) -> list[ParsedRun]:
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


READERS = {
    "table": Reader(read, lambda peek: "question" in guessed_fields(peek.columns)),
    QUESTIONS: Reader(
        read,
        lambda peek: (
            "question" in (fields := guessed_fields(peek.columns))
            and bool(fields & OF_QUESTIONS)
            and not fields & OF_RUNS
            and not any(metric_name(name)[1] for name in peek.columns)
        ),
    ),
}
