"""Write a parsed run to the workspace: validated, hashed, and published by one rename."""

import gc
import hashlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from ragtriage.data.errors import InputError, ValidationError, ValidationErrors
from ragtriage.data.store.parsed_run import MappedColumn, ParsedRun, normalise
from ragtriage.data.store.sample_schema import CONTENT_HASH, FIELDS, LATER_FIELDS, SCHEMA, Sample
from ragtriage.data.store.workspace import Run, Workspace

# Fields, and what importers keep of the ids in the tool: no columns that a reader would miss.
OWN = {
    *FIELDS,
    *("trace_id", "span_id", "observation_id", "run_id", "example_id", "trace_url", "tool", "started_at"),
    "attributes",
}
BATCH_BYTES = 32 << 20
BATCH_ROWS = 256  # rows per row group: reading one sample must not load megabytes of others
_USUAL_THRESHOLDS = gc.get_threshold()
Progress = Callable[[int], None]
Problems = Callable[[Sample], Iterable[tuple[str, str, str]]]
Groups = Callable[[Any], None]


@dataclass(frozen=True)
class ImportedRun:
    """The result of importing one run."""

    run: Run
    # "imported", or "unchanged" if the workspace already had the same content
    status: Literal["imported", "unchanged"]
    left_out: Counter[str] = field(default_factory=Counter)  # why rows became no sample -> how many
    extra: tuple[str, ...] = ()  # names of fields that are kept as they are, as no field of a sample
    # notes that were known once all samples were read, e.g. how many a question set was joined to.
    closing: tuple[str, ...] = ()
    mapping: tuple[MappedColumn, ...] = ()  # how the columns of its file were read, where that was guessed


@dataclass
class _Tally:
    """Facts of a run, gathered while its samples are streamed."""

    digest: Any
    n: int = 0
    n_bytes: int = 0
    lines: dict[str | tuple[str, int], int] = field(default_factory=dict)  # of ids, with repeats above 0
    fields: set[str] = field(default_factory=set)
    extra: dict[str, None] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)  # digest of the question of each id
    calls: Counter[str] = field(default_factory=Counter)  # of each id, of samples with a sampling rate

    def add(self, sample: Sample, line: int, errors: ValidationErrors) -> None:
        if sample["sampling_rate"] is not None:
            self._count_by_itself(sample)
        name, repeat = sample["question_id"], sample["repeat"]
        text = hashlib.blake2b(
            " ".join(sample["question"].casefold().split()).encode("utf-8", "surrogatepass"), digest_size=8
        ).digest()
        if self.texts.setdefault(name, text) != text:
            what = f"question_id {name!r} has another question before, and the two would be averaged"
            errors.add(line, "question_id", what, "an id of its own for each question")
        first_line = self.lines.setdefault((name, repeat) if repeat else name, line)
        if first_line != line:
            what = f"question_id {name!r} with repeat {repeat} is already on line {first_line}"
            errors.add(line, "question_id", what, "each question_id once per repeat")
        self.fields.update([name for name, value in sample.items() if value is not None])
        for name in LATER_FIELDS:  # absent ones are not hashed, so that ids of earlier versions stay valid
            if sample[name] is None:
                del sample[name]
        content = orjson.dumps(sample)
        self.digest.update(content)
        self.n_bytes += len(content)
        sample["row"] = self.n
        self.n += 1

    def _count_by_itself(self, sample: Sample) -> None:
        """Make a call that was sampled a question of its own: it stands for calls, not for repeats."""
        name = sample["question_id"]
        self.calls[name] += 1
        if sample["repeat"] or self.calls[name] > 1:
            sample["question_id"], sample["repeat"] = f"{name} (call {self.calls[name]})", 0

    def check_rates(self, errors: ValidationErrors) -> None:
        """Report a run of which only some samples have a sampling rate: no mean of it would be right."""
        rated = self.calls.total()
        if 0 < rated < self.n:
            what = f"missing on {self.n - rated:,} of {self.n:,} samples, though the others have one"
            errors.add(
                None, "sampling_rate", what, "a rate for every sample, 1 where all such calls are kept"
            )

    @property
    def n_questions(self) -> int:
        """How many different questions there are."""
        return len({key if isinstance(key, str) else key[0] for key in self.lines})


def store_run(
    workspace: Workspace,
    parsed: ParsedRun,  # the run as read by the importer; its records are consumed
    project: str,
    errors: ValidationErrors,
    progress: Progress | None = None,  # called with the number of samples read so far
    # yields field, what is wrong and what would be accepted for each further fault of a sample
    problems: Problems | None = None,
    # called with each row group once it is written, an Arrow batch, while nothing is wrong
    groups: Groups | None = None,
) -> ImportedRun:
    """Validate a parsed run and store it; nothing appears in the workspace if it is not valid.

    Raises:
        InputError: the file is not valid.
    """
    # the facts that distinguish runs with the same samples
    name = parsed.name if parsed.named_by_content else ""
    parts = [project, name, parsed.config, parsed.dataset, parsed.dataset_version, parsed.corpus_version]
    if parsed.means:
        parts.append(parsed.means)
    tally = _Tally(_begun(parts))
    with workspace.staging(workspace.runs_folder) as stage:
        samples = _samples(parsed, tally, errors, progress, problems)
        with _rare_collections(), closing(_written(stage / "samples.parquet", samples, tally)) as written:
            for group in written:
                if groups is not None and not errors.total:
                    groups(group)
        tally.check_rates(errors)
        errors.raise_if_any()
        if tally.n == 0 and not parsed.means:
            what = "holds no sample"
            raise InputError(
                [ValidationError(parsed.file, None, "", what, "at least one record with `question`")]
            )
        run = _run_of(parsed, project, tally, errors.notes)
        (stage / "run.json").write_text(run.to_json(), encoding="utf-8")
        is_new = workspace.publish(stage, workspace.runs_folder / run.run_id)
    entry = ImportedRun(
        run,
        "imported",
        extra=tuple(tally.extra),
        closing=parsed.all_notes[len(parsed.notes) :],
        mapping=parsed.mapping,
    )
    return entry if is_new else replace(entry, run=workspace.read_run(run.run_id), status="unchanged")


