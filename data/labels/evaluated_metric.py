"""What is held against people: a metric of a run from one source, put on a scale from worst to best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from data.errors import DataError
from data.labels.human_ratings import UNANSWERABLE, HumanRatings
from data.labels.rating_dimensions import PASS
from data.scoring.lexical_groundedness import LEXICAL_GROUNDEDNESS, lexical_groundedness
from data.scoring.scored_run import MetricColumn, ScoredRun
from metrics.metric_registry import bounds_of, declared, ordered, title_of
from metrics.schema.scores import BoolArray, FloatArray, IntArray, Source, Status

__all__ = [
    "EvaluatedMetric",
    "column_of",
    "evaluated_metric_of",
    "evaluated_metrics",
    "on_scale",
    "oriented",
    "passes",
]

_TOLERANCE = 1e-9
_TRIED = 50  # samples read to see whether there are texts to estimate from
_USUAL = ("faithfulness", "rl_f", LEXICAL_GROUNDEDNESS, "correctness", "answer_relevancy", "rb_agg", "rb_llm")
_ELSEWHERE = ("retrieval", "system")  # stages that say nothing of the answer
_ABSTENTION = ("refused", "conditional_idk")
_LABELS = {source.label: source for source in Source}


@dataclass(frozen=True)
class EvaluatedMetric:
    """A metric that is held against people, from one source.

    Attributes:
        metric: its key; "lexical_support" for the estimate from words.
        source: where its values come from.
    """

    metric: str
    source: Source

    @property
    def key(self) -> str:
        """As the address holds it."""
        return f"{self.metric}:{self.source.label}"

    @property
    def title(self) -> str:
        """Name for people."""
        name = "Lexical support share" if self.metric == LEXICAL_GROUNDEDNESS else title_of(self.metric)
        return f"{name[:1].upper()}{name[1:]} ({self.source.label})"


def evaluated_metrics(scored: ScoredRun, people: HumanRatings) -> list[EvaluatedMetric]:
    """List the metrics that have a value where people spoke of a quantity, the nearest first."""
    spoken = np.isfinite(people.values)
    found = [
        EvaluatedMetric(name, source)
        for name in ordered(scored.metrics)
        for source in scored.sources[name]
        if _comparable(people, name, source) and _speaks(scored, spoken, name, source)
    ]
    if people.metric in (PASS, "faithfulness"):
        rows = np.flatnonzero(spoken)[:_TRIED]
        if (lexical_groundedness(scored, rows).status[rows] == Status.SCORED).any():
            found.append(EvaluatedMetric(LEXICAL_GROUNDEDNESS, Source.ESTIMATED))
    return sorted(found, key=lambda one: _nearness(one, people))


def _comparable(people: HumanRatings, name: str, source: Source) -> bool:
    """Whether a metric can say something of the quantity; of the estimates only that of refusals is shown."""
    if people.key == UNANSWERABLE:
        return name in _ABSTENTION
    if "@" in name or source in (Source.HUMAN, Source.ESTIMATED) or name in _ABSTENTION:
        return False
    found = declared(name)
    return source == Source.JUDGED or found is None or found.component not in _ELSEWHERE


def _speaks(scored: ScoredRun, spoken: BoolArray, name: str, source: Source) -> bool:
    column = scored.column(name, source)
    return column is not None and bool((column.status[spoken] == Status.SCORED).any())


def _nearness(one: EvaluatedMetric, people: HumanRatings) -> tuple[bool, bool, int]:
    rank = _USUAL.index(one.metric) if one.metric in _USUAL else len(_USUAL)
    return one.metric != people.metric, one.source != Source.JUDGED, rank


def evaluated_metric_of(key: str) -> EvaluatedMetric:
    """Read what Held.key wrote.

    Raises:
        DataError: it is no metric with a source.
    """
    metric, _, label = key.rpartition(":")
    source = _LABELS.get(label)
    if not metric or source is None or source == Source.HUMAN:
        accepted = ", ".join(f"METRIC:{one}" for one in _LABELS if one != Source.HUMAN.label)
        raise DataError(f"{key[:60]!r}; accepted: {accepted}")
    return EvaluatedMetric(metric, source)


def column_of(scored: ScoredRun, held: EvaluatedMetric, rows: IntArray) -> MetricColumn:
    """Give a metric's values; an estimate that is made when asked for has them in the given rows alone."""
    if held.metric == LEXICAL_GROUNDEDNESS:
        return lexical_groundedness(scored, rows)
    column = scored.column(held.metric, held.source)
    if column is None:
        raise DataError(
            f"run {scored.run.run_id} has no {held.source.label} {held.metric[:60]!r}; accepted: one it has"
        )
    return column


def passes(values: FloatArray, cut: float) -> BoolArray:
    """(n,) whether a value reaches a cut-off; a hair below it counts, for thirds are not exact."""
    return np.asarray(values >= cut - _TOLERANCE, dtype=np.bool_)


def on_scale(values: FloatArray, scale: tuple[float, float]) -> FloatArray:
    """(n,) values from 0 to 1."""
    low, high = scale
    return (values - low) / (high - low if high > low else 1.0)


def oriented(held: EvaluatedMetric, values: FloatArray) -> FloatArray:
    """(n,) values from 0, worst, to 1, best; all NaN for a metric without a scale."""
    scale = _scale(held, values)
    if scale is None:
        return np.full(len(values), np.nan)
    found = declared(held.metric)
    placed = on_scale(values, scale)
    return 1.0 - placed if found is not None and found.higher_is_better is False else placed


def _scale(held: EvaluatedMetric, values: FloatArray) -> tuple[float, float] | None:
    low, high = (0.0, 1.0) if held.metric == LEXICAL_GROUNDEDNESS else bounds_of(held.metric)
    if np.isfinite((low, high)).all():
        return low, high
    known = values[np.isfinite(values)]
    return (0.0, 1.0) if len(known) and known.min() >= 0.0 and known.max() <= 1.0 else None
