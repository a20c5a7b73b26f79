"""What may bias a judge: the order of the documents, the length of the answer, answers of its own model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ragtriage.data.judge.bias.self_preference import generator_of, self_preference
from ragtriage.data.judge.bias.shuffled import ORDER, SHUFFLED
from ragtriage.data.judge.variance import replies_batch
from ragtriage.data.labels.human_ratings import human_ratings, rated_dimensions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.judge_replies import EVALUATION, JudgeReply, reply_from
from ragtriage.data.store.judge_results import (
    judge_of,
    judge_result_path,
    judge_results_of,
    read_task_results,
)
from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.metric_registry import compute
from ragtriage.metrics.schema.scores import FloatArray, IntArray, Status
from ragtriage.metrics.schema.source import Source
from ragtriage.metrics.statistics.agreement import Agreement, bootstrap_interval, bootstrapped, spearman

LENGTH_METRICS = ("faithfulness", "answer_relevancy", "correctness", "context_recall")
ORDER_METRICS = (*LENGTH_METRICS, "context_relevance", "refused")
FEWEST = 10  # samples with a value, below which nothing is said about length


@dataclass(frozen=True)
class OrderEffect:
    """What another order of the documents does to a metric of the same samples."""

    metric: str
    n: int  # samples with a value in both orders
    mean: float  # in the order of the run
    difference: float  # shuffled minus own order, the mean over samples
    low: float  # lower end of its 95 % bootstrap interval; NaN with fewer than 10 clusters
    high: float
    same_share: float  # share of the samples with the same value in both orders


@dataclass(frozen=True)
class PositionEffect:
    """What being shown earlier does to the label of a document."""

    label: str  # "relevant" or "supports a claim"
    n: int  # documents
    changed: float  # share of them whose label is another in the other order
    earlier: float  # change in the share with the label among documents shown earlier than before
    later: float  # the same among those shown later
    difference: float  # earlier minus later; above 0 the judge favours what it sees first
    low: float  # lower end of its 95 % bootstrap interval over samples; NaN with fewer than 10
    high: float


@dataclass(frozen=True)
class LengthEffect:
    """How a judged metric goes with the length of the answer."""

    metric: str
    judge: Agreement  # Spearman's correlation of the metric with the number of characters
    human: Agreement | None  # the same of human labels of that dimension; None where there are none


@dataclass(frozen=True)
class JudgeBias:
    """What is known of the biases of a run's judge."""

    # effect of another order by metric; empty where no sample was judged in two orders
    order: tuple[OrderEffect, ...]
    position: tuple[PositionEffect, ...]  # effect of the position by label; empty likewise
    shuffled: int  # samples judged in two orders
    length: tuple[LengthEffect, ...]  # by metric
    generator: str  # the model that answered, "" where the run does not say
    own_model: str  # a warning where judge and generator are one model or family; else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values, null where undefined."""
        fields: dict[str, Any] = _finite(asdict(self))
        return fields


def judge_bias(scored: ScoredRun, ledger: Ledger) -> JudgeBias:
    """Measure the biases of the current judge of a run.

    The two orders are compared only where one judge (model, effort and prompt) gave both.
    """
    own = scored.judge_result_path(EVALUATION)
    run_judge = "" if own is None else judge_of(own)
    listed = judge_results_of(ledger, scored.run.run_id)
    other = next((one for one in listed if one.kind == SHUFFLED and one.judge == run_judge), None)
    pairs: dict[int, tuple[JudgeReply, JudgeReply, list[int]]] = {}
    if own is not None and other is not None:
        pairs = _pairs(own, judge_result_path(scored.workspace, scored.run.run_id, other.digest))
    rows = np.array(sorted(pairs), dtype=np.int64)
    clusters = scored.clusters[scored.question][rows]
    judge = run_judge.rpartition("@")[0]
    return JudgeBias(
        order=_order_effects([pairs[row] for row in rows.tolist()], clusters),
        position=_position_effects([pairs[row] for row in rows.tolist()], clusters),
        shuffled=len(pairs),
        length=_length_effects(scored, ledger),
        generator=generator_of(scored.run.config),
        own_model=self_preference(scored.run.config, judge) if judge else "",
    )


