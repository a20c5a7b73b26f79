"""Score one batch of a run's samples: the unit of work that scoring processes share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from data.scoring.batch_inputs import batch_of
from data.scoring.context_use import use_table
from data.scoring.gold_join import Match
from data.scoring.id_overlap import id_mismatch
from data.scoring.imported_scores import human_scores, imported_scores, recorded_figures
from data.scoring.judged_labels import overlaid
from data.scoring.judged_scores import EVALUATOR, JudgedBatch, evaluator_scores, judged_scores, yielding
from data.scoring.ranked_lists import ranked_table
from data.scoring.stage_features import stage_features_of
from data.store.judge_replies import EVALUATION
from data.store.judge_results import judge_result_path
from data.store.sample_schema import conform
from data.store.workspace import Workspace
from metrics.metric_registry import compute, lookup, unavailable
from metrics.schema.batch import Batch
from metrics.schema.metric import CONVENTIONS, Convention
from metrics.schema.scores import FloatArray, Scores, Status
from metrics.schema.source import Source

__all__ = [
    "DEFAULT_KS",
    "SCORES_VERSION",
    "ScoreKey",
    "ScoreOptions",
    "ScoredChunk",
    "batches_of",
    "score_batch",
]

SCORES_VERSION = 8  # raise when a definition, a heuristic or a file of the scores changes
DEFAULT_KS = (1, 3, 5, 10)
BATCH_ROWS = 4096
ScoreKey = tuple[str, Source]
AUXILIARY_TABLES: Mapping[str, Callable[[Any, Batch], Any]] = {"use": use_table, "ranked": ranked_table}


@dataclass(frozen=True)
class ScoreOptions:
    """What the scores depend on apart from the samples.

    Attributes:
        ks: the k of metrics at k.
        convention: how undefined values are treated.
        match: whether gold is compared with chunk ids or with document ids.
        judge_results: (kind, digest) of the judge results to score, see data.store.judge_results.
    """

    ks: tuple[int, ...] = DEFAULT_KS
    convention: Convention = "default"
    match: Match = "id"
    judge_results: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.convention not in CONVENTIONS:
            raise ValueError(f"convention {self.convention!r}; accepted: {', '.join(CONVENTIONS)}")
        if not self.ks or any(k < 1 for k in self.ks):
            raise ValueError(f"k {self.ks}; accepted: whole numbers of 1 or more")

    @property
    def folder(self) -> str:
        """Name of the folder for scores with these options."""
        cuts = "-".join(str(k) for k in self.ks)
        plain = f"v{SCORES_VERSION}.{self.convention}.{self.match}.k{cuts}"
        if not self.judge_results:
            return plain
        judged = hashlib.sha256(json.dumps(self.judge_results).encode()).hexdigest()[:12]
        return f"{plain}.judged-{judged}"


@dataclass(frozen=True)
class ScoredChunk:
    """The scores of one batch.

    Attributes:
        n: samples in it.
        blocks: the scores by metric and source.
        stage_features: (n,) arrays by the names of data.scoring.stage_features.STAGE_FEATURES.
        missing: metrics that the batch does not allow, and why.
        tables: auxiliary Arrow tables of n rows for single pages, by name.
    """

    n: int
    blocks: Mapping[ScoreKey, Scores]
    stage_features: Mapping[str, FloatArray]
    missing: Mapping[str, str]
    tables: Mapping[str, Any] = field(default_factory=dict)


def batches_of(samples: Path) -> list[list[int]]:
    """Divide the row groups of a samples file into batches of about BATCH_ROWS rows, in order."""
    metadata = pq.read_metadata(samples)
    batches: list[list[int]] = []
    rows = BATCH_ROWS
    for group in range(metadata.num_row_groups):
        if rows >= BATCH_ROWS:
            batches.append([])
            rows = 0
        batches[-1].append(group)
        rows += metadata.row_group(group).num_rows
    return batches


def score_batch(workspace: Workspace, run_id: str, groups: list[int], options: ScoreOptions) -> ScoredChunk:
    """Score the samples of some row groups of a run's samples file."""
    with pq.ParquetFile(workspace.samples_path(run_id)) as file:
        recorded = conform(file.read_row_groups(groups))
    ids_match = id_mismatch(workspace.samples_path(run_id), options.match) is None
    recorded_batch = batch_of(recorded, options.match, ids_match)
    computed = compute(recorded_batch, options.ks, options.convention)
    results = {
        kind: JudgedBatch(path, np.asarray(recorded["row"].to_numpy(), dtype=np.int64))
        for kind, digest in options.judge_results
        if (path := judge_result_path(workspace, run_id, digest)).exists()
    }
    table, judged, tables = _judged(recorded, results, options, computed)
    batch = recorded_batch if table is recorded else batch_of(table, options.match, ids_match)
    blocks = {
        (name, source): _of_source(scores, source)
        for name, scores in computed.items()
        for source in _sources(scores)
    }
    blocks |= recorded_figures(table) | imported_scores(table) | human_scores(table)
    blocks |= yielding(judged, blocks)
    evaluated = "judged" in tables
    missing = {
        metric: why for metric, why in unavailable(batch).items() if not _judgeable(metric, judged, evaluated)
    }
    for name, table_of in AUXILIARY_TABLES.items():
        auxiliary = table_of(table, batch)
        if auxiliary is not None:
            tables[name] = auxiliary
    return ScoredChunk(batch.n, blocks, stage_features_of(table, batch), missing, tables)


def _judgeable(metric: str, judged: Mapping[ScoreKey, Scores], evaluated: bool) -> bool:
    """Return whether a judge's scores say more of a metric than that no sample has what it needs."""
    scores = judged.get((metric, Source.JUDGED))
    if scores is None:
        return False
    if (scores.status != Status.NOT_APPLICABLE).any():
        return True
    return evaluated and "judged" in lookup(metric).metric.needs


def _judged(
    table: Any, results: Mapping[str, JudgedBatch], options: ScoreOptions, computed: Mapping[str, Scores]
) -> tuple[Any, dict[ScoreKey, Scores], dict[str, Any]]:
    """Return the samples with the judge's labels in place of recorded ones, its scores, auxiliary tables."""
    scoring = options.ks, options.convention, options.match
    blocks: dict[ScoreKey, Scores] = {}
    tables = {}
    for kind, result in results.items():
        if kind.startswith(EVALUATOR):
            blocks |= evaluator_scores(kind, result)
        elif kind == EVALUATION:
            table, replies = overlaid(table, result.payloads)
            tables["judged"] = result.told(replies)
            blocks |= judged_scores(table, replies, result, scoring, computed)
    return table, blocks, tables


def _sources(scores: Scores) -> list[Source]:
    """Return the sources that scored something; where none did, the best one that was tried."""
    scored = np.unique(scores.source[scores.status == Status.SCORED])
    return [Source(int(source)) for source in (scored if len(scored) else scores.source[:1])]


def _of_source(scores: Scores, source: Source) -> Scores:
    """Return the scores of one source alone; values from others become "not run"."""
    others = (scores.source != source) & (scores.status == Status.SCORED)
    return Scores(
        np.where(others, np.nan, scores.values),
        np.where(others, Status.NOT_RUN, scores.status).astype(np.int8),
        np.where(others, "obtained in another way", scores.reason).astype(object),
        np.full(len(scores), source, dtype=np.int8),
    )
