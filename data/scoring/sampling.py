"""A run whose samples were drawn from more calls: how many, at which rates, and means that weigh them so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from ragtriage.data.store.sample_schema import numbers
from ragtriage.data.store.stored_file import reading
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import Interval, interval

if TYPE_CHECKING:
    from ragtriage.data.scoring.scored_run import ScoredRun

SAMPLING_RATE = "sampling_rate"


@dataclass(frozen=True)
class Sampling:
    """How the samples of a run were drawn from more calls."""

    kept: int
    calls: int  # that they stand for: as the run was published from, else the sum of 1 / rate
    counted: bool  # whether the calls were counted, and not estimated from the rates
    least: float  # rate
    most: float
    # (q,) calls that each question stands for; None where all stand for as many
    question_weights: FloatArray | None

    @property
    def share_text(self) -> str:
        """How many of how many calls it has, as in "528 of 3,719 calls"."""
        return f"{self.kept:,} of {'' if self.counted else 'about '}{self.calls:,} calls"

    @property
    def n_effective(self) -> float:
        """Samples of one weight that would tell as much: (sum w)^2 / sum w^2."""
        weights = self.question_weights
        return self.kept if weights is None else float(weights.sum() ** 2 / (weights**2).sum())


def sampling_of(run: Run, samples: Path, question: Callable[[], IntArray]) -> Sampling | None:
    """Return how the samples of a run were drawn; None where they are all there is.

    Args:
        run: its facts.
        samples: its file.
        question: returns the question of each sample, (n,).
    """
    if SAMPLING_RATE not in run.fields:
        return None
    with reading(samples):
        rates = numbers(pq.read_table(samples, columns=[SAMPLING_RATE])[SAMPLING_RATE].combine_chunks())
    if (rates == 1).all():
        return None
    live = run.config.get("live")
    told = live.get("calls") if isinstance(live, dict) else None
    counted = isinstance(told, int) and told >= run.n
    calls = int(told or 0) if counted else round(float((1 / rates).sum()))
    least, most = float(rates.min()), float(rates.max())
    weights = None if least == most else np.bincount(question(), 1 / rates).astype(np.float64)
    return Sampling(run.n, calls, counted, least, most, weights)


def mean_of_questions(
    scored: ScoredRun,
    means: FloatArray,
    n_applicable: int | None = None,
    binary: bool | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """Return the mean over the questions of a run with its 95 % interval, weighted where it is a sample.

    Args:
        scored: the run.
        means: (q,) one value per question, NaN where there is none.
        n_applicable: questions that the mean is about; those with a value by default.
        binary: whether it is a plain pass rate; by default where all values are 0 or 1.
        bounds: least and greatest value; infinite where there is none.
    """
    known = np.isfinite(means)
    n = int(known.sum()) if n_applicable is None else n_applicable
    plain = bool(np.isin(means[known], (0.0, 1.0)).all()) if binary is None else binary
    return interval(means, scored.clusters, n, plain, bounds, scored.question_weights)
