"""A metric that is compared with human labels: its values from one source, on a scale from worst to best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.labels.human_ratings import UNANSWERABLE, HumanRatings
from ragtriage.data.labels.rating_dimensions import PASS
from ragtriage.data.scoring.lexical_groundedness import LEXICAL_GROUNDEDNESS, lexical_groundedness
from ragtriage.data.scoring.scored_run import MetricColumn, ScoredRun
from ragtriage.metrics.metric_registry import bounds_of, declared, ordered, title_of
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Status
from ragtriage.metrics.schema.source import Source

_TOLERANCE = 1e-9
_PROBED = 50  # samples read to see whether there are texts to compute lexical groundedness from
_USUAL = ("faithfulness", "rl_f", LEXICAL_GROUNDEDNESS, "correctness", "answer_relevancy", "rb_agg", "rb_llm")
_OTHER_COMPONENTS = ("retrieval", "system")  # their metrics tell nothing about the answer
_ABSTENTION = ("refused", "conditional_idk")
_SOURCES = {source.label: source for source in Source}


@dataclass(frozen=True)
class EvaluatedMetric:
    """A metric from one source, to be compared with human labels."""

    metric: str  # its key; "lexical_support" for lexical groundedness
    source: Source  # where its values come from

    @property
    def key(self) -> str:
        """As it is written in a URL."""
        return f"{self.metric}:{self.source.label}"

    @property
    def title(self) -> str:
        """Name on screen."""
        name = "Lexical support share" if self.metric == LEXICAL_GROUNDEDNESS else title_of(self.metric)
        return f"{name[:1].upper()}{name[1:]} ({self.source.label})"


def evaluated_metrics(scored: ScoredRun, ratings: HumanRatings) -> list[EvaluatedMetric]:
    """List the metrics that have a value on rated samples, the most closely related first."""
    rated = np.isfinite(ratings.values)
    metrics = [
        EvaluatedMetric(name, source)
        for name in ordered(scored.metrics)
        for source in scored.sources[name]
        if _is_related(ratings, name, source) and _has_values(scored, rated, name, source)
    ]
    if ratings.metric in (PASS, "faithfulness"):
        rows = np.flatnonzero(rated)[:_PROBED]
        if (lexical_groundedness(scored, rows).status[rows] == Status.SCORED).any():
            metrics.append(EvaluatedMetric(LEXICAL_GROUNDEDNESS, Source.ESTIMATED))
    usual = {name: position for position, name in enumerate(_USUAL)}

    def distance(metric: EvaluatedMetric) -> tuple[bool, bool, int]:
        position = usual.get(metric.metric, len(usual))
        return metric.metric != ratings.metric, metric.source != Source.JUDGED, position

    return sorted(metrics, key=distance)


def _is_related(ratings: HumanRatings, name: str, source: Source) -> bool:
    """Whether a metric may tell something about a dimension; of heuristics only those of refusals do."""
    if ratings.key == UNANSWERABLE:
        return name in _ABSTENTION
    if "@" in name or source in (Source.HUMAN, Source.ESTIMATED) or name in _ABSTENTION:
        return False
    metric = declared(name)
    return source == Source.JUDGED or metric is None or metric.component not in _OTHER_COMPONENTS


def _has_values(scored: ScoredRun, rated: BoolArray, name: str, source: Source) -> bool:
    column = scored.column(name, source)
    return column is not None and bool((column.status[rated] == Status.SCORED).any())


def evaluated_metric_of(key: str) -> EvaluatedMetric:
    """Parse `EvaluatedMetric.key`.

    Raises:
        DataError: it is not a metric with a source.
    """
    metric, _, label = key.rpartition(":")
    source = _SOURCES.get(label)
    if not metric or source is None or source == Source.HUMAN:
        accepted = ", ".join(f"METRIC:{name}" for name in _SOURCES if name != Source.HUMAN.label)
        raise DataError(f"{key[:60]!r}; accepted: {accepted}")
    return EvaluatedMetric(metric, source)


def column_of(scored: ScoredRun, evaluated: EvaluatedMetric, rows: IntArray) -> MetricColumn:
    """Return a metric's values; lexical groundedness is computed for the given rows alone."""
    if evaluated.metric == LEXICAL_GROUNDEDNESS:
        return lexical_groundedness(scored, rows)
    column = scored.column(evaluated.metric, evaluated.source)
    if column is None:
        metric = f"{evaluated.source.label} {evaluated.metric[:60]!r}"
        raise DataError(f"run {scored.run.run_id} has no {metric}; accepted: a metric that it has")
    return column


def passes(values: FloatArray, threshold: float) -> BoolArray:
    """(n,) whether a value reaches a threshold, within 1e-9, because values such as 2/3 are not exact."""
    return np.asarray(values >= threshold - _TOLERANCE, dtype=np.bool_)


def on_scale(values: FloatArray, scale: tuple[float, float]) -> FloatArray:
    """(n,) values from 0 to 1."""
    low, high = scale
    return (values - low) / (high - low if high > low else 1.0)


def oriented(evaluated: EvaluatedMetric, values: FloatArray) -> FloatArray:
    """(n,) values from 0, worst, to 1, best; all NaN for a metric without a scale.

    A metric that declares no bounds is taken to be a share when all its values lie in 0 to 1.
    """
    scale = (0.0, 1.0) if evaluated.metric == LEXICAL_GROUNDEDNESS else bounds_of(evaluated.metric)
    if not np.isfinite(scale).all():
        finite = values[np.isfinite(values)]
        if not len(finite) or finite.min() < 0.0 or finite.max() > 1.0:
            return np.full(len(values), np.nan)
        scale = (0.0, 1.0)
    metric = declared(evaluated.metric)
    shares = on_scale(values, scale)
    return 1.0 - shares if metric is not None and metric.higher_is_better is False else shares
