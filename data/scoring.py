"""Scoring a run: every metric its samples allow, written beside the run and rebuilt when definitions change.

Under scores/<run_id>/<options>/ lie `scores.parquet` (long rows, one row group a metric and source),
`evidence.parquet` (what stage attribution looks at, one row a sample) and `summary.json`.
All of it is disposable.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from data.arrays import batch_of
from data.evidence import EVIDENCE, evidence_of
from data.gold import Match
from data.imported import human_scores, imported_scores
from data.summaries import summarise
from data.tables import Column, RunTable
from data.workspace import Run, Workspace
from metrics.catalogue import compute, unavailable
from metrics.registry import CONVENTIONS, Convention
from metrics.values import Scores, Source, Status

__all__ = ["DEFAULT_KS", "SCORES_VERSION", "ScoreKey", "ScoreOptions", "ensure_scored", "match_of"]

SCORES_VERSION = 1  # raise when a definition, an estimate or a file below changes
DEFAULT_KS = (1, 3, 5, 10)
BATCH_ROWS = 4096
ScoreKey = tuple[str, Source]
Progress = Callable[[int], None]


@dataclass(frozen=True)
class ScoreOptions:
    """What the scores depend on beside the samples.

    Attributes:
        ks: rank cut-offs.
        convention: how the undefined is treated.
        match: whether gold is compared with chunk ids or with document ids.
    """

    ks: tuple[int, ...] = DEFAULT_KS
    convention: Convention = "default"
    match: Match = "id"

    def __post_init__(self) -> None:
        if self.convention not in CONVENTIONS:
            raise ValueError(f"convention {self.convention!r}; accepted: {', '.join(CONVENTIONS)}")
        if not self.ks or any(k < 1 for k in self.ks):
            raise ValueError(f"cut-offs {self.ks}; accepted: whole numbers of 1 or more")

    @property
    def folder(self) -> str:
        """Name of the folder that holds scores made this way."""
        cuts = "-".join(str(k) for k in self.ks)
        return f"v{SCORES_VERSION}.{self.convention}.{self.match}.k{cuts}"


def ensure_scored(
    workspace: Workspace, run: Run, options: ScoreOptions | None = None, progress: Progress | None = None
) -> Path:
    """Give the folder with a run's scores, computing them first where they are missing.

    Args:
        workspace: where the run lies.
        run: the run.
        options: cut-offs and conventions.
        progress: called with the number of samples scored so far.
    """
    options = options or ScoreOptions(match=match_of(run))
    final = workspace.scores_folder / run.run_id / options.folder
    if (final / "summary.json").exists():
        return final
    with workspace.staging(final.parent) as stage:
        gathered = _Gathered(run.n)
        for table in _batches(workspace.samples_path(run.run_id)):
            gathered.add(table, options)
            if progress is not None:
                progress(gathered.rows)
        gathered.write(stage)
        columns = {key: Column(one.values, one.status, one.source) for key, one in gathered.blocks.items()}
        table = RunTable.of_blocks(run, workspace.samples_path(run.run_id), stage, columns)
        _write_summary(stage, table, gathered.missing)
        workspace.publish(stage, final)
    return final


def match_of(run: Run) -> Match:
    """Say whether a run's gold names chunks or whole documents; its configuration has `match` for that."""
    return "doc_id" if run.config.get("match") == "doc_id" else "id"


def _batches(path: Path) -> Iterator[Any]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH_ROWS):
            yield pa.Table.from_batches([batch])


