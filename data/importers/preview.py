"""Preview of an import from the first records of a file: for the upload page and `--dry-run`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa

from ragtriage.data.errors import ValidationError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.batch_inputs import batch_of
from ragtriage.data.scoring.imported_scores import human_scores, imported_scores, on_scale
from ragtriage.data.store.parsed_run import MappedColumn, Record, normalise
from ragtriage.data.store.sample_schema import FIELDS, SCHEMA, Sample
from ragtriage.data.suites.citations import style_of
from ragtriage.data.suites.registry import with_evaluated_checks
from ragtriage.metrics.metric_registry import compute, unavailable, unlabelled

PREVIEW_RECORDS = 200


@dataclass(frozen=True)
class PreviewRun:
    """A run that the file holds."""

    name: str
    count: int  # its records among those read
    notes: tuple[str, ...]  # assumptions about it
    means: tuple[str, ...] = ()  # metrics with a mean, for an aggregate-only run
    questions: bool = False  # whether it is a question set and no run


@dataclass(frozen=True)
class Preview:
    """How the start of a file was read."""

    format: str  # key of the importer
    runs: tuple[PreviewRun, ...]  # the runs so far
    complete: bool  # whether the whole file was read: then runs and counts are final
    mapping: tuple[MappedColumn, ...]  # how columns were mapped to fields, where that was guessed
    records: tuple[Record, ...]  # the records read, in the native form, with their lines
    filled: Mapping[str, int]  # field of a sample -> how many of the records read fill it
    errors: tuple[ValidationError, ...]  # the first validation errors so far
    total_errors: int  # how many there are so far
    # metric -> least and greatest value, of the scores that no declared scale holds
    off_scale: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def preview(source: InputFile, options: Options, limit: int = PREVIEW_RECORDS) -> Preview:
    """Return how the first records of a file would be imported.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    errors = ValidationErrors(source.name)
    runs = read_runs(source, replace(options, limit=limit + 1), errors)
    records_by_run = [list(islice(run.records, limit + 1)) for run in runs]
    records = list(chain.from_iterable(records_by_run))
    for run, read in zip(runs, records_by_run, strict=True):
        for line, record in read if not run.questions else ():  # what an import would refuse is refused now
            normalise(record, line, errors)
    counts = map(len, records_by_run)
    previews = tuple(
        PreviewRun(run.name, count, (*run.all_notes, *errors.notes), tuple(run.means), run.questions)
        for run, count in zip(runs, counts, strict=True)
    )
    fields = [record for _, record in records if isinstance(record, dict)]
    blank: tuple[object, ...] = (None, "", [], {})
    filled = {name: sum(record.get(name) not in blank for record in fields) for name in FIELDS}
    return Preview(
        runs[0].format,
        previews,
        len(records) <= limit,
        runs[0].mapping,
        tuple(records),
        {name: count for name, count in filled.items() if count},
        tuple(errors.first),
        errors.total,
        _off_scale(records, runs[0].config),
    )


def _off_scale(records: Sequence[Record], config: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the reach of the scores of which none would be scored, as they are on another scale."""
    unread = ValidationErrors("preview")
    samples = [sample for line, record in records if (sample := normalise(record, line, unread)) is not None]
    scores = [{"scores": sample["scores"]} for sample in samples]
    table = pa.Table.from_pylist(scores, schema=pa.schema([SCHEMA.field("scores")]))
    off_scale = {}
    for (metric, _), column in imported_scores(table).items() if scores else ():
        known = column.values[np.isfinite(column.values)]
        values, _ = on_scale(metric, column.values, column.status, config)
        if len(known) and not np.isfinite(values).any():
            off_scale[metric] = (float(known.min()), float(known.max()))
    return off_scale


MAX_SCORED = 40  # records scored for a preview; heuristics on long documents take milliseconds each
OFF_SCALE = "its values are on another scale"
NO_VALUE = "the file names it, but the records read hold no value"


def computable(file_preview: Preview) -> tuple[list[str], dict[str, str]]:
    """Return the metrics that the previewed records allow or hold, and why the others have no value.

    Returns:
        Full names of the metrics with a value, and metric -> reason for the others.
    """
    errors = ValidationErrors("preview")
    samples = [
        sample
        for line, record in file_preview.records
        if (sample := normalise(record, line, errors)) is not None
    ]
    rows = [{**sample, "row": row} for row, sample in enumerate(_representative(samples))]
    if not rows:
        return [], {}
    table = with_evaluated_checks(pa.Table.from_pylist(rows, schema=SCHEMA))
    batch = batch_of(table, style=style_of(rows))
    computed = {name: scores.values for name, scores in compute(batch).items()}
    recorded = {
        name: column.values
        for read_columns in (imported_scores, human_scores)
        for (name, _), column in read_columns(table).items()
    }
    measured = {
        name
        for columns in (computed, recorded)
        for name, values in columns.items()
        if np.isfinite(values).any() and name not in file_preview.off_scale
    }
    empty = {name: NO_VALUE for name in recorded if name not in measured}
    answers = batch.answers
    labelled = answers is not None and bool((answers.answerable >= 0).any())
    reasons = unavailable(batch) | ({} if labelled else unlabelled())
    missing = {name: reason for name, reason in reasons.items() if name not in measured}
    return sorted(measured), {**missing, **empty, **dict.fromkeys(file_preview.off_scale, OFF_SCALE)}


def _representative(samples: Sequence[Sample]) -> Iterator[Sample]:
    """Yield evenly spread samples, and every one that fills something that none before it filled."""
    step = -(-len(samples) // MAX_SCORED)
    seen: set[str] = set()
    for index, sample in enumerate(samples):
        filled = {name for name, value in sample.items() if value not in (None, [], {})}
        for kind in ("scores", "human"):
            entries = sample[kind] or ()
            filled |= {f"{kind}.{entry['metric']}" for entry in entries if entry["value"] is not None}
        if index % step == 0 or filled - seen:
            yield sample
        seen |= filled
