"""The scores of one batch of a run's samples: what the processes that share the scoring of a run do."""

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
from data.scoring.imported_scores import human_scores, imported_scores, recorded_figures
from data.scoring.judged_labels import overlaid
from data.scoring.judged_scores import EVALUATOR, JudgedBatch, evaluator_scores, judged_scores, yielding
from data.scoring.ranked_lists import ranked_table
from data.scoring.stage_features import stage_features_of
from data.store.judge_replies import EVALUATION
from data.store.sample_schema import conform
from metrics.metric_registry import compute, lookup, unavailable
from metrics.schema.batch import Batch
from metrics.schema.metric import CONVENTIONS, Convention
from metrics.schema.scores import FloatArray, Scores, Source, Status

__all__ = [
    "DEFAULT_KS",
    "SCORES_VERSION",
    "ScoreKey",
    "ScoreOptions",
    "ScoredChunk",
    "batches_of",
    "score_batch",
]

SCORES_VERSION = 5  # raise when a definition, an estimate or a file of the scores changes
DEFAULT_KS = (1, 3, 5, 10)
BATCH_ROWS = 4096
ScoreKey = tuple[str, Source]
BESIDE: Mapping[str, Callable[[Any, Batch], Any]] = {"use": use_table, "ranked": ranked_table}


@dataclass(frozen=True)
class ScoreOptions:
    """What the scores depend on beside the samples.

    Attributes:
        ks: rank cut-offs.
        convention: how the undefined is treated.
        match: whether gold is compared with chunk ids or with document ids.
        judgements: (kind, digest) of what judges said of the run, see data.store.judge_results.
    """

    ks: tuple[int, ...] = DEFAULT_KS
    convention: Convention = "default"
    match: Match = "id"
    judge_results: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.convention not in CONVENTIONS:
            raise ValueError(f"convention {self.convention!r}; accepted: {', '.join(CONVENTIONS)}")
        if not self.ks or any(k < 1 for k in self.ks):
            raise ValueError(f"cut-offs {self.ks}; accepted: whole numbers of 1 or more")

    @property
    def folder(self) -> str:
        """Name of the folder that holds scores made this way."""
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
        evidence: (n,) arrays by the names of data.scoring.stage_features.EVIDENCE.
        missing: metrics that the batch does not allow, and why.
        tables: Arrow tables of n rows that pages read beside the scores, by name.
    """

    n: int
    blocks: Mapping[ScoreKey, Scores]
    stage_features: Mapping[str, FloatArray]
    missing: Mapping[str, str]
    tables: Mapping[str, Any] = field(default_factory=dict)


def batches_of(samples: Path) -> list[list[int]]:
    """Divide the row groups of a samples file into batches of about BATCH_ROWS rows, in order."""
    metadata = pq.read_metadata(samples)
    found: list[list[int]] = []
    rows = BATCH_ROWS
    for group in range(metadata.num_row_groups):
        if rows >= BATCH_ROWS:
            found.append([])
            rows = 0
        found[-1].append(group)
        rows += metadata.row_group(group).num_rows
    return found


def score_batch(samples: Path, groups: list[int], options: ScoreOptions) -> ScoredChunk:
    """Score the samples of some row groups."""
    plain = _recorded(samples, groups)
    recorded = batch_of(plain, options.match)
    computed = compute(recorded, options.ks, options.convention)
    table, judged, said = _judged(samples, plain, options, computed)
    batch = recorded if table is plain else batch_of(table, options.match)
    blocks = {
        (name, source): _of_source(scores, source)
        for name, scores in computed.items()
        for source in _sources(scores)
    }
    blocks |= recorded_figures(table) | imported_scores(table) | human_scores(table)
    blocks |= yielding(judged, blocks)
    missing = {name: why for name, why in unavailable(batch).items() if not _told(name, judged, bool(said))}
    return ScoredChunk(
        batch.n, blocks, stage_features_of(table, batch), missing, _beside(table, batch) | said
    )


def _told(name: str, judged: Mapping[ScoreKey, Scores], read: bool) -> bool:
    """Whether a judge's word on a metric is more than that no sample has what it needs."""
    scores = judged.get((name, Source.JUDGED))
    if scores is None:
        return False
    return bool((scores.status != Status.NOT_APPLICABLE).any()) or (
        read and "judged" in lookup(name).metric.needs
    )


def _recorded(samples: Path, groups: list[int]) -> Any:
    with pq.ParquetFile(samples) as file:
        return conform(file.read_row_groups(groups))


def _judged(
    samples: Path, table: Any, options: ScoreOptions, computed: Mapping[str, Scores]
) -> tuple[Any, dict[ScoreKey, Scores], dict[str, Any]]:
    """Lay what judges said over the samples: (table, scores, tables beside the scores)."""
    scoring = options.ks, options.convention, options.match
    blocks: dict[ScoreKey, Scores] = {}
    said = {}
    rows = np.asarray(table["row"].to_numpy(), dtype=np.int64)
    for kind, digest in options.judge_results:
        path = samples.parents[2] / "judgements" / samples.parent.name / f"{digest}.parquet"
        if not path.exists():
            continue
        found = JudgedBatch(path, rows)
        if kind.startswith(EVALUATOR):
            blocks |= evaluator_scores(kind, found)
        elif kind == EVALUATION:
            table, readings = overlaid(table, found.payloads)
            said["judged"] = found.told(readings)
            blocks |= judged_scores(table, readings, found, scoring, computed)
    return table, blocks, said


def _beside(table: Any, batch: Batch) -> dict[str, Any]:
    """Give what the views read beside the scores, by the name of its file."""
    found = {name: made(table, batch) for name, made in BESIDE.items()}
    return {name: one for name, one in found.items() if one is not None}


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
