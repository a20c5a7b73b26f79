"""Preview of an import from the first records of a file: for the upload page and `--dry-run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice

from ragtriage.data.errors import ValidationError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.store.parsed_run import MappedColumn, Record
from ragtriage.data.store.sample_schema import FIELDS

PREVIEW_RECORDS = 200


@dataclass(frozen=True)
class PreviewRun:
    """A run that the file holds.

    Attributes:
        name: its name.
        count: its records among those read.
        notes: assumptions about it.
        means: metrics with a mean, for an aggregate-only run.
        questions: whether it is a question set and no run.
    """

    name: str
    count: int
    notes: tuple[str, ...]
    means: tuple[str, ...] = ()
    questions: bool = False


@dataclass(frozen=True)
class Preview:
    """How the start of a file was read.

    Attributes:
        format: key of the importer.
        runs: the runs so far.
        complete: whether the whole file was read: then runs and counts are final.
        mapping: how columns were mapped to fields, where that was guessed.
        records: the records read, in the native form, with their lines.
        filled: field of a sample -> how many of the records read fill it.
        errors: the first validation errors so far.
        total_errors: how many there are so far.
    """

    format: str
    runs: tuple[PreviewRun, ...]
    complete: bool
    mapping: tuple[MappedColumn, ...]
    records: tuple[Record, ...]
    filled: Mapping[str, int]
    errors: tuple[ValidationError, ...]
    total_errors: int


def preview(source: InputFile, options: Options, limit: int = PREVIEW_RECORDS) -> Preview:
    """Return how the first records of a file would be imported.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    errors = ValidationErrors(source.name)
    runs = read_runs(source, replace(options, limit=limit + 1), errors)
    records_by_run = [list(islice(run.records, limit + 1)) for run in runs]
    records = list(chain.from_iterable(records_by_run))
    previews = tuple(
        PreviewRun(
            run.name, len(run_records), (*run.all_notes, *errors.notes), tuple(run.means), run.questions
        )
        for run, run_records in zip(runs, records_by_run, strict=True)
    )
    filled = {name: sum(_fills(record, name) for _, record in records) for name in FIELDS}
    return Preview(
        runs[0].format,
        previews,
        len(records) <= limit,
        runs[0].mapping,
        tuple(records),
        {name: count for name, count in filled.items() if count},
        tuple(errors.first),
        errors.total,
    )


def _fills(record: object, name: str) -> bool:
    return isinstance(record, dict) and record.get(name) not in (None, "", [], {})