def _pairs(own: Path, other: Path) -> dict[int, tuple[JudgeReply, JudgeReply, list[int]]]:
    """Return by row the labels in both orders, and the ranks in the order in which they were shown."""
    first = read_task_results(own)
    return {
        row: (reply_from(first[row, 0].payload), reply_from(result.payload), list(result.payload[ORDER]))
        for (row, attempt), result in read_task_results(other).items()
        if attempt == 0
        and result.payload is not None
        and (row, 0) in first
        and first[row, 0].payload is not None
    }


def _order_effects(
    pairs: Sequence[tuple[JudgeReply, JudgeReply, list[int]]], clusters: IntArray
) -> tuple[OrderEffect, ...]:
    if not pairs:
        return ()
    own, other = (compute(replies_batch([pair[side] for pair in pairs])) for side in (0, 1))  # type: ignore[misc]
    effects = []
    for metric in ORDER_METRICS:
        if metric not in own or metric not in other:
            continue
        values, shuffled = own[metric].values, other[metric].values
        both = np.isfinite(values) & np.isfinite(shuffled)
        if both.any():
            change = shuffled[both] - values[both]
            low, high = bootstrap_interval(_mean, (change,), clusters[both])
            same = float((np.abs(change) < 1e-9).mean())
            mean = float(values[both].mean())
            effects.append(OrderEffect(metric, int(both.sum()), mean, _mean(change), low, high, same))
    return tuple(effects)


def _position_effects(
    pairs: Sequence[tuple[JudgeReply, JudgeReply, list[int]]], clusters: IntArray
) -> tuple[PositionEffect, ...]:
    labels = {"relevant": _relevant, "supports a claim": _supporting}
    effects = []
    for label, ranks_of in labels.items():
        moves, changes, groups = [], [], []
        for (own, other, order), cluster in zip(pairs, clusters.tolist(), strict=True):
            before = sorted(order)  # documents without a text were never shown
            for position, rank in enumerate(order):
                moves.append(before.index(rank) - position)
                changes.append(float(rank in ranks_of(other)) - float(rank in ranks_of(own)))
                groups.append(cluster)
        if not moves:
            continue
        columns = np.array(moves, dtype=np.float64), np.array(changes)
        low, high = bootstrap_interval(_favour, columns, np.array(groups, dtype=np.int64))
        earlier, later = _by_move(*columns)
        changed = float((columns[1] != 0).mean())
        effects.append(PositionEffect(label, len(moves), changed, earlier, later, earlier - later, low, high))
    return tuple(effects)


def _relevant(reply: JudgeReply) -> set[int]:
    return {*reply.relevant}


def _supporting(reply: JudgeReply) -> set[int]:
    return {rank for claim in reply.claims for rank in claim.by}


def _by_move(moves: FloatArray, changes: FloatArray) -> tuple[float, float]:
    """Return the mean change of the documents shown earlier, and of those shown later."""
    return _mean(changes[moves > 0]), _mean(changes[moves < 0])


def _favour(moves: FloatArray, changes: FloatArray) -> float:
    earlier, later = _by_move(moves, changes)
    return earlier - later


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else np.nan


def _length_effects(scored: ScoredRun, ledger: Ledger) -> tuple[LengthEffect, ...]:
    """Return the rank correlation of judged metrics, and of human labels, with the answer's length."""
    table: Any = pq.read_table(scored.samples_path, columns=["answer"])["answer"].combine_chunks()
    lengths = pc.fill_null(pc.utf8_length(table), 0).to_numpy(zero_copy_only=False).astype(np.float64)
    clusters = scored.clusters[scored.question]
    by_metric = {human_ratings(scored, ledger, key).metric: key for key in rated_dimensions(scored, ledger)}
    effects = []
    for metric in LENGTH_METRICS:
        column = scored.column(metric, Source.JUDGED)
        if column is None:
            continue
        values = np.where(column.status == Status.SCORED, column.values, np.nan)
        human = None
        if metric in by_metric:
            human = _with_length(human_ratings(scored, ledger, by_metric[metric]).values, lengths, clusters)
        judge = _with_length(values, lengths, clusters)
        if judge is not None:
            effects.append(LengthEffect(metric, judge, human))
    return tuple(effects)


def _with_length(values: FloatArray, lengths: FloatArray, clusters: IntArray) -> Agreement | None:
    """Return the correlation of values with lengths, None for too few samples with an answer and a value."""
    both = np.isfinite(values) & (lengths > 0)
    if int(both.sum()) < FEWEST:
        return None
    return bootstrapped("spearman", spearman, (values[both], lengths[both]), clusters[both])


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
