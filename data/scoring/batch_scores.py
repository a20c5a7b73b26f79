"""Score one batch of a run's samples: the unit of work that scoring processes share."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ragtriage.data.scoring.answer_texts import text_table, without_error_texts
from ragtriage.data.scoring.batch_inputs import batch_of, overlaid
from ragtriage.data.scoring.context_use import use_table
from ragtriage.data.scoring.gold_join import Match
from ragtriage.data.scoring.grouping import language_table, noise_table
from ragtriage.data.scoring.imported_scores import FIGURES, human_scores, imported_scores, recorded_figures
from ragtriage.data.scoring.judged_scores import (
    EVALUATOR,
    LOCAL,
    NOT_ASKED,
    JudgedBatch,
    averaged,
    evaluator_scores,
    judged_rounds,
    judged_scores,
    local_scores,
    yielding,
)
from ragtriage.data.scoring.ranked_lists import context_list_table, id_mismatch, ranked_table
from ragtriage.data.scoring.stage_features import stage_features_of
from ragtriage.data.store.judge_results import EVALUATION, judge_result_path
from ragtriage.data.store.sample_schema import conform
from ragtriage.data.store.stored_file import reading
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.suites.citation_support import citation_table
from ragtriage.data.suites.citations import CitationStyle, citation_style
from ragtriage.data.suites.registry import with_evaluated_checks
from ragtriage.metrics.metric_registry import compute, declared, lookup, unavailable
from ragtriage.metrics.schema.batch import Batch
from ragtriage.metrics.schema.metric import CONVENTIONS, Convention
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Scores, Source, Status

SCORES_VERSION = 33  # raise when a definition, a heuristic or a file of the scores changes
DEFAULT_KS = (1, 3, 5, 10)
BATCH_ROWS = 4096
ScoreKey = tuple[str, Source]
T = TypeVar("T")


def check_table(table: pa.Table, _batch: Batch) -> pa.Table:
    """Return the evaluated checks alone, the auxiliary table that ragtriage.data.suites reads."""
    return table.select(["checks"])


AUXILIARY_TABLES: Mapping[str, Callable[[Any, Batch], Any]] = {
    "use": use_table,
    "ranked": ranked_table,
    "lists": context_list_table,
    "noise": noise_table,
    "checks": check_table,
    "languages": language_table,
    "citations": citation_table,
    "texts": text_table,
}


@dataclass(frozen=True)
class ScoreOptions:
    """The options that scores depend on, apart from the samples."""

    ks: tuple[int, ...] = DEFAULT_KS  # the k of metrics at k
    convention: Convention = "default"  # how undefined values are treated
    match: Match = "id"  # whether gold is compared with chunk ids or with document ids
    # (kind, digest) of the judge results to score, see ragtriage.data.store.judge_results
    judge_results: tuple[tuple[str, str], ...] = ()
    citations: tuple[str, ...] = ()  # the declared forms of citations; () for the usual ones
    refusals: tuple[str, ...] = ()  # the declared patterns of answers that refuse, beside the rule

    def __post_init__(self) -> None:
        if self.convention not in CONVENTIONS:
            raise ValueError(f"convention {self.convention!r}; accepted: {', '.join(CONVENTIONS)}")
        if not self.ks or any(k < 1 for k in self.ks):
            raise ValueError(f"k {self.ks}; accepted: whole numbers of 1 or more")

    @property
    def folder(self) -> str:
        """Return the name of the folder for scores with these options."""
        cuts = "-".join(str(k) for k in self.ks)
        plain = f"v{SCORES_VERSION}.{self.convention}.{self.match}.k{cuts}"
        if self.citations:
            plain += f".cited-{hashlib.sha256(json.dumps(self.citations).encode()).hexdigest()[:12]}"
        if self.refusals:
            plain += f".refused-{hashlib.sha256(json.dumps(self.refusals).encode()).hexdigest()[:12]}"
        if not self.judge_results:
            return plain
        judged = hashlib.sha256(json.dumps(self.judge_results).encode()).hexdigest()[:12]
        return f"{plain}.judged-{judged}"


@dataclass(frozen=True)
class ScoredChunk:
    """The scores of one batch."""

    n: int  # samples in it
    blocks: Mapping[ScoreKey, Scores]  # the scores by metric and source
    # (n,) arrays by the names of ragtriage.data.scoring.stage_features.STAGE_FEATURES
    stage_features: Mapping[str, FloatArray]
    missing: Mapping[str, str]  # metrics that the batch does not allow, and why
    # auxiliary Arrow tables of n rows for single pages, by name
    tables: Mapping[str, Any] = field(default_factory=dict)


def batches_of(samples: Path) -> list[list[int]]:
    """Divide the row groups of a samples file into batches of about BATCH_ROWS rows, in order."""
    with reading(samples):
        metadata = pq.read_metadata(samples)
    groups = range(metadata.num_row_groups)
    return in_batches(groups, [metadata.row_group(group).num_rows for group in groups])


def in_batches(groups: Sequence[T], sizes: Sequence[int]) -> list[list[T]]:
    """Divide row groups into batches of about BATCH_ROWS rows, in order.

    Args:
        groups: the row groups.
        sizes: rows of each.
    """
    batches: list[list[T]] = []
    rows = BATCH_ROWS
    for group, size in zip(groups, sizes, strict=True):
        if rows >= BATCH_ROWS:
            batches.append([])
            rows = 0
        batches[-1].append(group)
        rows += size
    return batches


@dataclass(frozen=True)
class RunFacts:
    """Facts of the whole run that the scores of a batch depend on."""

    ids_match: bool  # whether any gold id occurs among the retrieved ids, or nothing can be said of it
    style: CitationStyle | None  # how the answers cite; None for not at all


def score_batch(workspace: Workspace, run_id: str, groups: list[int], options: ScoreOptions) -> ScoredChunk:
    """Score the samples of some row groups of a run's samples file."""
    samples = workspace.samples_path(run_id)
    with reading(samples), pq.ParquetFile(samples) as file:
        table = file.read_row_groups(groups)
    style = citation_style(samples, options.citations)
    facts = RunFacts(id_mismatch(samples, options.match) is None, style)
    results = {
        kind: judged_rounds(path, np.asarray(table["row"].to_numpy(), dtype=np.int64))
        for kind, digest in options.judge_results
        if (path := judge_result_path(workspace, run_id, digest)).exists()
    }
    return score_table(table, facts, options, results)


