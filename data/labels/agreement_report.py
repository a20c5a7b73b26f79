"""How far the metrics of a run agree with human labels, for each judge; and preferences between runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.labels.agreement import (
    DEFAULT_THRESHOLDS,
    EvaluatedMetric,
    Thresholds,
    alpha_of,
    binary_labels_of,
    direction_of,
    evaluated_metrics,
    oriented,
)
from ragtriage.data.labels.human_ratings import (
    UNANSWERABLE,
    HumanRatings,
    annotator_values,
    human_ratings,
    rated_dimensions,
)
from ragtriage.data.scoring.context_use import LEXICAL_GROUNDEDNESS
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.judge_results import EVALUATION, JudgeResult, judge_results_of
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.schema.scores import FloatArray, IntArray, Source
from ragtriage.metrics.statistics.agreement import Agreement, binary_agreement, spearman
from ragtriage.metrics.statistics.class_agreement import (
    Ceiling,
    annotator_ceiling,
    class_agreement,
    classes_of,
    contingency,
    pearson,
    preferences_of,
    value_agreement,
)

ALL = "all"


class NoMetricError(DataError):
    """A run has labels, and no metric of their dimensions that could be compared with them."""


NO_LABELS = (
    "no human labels; accepted: a run whose file has human scores, one that was labelled on Cases or with "
    "`ragtriage agreement RUN --labels FILE`"
)
CORRELATIONS = {"spearman": spearman, "pearson": pearson}
FEWEST_CLASSES, MOST_CLASSES = 2, 10
# What completeness is read from where no judge was asked for it, the first that has values: on 48 answers F1
# agreed with people at .40, agreement with the reference at .37, as one person does; "addresses" at .11.
COMPLETENESS = ("answer_f1", "correctness")


@dataclass(frozen=True)
class Judge:
    """Who gave judged values."""

    model: str  # as the service calls it
    effort: str  # the effort setting, "" for the usual one
    prompt: str  # version of the prompt
    at: str  # time of the result, ISO in UTC

    @classmethod
    def of(cls, result: JudgeResult) -> Judge:
        """Return the judge of a stored result, whose model carries an unusual effort behind a slash."""
        model, _, effort = result.model.partition("/")
        return cls(model, effort, result.prompt, result.at)


@dataclass(frozen=True)
class MetricAgreement:
    """How far one metric agrees with the human labels of one dimension."""

    dimension: str  # key of the dimension
    metric: EvaluatedMetric  # the metric and its source
    judge: Judge | None  # who gave its values; None where they are not judged
    n: int  # samples with both
    missing: dict[str, int]  # status -> labelled samples without a value of the metric
    classes: int  # number of classes that both were put into; 0 where the metric has no scale
    statistics: tuple[Agreement, ...]  # Pearson, Spearman, rates of two classes, accuracy, kappas, alpha
    table: tuple[tuple[int, ...], ...]  # (classes, classes) counts, rows by human class, the lowest first
    ceilings: dict[str, Ceiling]  # by correlation, one annotator and the metric against the other annotators

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "dimension": self.dimension,
            "metric": self.metric.metric,
            "source": self.metric.source.label,
            "judge": None if self.judge is None else asdict(self.judge),
            "n": self.n,
            "missing": self.missing,
            "classes": self.classes,
            "table": [list(row) for row in self.table],
            "statistics": statistics_dict(self.statistics),
            "ceiling": {name: finite_dict(asdict(ceiling)) for name, ceiling in self.ceilings.items()},
        }


def statistics_dict(statistics: Sequence[Agreement]) -> dict[str, Any]:
    """Return statistics by name as JSON values, null where undefined."""
    return {
        statistic.name: finite_dict({k: v for k, v in asdict(statistic).items() if k != "name"})
        for statistic in statistics
    }


def finite_dict(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields with None in place of what is not finite."""
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in fields.items()
    }


