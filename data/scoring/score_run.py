"""Scoring a run: compute every metric that its samples allow and store the scores.

The folder scores/<run_id>/<options>/ of the workspace has `scores.parquet` (long rows, one row group per
metric and source), `evidence.parquet` (the features of the stage rules, one row per sample), the auxiliary
tables of single pages (one row per sample, see data.scoring.batch_scores) and `summary.json`. All of it may
be deleted at any time: it is computed again when needed, and when a definition changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from data.citations.style import declared_templates
from data.scoring.batch_scores import DEFAULT_KS, SCORES_VERSION, ScoredChunk, ScoreKey, ScoreOptions
from data.scoring.gold_join import Match
from data.scoring.scored_run import MetricColumn, ScoredRun
from data.scoring.stage_features import STAGE_FEATURES
from data.scoring.stored_scores import SUMMARY, checksums
from data.scoring.summaries import summarise
from data.scoring.workers import scored_batches, workers_for
from data.store.workspace import Run, Workspace
from metrics.schema.scores import Scores, Status
from metrics.schema.source import Source

__all__ = ["DEFAULT_KS", "SCORES_VERSION", "ScoreKey", "ScoreOptions", "ensure_scored", "match_of"]

Progress = Callable[[int], None]


def ensure_scored(
    workspace: Workspace, run: Run, options: ScoreOptions | None = None, progress: Progress | None = None
) -> Path:
    """Return the folder of a run's scores, computing them first where they are missing.

    Args:
        workspace: where the run lies.
        run: the run.
        options: what the scores depend on.
        progress: called with the number of samples scored so far.
    """
    options = options or ScoreOptions(match=match_of(run), citations=declared_templates(workspace, run))
    final = workspace.scores_folder / run.run_id / options.folder
    if (final / SUMMARY).exists():
        return final
    workspace.discard(final.parent if final.parent.is_file() else final)  # what is left of earlier scores
    with workspace.staging(final.parent) as stage:
        run_scores = _RunScores(run.n)
        with closing(scored_batches(workspace, run.run_id, options, workers_for(run.n))) as batches:
            for batch in batches:
                run_scores.add(batch)
                if progress is not None:
                    progress(run_scores.rows)
        run_scores.drop_inapplicable()
        run_scores.write(stage)
        columns = {
            key: MetricColumn(scores.values, scores.status, scores.source)
            for key, scores in run_scores.blocks.items()
        }
        summaries = summarise(ScoredRun.of_blocks(workspace, run, stage, columns))
        aggregates = {metric: summary.to_dict() for metric, summary in summaries.items()}
        summary = {"missing": run_scores.missing, "aggregates": aggregates, "files": checksums(stage)}
        (stage / SUMMARY).write_text(json.dumps(summary), encoding="utf-8")
        workspace.publish(stage, final)
    return final


def match_of(run: Run) -> Match:
    """Return whether a run's gold names chunks or whole documents: the `match` of its configuration."""
    return "doc_id" if run.config.get("match") == "doc_id" else "id"


class _RunScores:
    """The scores of a run, filled batch by batch; a metric absent from a batch was not run there."""

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
            if key not in self.blocks:
                self.blocks[key] = _not_run(self.n, key[1])
            whole = self.blocks[key]
            whole.values[at], whole.status[at], whole.reason[at] = scores.values, scores.status, scores.reason
        for name, values in batch.stage_features.items():
            self.stage_features[name][at] = values
        for name, table in batch.tables.items():
            self.tables.setdefault(name, []).append(table)
        if self.rows:  # missing in the run is what every batch lacks
            self.missing = {metric: why for metric, why in self.missing.items() if metric in batch.missing}
        else:
            self.missing = dict(batch.missing)
        self.rows += batch.n

    def drop_inapplicable(self) -> None:
        """Drop the judged metrics that apply to no sample of the run and are listed as missing."""
        for metric, source in list(self.blocks):
            inapplicable = (self.blocks[metric, source].status == Status.NOT_APPLICABLE).all()
            if source == Source.JUDGED and metric in self.missing and inapplicable:
                del self.blocks[metric, source]

    def write(self, stage: Path) -> None:
        with pq.ParquetWriter(stage / "scores.parquet", _SCHEMA, compression="zstd") as writer:
            for (name, source), scores in sorted(self.blocks.items()):
                writer.write_table(_long(name, source, scores), row_group_size=max(self.n, 1))
        columns = {"row": np.arange(self.n), **self.stage_features}
        pq.write_table(pa.table(columns), stage / "evidence.parquet", compression="zstd")
        for name, parts in self.tables.items():
            pq.write_table(pa.concat_tables(parts), stage / f"{name}.parquet", compression="zstd")


def _not_run(n: int, source: Source) -> Scores:
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
