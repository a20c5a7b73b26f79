"""Turning a draft into a run of the workspace: validated, hashed, written, and published by one rename."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from data.errors import InputError, ValidationError, ValidationErrors
from data.store.parsed_run import ParsedRun
from data.store.sample_schema import LATER_FIELDS, SCHEMA, Sample
from data.store.sample_validation import normalise
from data.store.workspace import Run, Workspace, utc_now

__all__ = ["ImportedRun", "store_run"]

BATCH_ROWS = 256  # rows a row group: one case is read without its neighbours' megabytes
Progress = Callable[[int], None]


@dataclass(frozen=True)
class ImportedRun:
    """What became of one draft.

    Attributes:
        run: the run as it lies in the workspace.
        status: "imported", or "unchanged" when the same content was there already.
    """

    run: Run
    status: Literal["imported", "unchanged"]


@dataclass
class _Tally:
    """What is learned of a run while its samples stream by."""

    digest: Any
    n: int = 0
    questions: set[str] = field(default_factory=set)
    seen: dict[tuple[str, int], int] = field(default_factory=dict)
    fields: set[str] = field(default_factory=set)

    def note(self, sample: Sample, line: int, problems: ValidationErrors) -> None:
        key = (sample["question_id"], sample["repeat"])
        first = self.seen.setdefault(key, line)
        if first != line:
            what = f"question_id {key[0]!r} with repeat {key[1]} stands at line {first} already"
            problems.add(line, "question_id", what, "each question_id once for each repeat")
        self.questions.add(sample["question_id"])
        self.fields.update(name for name, value in sample.items() if value is not None)
        for name in LATER_FIELDS:  # a run keeps the id it had before the field was known
            if sample[name] is None:
                del sample[name]
        self.digest.update(orjson.dumps(sample))
        sample["row"] = self.n
        self.n += 1


def store_run(
    workspace: Workspace,
    draft: ParsedRun,
    project: str,
    problems: ValidationErrors,
    progress: Progress | None = None,
) -> ImportedRun:
    """Validate a draft and make it a run; nothing appears in the workspace when anything is wrong.

    Args:
        workspace: where to put it.
        draft: what the importer read; its records are consumed.
        project: what the run belongs to.
        problems: where the importer gathers what is wrong with the file.
        progress: called with the number of samples read so far.

    Raises:
        InputError: the file has problems; the first twenty and a count.
    """
    tally = _Tally(hashlib.sha256(_identity(draft, project)))
    with workspace.staging(workspace.runs_folder) as stage:
        _write_samples(stage / "samples.parquet", _samples(draft, tally, problems, progress))
        problems.raise_if_any()
        if tally.n == 0 and not draft.means:
            what = "holds no sample"
            raise InputError(
                [ValidationError(draft.file, None, "", what, "at least one record with `question`")]
            )
        run = _facts(draft, project, tally)
        (stage / "run.json").write_text(run.to_json(), encoding="utf-8")
        fresh = workspace.publish(stage, workspace.runs_folder / run.run_id)
    if fresh:
        return ImportedRun(run, "imported")
    return ImportedRun(workspace.read_run(run.run_id), "unchanged")


def _identity(draft: ParsedRun, project: str) -> bytes:
    """Give what tells two runs with the same samples apart."""
    named = draft.name if draft.named_by_content else ""
    parts = [project, named, draft.config, draft.dataset, draft.dataset_version, draft.corpus_version]
    if draft.means:
        parts.append(draft.means)
    return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str)


def _samples(
    draft: ParsedRun, tally: _Tally, problems: ValidationErrors, progress: Progress | None
) -> Iterator[Sample]:
    for line, record in draft.records:
        sample = normalise(record, line, problems)
        if sample is None:
            continue
        tally.note(sample, line, problems)
        if progress is not None and tally.n % BATCH_ROWS == 0:
            progress(tally.n)
        yield sample
    if progress is not None:
        progress(tally.n)


def _write_samples(path: Path, samples: Iterator[Sample]) -> None:
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        batch: list[Sample] = []
        for sample in samples:
            batch.append(sample)
            if len(batch) == BATCH_ROWS:
                writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=SCHEMA))
                batch = []
        if batch:
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=SCHEMA))


def _plain_json(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give the configuration as run.json can hold it: no NaN or infinity, times and the like as text."""
    options = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
    plain: dict[str, Any] = orjson.loads(orjson.dumps(dict(config), option=options, default=str))
    return plain


def _facts(draft: ParsedRun, project: str, tally: _Tally) -> Run:
    content_hash = tally.digest.hexdigest()
    now = utc_now()
    return Run(
        run_id=content_hash[:12],
        name=draft.name,
        project=project,
        n=tally.n,
        n_questions=len(tally.questions) or int(draft.config.get("n_questions", 0)) * bool(draft.means),
        created_at=draft.created_at or now,
        imported_at=now,
        origin={"file": draft.file, "format": draft.format},
        config=_plain_json(draft.config),
        dataset=draft.dataset,
        dataset_version=draft.dataset_version,
        corpus_version=draft.corpus_version,
        content_hash=content_hash,
        notes=draft.notes,
        fields=tuple(sorted(tally.fields - {"row"})),
        measured=dict(draft.measured),
        means=dict(draft.means),
    )
