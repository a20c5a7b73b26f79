"""How far a judge agrees with itself: the metrics of a sample over repeated evaluations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ragtriage.data.scoring.batch_inputs import batch_of
from ragtriage.data.scoring.judged_labels import judged_sample
from ragtriage.data.scoring.judged_scores import judge_result_of
from ragtriage.data.store.judge_replies import JudgeReply, reply_from
from ragtriage.data.store.judge_results import read_task_results
from ragtriage.data.store.sample_schema import SCHEMA
from ragtriage.metrics.metric_registry import compute
from ragtriage.metrics.schema.batch import Batch
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.distributions import normal_quantile

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