class _Gathered:
    """Scores of a run, filled batch by batch; a metric absent from a batch was not run there."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.rows = 0
        self.blocks: dict[ScoreKey, Scores] = {}
        self.evidence = {name: np.full(n, np.nan) for name in EVIDENCE}
        self.missing: dict[str, str] = {}

    def add(self, table: Any, options: ScoreOptions) -> None:
        batch = batch_of(table, options.match)
        at = slice(self.rows, self.rows + batch.n)
        computed = compute(batch, options.ks, options.convention)
        for name, scores in computed.items():
            for source in _sources(scores):
                self._put((name, source), at, _of_source(scores, source))
        for key, scores in (*imported_scores(table).items(), *human_scores(table).items()):
            self._put(key, at, scores)
        for name, values in evidence_of(table, batch).items():
            self.evidence[name][at] = values
        self.missing = self._still_missing(unavailable(batch))
        self.rows += batch.n

    def _put(self, key: ScoreKey, at: slice, scores: Scores) -> None:
        if key not in self.blocks:
            self.blocks[key] = _nothing_yet(self.n, key[1])
        whole = self.blocks[key]
        whole.values[at], whole.status[at], whole.reason[at] = scores.values, scores.status, scores.reason

    def _still_missing(self, missing: Mapping[str, str]) -> dict[str, str]:
        before = missing if self.rows == 0 else {k: v for k, v in self.missing.items() if k in missing}
        return dict(before)

    def write(self, stage: Path) -> None:
        with pq.ParquetWriter(stage / "scores.parquet", _SCHEMA, compression="zstd") as writer:
            for (name, source), scores in sorted(self.blocks.items()):
                writer.write_table(_long(name, source, scores), row_group_size=max(self.n, 1))
        columns = {"row": np.arange(self.n), **self.evidence}
        pq.write_table(pa.table(columns), stage / "evidence.parquet", compression="zstd")


def _write_summary(stage: Path, table: RunTable, missing: Mapping[str, str]) -> None:
    aggregates = {name: one.to_dict() for name, one in summarise(table).items()}
    text = json.dumps({"missing": dict(missing), "aggregates": aggregates})
    (stage / "summary.json").write_text(text, encoding="utf-8")


def _nothing_yet(n: int, source: Source) -> Scores:
    return Scores(
        np.full(n, np.nan),
        np.full(n, Status.NOT_RUN, dtype=np.int8),
        np.full(n, "not recorded for this sample", dtype=object),
        np.full(n, source, dtype=np.int8),
    )


def _sources(scores: Scores) -> list[Source]:
    """Name the sources that scored something; where none did, the best one that tried."""
    scored = np.unique(scores.source[scores.status == Status.SCORED])
    return [Source(int(source)) for source in (scored if len(scored) else scores.source[:1])]


def _of_source(scores: Scores, source: Source) -> Scores:
    """Keep the values of one source; those of others belong to another block."""
    others = (scores.source != source) & (scores.status == Status.SCORED)
    return Scores(
        np.where(others, np.nan, scores.values),
        np.where(others, Status.NOT_RUN, scores.status).astype(np.int8),
        np.where(others, "obtained in another way", scores.reason).astype(object),
        np.full(len(scores), source, dtype=np.int8),
    )


_WORDS = pa.dictionary(pa.int32(), pa.string())
_SCHEMA = pa.schema(
    [
        ("metric", _WORDS),
        ("source", _WORDS),
        ("row", pa.int32()),
        ("value", pa.float64()),
        ("status", _WORDS),
        ("reason", _WORDS),
    ]
)


def _long(name: str, source: Source, scores: Scores) -> Any:
    n = len(scores)
    labels = pa.array([status.label for status in Status])
    return pa.table(
        [
            _constant(name, n),
            _constant(source.label, n),
            pa.array(np.arange(n, dtype=np.int32)),
            pa.array(scores.values, from_pandas=True),
            pa.DictionaryArray.from_arrays(pa.array(scores.status.astype(np.int32)), labels),
            _words(scores.reason),
        ],
        schema=_SCHEMA,
    )


def _constant(word: str, n: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), pa.array([word]))


def _words(reasons: NDArray[np.object_]) -> Any:
    encoded = pa.array(reasons, pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices.cast(pa.int32()), encoded.dictionary)