def judges_of(store: RunStore, run: Run) -> list[tuple[Judge | None, ScoredRun]]:
    """List the judges that evaluated a run, the current one first, each with the scores it gives.

    Without any, the run's scores stand alone.
    """
    options = store.options(run)
    newest: dict[str, JudgeResult] = {}
    for result in judge_results_of(store.ledger, run.run_id):
        if result.kind == EVALUATION:
            newest.setdefault(result.judge, result)
    others = tuple(pair for pair in options.judge_results if pair[0] != EVALUATION)
    scored: list[tuple[Judge | None, ScoredRun]] = [
        (
            Judge.of(result),
            store.scored(run, replace(options, judge_results=(*others, (EVALUATION, result.digest)))),
        )
        for result in newest.values()
    ]
    return scored or [(None, store.scored(run))]


def labelled_rows(store: RunStore, run: Run) -> list[int]:
    """List the rows of a run with a human label of any dimension.

    Raises:
        DataError: there is none.
    """
    scored = store.scored(run)
    labelled = np.zeros(scored.n, dtype=np.bool_)
    for dimension in rated_dimensions(scored, store.ledger):
        if dimension != UNANSWERABLE:
            labelled |= np.isfinite(human_ratings(scored, store.ledger, dimension).values)
    if not labelled.any():
        raise DataError(f"run {run.run_id}: {NO_LABELS}")
    return [int(row) for row in np.flatnonzero(labelled)]


