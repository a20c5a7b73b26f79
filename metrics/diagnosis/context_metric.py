"""The context metric: which metric says, for each question, whether its context holds what is needed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.metric import whole_number
from ragtriage.metrics.schema.scores import FloatArray

Origin = Literal["own", "imported", "any"]


@dataclass(frozen=True)
class ContextMetric:
    """A metric that can stand for the context."""

    name: str  # metric without its k
    # "own" where it was computed here, judged or given by people; "imported" where another tool
    # computed it; "any" for both
    origin: Origin
    tells: str  # what it says about the context of one question


CONTEXT_METRICS = (
    ContextMetric("all_hops_recall", "own", "every hop of the gold was retrieved"),
    ContextMetric("span_recall", "own", "share of the gold text that was retrieved"),
    ContextMetric("recall", "own", "share of the gold documents that were retrieved"),
    ContextMetric("gold_in_context", "own", "the gold was handed over: an oracle context"),
    ContextMetric("context_recall", "own", "share of the claims of the reference that the context supports"),
    ContextMetric("any_relevant", "own", "a retrieved document is labelled relevant"),
    ContextMetric("all_hops_recall", "imported", "the same by another tool"),
    ContextMetric("span_recall", "imported", "the same by another tool"),
    ContextMetric(
        "recall", "imported", "the same by another tool, with its k: `recall` alone may be of text"
    ),
    ContextMetric("context_recall", "imported", "the same by another tool"),
    ContextMetric("context_relevance", "any", "share of the documents that are relevant: a proxy"),
    ContextMetric("context_precision", "any", "ranking of the relevant documents: a proxy"),
)  # the first that a question has is its context metric; of several k, the largest


def is_context_metric(metric: str) -> bool:
    """Return whether a metric, with or without its k, can stand for the context."""
    return metric.partition("@")[0] in {entry.name for entry in CONTEXT_METRICS}


@dataclass(frozen=True)
class ContextColumn:
    """The values of a context metric from one origin."""

    metric: str  # name, with its k
    origin: Origin  # "own" or "imported"
    values: FloatArray  # (n,) NaN where not measured


@dataclass(frozen=True)
class ContextChoice:
    """The context metric of each of n samples."""

    metrics: tuple[str, ...]  # names of the metrics in use
    code: NDArray[np.int8]  # (n,) int8 codes into metrics; -1 where none was measured
    values: FloatArray  # (n,) their values, NaN where none was measured

    @property
    def counts(self) -> dict[str, int]:
        """The number of samples that each metric stands for, most first; ties in order of preference."""
        counts = {name: int((self.code == at).sum()) for at, name in enumerate(self.metrics)}
        return dict(sorted(counts.items(), key=lambda entry: -entry[1]))

    @property
    def prevailing(self) -> str | None:
        """The metric that stands for most samples; None where none was measured."""
        return next((name for name, count in self.counts.items() if count), None)

    def metric_at(self, row: int) -> str | None:
        """Return the metric of one sample; None where none was measured."""
        return self.metrics[self.code[row]] if self.code[row] >= 0 else None


def choose_per_question(columns: Sequence[ContextColumn], n: int) -> ContextChoice:
    """Choose the context metric of each sample: the first of CONTEXT_METRICS that was measured for it.

    Args:
        columns: what the run has, in any order; of one metric with several k the largest is used, since it is
            closest to all that the generator saw.
        n: number of samples.
    """
    names: list[str] = []
    code = np.full(n, -1, dtype=np.int8)
    values = np.full(n, np.nan)
    for entry in CONTEXT_METRICS:
        candidates = [
            column
            for column in columns
            if column.metric.partition("@")[0] == entry.name and entry.origin in (column.origin, "any")
        ]
        # a later metric fills only the samples that no earlier one measured
        for column in sorted(
            candidates, key=lambda column: (_k_of(column.metric), column.origin), reverse=True
        ):
            open_rows = (code < 0) & np.isfinite(column.values)
            if not open_rows.any():
                continue
            if column.metric not in names:
                names.append(column.metric)
            code[open_rows] = names.index(column.metric)
            values[open_rows] = column.values[open_rows]
    return ContextChoice(tuple(names), code, values)


def _k_of(name: str) -> float:
    k = name.partition("@")[2]
    return np.inf if (number := whole_number(k)) is None else float(number)
