"""What people said of the samples of a run: labels and ratings given here, and scores of the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from data.errors import DataError
from data.labels.random_sample import rows_of
from data.labels.rating_dimensions import EVALUATOR, QUANTITIES, RatingDimension, dimension_of
from data.labels.ratings import Rating, ratings_of, unrated
from data.scoring.imported_scores import known_name
from data.scoring.scored_run import ScoredRun
from data.store.ledger import Ledger
from data.store.ragged import Ragged, numbers, padded
from metrics.metric_registry import bounds_of, declared, title_of
from metrics.schema.batch import ANSWERABLE
from metrics.schema.scores import BoolArray, FloatArray, IntArray, Source, Status
from metrics.statistics.agreement import Level

__all__ = [
    "DEGREES",
    "IMPORTED",
    "UNANSWERABLE",
    "HumanRatings",
    "annotator_values",
    "dimension_title",
    "human_ratings",
    "rated_dimensions",
    "words_of",
]

IMPORTED = "imported:"  # before the name of a metric that people scored in the file
UNANSWERABLE = f"{IMPORTED}unanswerable"
_YES, _NO = ANSWERABLE.index("yes"), ANSWERABLE.index("no")
_USUAL = ("faithfulness", "correctness", "answer_relevancy", "completeness")  # of the file, the first first
DEGREES = ("high", "low")  # words for a degree on either side of its cut-off
MOST_LEVELS = 10  # more different values than this are a measure, not an ordered scale


@dataclass(frozen=True)
class HumanRatings:
    """One quantity as people gave it, over the n samples of a run.

    Attributes:
        key: of the quantity; with "imported:" before it where it came in the file.
        title: name for people.
        values: (n,) mean over the people who spoke of the sample; NaN where nobody did.
        drawn: (n,) the same from random queues alone.
        unrated: (n,) True where a random queue drew the sample and nobody could say anything of it.
        scale: least and greatest value.
        binary: whether it is a verdict of yes or no, and not a degree.
        how: how it was obtained.
        falling: whether a high value is the worse one.
    """

    key: str
    title: str
    values: FloatArray
    drawn: FloatArray
    unrated: BoolArray
    scale: tuple[float, float]
    binary: bool
    how: str
    falling: bool = False

    @property
    def metric(self) -> str:
        """Key of the metric that measures the same quantity."""
        if self.key == UNANSWERABLE:
            return "refused"
        return self.key.removeprefix(IMPORTED) if self.imported else dimension_of(self.key).metric

    @property
    def imported(self) -> bool:
        """Whether it came in the file."""
        return self.key.startswith(IMPORTED)

    @property
    def n(self) -> int:
        """Samples with a value."""
        return int(np.isfinite(self.values).sum())

    @property
    def n_drawn(self) -> int:
        """Samples with a value from a random queue."""
        return int(np.isfinite(self.drawn).sum())


def rated_dimensions(scored_run: ScoredRun, ledger: Ledger) -> list[str]:
    """Name the quantities that people spoke of in a run: given here first, then those of the file."""
    here = [
        key
        for key in (*QUANTITIES, *_rated(ledger, scored_run.run.run_id))
        if _given(scored_run, ledger, key)
    ]
    scored = [name for name in scored_run.metrics if Source.HUMAN in scored_run.sources[name]]
    usual = {key: at for at, key in enumerate(_USUAL)}
    scored.sort(key=lambda name: (usual.get(name, len(usual)), name))
    answerable = scored_run.stage_features["answerable"]
    known = (answerable == _NO).any() and (answerable == _YES).any()
    return [*here, *(f"{IMPORTED}{name}" for name in scored), *([UNANSWERABLE] if known else [])]


def _rated(ledger: Ledger, run_id: str) -> list[str]:
    """Name the evaluators whose question people answered in a run."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        rows = connection.execute(
            "SELECT DISTINCT quantity FROM ratings WHERE run_id = ?", (run_id,)
        ).fetchall()
    return sorted(name for (name,) in rows if name.startswith(EVALUATOR))


def _given(scored: ScoredRun, ledger: Ledger, key: str) -> bool:
    return bool(np.isfinite(_mean(scored, ratings_of(ledger, scored.run.run_id, key))).any())


def human_ratings(scored: ScoredRun, ledger: Ledger, key: str) -> HumanRatings:
    """Give what people said of a quantity in a run.

    Raises:
        DataError: nobody knows such a quantity.
    """
    if key == UNANSWERABLE:
        return _unanswerable(scored)
    if key.startswith(IMPORTED):
        return _from_file(scored, key)
    quantity, run_id = dimension_of(key), scored.run.run_id
    drawn = _mean(scored, ratings_of(ledger, run_id, key, drawn=True))
    return HumanRatings(
        key=key,
        title=quantity.title,
        values=_mean(scored, ratings_of(ledger, run_id, key)),
        drawn=drawn,
        unrated=_placed_cases(scored, unrated(ledger, run_id, key)) & np.isnan(drawn),
        scale=(0.0, 1.0),
        binary=quantity.binary,
        how="labelled here",
    )


def dimension_title(key: str) -> str:
    """Name a quantity for people.

    Raises:
        DataError: nobody knows such a quantity.
    """
    if key == UNANSWERABLE:
        return "Answerability"
    if key.startswith(IMPORTED) and key != IMPORTED:
        title = title_of(key.removeprefix(IMPORTED))
        return title[:1].upper() + title[1:]
    return dimension_of(key).title


