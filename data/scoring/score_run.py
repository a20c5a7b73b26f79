"""Scoring a run: every metric its samples allow, written beside the run and rebuilt when definitions change.

Under scores/<run_id>/<options>/ lie `scores.parquet` (long rows, one row group a metric and source),
`evidence.parquet` (what stage attribution looks at, one row a sample), the tables that single views read
(one row a sample, see data.scoring.batch_scores.BESIDE) and `summary.json`.
All of it is disposable.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from data.scoring.batch_scores import DEFAULT_KS, SCORES_VERSION, ScoredChunk, ScoreKey, ScoreOptions
from data.scoring.gold_join import Match
from data.scoring.scored_run import MetricColumn, ScoredRun
from data.scoring.stage_features import STAGE_FEATURES
from data.scoring.summaries import summarise
from data.scoring.workers import scored_batches, workers_for
from data.store.workspace import Run, Workspace
from metrics.schema.scores import Scores, Source, Status

__all__ = ["DEFAULT_KS", "SCORES_VERSION", "ScoreKey", "ScoreOptions", "ensure_scored", "match_of"]

Progress = Callable[[int], None]


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
        samples = workspace.samples_path(run.run_id)
        with closing(scored_batches(samples, options, workers_for(run.n))) as batches:
            for batch in batches:
                gathered.add(batch)
                if progress is not None:
                    progress(gathered.rows)
        gathered.drop_what_nobody_can_have()
        gathered.write(stage)
        columns = {
            key: MetricColumn(one.values, one.status, one.source) for key, one in gathered.blocks.items()
        }
        scored = ScoredRun.of_blocks(run, samples, stage, columns)
        _write_summary(stage, scored, gathered.missing)
        workspace.publish(stage, final)
    return final


def match_of(run: Run) -> Match:
    """Say whether a run's gold names chunks or whole documents; its configuration has `match` for that."""
    return "doc_id" if run.config.get("match") == "doc_id" else "id"


class _Gathered:
    """Scores of a run, filled batch by batch; a metric absent from a batch was not run there."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.rows = 0
        self.blocks: dict[ScoreKey, Scores] = {}
        self.stage_features = {name: np.full(n, np.nan) for name in STAGE_FEATURES}
        self.missing: dict[str, str] = {}
        self.tables: dict[str, list[Any]] = {}

    def add(self, batch: ScoredChunk) -> None:
        at = slice(self.rows, self.rows + batch.n)
        for key, scores in batch.blocks.items():
            self._put(key, at, scores)
        for name, values in batch.stage_features.items():
            self.stage_features[name][at] = values
        for name, table in batch.tables.items():
            self.tables.setdefault(name, []).append(table)
        self.missing = self._still_missing(batch.missing)
        self.rows += batch.n

    def _put(self, key: ScoreKey, at: slice, scores: Scores) -> None:
        if key not in self.blocks:
            self.blocks[key] = _nothing_yet(self.n, key[1])
        whole = self.blocks[key]
        whole.values[at], whole.status[at], whole.reason[at] = scores.values, scores.status, scores.reason

    def _still_missing(self, missing: Mapping[str, str]) -> dict[str, str]:
        before = missing if self.rows == 0 else {k: v for k, v in self.missing.items() if k in missing}
        return dict(before)

    def drop_what_nobody_can_have(self) -> None:
        """Leave out what a judge could give of no sample of the run; the reason stands among the missing."""
        for name, source in list(self.blocks):
            nowhere = (self.blocks[name, source].status == Status.NOT_APPLICABLE).all()
            if source == Source.JUDGED and name in self.missing and nowhere:
                del self.blocks[name, source]

    def write(self, stage: Path) -> None:
        with pq.ParquetWriter(stage / "scores.parquet", _SCHEMA, compression="zstd") as writer:
            for (name, source), scores in sorted(self.blocks.items()):
                writer.write_table(_long(name, source, scores), row_group_size=max(self.n, 1))
        columns = {"row": np.arange(self.n), **self.stage_features}
        pq.write_table(pa.table(columns), stage / "evidence.parquet", compression="zstd")
        for name, parts in self.tables.items():
            pq.write_table(pa.concat_tables(parts), stage / f"{name}.parquet", compression="zstd")


def _write_summary(stage: Path, scored: ScoredRun, missing: Mapping[str, str]) -> None:
    aggregates = {name: one.to_dict() for name, one in summarise(scored).items()}
    text = json.dumps({"missing": dict(missing), "aggregates": aggregates})
    (stage / "summary.json").write_text(text, encoding="utf-8")


def _nothing_yet(n: int, source: Source) -> Scores:
    return Scores(
        np.full(n, np.nan),
        np.full(n, Status.NOT_RUN, dtype=np.int8),
        np.full(n, "not recorded for this sample", dtype=object),
        np.full(n, source, dtype=np.int8),
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
