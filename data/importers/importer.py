"""What an importer is: how it recognises a file at first sight, what it is told, how it reads runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from ragtriage.data.declarations import Declaration
from ragtriage.data.errors import DataError, InputError, ValidationErrors, content_fault
from ragtriage.data.importers.parsing.containers import is_sqlite, is_workbook, member_names, table_names
from ragtriage.data.importers.parsing.documents_in_json import outline
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import Table, container, object_rows, open_table
from ragtriage.data.importers.parsing.shapes import items, objects
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.question_sets import LoadedSet
from ragtriage.metrics.schema.scores import MetricsError
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
    as_questions: bool = False  # whether the questions alone are wanted, also of a file without any gold
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


ROWS = 20


class Peek:
    """The first look at a file, found out once and only as far as asked for.

    A file that cannot be read as what its beginning promises looks empty here: the importer that reads it, or
    the detection itself, says what is wrong with it.
    """

    def __init__(self, source: InputFile) -> None:
        self.source = source

    @cached_property
    def kind(self) -> str:
        """Container format: "folder", "sqlite", "zip", or what `container` returns."""
        if self.source.is_folder:
            return "folder"
        if member_names(self.source) and not is_workbook(self.source):
            return "zip"
        return "sqlite" if is_sqlite(self.source) else container(self.source)

    @property
    def folder(self) -> Path | None:
        """The folder, or None where it is a file."""
        return self.source.path if self.kind == "folder" else None

    @cached_property
    def tables(self) -> frozenset[str]:
        """Names of the tables of an SQLite database."""
        return table_names(self.source) if self.kind == "sqlite" else frozenset()

    @cached_property
    def document(self) -> Any:
        """The JSON document; of a large one, its beginning; None where it is none."""
        try:
            return outline(self.source) if self.kind == "json" else None
        except InputError:
            return None

    @cached_property
    def keys(self) -> Mapping[str, Any]:
        """Top-level keys of a JSON object with their values; empty for anything else."""
        return self.document if isinstance(self.document, dict) else {}

    @cached_property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """The first rows: objects of a JSON list or of lines, rows of a table; () for a JSON object."""
        if self.kind == "json":
            return tuple(objects(items(self.document)[:ROWS]))
        if self.kind not in ("jsonl", "csv", "markdown", "parquet", "xlsx"):
            return ()
        with suppress(InputError):
            table = open_table(self.source, ValidationErrors(self.source.name), ROWS)
            return tuple(row for _, row in islice(table.rows(), ROWS) if isinstance(row, dict))
        return ()

    def rows_at(self, key: str) -> tuple[dict[str, Any], ...]:
        """Return the first rows, or, of a JSON object, those in the list under a key."""
        listed = self.keys.get(key)
        return tuple(objects(listed[:ROWS])) if isinstance(listed, list) else self.rows

    @cached_property
    def columns(self) -> frozenset[str]:
        """Names in the first rows."""
        return frozenset(map(str, chain.from_iterable(self.rows)))

    @cached_property
    def names(self) -> frozenset[str]:
        """Everything the first look shows, in lower case: the kind, the first characters, and every name.

        Names are those of columns, of keys down to the third level, and of the tables of a database.
        """
        opening = self.source.head(32).decode("utf-8", "replace") if self.kind == "csv" else ""
        titles = self.keys.get("columns")  # of a frame that is written as columns and data
        names = (*self.tables, *_names_in([self.document, *self.rows]))
        shown = (*names, *map(str, items(titles)), f"kind:{self.kind}", f"begins:{opening.lstrip()}")
        return frozenset(name.strip().lower() for name in shown)

    @property
    def first(self) -> Mapping[str, Any]:
        """The first row; empty where there is none."""
        return self.rows[0] if self.rows else {}


def _names_in(values: Iterable[Any], levels: int = 3) -> Iterator[str]:
    """Yield the keys of objects, and of those inside them, where the first ones stand for all of a list."""
    for value in values:
        if isinstance(value, list):
            yield from _names_in(value[:ROWS], levels)
        elif isinstance(value, dict) and levels:
            yield from map(str, value)
            yield from _names_in(value.values(), levels - 1)


Read = Callable[[InputFile, Options, ValidationErrors], list[ParsedRun]]
Row = dict[str, Any]


@dataclass(frozen=True)
class ToolRows:
    """How a tool's rows are converted whose columns hold something else than their names say.

    Nothing is dropped: what has no field stays a column.
    """

    fits: Callable[[set[str]], bool]  # whether these are the tool's column names
    # its rows as rows with the usual columns, one row per sample
    convert: Callable[[Iterator[Record]], Iterable[Record]]
    note: str  # what was done, for the reader

    def table(self, table: Table) -> Table:
        """Return the table with one row per sample and columns that say what they hold."""
        return Table.of(table.kind, self.convert(table.rows()), notes=(*table.notes, self.note))


def each(convert: Callable[[Row], Row]) -> Callable[[Iterator[Record]], Iterator[Record]]:
    """Return a conversion of rows that become one sample each."""

    def rows(records: Iterator[Record]) -> Iterator[Record]:
        for line, row in records:
            yield line, convert(row) if isinstance(row, dict) else row

    return rows


@dataclass(frozen=True)
class Marks:
    """Names that mark the files of a format: of `a|b` one is there, `!a` is not."""

    rows: str = ""  # of one of the first rows, or of those `at` a key
    at: str = ""
    columns: str = ""  # of the first rows together
    keys: str = ""  # of a JSON object
    tables: str = ""  # of a database

    def fit(self, peek: Peek) -> bool:
        """Return whether a file shows them."""
        shown = ((self.columns, peek.columns), (self.keys, peek.keys.keys()), (self.tables, peek.tables))
        rows = (peek.rows_at(self.at) if self.at else peek.rows) if self.rows else ()
        return all(_shows(names, marks) for marks, names in shown if marks) and (
            not self.rows or any(_shows(row.keys(), self.rows) for row in rows)
        )


def _shows(names: Set[str], marks: str) -> bool:
    for mark in marks.split():
        if names.isdisjoint(mark.removeprefix("!").split("|")) != mark.startswith("!"):
            return False
    return True


@dataclass(frozen=True)
class Reader:
    """The code of an importer that `formats.json` declares."""

    # reads a file into parsed runs, and adds errors of single records as the records are consumed; None where
    # such a file is refused
    read: Read | None = None
    # returns whether a file that shows the declared marks is of this format, from its content; must not raise
    detect: Callable[[Peek], bool] | None = None
    rows: ToolRows | None = None  # how its rows are converted, where they come as a table of Python as well


@dataclass(frozen=True)
class Importer:
    """One format."""

    key: str  # name in commands and in the origin of a run
    title: str  # name on screen
    accepts: str  # content of such a file, in a line
    # returns whether a file is of this format, from its content alone; must not raise
    detect: Callable[[Peek], bool]
    # reads a file into parsed runs; errors of single records are added as the records are consumed
    read: Read
    mapped: bool = False  # whether a mapping of columns applies
    # runs, or question sets: questions with gold and no answers of a system
    holds: Literal["runs", "questions"] = "runs"
    written_by: str = ""  # the tool and the versions that the importer was tested with, e.g. "DeepEval 4.3"
    # keys of importers whose files it completes: in one command or folder with one of them it is handed
    # to that importer in `Options.companions`
    companion_of: tuple[str, ...] = ()
    # whether a companion can be read without the others; if not, it is refused with a hint
    alone: bool = True
    unit: str = "row"  # what one sample is made from, e.g. "row" or "trace"
    example: str = ""  # how to write such a file with the tool, in a line; "" where there is nothing to say
    rows: ToolRows | None = None  # as in `Reader`
    # whether it reads files of its own out of a folder; files of other formats in that folder are
    # imported beside them
    shares_folder: bool = False


def run_of(
    source: InputFile, key: str, records: Iterable[Record], name: str | None = None, **facts: Any
) -> ParsedRun:
    """Return a run of a file under the name that its content gives it, else that of the file."""
    return ParsedRun(name or source.stem, records, source.name, key, named_by_content=bool(name), **facts)


def question_set(source: InputFile, key: str, records: Iterable[Record], **facts: Any) -> list[ParsedRun]:
    """Return the questions of a file as its only question set."""
    return [ParsedRun(source.stem, records, source.name, key, questions=True, **facts)]


PLAIN_ERRORS = (DataError, MetricsError, OSError, ImportError, MemoryError)  # they say what is wrong


@contextmanager
def refusing(source: InputFile, importer: Importer) -> Iterator[None]:
    """Turn any unexpected exception of an importer into an InputError, which has it as its cause.

    Raises:
        InputError: the importer failed on something that it does not expect in the file.
    """
    try:
        yield
    except PLAIN_ERRORS:
        raise
    except Exception as error:  # a file may hold anything, and a user can only mend the file
        what = f"cannot be read as {importer.title}: {content_fault(error)}; its version may be unknown"
        raise source.error(what, importer.accepts) from error


def recognises(importer: Importer, peek: Peek) -> bool:
    """Return whether an importer recognises a file; one that fails on it does not, and others are asked."""
    try:
        return importer.detect(peek)
    except PLAIN_ERRORS:
        raise
    except Exception:  # noqa: BLE001 - what one importer trips over may be the format of another
        return False


def read_each(
    key: str,  # of the importer
    # returns the sample of a row on a line; None where it added an error, or the row is none
    sample: Callable[[Row, int, ValidationErrors], Row | None],
    accepted: str = "an object with a question",  # what a row is that is not an object
    note: str = "",  # said of the run; {file} in it is the name of the file
    **facts: Any,
) -> Read:
    """Return the `read` of an importer whose rows become a sample each, in a run named after the file."""

    def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
        table = open_table(source, errors, options.limit, rows=options.rows)
        notes = (*table.notes, note.format(file=source.name)) if note else table.notes

        def samples() -> Iterator[Record]:
            for line, row in object_rows(table.rows(), errors, accepted):
                if (record := sample(row, line, errors)) is not None:
                    yield line, record

        return [run_of(source, key, samples(), notes=notes, **facts)]

    return read


def refuse(what: str, accepted: str) -> Read:
    """Return the `read` of a file that says nothing alone: it is refused with what would be accepted."""

    def read(source: InputFile, _options: Options, _errors: ValidationErrors) -> list[ParsedRun]:
        raise source.error(what, accepted)

    return read