def score_table(
    samples: pa.Table, facts: RunFacts, options: ScoreOptions, results: Mapping[str, Sequence[JudgedBatch]]
) -> ScoredChunk:
    """Score an Arrow table of samples.

    Args:
        samples: the samples.
        facts: of the run that they are a part of.
        options: what the scores depend on.
        results: judge results of these samples by kind, those of several evaluations in their order.
    """
    whole = conform(samples.combine_chunks())  # or each list column would be, often
    recorded = with_evaluated_checks(without_error_texts(whole))
    ids_match, style = facts.ids_match, facts.style
    recorded_batch = batch_of(recorded, options.match, ids_match, style, options.refusals)
    computed = compute(recorded_batch, options.ks, options.convention)
    table, judged, tables = _judged(recorded, results, options, computed, style)
    batch = recorded_batch
    if table is not recorded:
        batch = batch_of(table, options.match, ids_match, style, options.refusals)
    blocks = {
        (name, source): _of_source(scores, source)
        for name, scores in computed.items()
        for source in _sources(scores)
    }
    blocks |= recorded_figures(table) | imported_scores(table) | human_scores(table)
    blocks |= yielding(judged, blocks)
    features = stage_features_of(table, batch)
    blocks = over_answers(
        without_errors(blocks, features["errored"] == 1), features["refused"] == 1, options.convention
    )
    evaluated = "judged" in tables
    imported = {
        name for name, source in blocks if source == Source.IMPORTED
    }  # also where all answers refused
    missing = {
        metric: NOT_ASKED.get(metric, why) if evaluated else why
        for metric, why in unavailable(batch).items()
        if metric not in imported and not _judgeable(metric, judged, evaluated)
    }
    for name, table_of in AUXILIARY_TABLES.items():
        auxiliary = table_of(table, batch)
        if auxiliary is not None:
            tables[name] = auxiliary
    return ScoredChunk(batch.n, blocks, features, missing, tables)


def _judgeable(metric: str, judged: Mapping[ScoreKey, Scores], evaluated: bool) -> bool:
    """Return whether a judge's scores say more of a metric than that no sample has what it needs."""
    scores = judged.get((metric, Source.JUDGED))
    if scores is None:
        return False
    if (scores.status != Status.NOT_APPLICABLE).any():
        return True
    return evaluated and "judged" in lookup(metric).metric.needs


