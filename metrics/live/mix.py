"""A change of a rate split into rates and mix by topic, and whether the mix itself changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.repeated_measures import chi_square_tail

LEAST_EXPECTED = 5.0  # calls a topic needs in the smaller window, were the mix the same, for chi-square
CHANCE = 0.01  # a mix is said to differ below this probability


@dataclass(frozen=True)
class RateChange:
    """What each topic adds to the change of a mean between two windows; all parts add up to it."""

    before: float  # mean of the first window
    after: float  # mean of the second
    rate_parts: FloatArray  # (topics,) by a change of the topic's own mean
    mix_parts: FloatArray  # (topics,) by a change of the topic's share of the calls

    @property
    def change(self) -> float:
        """After less before."""
        return self.after - self.before


def rate_change(first: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]) -> RateChange:
    """Split the change of a mean into what changed within topics and what changed between them.

    Rate part (s0 + s1) / 2 (r1 - r0), mix part (s1 - s0) (r0 + r1) / 2, with the share s and the mean r of a
    topic in each window. A topic that one window lacks has no mean there: its other mean is taken, so that
    all of its change is of the mix.
    Source: Kitagawa 1955, "Components of a Difference Between Two Rates", JASA 50(272).

    Args:
        first: (topics,) summed values and (topics,) counts, or sums of weights, of the first window.
        other: the same of the second.

    Raises:
        MetricsError: lengths differ, a count is negative, or a window is empty.
    """
    sums = np.array([first[0], other[0]], dtype=np.float64)
    counts = np.array([first[1], other[1]], dtype=np.float64)
    totals = counts.sum(axis=1)
    if sums.shape != counts.shape or bool((counts < 0).any()) or not bool((totals > 0).all()):
        raise MetricsError(
            f"sums and counts of topics: {sums.shape} and {counts.shape}; accepted: two windows with calls, "
            "a count from 0 up for each sum"
        )
    shares = counts / totals[:, None]
    rates = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    rates = np.where(np.isnan(rates), rates[::-1], rates)
    rates = np.where(np.isnan(rates), 0.0, rates)  # a topic that neither window has
    before, after = (shares * rates).sum(axis=1)
    rate_parts = shares.sum(axis=0) / 2 * (rates[1] - rates[0])
    mix_parts = (shares[1] - shares[0]) * rates.sum(axis=0) / 2
    return RateChange(float(before), float(after), rate_parts, mix_parts)


@dataclass(frozen=True)
class MixChange:
    """Whether two windows are of the same mix of topics."""

    p: float  # probability of shares at least as far apart, were the mix the same; NaN: too few calls
    effect: float  # Cramer's V, 0 (alike) to 1 (nothing in common); NaN likewise
    moved: float  # share of the calls that would have to change their topic: half the summed differences
    n: tuple[int, int]  # calls of each window

    @property
    def is_change(self) -> bool:
        """Whether the mix differs beyond chance."""
        return self.p < CHANCE


def mix_change(first: Sequence[int], other: Sequence[int], design_effect: float = 1.0) -> MixChange:
    """Test whether the shares of topics differ between two windows, by Pearson's chi-square.

    Topics in which fewer than 5 calls of the smaller window would be expected are taken together.
    Source of the design effect: Rao and Scott 1981, "The Analysis of Categorical Data From Complex Sample
    Surveys", JASA 76(374), first-order correction.

    Args:
        first: (topics,) calls of each topic in the first window.
        other: the same of the second.
        design_effect: by which the statistic is divided where several calls come from one user; at least 1.

    Raises:
        MetricsError: lengths differ, a count is negative, or a design effect is below 1.
    """
    table = np.array([first, other], dtype=np.float64)
    if len(first) != len(other) or bool((table < 0).any()) or not design_effect >= 1:
        raise MetricsError(
            f"topics {list(first)} and {list(other)}, design effect {design_effect:g}; accepted: a count "
            "from 0 up for each topic of both, a design effect from 1 up"
        )
    totals = table.sum(axis=1)
    n = (int(totals[0]), int(totals[1]))
    if not min(n):
        return MixChange(np.nan, np.nan, np.nan, n)
    moved = float(np.abs(table[0] / totals[0] - table[1] / totals[1]).sum() / 2)
    pooled = _without_rare(table)
    if pooled.shape[1] < 2:
        return MixChange(np.nan, np.nan, moved, n)
    expected = totals[:, None] * pooled.sum(axis=0) / totals.sum()
    statistic = float(((pooled - expected) ** 2 / expected).sum())
    p = chi_square_tail(statistic / design_effect, pooled.shape[1] - 1)
    return MixChange(p, float(np.sqrt(statistic / totals.sum())), moved, n)


def topic_design_effect(users: FloatArray, alone: FloatArray) -> float:
    """Return by how much users who ask about the same topics again widen the shares of topics.

    The mean over topics of the variance of a share with each user's calls together, over that with each call
    by itself, weighted by 1 - share; at least 1. Source: Rao and Scott 1981, as for mix_change.

    Args:
        users: (users, topics) calls of each user about each topic.
        alone: (topics,) calls of nobody known, each by itself.
    """
    totals = users.sum(axis=0) + alone
    n = float(totals.sum())
    many = int((totals > 0).sum())
    if many < 2 or not len(users):
        return 1.0
    shares = totals / n
    sizes = users.sum(axis=1, keepdims=True)
    squares = ((users - sizes * shares) ** 2).sum(axis=0)
    squares += alone * (1 - shares) ** 2 + (alone.sum() - alone) * shares**2
    effects = np.divide(squares, n * shares, out=np.zeros(len(shares)), where=shares > 0)  # times 1 - share
    return max(1.0, float(effects.sum() / (many - 1)))


def _without_rare(table: FloatArray) -> FloatArray:
    """Return a (2, topics) table whose rare topics are one column, which joins the next rarest if need be."""
    least = table.sum(axis=0) * (table.sum(axis=1).min() / table.sum())
    order: IntArray = np.argsort(least, kind="stable").astype(np.int64)
    rare = int((least < LEAST_EXPECTED).sum())
    while 0 < rare < len(order) and least[order[:rare]].sum() < LEAST_EXPECTED:
        rare += 1
    common = table[:, np.sort(order[rare:])]
    return np.column_stack([common, table[:, order[:rare]].sum(axis=1)]) if rare else common
