"""Detect the format of a file from its content, and read its runs."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain, islice

from ragtriage.data.errors import InputError, ValidationError, ValidationErrors
from ragtriage.data.importers.formats import trec
from ragtriage.data.importers.formats.beir import Qrels, read_qrels, with_qrels
from ragtriage.data.importers.formats.own_tables import reshaped
from ragtriage.data.importers.importer import Importer, Options, Peek, recognises, refusing, with_tools
from ragtriage.data.importers.parsing.containers import ALL_SHEETS, check_readable, is_workbook, sheets_of
from ragtriage.data.importers.parsing.documents_in_json import (
    SeveralListsError,
    beginning,
    chosen_list,
    lists_with_question,
    outline,
)
from ragtriage.data.importers.parsing.input_file import LIFT, InputFile
from ragtriage.data.importers.parsing.names import MAP_QUESTION, NoQuestionError
from ragtriage.data.importers.parsing.rows import Table, open_table
from ragtriage.data.importers.parsing.shapes import storable
from ragtriage.data.importers.question_join import QuestionJoin
from ragtriage.data.importers.registry import GENERAL, candidates, importer_of, importers, keys_of
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.question_sets import LoadedSet
from ragtriage.data.store.workspace import SCALES

SHOWN_QUESTIONS = 5
COUNTED = "counted as empty lists, as trec_eval -c does"
NOT_COUNTED = "left out of the means, as trec_eval does; --all-topics counts them as empty lists"
OF_ROWS = (
    *("ragchecker_pairs", "ragchecker", "versions", "native_questions", "native", "ragas"),
    *("table_questions", "table"),
)
KINDS_OF_FILES = ("csv", "tsv", "json", "jsonl", "markdown", "parquet", "xlsx")
HELP = "a file of a tool that `ragtriage import --help-formats` lists, or a table with a question in each row"


def detect(source: InputFile, rows: str = "") -> str:
    """Return the format of a file, detected from its content: a key of `registry.importers`.

    Raises:
        InputError: the file cannot be opened, or nothing in it reads as a question.
    """
    peek = Peek(source)
    kind = peek.kind
    for importer in candidates(peek) if not rows else ():
        if recognises(importer, peek):
            return importer.key
    if kind == "json" and peek.document is None and not rows:
        _refuse_damaged(source)
    if kind == "folder":
        raise source.error("is a folder that no tool is known to write", HELP)
    if kind == "sqlite":
        check_readable(source)
        shown = ", ".join(sorted(peek.tables)[:8]) or "none"
        raise source.error(f"is an SQLite database of no known tool (tables: {shown})", HELP)
    return _by_rows(source, rows)


def _refuse_damaged(source: InputFile) -> None:
    """Raise InputError for a JSON document that begins as that of a tool, and is not JSON as a whole."""
    try:
        outline(source)
    except InputError as fault:
        if isinstance(fault.__cause__, RecursionError):  # whole, but nested too deeply
            raise
    peek = _PeekOfBeginning(source)
    general = keys_of(GENERAL)
    for importer in candidates(peek):
        if importer.key not in general and recognises(importer, peek):
            what = f"begins as {importer.title}, but is not JSON further down: it is cut short or damaged"
            raise source.error(what, "the whole file")


class _PeekOfBeginning(Peek):
    """A look at what can be read of a damaged document."""

    kind = "json"

    def __init__(self, source: InputFile) -> None:
        super().__init__(source)
        self.document = beginning(source)


def _by_rows(source: InputFile, rows: str) -> str:
    """Return the format of rows that lie deeper in a JSON document, or say why the file is not read."""
    errors = ValidationErrors(source.name)
    table = open_table(source, errors, rows=rows)
    if errors.total and not any(isinstance(row, dict) for _, row in table.head):
        errors.raise_if_any()
    peek = _PeekOfRows(source, table)
    for importer in candidates(peek):
        of_rows = importer.rows is not None or importer.key in OF_ROWS
        if of_rows and recognises(importer, peek):
            return importer.key
    if "question" in {field for field, _ in reshaped(table).proposed.values()}:
        return "table"
    shown = ", ".join(repr(name[:40]) for name in table.columns[:12]) or "no names"
    what = f"is read as {table.kind} with columns {shown}; no question column found"
    accepted = f"{HELP} ({MAP_QUESTION} names its column)"
    raise NoQuestionError(ValidationError(source.name, None, "", what, accepted), table.columns)


class _PeekOfRows(Peek):
    """A look at the rows of a table that was opened already."""

    def __init__(self, source: InputFile, table: Table) -> None:
        super().__init__(source)
        self.kind = table.kind
        self.document = None
        self.rows = tuple(row for _, row in table.head if isinstance(row, dict))
        self.columns = frozenset(table.columns)


def read_runs(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the runs of a file.

    Records may be generators: errors of single records are added to `errors` as they are consumed, so call
    `errors.raise_if_any()` after the last record.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    if options.rows == ALL_SHEETS and is_workbook(source):
        return _runs_of_sheets(source, options, errors)
    importer = _importer_for(source, options)
    with refusing(source, importer):
        runs = importer.read(source, options, errors)
    if not runs:
        errors.raise_if_any()
        raise source.error("holds no records", importer.accepts)
    qrels = None if options.qrels is None else read_qrels(options.qrels)
    for file in filter(None, (source, options.qrels)):
        file.remark_repeated_keys(errors)
    several = len(runs) > 1
    runs = [_with_options(run, options, qrels, several, errors) for run in _distinctly_named(runs)]

    def guarded(records: Iterable[Record]) -> Iterator[Record]:
        limit = source.limits.samples
        with refusing(source, importer):  # most importers read their records only as they are asked for
            for count, record in enumerate(islice(records, options.limit)):
                if count == limit:
                    raise source.error(f"holds more than {limit:,} samples", f"at most {limit:,} a run{LIFT}")
                yield record

    return [replace(run, records=guarded(run.records)) for run in runs]


def _importer_for(source: InputFile, options: Options) -> Importer:
    """Return the importer that reads a file.

    Raises:
        InputError: the format is not known, or takes no mapping of columns.
    """
    name = _format_of(source, options)
    importer = importer_of(name)
    if importer is None:
        accepted = "auto, or one that `ragtriage import --help-formats` lists"
        if close := get_close_matches(name, ["auto", *importers()], n=3, cutoff=0.7):
            accepted = f"{accepted} (did you mean {' or '.join(close)}?)"
        elif kind := get_close_matches(name, KINDS_OF_FILES, n=1, cutoff=0.7):
            accepted = f"{accepted}; a {kind[0]} file is read with auto"
        raise source.error(f"the format {name!r} is not known", accepted)
    if options.mapping and not importer.mapped:
        mapped = [key for key, other in importers().items() if other.mapped]
        raise source.error(f"is {name}, which takes no mapping of columns", ", ".join(mapped))
    return importer


def _runs_of_sheets(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    sheets = {name: [row for _, row in sheet.rows] for name, sheet in sheets_of(source).items()}
    read = lists_with_question(sheets)
    runs = []
    for sheet in read:
        _, of_others = chosen_list(sheets, sheet, source)
        _, of_unread = chosen_list(
            {name: rows for name, rows in sheets.items() if name == sheet or name not in read}, sheet, source
        )
        for run in read_runs(source, replace(options, rows=sheet, name=None), errors):
            name = sheet if run.name == source.stem else f"{sheet} {run.name}"
            notes = (*of_unread, *(note for note in run.notes if note not in of_others))
            name = f"{options.name} {name}" if options.name else name
            runs.append(replace(run, name=name, notes=notes))
    if not runs:
        raise source.error("has no sheet with questions", "a sheet with a question column")
    return [replace(run, named_by_content=True) for run in _distinctly_named(runs)]


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
    return "table" if detected in ("native", "native_questions", "table_questions") else detected


def _distinctly_named(runs: list[ParsedRun]) -> list[ParsedRun]:
    """Return the runs with a number added to names that occur again."""
    renamed: dict[str, ParsedRun] = {}
    for run in runs:
        numbered = (run.name if n == 1 else f"{run.name} ({n})" for n in range(1, len(runs) + 1))
        name = next(name for name in numbered if name not in renamed)
        renamed[name] = replace(run, name=name)
    return list(renamed.values())


def _with_options(
    run: ParsedRun, options: Options, qrels: Qrels | None, several: bool, errors: ValidationErrors
) -> ParsedRun:
    if qrels is not None:
        run = _labelled(run, options, qrels)
    if options.questions is not None:
        run = _with_questions(run, options.questions, options.limit is not None)
    tools = options.tools or run.tools
    if tools:
        run = replace(run, records=with_tools(run.records, tools))

    def not_empty(records: Iterable[Record]) -> Iterator[Record]:
        is_empty = True
        for record in records:
            is_empty = False
            yield record
        if is_empty and not errors.total:
            errors.add(None, "", "holds no records", "at least one record with a question")

    name, named_by_content = storable(run.name), run.named_by_content
    if options.name:
        name = storable(f"{options.name} {run.name}" if several else options.name)
        named_by_content = True  # a name the user chose tells two runs of the same content apart
    config = {**run.config, **options.config}
    if scales := {**run.config.get(SCALES, {}), **options.config.get(SCALES, {})}:
        config[SCALES] = scales
    return replace(
        run,
        name=name,
        named_by_content=named_by_content,
        records=() if run.means else not_empty(run.records),
        config=config,
        dataset=options.dataset or run.dataset,
        dataset_version=options.dataset_version or run.dataset_version,
        corpus_version=options.corpus_version or run.corpus_version,
    )


def _with_questions(run: ParsedRun, loaded: LoadedSet, partial: bool) -> ParsedRun:
    """Return a run with the gold and references of a question set.

    Raises:
        InputError: it is a question set itself, or has no samples.
    """
    if run.questions or run.means:
        what = "is a question set itself" if run.questions else "has no samples to join questions to"
        raise InputError([ValidationError(run.file, None, "", what, "a run with samples for --questions")])
    join = QuestionJoin(loaded, run.file, partial)
    return replace(
        run,
        records=join.records(run.records),
        closing_notes=join.notes,
        dataset=run.dataset or loaded.facts.name,
        dataset_version=run.dataset_version or ("" if run.dataset else loaded.facts.dataset_version),
    )


def _labelled(run: ParsedRun, options: Options, qrels: Qrels) -> ParsedRun:
    """Return a run with relevance labels; judged questions without results are told, or added as empty lists.

    Which those are is known only where the records are held or say so, and are read whole.
    """
    records, notes, present = run.records, run.notes, run.question_ids
    if isinstance(records, list):
        present = {str(record["question_id"]) for _, record in records}
    if present is not None and options.limit is None:
        lacking = [question for question in qrels if question not in present]
        if lacking:
            more = " ..." if len(lacking) > SHOWN_QUESTIONS else ""
            shown = f"{len(lacking):,} of {len(qrels):,} ({', '.join(lacking[:SHOWN_QUESTIONS])}{more})"
            treated = COUNTED if options.all_topics else NOT_COUNTED
            notes = (*notes, f"judged questions without results: {shown}; {treated}")
        if lacking and options.all_topics:
            texts = trec.read_queries(options.queries) if options.queries else {}
            empty = (
                (1, {"question_id": question, "question": texts.get(question, question), "retrieved": []})
                for question in lacking
            )
            records = chain(records, empty)
    return replace(run, records=with_qrels(records, qrels), notes=notes)