def words_of(key: str) -> tuple[str, str]:
    """Give the words for yes and no to a quantity."""
    if key == UNANSWERABLE:
        return "unanswerable", "answerable"
    quantity = None if key.startswith(IMPORTED) else dimension_of(key)
    if quantity is None or not quantity.binary:
        return DEGREES
    return quantity.levels[0][0], quantity.levels[1][0]


def _unanswerable(scored: ScoredRun) -> HumanRatings:
    answerable = scored.stage_features["answerable"]
    values = np.select([answerable == _NO, answerable == _YES], [1.0, 0.0], np.nan)
    nothing = np.full(scored.n, np.nan)
    how = "answerability as recorded in the file, partly answerable and conversational questions left out"
    return HumanRatings(
        UNANSWERABLE,
        dimension_title(UNANSWERABLE),
        values,
        nothing,
        np.zeros(scored.n, dtype=np.bool_),
        (0.0, 1.0),
        True,
        how,
    )


def _from_file(scored: ScoredRun, key: str) -> HumanRatings:
    metric = key.removeprefix(IMPORTED)
    column = scored.column(metric, Source.HUMAN)
    if column is None:
        raise DataError(
            f"run {scored.run.run_id} has no human scores of {metric[:60]!r}; accepted: "
            f"{', '.join(name for name in scored.metrics if Source.HUMAN in scored.sources[name]) or 'none'}"
        )
    values = np.where(column.status == Status.SCORED, column.values, np.nan)
    scale = bounds_of(metric)
    if not np.isfinite(scale).all():
        scale = (
            (float(np.nanmin(values)), float(np.nanmax(values))) if np.isfinite(values).any() else (0.0, 1.0)
        )
    found = declared(metric)
    return HumanRatings(
        key=key,
        title=dimension_title(key),
        values=values,
        drawn=np.full(scored.n, np.nan),
        unrated=np.zeros(scored.n, dtype=np.bool_),
        scale=scale,
        binary=False,
        how="scores of people in the file, the mean over annotators",
        falling=found is not None and found.higher_is_better is False,
    )


def _placed_cases(scored: ScoredRun, ratings: Sequence[Rating]) -> BoolArray:
    """(n,) True where any of the ratings speaks of the sample."""
    found = np.zeros(scored.n, dtype=np.bool_)
    rows = rows_of(scored, ((one.question_id, one.repeat) for one in ratings))
    found[np.array(list(rows.values()), dtype=np.int64)] = True
    return found


def _mean(scored: ScoredRun, ratings: Sequence[Rating]) -> FloatArray:
    sample, values = _placed(scored, ratings)
    count = np.bincount(sample, minlength=scored.n)
    total = np.bincount(sample, weights=values, minlength=scored.n)
    mean: FloatArray = np.divide(total, count, out=np.full(scored.n, np.nan), where=count > 0)
    return mean


def _placed(scored: ScoredRun, ratings: Sequence[Rating]) -> tuple[IntArray, FloatArray]:
    """Rows and values of the ratings that have one."""
    rows = rows_of(scored, ((one.question_id, one.repeat) for one in ratings))
    placed = [
        (rows[one.question_id, one.repeat], one.value)
        for one in ratings
        if one.value is not None and (one.question_id, one.repeat) in rows
    ]
    return np.array([row for row, _ in placed], dtype=np.int64), np.array([value for _, value in placed])


def annotator_values(scored: ScoredRun, ledger: Ledger, key: str) -> tuple[FloatArray, int, Level]:
    """Lay out every single rating of a quantity, to see how far people agree with each other.

    Returns:
        (n, most ratings of a sample) values, NaN beyond what a sample has, in no order of people; how many
        people there are; and how the values are to be compared.
    """
    if key == UNANSWERABLE:
        return np.full((scored.n, 0), np.nan), 0, "nominal"
    if key.startswith(IMPORTED):
        sample, values, people = _entries(scored, key.removeprefix(IMPORTED))
        quantity = None
    else:
        ratings = ratings_of(ledger, scored.run.run_id, key)
        sample, values = _placed(scored, ratings)
        people, quantity = len({one.annotator for one in ratings}), dimension_of(key)
    order = np.argsort(sample, kind="stable")
    sample, values = sample[order], values[order]
    counts = np.bincount(sample, minlength=scored.n)
    starts = np.concatenate(([0], np.cumsum(counts)))[:-1]
    place = np.arange(len(sample)) - starts[sample]
    shape = (scored.n, int(counts.max(initial=0)))
    return padded(values, sample, place, shape, np.nan), people, _level(values, quantity)


def _level(values: FloatArray, quantity: RatingDimension | None) -> Level:
    if quantity is not None and quantity.levels:
        return "nominal" if quantity.binary else "ordinal"
    return "ordinal" if quantity is None and len(np.unique(values)) <= MOST_LEVELS else "interval"


def _entries(scored: ScoredRun, metric: str) -> tuple[IntArray, FloatArray, int]:
    """Rows and values of the single scores in the file, on the scale people used."""
    column: Any = pq.read_table(scored.samples_path, columns=["human"])["human"]
    entries = Ragged.of(column)
    if not len(entries.sample):
        return np.zeros(0, dtype=np.int64), np.zeros(0), 0
    given = entries.field("metric").to_pylist()
    wanted = [name for name in set(given) if known_name(name) == metric]
    values = numbers(entries.field("value"))
    mine = np.isin(np.array(given, dtype=object), wanted) & np.isfinite(values)
    people = {name for name, one in zip(entries.field("annotator").to_pylist(), mine, strict=True) if one}
    return entries.sample[mine], values[mine], len(people)
