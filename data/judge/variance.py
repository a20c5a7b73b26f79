"""How far a judge agrees with itself: the metrics of a sample over its repeated readings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from data.scoring.batch_inputs import batch_of
from data.scoring.judged_labels import judged_sample
from data.scoring.judged_scores import judge_result_of
from data.store.judge_replies import JudgeReply, reply_from
from data.store.judge_results import read_task_results
from data.store.sample_schema import SCHEMA
from metrics.metric_registry import compute
from metrics.schema.batch import Batch
from metrics.schema.scores import FloatArray

__all__ = ["Variance", "judge_variance"]

METRICS = ("faithfulness", "answer_relevancy", "completeness", "correctness", "context_recall", "refused")
_NOTHING: Mapping[str, Any] = dict.fromkeys(SCHEMA.names)
_DOCUMENT = [field.name for field in SCHEMA.field("retrieved").type.value_type]


@dataclass(frozen=True)
class Variance:
    """The spread of one metric within samples that were read several times.

    Attributes:
        metric: which.
        samples: how many were read at least twice with a value each time.
        readings: readings a sample, on average.
        deviation: square root of the mean variance within a sample (n - 1 in the denominator).
        same: share of the samples whose value was the same every time.
    """

    metric: str
    samples: int
    readings: float
    deviation: float
    same: float


def judge_variance(path: Path) -> list[Variance]:
    """Give the spread of each metric over repeated readings; empty where no sample was read twice."""
    by_row: dict[int, list[JudgeReply]] = defaultdict(list)
    for (row, _), outcome in read_task_results(path).items():
        if outcome.payload is not None:
            by_row[row].append(reply_from(outcome.payload))
    repeated = [readings for readings in by_row.values() if len(readings) > 1]
    if not repeated:
        return []
    scores = compute(_batch([one for readings in repeated for one in readings]))
    ends = np.cumsum([len(readings) for readings in repeated])[:-1]
    found = [
        _variance(metric, np.split(scores[metric].values, ends)) for metric in METRICS if metric in scores
    ]
    return [one for one in found if one is not None]


def _batch(readings: Sequence[JudgeReply]) -> Batch:
    """Make the metric inputs of readings, each as a sample of its own."""
    most = max((rank for one in readings for rank in one.form.ranks), default=0)
    documents = [dict.fromkeys(_DOCUMENT) for _ in range(most)]
    samples = [judged_sample({**_NOTHING, "retrieved": documents}, one) for one in readings]
    batch = batch_of(pa.Table.from_pylist(samples, schema=SCHEMA))
    return replace(batch, judge_labels=judge_result_of(readings))


def _variance(metric: str, values: Sequence[FloatArray]) -> Variance | None:
    known = [one[np.isfinite(one)] for one in values]
    known = [one for one in known if len(one) > 1]
    if not known:
        return None
    within = float(np.mean([one.var(ddof=1) for one in known]))
    same = float(np.mean([np.ptp(one) == 0 for one in known]))
    return Variance(metric, len(known), float(np.mean([len(one) for one in known])), within**0.5, same)