def _judged(
    table: pa.Table,
    results: Mapping[str, Sequence[JudgedBatch]],
    options: ScoreOptions,
    computed: Mapping[str, Scores],
    style: CitationStyle | None,
) -> tuple[Any, dict[ScoreKey, Scores], dict[str, Any]]:
    """Return the samples with the judge's labels in place of recorded ones, its scores, auxiliary tables.

    Where samples were evaluated several times, the labels are those of the first evaluation, the scores means
    over all of them.
    """
    scoring = options.ks, options.convention, options.match
    blocks: dict[ScoreKey, Scores] = {}
    tables = {}
    labelled = table
    for kind, rounds in results.items():
        if kind.startswith(EVALUATOR):
            blocks |= averaged([evaluator_scores(kind, each) for each in rounds])
        elif kind.startswith(LOCAL):
            blocks |= local_scores(rounds[0])
        elif kind == EVALUATION:
            overlays = [overlaid(table, each.payloads) for each in rounds]
            # one evaluation has to be shown whole; the scores are means over all
            labelled, replies = overlays[0]
            counts = np.array([[at in each.payloads for each in rounds] for at in range(table.num_rows)])
            tables["judged"] = rounds[0].told(replies, counts.reshape(table.num_rows, -1).sum(axis=1))
            scores = [
                judged_scores(overlay, replies, each, scoring, computed, style)
                for (overlay, replies), each in zip(overlays, rounds, strict=True)
            ]
            blocks |= averaged(scores)
    return labelled, blocks, tables


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


# A refusal says nothing that these metrics could measure.
OVER_ANSWERS = (
    "answer_relevancy",
    "faithfulness",
    "answer_precision",
    "answer_recall",
    "answer_f1",
    "hallucination",
    "self_knowledge",
    "noise_sensitivity_relevant",
    "noise_sensitivity_irrelevant",
    "ungrounded",
    "intrinsic_hallucination",
    "extrinsic_hallucination",
)
_GOOD = ("answer_relevancy", "faithfulness", "answer_precision", "answer_recall", "answer_f1")
ERRORED = "the sample ended in an error"
REFUSED = "the answer is a refusal, which has its own metrics"


def without_errors(
    blocks: Mapping[tuple[str, Source], Scores], errored: BoolArray
) -> dict[tuple[str, Source], Scores]:
    """Leave out what was recorded of the answers of samples that ended in an error; people's values stay.

    A tool writes 0 or -1 there, of which neither measures an answer. What was retrieved before it is real.

    Args:
        blocks: scores of n samples by metric and source.
        errored: (n,) True for these samples.
    """
    changed = dict(blocks)
    for (name, source), scores in blocks.items():
        metric = declared(name)
        of_retrieval = metric is not None and metric.component == "retrieval"
        if source != Source.HUMAN and errored.any() and not of_retrieval:
            # The tokens and the cost of a failed call are real; its time is not that of an answer.
            real = name in FIGURES and name != "latency_ms"
            left_out = errored & (scores.values <= 0) if real else errored
            changed[name, source] = replace(
                scores,
                values=np.where(left_out, np.nan, scores.values),
                status=np.where(left_out, Status.NOT_RUN, scores.status).astype(np.int8),
                reason=np.where(left_out, ERRORED, scores.reason).astype(object),
            )
    return changed


def over_answers(
    blocks: Mapping[tuple[str, Source], Scores], refused: BoolArray, convention: Convention
) -> dict[tuple[str, Source], Scores]:
    """Make the metrics of OVER_ANSWERS not applicable to refusals.

    Under the convention "refusals_0" a refusal counts 0 in those for which 1 is best, as answer relevancy of
    Ragas does; under "ragchecker" its values stay as recorded or computed. People's values always stay.

    Args:
        blocks: scores of n samples by metric and source.
        refused: (n,) True for refusals.
        convention: of the scores.
    """
    changed = dict(blocks)
    for (name, source), scores in blocks.items():
        if name not in OVER_ANSWERS or source == Source.HUMAN or convention == "ragchecker":
            continue
        as_zero = convention == "refusals_0" and name in _GOOD
        changed[name, source] = replace(
            scores,
            values=np.where(refused, 0.0 if as_zero else np.nan, scores.values),
            status=np.where(
                refused, Status.SCORED if as_zero else Status.NOT_APPLICABLE, scores.status
            ).astype(np.int8),
            reason=np.where(refused, "" if as_zero else REFUSED, scores.reason).astype(object),
        )
    return changed
