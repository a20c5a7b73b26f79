"""How far the metrics of a run agree with human labels, and annotators with each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.labels.human_ratings import OF_USERS, UNANSWERABLE, HumanRatings, annotator_values
from ragtriage.data.labels.ratings import PASS
from ragtriage.data.scoring.context_use import LEXICAL_GROUNDEDNESS, lexical_groundedness
from ragtriage.data.scoring.scored_run import MetricColumn, ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.metric_registry import bounds_of, declared, ordered, title_of
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source, Status
from ragtriage.metrics.statistics.agreement import (
    Agreement,
    Confusion,
    Level,
    agreement,
    binary_agreement,
    bootstrap_interval,
    confusion,
    krippendorff_alpha,
)

_TOLERANCE = 1e-9
_PROBED = 50  # samples read to see whether there are texts to compute lexical groundedness from
_USUAL = (
    *("faithfulness", "rl_f", LEXICAL_GROUNDEDNESS, *CORRECTNESS),
    *("answer_relevancy", "rb_agg", "rb_llm"),
)
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
        """The name on screen."""
        name = "Lexical support share" if self.metric == LEXICAL_GROUNDEDNESS else title_of(self.metric)
        return f"{name[:1].upper()}{name[1:]} ({self.source.label})"


def evaluated_metrics(scored: ScoredRun, ratings: HumanRatings) -> list[EvaluatedMetric]:
    """List the metrics that have a value on rated samples, the most closely related first."""
    rated = np.isfinite(ratings.values)
    metrics = [
        EvaluatedMetric(name, source)
        for name in ordered(scored.metrics)
        for source in scored.sources[name]
        if _is_related(ratings, name, source)
        and (column := scored.column(name, source)) is not None
        and (column.status[rated] == Status.SCORED).any()
    ]
    if ratings.metric in (PASS, "faithfulness"):
        rows = np.flatnonzero(rated)[:_PROBED]
        if (lexical_groundedness(scored, rows).status[rows] == Status.SCORED).any():
            metrics.append(EvaluatedMetric(LEXICAL_GROUNDEDNESS, Source.ESTIMATED))
    usual = {name: position for position, name in enumerate(_USUAL)}

    def distance(metric: EvaluatedMetric) -> tuple[bool, bool, bool, int]:
        position = usual.get(metric.metric, len(usual))
        unusual = position == len(usual)
        return metric.metric != ratings.metric, unusual, metric.source != Source.JUDGED, position

    return sorted(metrics, key=distance)


def _is_related(ratings: HumanRatings, name: str, source: Source) -> bool:
    """Return whether a metric may say something of a dimension; of heuristics only those of refusals do."""
    if ratings.key == UNANSWERABLE:
        return name in _ABSTENTION
    if name in OF_USERS and source == Source.HUMAN:
        return ratings.metric != name
    if "@" in name or source in (Source.HUMAN, Source.ESTIMATED) or name in _ABSTENTION:
        return False
    metric = declared(name)
    return source == Source.JUDGED or metric is None or metric.component not in _OTHER_COMPONENTS


def evaluated_metric_of(key: str) -> EvaluatedMetric:
    """Parse `EvaluatedMetric.key`.

    Raises:
        DataError: it is not a metric with a source.
    """
    metric, _, label = key.rpartition(":")
    source = _SOURCES.get(label)
    if not metric or source is None or (source == Source.HUMAN and metric not in OF_USERS):
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


def direction_of(ratings: HumanRatings, metric: EvaluatedMetric) -> float:
    """Return -1 where a high value of one is a low value of the other, else 1."""
    ends = oriented(metric, np.array([0.0, 1.0]))
    falls = bool(np.isfinite(ends).all() and ends[1] < ends[0])
    return -1.0 if falls != ratings.lower_is_better else 1.0


Thresholds = tuple[float, float]  # of the human ratings and of the metric, as shares of their scales
DEFAULT_THRESHOLDS: Thresholds = (0.5, 0.5)
Cell = Literal["yes-yes", "yes-no", "no-yes", "no-no"]  # human first
CELLS: tuple[Cell, ...] = ("yes-yes", "yes-no", "no-yes", "no-no")


@dataclass(frozen=True)
class BinaryLabels:
    """Human ratings and a metric, each as yes or no, over the n samples of a run."""

    paired: BoolArray  # (n,) True where both have a value
    metric_values: FloatArray  # (n,) values of the metric, NaN where it has none
    human_yes: BoolArray  # (n,) whether the human rating reaches its threshold; False where not paired
    metric_yes: BoolArray  # (n,) the same of the metric
    gap: FloatArray  # (n,) distance of the two on scales of 0 to 1; NaN where not paired
    missing: Mapping[str, int]  # status -> how many rated samples have no value of the metric for that reason

    @property
    def comparable(self) -> BoolArray:
        """(n,) samples with both labels; none where the metric has no scale."""
        return np.isfinite(self.gap)

    def cell(self, cell: Cell) -> BoolArray:
        """(n,) samples of one cell of the confusion matrix."""
        human, metric = (word == "yes" for word in cell.split("-"))
        return np.asarray(self.comparable & (self.human_yes == human) & (self.metric_yes == metric))

    @property
    def differing(self) -> BoolArray:
        """(n,) samples on which the labels differ."""
        return np.asarray(self.comparable & (self.human_yes != self.metric_yes))


@dataclass(frozen=True)
class Calibration:
    """How far one metric agrees with the human ratings."""

    labels: BinaryLabels  # sample by sample
    # counts of the pairs, positive where the rating is yes; None where the metric has no scale
    confusion: Confusion | None
    spearman: Agreement  # rank correlation of the values
    # true positive rate, true negative rate, kappa, accuracy; empty without a confusion matrix
    rates: tuple[Agreement, ...]
    rows: IntArray  # samples on which the labels differ, the widest gap first


@dataclass(frozen=True)
class Alpha:
    """How far annotators agree with each other."""

    value: float  # Krippendorff's alpha; NaN where it is undefined
    low: float  # lower end of the 95 % interval; NaN where there is none
    high: float
    n: int  # samples with at least two ratings
    annotators: int  # how many there are
    level: Level  # how values were compared


def binary_labels_of(
    scored: ScoredRun,
    ratings: HumanRatings,
    evaluated: EvaluatedMetric,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> BinaryLabels:
    """Compare human ratings and a metric sample by sample.

    The thresholds are the least share of each scale that counts as yes; a binary rating needs more than half
    of the annotators instead.

    Raises:
        DataError: the run does not have the metric.
    """
    rated = np.isfinite(ratings.values)
    column = column_of(scored, evaluated, np.flatnonzero(rated))
    values = np.where(column.status == Status.SCORED, column.values, np.nan)
    paired = rated & np.isfinite(values)
    counts = {status: int((rated & (column.status == status)).sum()) for status in Status}
    human = on_scale(ratings.values, ratings.scale)
    if ratings.lower_is_better:
        human = 1.0 - human
    metric = oriented(evaluated, values)
    human_yes = human > 0.5 if ratings.binary else passes(human, thresholds[0])
    return BinaryLabels(
        paired=paired,
        metric_values=values,
        human_yes=paired & human_yes,
        metric_yes=paired & passes(metric, thresholds[1]),
        gap=np.where(paired, np.abs(human - metric), np.nan),
        missing={status.label: n for status, n in counts.items() if n and status != Status.SCORED},
    )


def calibrate(
    scored: ScoredRun,
    ratings: HumanRatings,
    evaluated: EvaluatedMetric,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> Calibration:
    """Measure how far a metric agrees with human ratings; see `binary_labels_of` for the thresholds."""
    labels = binary_labels_of(scored, ratings, evaluated, thresholds)
    spearman = _rank_correlation(scored, ratings, labels, evaluated)
    if not labels.comparable.any():
        return Calibration(labels, None, spearman, (), np.zeros(0, dtype=np.int64))
    pair = labels.metric_yes[labels.paired], labels.human_yes[labels.paired]
    rates = binary_agreement(*pair, scored.clusters[scored.question][labels.paired])
    differing = np.flatnonzero(labels.differing)
    rows = differing[np.argsort(-labels.gap[differing], kind="stable")]
    return Calibration(labels, confusion(*pair), spearman, rates, rows)


def _rank_correlation(
    scored: ScoredRun, ratings: HumanRatings, labels: BinaryLabels, evaluated: EvaluatedMetric
) -> Agreement:
    """Correlate what is better by the metric with what is better by people."""
    paired, clusters = labels.paired, scored.clusters[scored.question]
    values = direction_of(ratings, evaluated) * labels.metric_values[paired]
    return agreement(values, ratings.values[paired], clusters[paired])[0]


def ranking(scored: ScoredRun, ratings: HumanRatings) -> list[tuple[EvaluatedMetric, Agreement]]:
    """Return the rank correlation of every metric with the ratings, strongest first, undefined ones last."""
    correlations = [
        (metric, _rank_correlation(scored, ratings, binary_labels_of(scored, ratings, metric), metric))
        for metric in evaluated_metrics(scored, ratings)
    ]
    return sorted(correlations, key=lambda pair: np.nan_to_num(-abs(pair[1].value), nan=1.0))


def alpha_of(scored: ScoredRun, ledger: Ledger, key: str) -> Alpha:
    """Measure how far the annotators who rated a dimension agree with each other."""
    values, annotators, level = annotator_values(scored, ledger, key)
    shared = np.isfinite(values).sum(axis=1) >= 2
    clusters = scored.clusters[scored.question][shared]
    values = values[shared]
    low, high = bootstrap_interval(lambda drawn: krippendorff_alpha(drawn, level), (values,), clusters)
    return Alpha(krippendorff_alpha(values, level), low, high, int(shared.sum()), annotators, level)
