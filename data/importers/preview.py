"""What a file would become, read from its first records: for the upload page and `--dry-run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice

from data.errors import ValidationError, ValidationErrors
from data.importers.detect import read_runs
from data.importers.parsing.options import Options
from data.importers.parsing.source import Source
from data.store.parsed_run import MappedColumn, Record
from data.store.sample_schema import FIELDS

__all__ = ["Preview", "PreviewRun", "preview"]

PREVIEW_RECORDS = 200


@dataclass(frozen=True)
class PreviewRun:
    """One run that the file would give.

    Attributes:
        name: its name.
        count: records of it among those read.
        notes: assumptions made about it.
        means: the metrics whose means it brings, where it is known by them alone.
    """

    name: str
    count: int
    notes: tuple[str, ...]
    means: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preview:
    """What was understood of the start of a file.

    Attributes:
        format: key of the importer.
        runs: the runs found so far.
        complete: whether the whole file was read, so that runs and counts are final.
        mapping: how columns were understood, where there was something to guess.
        records: the records read, in the native form, with their lines.
        filled: field of a sample -> how many of the records read fill it.
        problems: the first problems found so far.
        total_problems: how many there were so far.
    """

    format: str
    runs: tuple[PreviewRun, ...]
    complete: bool
    mapping: tuple[MappedColumn, ...]
    records: tuple[Record, ...]
    filled: Mapping[str, int]
    problems: tuple[ValidationError, ...]
    total_problems: int


def preview(source: Source, options: Options, limit: int = PREVIEW_RECORDS) -> Preview:
    """Read the first records of a file and say what they would become.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    problems = ValidationErrors(source.name)
    drafts = read_runs(source, replace(options, limit=limit + 1), problems)
    taken = [list(islice(draft.records, limit + 1)) for draft in drafts]
    records = [record for run in taken for record in run]
    runs = tuple(
        PreviewRun(draft.name, len(run), draft.notes, tuple(draft.means))
        for draft, run in zip(drafts, taken, strict=True)
    )
    filled = {name: sum(_fills(record, name) for _, record in records) for name in FIELDS}
    return Preview(
        drafts[0].format,
        runs,
        len(records) <= limit,
        drafts[0].mapping,
        tuple(records),
        {name: count for name, count in filled.items() if count},
        tuple(problems.first),
        problems.total,
    )


def _fills(record: object, name: str) -> bool:
    return isinstance(record, dict) and record.get(name) not in (None, "", [], {})
