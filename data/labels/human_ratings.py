"""Human ratings of the samples of a run: given in this workspace, or imported with the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from ragtriage.data.errors import DataError
from ragtriage.data.labels.ratings import (
    EVALUATOR,
    RATING_DIMENSIONS,
    Rating,
    dimension_of,
    ratings_of,
    unrated,
)
from ragtriage.data.scoring.label_correction import rows_of
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_schema import Ragged, numbers, padded
from ragtriage.metrics.metric_registry import bounds_of, declared, known_name, title_of
from ragtriage.metrics.schema.batch import ANSWERABLE
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source, Status
from ragtriage.metrics.statistics.agreement import Level

IMPORTED = "imported:"  # prefix of the key of a metric that humans scored in the file
UNANSWERABLE = f"{IMPORTED}unanswerable"
# what users of live traffic said of their own answers, from 0 to 1: metric -> whether it is a yes or no
OF_USERS = {"user_feedback": True, "user_task_completed": True, "user_satisfaction": False}
_YES, _NO = ANSWERABLE.index("yes"), ANSWERABLE.index("no")
_USUAL = (
    "faithfulness",
    "correctness",
    "answer_relevancy",
    "completeness",
)  # of those in the file, listed first
BY_USERS = "said by the users themselves: who answers chose to, and knows no right answer"
DEGREES = ("good", "bad")  # for a value on either side of its threshold, by what is better
MOST_LEVELS = 10  # more distinct values than this are compared as an interval scale


@dataclass(frozen=True)
class HumanRatings:
    """The human ratings of one dimension over the n samples of a run."""

    key: str  # of the dimension; with the prefix "imported:" where the ratings came with the file
    title: str  # name on screen
    values: FloatArray  # (n,) mean over the annotators; NaN where nobody rated the sample
    drawn: FloatArray  # (n,) the same from random queues alone
    unrated: BoolArray  # (n,) True where a random queue drew the sample and nobody could rate it
    scale: tuple[float, float]  # least and greatest value
    binary: bool  # whether there are only two answers
    how: str  # how the ratings were obtained
    lower_is_better: bool = False  # whether a high value is the worse one
    by: str = "human"  # who gave them, as it stands before the title

    @property
    def metric(self) -> str:
        """Key of the metric of the same dimension."""
        if self.key == UNANSWERABLE:
            return "refused"
        return self.key.removeprefix(IMPORTED) if self.imported else dimension_of(self.key).metric

    @property
    def imported(self) -> bool:
        """True for ratings that came with the file."""
        return self.key.startswith(IMPORTED)

    @property
    def n(self) -> int:
        """Samples with a value."""
        return int(np.isfinite(self.values).sum())

    @property
    def n_drawn(self) -> int:
        """Samples with a value from a random queue."""
        return int(np.isfinite(self.drawn).sum())


def rated_dimensions(scored: ScoredRun, ledger: Ledger) -> list[str]:
    """List the keys of the dimensions rated in a run: in this workspace first, then in the file."""
    keys = [*RATING_DIMENSIONS, *_rated_evaluators(ledger, scored.run.run_id)]
    rated = [key for key in keys if _placed(scored, ratings_of(ledger, scored.run.run_id, key))[0].size]
    imported = [name for name in scored.metrics if Source.HUMAN in scored.sources[name]]
    usual = {key: position for position, key in enumerate(_USUAL)}
    imported.sort(key=lambda name: (usual.get(name, len(usual)), name))
    answerable = scored.stage_features["answerable"]
    both = (answerable == _NO).any() and (answerable == _YES).any()
    return [*rated, *(f"{IMPORTED}{name}" for name in imported), *([UNANSWERABLE] if both else [])]


def _rated_evaluators(ledger: Ledger, run_id: str) -> list[str]:
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        rows = connection.execute(
            "SELECT DISTINCT quantity FROM ratings WHERE run_id = ?", (run_id,)
        ).fetchall()
    return sorted(key for (key,) in rows if key.startswith(EVALUATOR))


def human_ratings(scored: ScoredRun, ledger: Ledger, key: str) -> HumanRatings:
    """Return the human ratings of a dimension in a run.

    Raises:
        DataError: there is no such dimension.
    """
    if key == UNANSWERABLE:
        return _unanswerable(scored)
    if key.startswith(IMPORTED):
        return _from_file(scored, key)
    dimension, run_id = dimension_of(key), scored.run.run_id
    drawn = _mean(scored, ratings_of(ledger, run_id, key, drawn=True))
    declined = rows_of(
        scored, ((rating.question_id, rating.repeat) for rating in unrated(ledger, run_id, key))
    )
    without = np.zeros(scored.n, dtype=np.bool_)
    without[np.array(list(declined.values()), dtype=np.int64)] = True
    return HumanRatings(
        key=key,
        title=dimension.title,
        values=_mean(scored, ratings_of(ledger, run_id, key)),
        drawn=drawn,
        unrated=without & np.isnan(drawn),
        scale=(0.0, 1.0),
        binary=dimension.binary,
        how="labelled here",
    )


def dimension_title(key: str) -> str:
    """Return a dimension's name on screen.

    Raises:
        DataError: there is no such dimension.
    """
    if key == UNANSWERABLE:
        return "Answerability"
    if key.startswith(IMPORTED) and key != IMPORTED:
        title = title_of(key.removeprefix(IMPORTED))
        return title[:1].upper() + title[1:]
    return dimension_of(key).title


def answer_words(key: str) -> tuple[str, str]:
    """Return the words for yes and no to a dimension."""
    if key == UNANSWERABLE:
        return "unanswerable", "answerable"
    dimension = None if key.startswith(IMPORTED) else dimension_of(key)
    if dimension is None or not dimension.binary:
        return DEGREES
    return dimension.levels[0][0], dimension.levels[1][0]


def _unanswerable(scored: ScoredRun) -> HumanRatings:
    answerable = scored.stage_features["answerable"]
    return HumanRatings(
        key=UNANSWERABLE,
        title=dimension_title(UNANSWERABLE),
        values=np.select([answerable == _NO, answerable == _YES], [1.0, 0.0], np.nan),
        drawn=np.full(scored.n, np.nan),
        unrated=np.zeros(scored.n, dtype=np.bool_),
        scale=(0.0, 1.0),
        binary=True,
        how="answerability as recorded in the file, partly answerable and conversational questions left out"
        + (f"; written by {labels_by}" if (labels_by := str(scored.run.config.get("labels_by", ""))) else ""),
        by="in the file",
    )


def _from_file(scored: ScoredRun, key: str) -> HumanRatings:
    name = key.removeprefix(IMPORTED)
    column = scored.column(name, Source.HUMAN)
    if column is None:
        rated = [metric for metric in scored.metrics if Source.HUMAN in scored.sources[metric]]
        raise DataError(
            f"run {scored.run.run_id} has no human scores of {name[:60]!r}; "
            f"accepted: {', '.join(rated) or 'none'}"
        )
    values = np.where(column.status == Status.SCORED, column.values, np.nan)
    scale = (0.0, 1.0) if name in OF_USERS else bounds_of(name)
    if not np.isfinite(scale).all():
        has_values = np.isfinite(values).any()
        scale = (float(np.nanmin(values)), float(np.nanmax(values))) if has_values else (0.0, 1.0)
    metric = declared(name)
    return HumanRatings(
        key=key,
        title=dimension_title(key),
        values=values,
        drawn=np.full(scored.n, np.nan),
        unrated=np.zeros(scored.n, dtype=np.bool_),
        scale=scale,
        binary=OF_USERS.get(name, False),
        how=BY_USERS if name in OF_USERS else "human scores in the file, the mean over annotators",
        lower_is_better=metric is not None and metric.higher_is_better is False,
        by="users" if name in OF_USERS else "human",
    )


def _mean(scored: ScoredRun, ratings: Sequence[Rating]) -> FloatArray:
    """(n,) mean rating of each sample; NaN where there is none."""
    sample, values = _placed(scored, ratings)
    count = np.bincount(sample, minlength=scored.n)
    total = np.bincount(sample, weights=values, minlength=scored.n)
    mean: FloatArray = np.divide(total, count, out=np.full(scored.n, np.nan), where=count > 0)
    return mean


def _placed(scored: ScoredRun, ratings: Sequence[Rating]) -> tuple[IntArray, FloatArray]:
    """Return rows and values of the ratings that have a value and whose case the run has."""
    rows = rows_of(scored, ((rating.question_id, rating.repeat) for rating in ratings))
    placed = [
        (rows[rating.question_id, rating.repeat], rating.value)
        for rating in ratings
        if rating.value is not None and (rating.question_id, rating.repeat) in rows
    ]
    return np.array([row for row, _ in placed], dtype=np.int64), np.array([value for _, value in placed])


def annotator_values(scored: ScoredRun, ledger: Ledger, key: str) -> tuple[FloatArray, int, Level]:
    """Return every single rating of a dimension, to measure how far annotators agree with each other.

    Returns:
        (n, most ratings of a sample) values, NaN beyond what a sample has, in no order of annotators; how
        many annotators there are; and how the values are to be compared.
    """
    if key == UNANSWERABLE:
        return np.full((scored.n, 0), np.nan), 0, "nominal"
    if key.startswith(IMPORTED):
        sample, values, annotators = _imported_scores(scored, key.removeprefix(IMPORTED))
        level: Level = "ordinal" if len(np.unique(values)) <= MOST_LEVELS else "interval"
    else:
        ratings = ratings_of(ledger, scored.run.run_id, key)
        sample, values = _placed(scored, ratings)
        annotators = len({rating.annotator for rating in ratings})
        dimension = dimension_of(key)
        level = "nominal" if dimension.binary else "ordinal" if dimension.levels else "interval"
    order = np.argsort(sample, kind="stable")
    sample, values = sample[order], values[order]
    counts = np.bincount(sample, minlength=scored.n)
    starts = np.concatenate(([0], np.cumsum(counts)))[:-1]
    position = np.arange(len(sample)) - starts[sample]
    shape = (scored.n, int(counts.max(initial=0)))
    return padded(values, sample, position, shape, np.nan), annotators, level


def _imported_scores(scored: ScoredRun, metric: str) -> tuple[IntArray, FloatArray, int]:
    """Return rows, values on their own scale, and number of annotators of the single scores in the file."""
    column: Any = pq.read_table(scored.samples_path, columns=["human"])["human"]
    entries = Ragged.of(column)
    if not len(entries.sample):
        return np.zeros(0, dtype=np.int64), np.zeros(0), 0
    names = entries.field("metric").to_pylist()
    wanted = [name for name in set(names) if known_name(name) == metric]
    values = numbers(entries.field("value"))
    chosen = np.isin(np.array(names, dtype=object), wanted) & np.isfinite(values)
    annotators = {
        name for name, keep in zip(entries.field("annotator").to_pylist(), chosen, strict=True) if keep
    }
    return entries.sample[chosen], values[chosen], len(annotators)