def agreement_rows(
    store: RunStore,
    run: Run,
    dimensions: Sequence[str] = (),
    metrics: Sequence[str] = (),
    classes: int = FEWEST_CLASSES,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> list[MetricAgreement]:
    """Measure how far the metrics of a run agree with its human labels.

    Without dimensions all that were rated are taken, without metrics those of the same dimension, with "all"
    every one. Two classes are made by the thresholds, more are equally wide parts of each scale.

    Raises:
        NoMetricError: no metric was named, and none of the labelled dimensions has values.
        DataError: the run has no human labels, or not of these dimensions or metrics.
    """
    if not FEWEST_CLASSES <= classes <= MOST_CLASSES:
        raise DataError(f"classes: {classes}; accepted: {FEWEST_CLASSES} to {MOST_CLASSES}")
    judges = judges_of(store, run)
    rated = rated_dimensions(judges[0][1], store.ledger)
    wanted = [_dimension(key, rated, run) for key in dimensions] or rated
    if not wanted:
        raise DataError(f"run {run.run_id}: {NO_LABELS}")
    rows = []
    for dimension in dict.fromkeys(wanted):
        for position, (judge, scored) in enumerate(judges):
            ratings = human_ratings(scored, store.ledger, dimension)
            for metric in _metrics(scored, ratings, metrics):
                if position == 0 or metric.source == Source.JUDGED:  # the rest is the same by any judge
                    by = judge if metric.source == Source.JUDGED else None
                    rows.append(_row(store, scored, ratings, metric, by, classes, thresholds))
    if not rows:
        known = sorted({metric.metric for metric in _related(store, judges, wanted)})
        error = DataError if metrics else NoMetricError
        raise error(
            f"run {run.run_id}: no metric {', '.join(metrics) or 'of the labelled dimensions'} has values on "
            f"the labelled samples; accepted: --metric {ALL}, {', '.join(known) or 'a run that was judged'}"
        )
    return rows


def _dimension(key: str, rated: Sequence[str], run: Run) -> str:
    match = next((known for known in rated if key in (known, known.rpartition(":")[2])), None)
    if match is None:
        known = ", ".join(rated) or "none"
        raise DataError(f"run {run.run_id}: no human labels of {key[:60]!r}; accepted: {known}")
    return match


def _metrics(scored: ScoredRun, ratings: HumanRatings, wanted: Sequence[str]) -> list[EvaluatedMetric]:
    """List the metrics to compare: those named, all with ALL, else those of the same dimension."""
    related = evaluated_metrics(scored, ratings)
    if ALL in wanted:
        return related
    if wanted:
        return [metric for metric in related if {metric.metric, metric.key} & {*wanted}]
    own = {ratings.metric, *([LEXICAL_GROUNDEDNESS] if ratings.metric == "faithfulness" else [])}
    same = [metric for metric in related if metric.metric in own]
    if same or ratings.metric != "completeness":
        return same
    by_name = [[metric for metric in related if metric.metric == name] for name in COMPLETENESS]
    return next(filter(None, by_name), [])


def _related(
    store: RunStore, judges: Sequence[tuple[Judge | None, ScoredRun]], dimensions: Sequence[str]
) -> Iterator[EvaluatedMetric]:
    for dimension in dimensions:
        for _, scored in judges:
            yield from evaluated_metrics(scored, human_ratings(scored, store.ledger, dimension))


def _row(
    store: RunStore,
    scored: ScoredRun,
    ratings: HumanRatings,
    metric: EvaluatedMetric,
    judge: Judge | None,
    classes: int,
    thresholds: Thresholds,
) -> MetricAgreement:
    """Compare one metric with one dimension: values, classes, and annotators among themselves."""
    labels = binary_labels_of(scored, ratings, metric, thresholds)
    paired, clusters = labels.paired, scored.clusters[scored.question]
    values = labels.metric_values
    statistics = value_agreement(values[paired], ratings.values[paired], clusters[paired])
    table: tuple[tuple[int, ...], ...] = ()
    if labels.comparable.any():
        if classes == FEWEST_CLASSES or ratings.binary:
            by_human, by_metric = (
                side[paired].astype(np.int64) for side in (labels.human_yes, labels.metric_yes)
            )
            rates = binary_agreement(labels.metric_yes[paired], labels.human_yes[paired], clusters[paired])
            statistics += tuple(rate for rate in rates if rate.name.endswith("_rate"))
            many = FEWEST_CLASSES
        else:
            by_human = classes_of(_human_shares(ratings)[paired], classes)
            by_metric = classes_of(oriented(metric, values)[paired], classes)
            many = classes
        statistics += class_agreement(by_metric, by_human, many, clusters[paired])
        table = tuple(map(tuple, contingency(by_human, by_metric, many).tolist()))
    single, _, _ = annotator_values(scored, store.ledger, ratings.key)
    signed = values * direction_of(ratings, metric)
    ceilings = {
        name: annotator_ceiling(single, signed, clusters, statistic)
        for name, statistic in CORRELATIONS.items()
        if (np.isfinite(single).sum(axis=1) >= 2).any()
    }
    return MetricAgreement(
        dimension=ratings.key,
        metric=metric,
        judge=judge,
        n=int(paired.sum()),
        missing=dict(labels.missing),
        classes=len(table),
        statistics=statistics,
        table=table,
        ceilings=ceilings,
    )


def _human_shares(ratings: HumanRatings) -> FloatArray:
    """(n,) human labels from 0, worst, to 1, best."""
    low, high = ratings.scale
    shares = (ratings.values - low) / (high - low if high > low else 1.0)
    return np.asarray(1.0 - shares if ratings.lower_is_better else shares)


def annotator_rows(store: RunStore, run: Run, dimensions: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return Krippendorff's alpha between the annotators of each dimension as JSON values."""
    scored = store.scored(run)
    rated = rated_dimensions(scored, store.ledger)
    wanted = [_dimension(key, rated, run) for key in dimensions] or rated
    alphas = {key: alpha_of(scored, store.ledger, key) for key in wanted}
    return [{"dimension": key, **finite_dict(asdict(alpha))} for key, alpha in alphas.items() if alpha.n]


@dataclass(frozen=True)
class PreferenceAgreement:
    """How far a metric prefers the same of two answers as humans do."""

    aspect: str  # what humans compared
    metric: str  # what is held beside them
    judge: Judge | None  # who gave its values; None where they are not judged
    n: int  # pairs of answers, each with its human label
    filled: int  # of them, those where the metric had no value on a side and its median difference stands in
    # Pearson and Spearman of the differences; accuracy, kappas and alpha of which is better
    statistics: tuple[Agreement, ...]
    table: tuple[tuple[int, ...], ...]  # (3, 3) counts, rows by humans: the first, neither, the second
    ceiling: dict[str, float]  # the same correlations between two annotators; empty where no pair has two

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "aspect": self.aspect,
            "metric": self.metric,
            "judge": None if self.judge is None else asdict(self.judge),
            "n": self.n,
            "filled": self.filled,
            "table": [list(row) for row in self.table],
            "statistics": statistics_dict(self.statistics),
            "ceiling": finite_dict(dict(self.ceiling)),
        }


def preference_agreement(
    aspect: str,
    metric: str,
    differences: tuple[FloatArray, FloatArray],
    clusters: IntArray,
    judge: Judge | None = None,
    filled: int = 0,
    ceiling: dict[str, float] | None = None,
) -> PreferenceAgreement:
    """Compare the differences between two answers by a metric and by humans, the metric first."""
    by_metric, by_human = (preferences_of(side) for side in differences)
    return PreferenceAgreement(
        aspect=aspect,
        metric=metric,
        judge=judge,
        n=len(by_metric),
        filled=filled,
        statistics=(
            *value_agreement(*differences, clusters),
            *class_agreement(by_metric, by_human, 3, clusters),
        ),
        table=tuple(map(tuple, contingency(by_human, by_metric, 3).tolist())),
        ceiling=ceiling or {},
    )


def preference_rows(
    store: RunStore, runs: tuple[Run, Run], dimensions: Sequence[str] = (), metrics: Sequence[str] = ()
) -> list[PreferenceAgreement]:
    """Compare which of two runs humans and metrics prefer, question by question (repeats averaged).

    Raises:
        DataError: no question has human labels and metric values in both runs.
    """
    sides = [dict(judges_by_version(store, run)) for run in runs]
    shared = [version for version in sides[0] if version in sides[1]]
    rated = [rated_dimensions(next(iter(side.values()))[1], store.ledger) for side in sides]
    both = [key for key in rated[0] if key in rated[1]]
    wanted = [_dimension(key, both, runs[1]) for key in dimensions] or both
    rows = []
    for dimension in wanted:
        for position, version in enumerate(shared):
            (judge, first), (_, second) = sides[0][version], sides[1][version]
            human = [human_ratings(scored, store.ledger, dimension) for scored in (first, second)]
            offered = {metric.key for metric in _metrics(second, human[1], metrics)}
            for metric in _metrics(first, human[0], metrics):
                if metric.key not in offered or (position and metric.source != Source.JUDGED):
                    continue
                pair = _question_differences((first, second), human, metric)
                if len(pair[0]):
                    by = judge if metric.source == Source.JUDGED else None
                    clusters = np.arange(len(pair[0]), dtype=np.int64)
                    rows.append(preference_agreement(dimension, metric.key, pair, clusters, by))
    if not rows:
        raise DataError(
            f"runs {runs[0].run_id} and {runs[1].run_id}: no question has human labels and a metric in both; "
            "accepted: two runs over the same questions, both labelled and judged by the same judge"
        )
    return rows


def judges_by_version(store: RunStore, run: Run) -> Iterator[tuple[str, tuple[Judge | None, ScoredRun]]]:
    """Yield the judges of a run by model and prompt, "" for none."""
    for judge, scored in judges_of(store, run):
        yield "" if judge is None else f"{judge.model}/{judge.effort}@{judge.prompt}", (judge, scored)


def _question_differences(
    runs: tuple[ScoredRun, ScoredRun], human: Sequence[HumanRatings], metric: EvaluatedMetric
) -> tuple[FloatArray, FloatArray]:
    """Return second minus first by the metric and by humans, over the questions that have all four."""
    by_question: list[dict[str, FloatArray]] = []
    for scored, ratings in zip(runs, human, strict=True):
        labels = binary_labels_of(scored, ratings, metric)
        values = labels.metric_values * direction_of(ratings, metric)
        pairs = np.stack([values, ratings.values], axis=1)[labels.paired]
        codes = scored.question[labels.paired]
        by_question.append(
            {str(scored.question_ids[code]): pairs[codes == code].mean(axis=0) for code in np.unique(codes)}
        )
    first, second = by_question
    shared = [question for question in first if question in second]
    rows = np.array([second[question] - first[question] for question in shared]).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]