def stored_anew(workspace: Workspace, run: Run, samples: Iterable[Sample], errors: ValidationErrors) -> Run:
    """Store samples that were stored before under the facts of a run, and return that run with a new id.

    Args:
        workspace: where it is stored.
        run: the facts; what follows from the samples is made anew.
        samples: as they are read from a run; `row` is numbered anew.
        errors: takes what is wrong with them, which is nothing unless the run is damaged.
    """
    parts = [run.project, run.name, run.config, run.dataset, run.dataset_version, run.corpus_version]
    tally = _Tally(_begun(parts))

    def tallied() -> Iterator[Sample]:
        for line, sample in enumerate(samples, start=1):
            del sample["row"]
            tally.add(sample, line, errors)
            yield sample

    with workspace.staging(workspace.runs_folder) as stage:
        with _rare_collections(), closing(_written(stage / "samples.parquet", tallied(), tally)) as written:
            for _ in written:
                continue
        errors.raise_if_any()
        content_hash = tally.digest.hexdigest()
        run = replace(
            run,
            run_id=content_hash[:12],
            content_hash=content_hash,
            n=tally.n,
            n_questions=tally.n_questions,
            fields=tuple(sorted(tally.fields - {"row"})),
        )
        (stage / "run.json").write_text(run.to_json(), encoding="utf-8")
        workspace.publish(stage, workspace.runs_folder / run.run_id)
    return run


def _begun(parts: Sequence[object]) -> Any:
    """Return the digest of a run, begun with the facts that tell it from another with the same samples."""
    options = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    return hashlib.sha256(orjson.dumps(parts, option=options, default=str))


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for cycles of objects a hundred times as rarely: samples are many objects, and hold none."""
    gc.set_threshold(100 * _USUAL_THRESHOLDS[0], *_USUAL_THRESHOLDS[1:])
    try:
        yield
    finally:
        gc.set_threshold(*_USUAL_THRESHOLDS)


def _samples(
    parsed: ParsedRun,
    tally: _Tally,
    errors: ValidationErrors,
    progress: Progress | None,
    problems: Problems | None,
) -> Iterator[Sample]:
    for line, record in parsed.records:
        sample = normalise(record, line, errors)
        if sample is None:
            continue
        for problem in () if problems is None or not sample["checks"] else problems(sample):
            errors.add(line, *problem)
        if isinstance(record, Mapping) and not record.keys() <= FIELDS:
            tally.extra.update(dict.fromkeys(str(name) for name in record if name not in OWN))
        tally.add(sample, line, errors)
        if progress is not None and tally.n % BATCH_ROWS == 0:
            progress(tally.n)
        yield sample
    if progress is not None:
        progress(tally.n)


def _written(path: Path, samples: Iterator[Sample], tally: _Tally) -> Generator[Any, None, None]:
    """Write the samples, and yield each row group as an Arrow batch once it is written."""
    with pq.ParquetWriter(path, SCHEMA, compression="zstd", write_page_checksum=True) as writer:
        for rows in _row_groups(samples, tally):
            group = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
            writer.write_batch(group)
            yield group
        writer.add_key_value_metadata({CONTENT_HASH: tally.digest.hexdigest()})


def _row_groups(samples: Iterator[Sample], tally: _Tally) -> Iterator[list[Sample]]:
    """Yield the samples of one row group after the other."""
    group: list[Sample] = []
    written = 0
    for sample in samples:
        group.append(sample)
        if len(group) == BATCH_ROWS or tally.n_bytes - written > BATCH_BYTES:
            yield group
            group, written = [], tally.n_bytes
    if group:
        yield group


def _run_of(parsed: ParsedRun, project: str, tally: _Tally, remarks: tuple[str, ...]) -> Run:
    content_hash = tally.digest.hexdigest()
    now = datetime.now(UTC).replace(tzinfo=None)
    # the configuration as run.json stores it: no NaN or infinity, times and the like as text
    options = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
    plain: dict[str, Any] = orjson.loads(orjson.dumps(dict(parsed.config), option=options, default=str))
    return Run(
        run_id=content_hash[:12],
        name=parsed.name,
        project=project,
        n=tally.n,
        n_questions=tally.n_questions or int(parsed.config.get("n_questions", 0)) * bool(parsed.means),
        created_at=parsed.created_at or now.replace(microsecond=0),
        imported_at=now,  # to the microsecond: runs of one file keep the file's order
        origin={"file": parsed.file, "format": parsed.format},
        config=plain,
        dataset=parsed.dataset,
        dataset_version=parsed.dataset_version,
        corpus_version=parsed.corpus_version,
        content_hash=content_hash,
        notes=(*parsed.all_notes, *remarks),
        fields=tuple(sorted(tally.fields - {"row"})),
        measured=dict(parsed.measured),
        means=dict(parsed.means),
    )
