"""What may bias a judge: the order of documents, length, its own model; and how far it repeats itself."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ragtriage.data.judge.evaluation import EvaluationTask
from ragtriage.data.judge.requests import Sample, TaskSample, Workflow
from ragtriage.data.labels.human_ratings import human_ratings, rated_dimensions
from ragtriage.data.scoring.batch_inputs import batch_of, judged_sample
from ragtriage.data.scoring.judged_scores import judge_result_of
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.judge_results import (
    EVALUATION,
    Evidence,
    JudgeReply,
    TaskResult,
    judge_of,
    judge_result_path,
    judge_results_of,
    read_task_results,
    reply_from,
    reply_payload,
)
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_schema import SCHEMA
from ragtriage.metrics.metric_registry import compute
from ragtriage.metrics.schema.batch import Batch
from ragtriage.metrics.schema.scores import FloatArray, IntArray, Source, Status
from ragtriage.metrics.statistics.agreement import Agreement, bootstrap_interval, bootstrapped, spearman
from ragtriage.metrics.statistics.distributions import normal_quantile

GENERATOR_KEYS = ("generator_model", "generator", "answer_model", "model", "llm", "llm_model", "model_name")
_FAMILIES = ("claude", "gpt", "gemini", "llama", "mistral", "mixtral", "qwen", "deepseek", "command")
_DATE = re.compile(r"[-@:](\d{8}|latest|v\d+(:\d+)?)$")


def generator_of(config: Mapping[str, object]) -> str:
    """Return the model that answered, by the run's configuration; "" where it names none."""
    lower = {str(key).lower(): value for key, value in config.items()}
    return next(
        (str(lower[key]) for key in GENERATOR_KEYS if isinstance(lower.get(key), str) and lower[key]), ""
    )


def self_preference(config: Mapping[str, object], judge: str) -> str:
    """Return a warning where judge and generator are one model, or of one family; "" where they are not."""
    generator = generator_of(config)
    if not generator:
        return ""
    if _plain(generator) == _plain(judge):
        return (
            f"judge and generator are one model, {generator}: judges favour what they would have written "
            "themselves; judge with another model, or trust it only as far as human labels agree"
        )
    family = _family(judge)
    if family and family == _family(generator):
        return (
            f"judge ({judge}) and generator ({generator}) are of one family, which may favour its own "
            "answers; compare with human labels, or judge with another"
        )
    return ""


def _plain(model: str) -> str:
    """Return a model's name without provider, effort and date."""
    name = model.strip().lower()
    for _ in range(2):
        name = _DATE.sub("", name)
    provider, slash, rest = name.partition("/")
    if slash and provider in ("anthropic", "openai", "google", "meta", "mistral", "bedrock", "azure"):
        name = rest
    return name.partition("/")[0].replace(".", "-").removeprefix("anthropic-")


def _family(model: str) -> str:
    name = model.lower()
    return next((family for family in _FAMILIES if family in name), "")


SHUFFLED = "shuffled"  # kind of the stored results
ORDER = "order"  # in a stored payload: the rank of each document, in the order in which they were shown
ONE_DOCUMENT = "fewer than two documents with a text, so there is no order to change"


@dataclass(frozen=True)
class ShuffledTask:
    """Evaluates answers as another task does, with the documents of each sample in another order."""

    task: EvaluationTask
    kind: ClassVar = SHUFFLED

    @property
    def prompt(self) -> str:
        """Version of the evaluation's prompts: the two differ in nothing but the order."""
        return self.task.prompt

    @property
    def columns(self) -> tuple[str, ...]:
        """Sample columns that it reads."""
        return self.task.columns

    def workflow(self, task_sample: TaskSample) -> Workflow:
        """Evaluate with the documents in a random order; the labels name them by their own ranks again."""
        documents = list(task_sample.sample["retrieved"] or ())
        order = _order(task_sample.sample)
        if len(order) < 2:
            return TaskResult("not_applicable", ONE_DOCUMENT)
        sample = {**task_sample.sample, "retrieved": [documents[rank - 1] for rank in order]}
        result = yield from self.task.workflow(replace(task_sample, sample=sample))
        if result.status != "scored":
            return result
        payload = reply_payload(_by_own_rank(reply_from(result.payload), order))
        return TaskResult("scored", "", {**payload, ORDER: order})


def share_of_rows(rows: Sequence[int], share: float) -> list[int]:
    """Draw a share of rows at random, at least one, the same at each call."""
    number = min(len(rows), max(1, round(share * len(rows))))
    drawn = np.random.default_rng(0).permutation(len(rows))[:number]
    return [rows[at] for at in sorted(drawn.tolist())]


def _order(sample: Sample) -> list[int]:
    """Return the ranks of the documents with a text in a random order that is not theirs, always the same."""
    documents = sample["retrieved"] or ()
    ranks = [rank for rank, document in enumerate(documents, start=1) if document["text"]]
    if len(ranks) < 2:
        return ranks
    content = "\x1e".join([sample["question"] or "", *(documents[rank - 1]["text"] for rank in ranks)])
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    order = ranks
    while order == ranks:
        order = [ranks[at] for at in rng.permutation(len(ranks)).tolist()]
    return order


def _by_own_rank(reply: JudgeReply, order: Sequence[int]) -> JudgeReply:
    """Return the labels with the documents' own ranks in place of the positions they were shown at."""

    def ranks(positions: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(order[position - 1] for position in positions))

    def evidence(items: Sequence[Evidence]) -> tuple[Evidence, ...]:
        return tuple(replace(item, rank=order[item.rank - 1]) for item in items)

    return replace(
        reply,
        form=replace(reply.form, ranks=ranks(reply.form.ranks)),
        relevant=ranks(reply.relevant),
        used=ranks(reply.used),
        claims=tuple(
            replace(
                claim, by=ranks(claim.by), against=ranks(claim.against), evidence=evidence(claim.evidence)
            )
            for claim in reply.claims
        ),
        statements=tuple(
            replace(statement, by=ranks(statement.by), evidence=evidence(statement.evidence))
            for statement in reply.statements
        ),
    )


