"""What must not get worse while quality is compared: latency, cost, errors, refusals, losses in a part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from ragtriage.data.comparison.answered import unanswered
from ragtriage.data.comparison.compare import QuestionMatch
from ragtriage.data.comparison.compared_metrics import higher_is_better, question_values
from ragtriage.data.comparison.question_changes import SliceChange, slice_changes
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.metrics.gates.gates import MOST_WORSE
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.paired import MARGIN, SIGNIFICANCE, PairedDifference, drop_of, holm, paired
from ragtriage.metrics.statistics.question_means import question_means

_DRAWS = 999
_MOST_VALUES = 4_000_000  # draws x questions held at once
DECLARED_SLICES = ("query_type", "language")
GROUNDEDNESS = ("faithfulness", "hallucination")
TAIL = 0.95
GUARDRAILS: Mapping[str, str] = MappingProxyType(
    {
        "latency": "latency_ms",
        "p95 latency": "latency_ms",
        "cost": "cost_usd",
        "errors": "",
        "wrong refusals": "",
    }
)


@dataclass(frozen=True)
class Guardrail:
    """One of them in two runs, over the questions that both measured; less is better."""

    name: str  # key of GUARDRAILS
    base: float  # mean of the baseline, or its 95th percentile; of errors and refusals a share
    other: float
    n: int  # shared questions with a value
    p: float  # one-sided, against no rise; adjusted by Holm over the guardrails of the pair

    @property
    def ratio(self) -> float:
        """The value as a multiple of the baseline's; infinite where that is 0."""
        return self.other / self.base if self.base else (float("inf") if self.other else 1.0)

    @property
    def worse(self) -> bool:
        """Whether it got worse beyond chance and by more than a fifth."""
        return self.p < SIGNIFICANCE and self.ratio > 1 + MOST_WORSE


def guardrails(base: Diagnosis, other: Diagnosis, shared: QuestionMatch) -> list[Guardrail]:
    """Compare the guardrails that both runs measured."""
    clusters = base.scored.clusters[shared.base]
    measured: list[Guardrail] = []
    for name in GUARDRAILS:
        sides = _values(base, name), _values(other, name)
        if sides[0] is None or sides[1] is None:
            continue
        before, after = sides[0][shared.base], sides[1][shared.other]
        known = np.isfinite(before) & np.isfinite(after)
        if before[known].any() or after[known].any():  # nobody asks for errors that neither run has
            measured.append(_compared(name, before[known], after[known], clusters[known]))
    adjusted = holm([guardrail.p for guardrail in measured])
    return [replace(each, p=float(p)) for each, p in zip(measured, adjusted, strict=True)]


def _values(side: Diagnosis, name: str) -> FloatArray | None:
    """(q,) the guardrail of each question of a run; None where it is not recorded."""
    if name == "errors":
        return unanswered(side.scored)
    if name == "wrong refusals":
        refused = side.refusals.wrong.astype(np.float64)
        return question_means(refused, side.scored.question)[0]
    values = question_values(side, GUARDRAILS[name])
    return values if np.isfinite(values).any() else None


def _compared(name: str, before: FloatArray, after: FloatArray, clusters: IntArray) -> Guardrail:
    if name.startswith("p95"):
        values = float(np.quantile(before, TAIL)), float(np.quantile(after, TAIL))
        risen = values[1] > (1 + MOST_WORSE) * values[0]  # else no test is needed
        return Guardrail(
            name, *values, len(before), _swapped_p(before, after, values[1] - values[0]) if risen else 1.0
        )
    bounds = (0.0, 1.0) if not GUARDRAILS[name] else (0.0, float("inf"))
    change = paired(before, after, clusters, higher_is_better=False, bounds=bounds)
    return Guardrail(name, float(before.mean()), float(after.mean()), len(before), change.p_rise)


def _swapped_p(before: FloatArray, after: FloatArray, rise: float) -> float:
    """Return how often the percentile rises as much where the two runs are swapped at random, by question."""
    draws = max(99, min(_DRAWS, _MOST_VALUES // len(before)))
    rng = np.random.default_rng(0)
    hits = 1
    for _ in range(draws):
        swap = rng.random(len(before)) < 0.5
        first, second = np.where(swap, after, before), np.where(swap, before, after)
        hits += bool(np.quantile(second, TAIL) - np.quantile(first, TAIL) >= rise - 1e-9)
    return hits / (draws + 1)


@dataclass(frozen=True)
class Loss:
    """Something that got worse beyond chance and by the margin, whatever else got better."""

    metric: str  # of groundedness, or the pass rate
    slice: tuple[str, str] | None  # name and value; None for all questions
    base: float
    other: float
    n: int  # shared questions
    drop: float  # in the metric's own direction
    adjusted_p: float  # Holm's, over groundedness and the slices of the pair


def losses(base: Diagnosis, other: Diagnosis, shared: QuestionMatch) -> list[Loss]:
    """List where groundedness or a slice by query type or language got worse, the largest loss first."""
    candidates = [*_groundedness(base, other, shared), *_slices(base, other)]
    adjusted = holm([loss.adjusted_p for loss in candidates])
    certain = [
        replace(loss, adjusted_p=float(p))
        for loss, p in zip(candidates, adjusted, strict=True)
        if p < SIGNIFICANCE and loss.drop >= MARGIN - 1e-9
    ]
    return sorted(certain, key=lambda loss: -loss.drop)


def _groundedness(base: Diagnosis, other: Diagnosis, shared: QuestionMatch) -> Iterator[Loss]:
    for metric in GROUNDEDNESS:
        before = question_values(base, metric)[shared.base]
        after = question_values(other, metric)[shared.other]
        known = np.isfinite(before) & np.isfinite(after)
        if not known.any():
            continue
        higher = higher_is_better(metric)
        clusters = base.scored.clusters[shared.base]
        change = paired(before, after, clusters, 0, higher, bounds_of(metric))
        means = float(before[known].mean()), float(after[known].mean())
        yield Loss(metric, None, *means, change.n_pairs, drop_of(change, higher), change.p)


def _slices(base: Diagnosis, other: Diagnosis) -> Iterator[Loss]:
    for change in slice_changes(base, other):
        if change.name in DECLARED_SLICES:
            yield _of_slice(change, change.difference)


def _of_slice(change: SliceChange, difference: PairedDifference) -> Loss:
    where = (change.name, change.value)
    drop = drop_of(difference, True)
    return Loss(GOOD_SHARE, where, change.base, change.other, difference.n_pairs, drop, difference.p)
