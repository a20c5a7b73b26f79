"""The declaration of an importer: how it recognises a file by its content, and how it reads its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from ragtriage.data.errors import DataError, ValidationErrors, content_fault
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import Table, object_rows, open_table
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.metrics.schema.scores import MetricsError

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
    rows: ToolRows | None = None  # how its rows are converted, where they come as a table of Python as well
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


def row_names(*names: str, at: str = "") -> Callable[[Peek], bool]:
    """Return a `detect`: whether one of the first rows, or of those in a list `at` a key, has all names."""
    return lambda peek: any(row.keys() >= set(names) for row in (peek.rows_at(at) if at else peek.rows))


def refuse(what: str, accepted: str) -> Read:
    """Return the `read` of a file that says nothing alone: it is refused with what would be accepted."""

    def read(source: InputFile, _options: Options, _errors: ValidationErrors) -> list[ParsedRun]:
        raise source.error(what, accepted)

    return read