METRICS = ("faithfulness", "answer_relevancy", "completeness", "correctness", "context_recall", "refused")
_NOTHING: Mapping[str, Any] = dict.fromkeys(SCHEMA.names)
_DOCUMENT = [field.name for field in SCHEMA.field("retrieved").type.value_type]


@dataclass(frozen=True)
class Variance:
    """The spread of one metric within samples that were evaluated several times."""

    metric: str
    samples: int  # how many have a value from at least two evaluations
    evaluations: float  # per sample, on average
    deviation: float  # square root of the mean variance within a sample (n - 1 in the denominator)
    same_share: float  # share of the samples whose value was the same every time
    n: int  # samples with a value, evaluated once or more
    # how far the difference of two versions' means over such n samples, judged as often, is from the truth by
    # the judge's own variation in 95 % of repetitions at most
    noise: float


def judge_variance(path: Path) -> list[Variance]:
    """Return the spread of each metric over repeated evaluations; empty where no sample has several."""
    by_row: dict[int, list[JudgeReply]] = defaultdict(list)
    for (row, _), result in read_task_results(path).items():
        if result.payload is not None:
            by_row[row].append(reply_from(result.payload))
    if all(len(replies) < 2 for replies in by_row.values()):
        return []
    scores = compute(replies_batch([reply for replies in by_row.values() for reply in replies]))
    ends = np.cumsum([len(replies) for replies in by_row.values()])[:-1]
    variances = [_variance(name, np.split(scores[name].values, ends)) for name in METRICS if name in scores]
    return [variance for variance in variances if variance is not None]


def replies_batch(replies: Sequence[JudgeReply]) -> Batch:
    """Return the metric inputs of replies, each as a sample of its own."""
    most = max((rank for reply in replies for rank in reply.form.ranks), default=0)
    documents = [dict.fromkeys(_DOCUMENT) for _ in range(most)]
    samples = [judged_sample({**_NOTHING, "retrieved": documents}, reply) for reply in replies]
    batch = batch_of(pa.Table.from_pylist(samples, schema=SCHEMA))
    return replace(batch, judge_labels=judge_result_of(replies))


def _variance(metric: str, by_sample: Sequence[FloatArray]) -> Variance | None:
    finite = [values[np.isfinite(values)] for values in by_sample]
    repeated = [values for values in finite if len(values) > 1]
    if not repeated:
        return None
    within = float(np.mean([values.var(ddof=1) for values in repeated]))
    same_share = float(np.mean([np.ptp(values) == 0 for values in repeated]))
    evaluations = float(np.mean([len(values) for values in repeated]))
    counts = np.array([len(values) for values in finite if len(values)])
    # A sample judged m times adds within / m to the variance of the sum; two versions have it twice.
    noise = normal_quantile(0.975) * float(np.sqrt(2 * within * (1 / counts).sum())) / len(counts)
    return Variance(metric, len(repeated), evaluations, within**0.5, same_share, len(counts), noise)


LENGTH_METRICS = ("faithfulness", "answer_relevancy", "correctness", "context_recall")
ORDER_METRICS = (*LENGTH_METRICS, "context_relevance", "refused")
FEWEST = 10  # samples with a value, below which nothing is said about length


@dataclass(frozen=True)
class OrderEffect:
    """The effect of another order of the documents on a metric of the same samples."""

    metric: str
    n: int  # samples with a value in both orders
    mean: float  # in the order of the run
    difference: float  # shuffled minus own order, the mean over samples
    low: float  # lower end of its 95 % bootstrap interval; NaN with fewer than 10 clusters
    high: float
    same_share: float  # share of the samples with the same value in both orders


@dataclass(frozen=True)
class PositionEffect:
    """The effect of being shown earlier on the label of a document."""

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
    """The measured biases of a run's judge."""

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
    other = next((result for result in listed if result.kind == SHUFFLED and result.judge == run_judge), None)
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
    own = compute(replies_batch([first for first, _, _ in pairs]))
    other = compute(replies_batch([second for _, second, _ in pairs]))
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
    labels: dict[str, Callable[[JudgeReply], set[int]]] = {
        "relevant": lambda reply: {*reply.relevant},
        "supports a claim": lambda reply: {rank for claim in reply.claims for rank in claim.by},
    }
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
        low, high = bootstrap_interval(
            lambda *drawn: float(np.subtract(*_by_move(*drawn))), columns, np.array(groups, dtype=np.int64)
        )
        earlier, later = _by_move(*columns)
        changed = float((columns[1] != 0).mean())
        effects.append(PositionEffect(label, len(moves), changed, earlier, later, earlier - later, low, high))
    return tuple(effects)


def _by_move(moves: FloatArray, changes: FloatArray) -> tuple[float, float]:
    """Return the mean change of the documents shown earlier, and of those shown later."""
    return _mean(changes[moves > 0]), _mean(changes[moves < 0])


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else np.nan


def _length_effects(scored: ScoredRun, ledger: Ledger) -> tuple[LengthEffect, ...]:
    """Return the rank correlation of judged metrics, and of human labels, with the answer's length."""
    table: pa.Table = pq.read_table(scored.samples_path, columns=["answer"])["answer"].combine_chunks()
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
