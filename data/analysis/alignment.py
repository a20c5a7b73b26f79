"""What the Alignment page shows: do answers draw on what was ranked first, and what do they use instead?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data.scoring.context_use import ORIGINS, RunContextUse
from data.scoring.scored_run import ScoredRun
from metrics.analysis.cutoff_curves import curve_intervals
from metrics.definitions.alignment import (
    deep_reliance,
    ignored_top_ranked,
    rank_use_gap,
    used_nothing,
    wasted_context,
)
from metrics.metric_registry import bounds_of
from metrics.schema.batch import ContextUse
from metrics.schema.scores import BoolArray, FloatArray, Scores
from metrics.statistics.intervals import Interval, interval, question_means

__all__ = [
    "ALERT",
    "DEEPEST",
    "GOLD_RANK_BANDS",
    "LENGTHS",
    "PUBLISHED",
    "SPLITS",
    "Group",
    "Published",
    "Rate",
    "by_k",
    "by_rank",
    "gap_of",
    "gold_rank_band",
    "ignored",
    "length_band",
    "outcome_by_gold_rank",
    "rate_of",
    "sources_of_use",
    "split",
]

ALERT = 0.30  # above this share of ignored first documents the gate warns
DEEPEST = 20  # ranks drawn, however far down lists go
LENGTHS = ("under 300", "300 to 799", "800 to 1,999", "2,000 or more")
_LENGTH_EDGES = (300, 800, 2000)
GOLD_RANK_BANDS = ("1", "2", "3", "4", "5", "6 to 10", "deeper", "none")
SPLITS: Mapping[str, str] = {
    "relevant": "whether the first document is relevant",
    "length": "length of the first document, in characters",
    "query_type": "type of question",
}
_RELEVANT = ("not relevant", "relevant")


@dataclass(frozen=True)
class Published:
    """A published range that stands apart from what is measured here.

    Attributes:
        low: least rate reported.
        high: greatest rate reported.
        source: where.
        caution: why it is not comparable.
    """

    low: float
    high: float
    source: str
    caution: str


PUBLISHED = Published(
    0.47,
    0.67,
    "Randl et al. 2026, arXiv 2601.21803",
    "measured by Shapley attribution on two datasets; not comparable with estimates from words",
)


@dataclass(frozen=True)
class Rate:
    """The rate of ignored first documents under one origin.

    Attributes:
        origin: one of data.scoring.context_use.ORIGINS.
        value: mean over questions with its interval.
        used_nothing: answers that drew on no document at all, counted as ignoring.
    """

    source: str
    value: Interval
    used_nothing: int


@dataclass(frozen=True)
class Group:
    """One group of cases with a mean.

    Attributes:
        label: for people.
        key: for the mark that leads there.
        value: mean over questions with its interval.
    """

    label: str
    key: str
    value: Interval


def sources_of_use(found: RunContextUse) -> list[str]:
    """Name the origins that a run's use has, the more trusted first."""
    return [origin for origin in ORIGINS if (found.answered & (found.source == origin)).any()]


def rate_of(scored: ScoredRun, found: RunContextUse, origin: str) -> Rate:
    """Give the rate of ignored first documents among the answers whose use has one origin."""
    mine = found.answered & (found.source == origin)
    nothing = int((used_nothing(found.use) & mine).sum())
    return Rate(origin, _mean(scored, _ignored(found), mine), nothing)


def gap_of(scored: ScoredRun, found: RunContextUse, origin: str) -> Interval:
    """Give the rank-use gap among the answers whose use has one origin; n_scored is 0 without shares."""
    mine = found.answered & (found.source == origin)
    return _mean(scored, rank_use_gap(found.use).values, mine)


def ignored(found: RunContextUse) -> BoolArray:
    """(n,) True where an answer passes over the first document."""
    return np.asarray(_ignored(found) == 1, dtype=np.bool_)


def _ignored(found: RunContextUse) -> FloatArray:
    return ignored_top_ranked(found.use).values


def _mean(
    scored: ScoredRun, values: FloatArray, keep: BoolArray, bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """Mean over questions of the samples kept; Wilson's interval where each question passes or fails."""
    means, _ = question_means(np.where(keep, values, np.nan), scored.question)
    known = np.isfinite(means)
    binary = bool(np.isin(means[known], (0.0, 1.0)).all())
    return interval(means[known], scored.clusters[known], int(known.sum()), binary, bounds=bounds)


def length_band(length: FloatArray) -> NDArray[np.int64]:
    """(n,) place in LENGTHS; -1 where the length is not known."""
    bands = np.digitize(np.nan_to_num(length), _LENGTH_EDGES)
    return np.where(np.isnan(length), -1, bands).astype(np.int64)


def gold_rank_band(rank: FloatArray) -> NDArray[np.int64]:
    """(n,) place in GOLD_PLACES; -1 where it is not known whether there is any."""
    known = np.nan_to_num(rank, nan=1.0, posinf=1.0).astype(np.int64)
    place = np.select([known <= 5, known <= 10], [known - 1, 5], 6)
    place = np.where(np.isinf(rank), len(GOLD_RANK_BANDS) - 1, place)
    return np.where(np.isnan(rank), -1, place).astype(np.int64)


def split(scored: ScoredRun, found: RunContextUse, origin: str, by: str) -> list[Group]:
    """Divide the rate of ignored first documents by one of SPLITS; groups without an answer are left out."""
    codes, labels = _split_codes(scored, found, by)
    groups = []
    for code, label in enumerate(labels):
        mine = found.answered & (found.source == origin) & (codes == code)
        if mine.any():
            groups.append(Group(label, label, _mean(scored, _ignored(found), mine)))
    return groups


def _split_codes(scored: ScoredRun, found: RunContextUse, by: str) -> tuple[NDArray[np.int64], Sequence[str]]:
    if by == "relevant":
        return found.top_relevant.astype(np.int64), _RELEVANT
    if by == "length":
        return length_band(found.top_length), LENGTHS
    types = next((one for one in scored.slices if one.name == "query_type"), None)
    return (np.full(scored.n, -1), ()) if types is None else (types.codes, types.labels)


def by_rank(scored: ScoredRun, found: RunContextUse, origin: str) -> list[Group]:
    """Give for each rank the share of answers that draw on it, of those that were given a document there."""
    deepest = _deepest(found, origin, DEEPEST)
    used = np.where(
        found.use.documents[:, None] >= np.arange(1, deepest + 1), found.use.used[:, :deepest], np.nan
    )
    return _groups(scored, found, origin, used)


def by_k(scored: ScoredRun, found: RunContextUse, origin: str, k: int = 1) -> dict[str, list[Group]]:
    """Give wasted context and deep reliance over the cut-off, by the formulas of the registry.

    Args:
        scored: the run.
        found: the use of documents in it.
        origin: whose word counts.
        k: a cut-off that must be there if any list is that long; those up to DEEPEST are there anyway.
    """
    ks = range(1, _deepest(found, origin, max(DEEPEST, k)) + 1)
    formulas: Mapping[str, Callable[[ContextUse, int], Scores]] = {
        "wasted_context": wasted_context,
        "deep_reliance": deep_reliance,
    }
    return {
        name: _groups(scored, found, origin, np.array([formula(found.use, at).values for at in ks]).T)
        for name, formula in formulas.items()
    }


def _deepest(found: RunContextUse, origin: str, most: int) -> int:
    mine = found.answered & (found.source == origin)
    return int(min(most, found.use.documents[mine].max(initial=0)))


def _groups(scored: ScoredRun, found: RunContextUse, origin: str, values: FloatArray) -> list[Group]:
    """Give the mean of each column of (n, K) values, those at 1 to K, over the answers of an origin."""
    if not values.size:
        return []
    mine = found.answered & (found.source == origin)
    means, _ = question_means(np.where(mine[:, None], values, np.nan), scored.question)
    found_at = curve_intervals(means, scored.clusters)
    return [Group(str(at), str(at), one) for at, one in enumerate(found_at, 1)]


def outcome_by_gold_rank(scored: ScoredRun, found: RunContextUse, metric: str) -> list[Group]:
    """Give the mean of an answer metric by the rank of the first gold document: is it lost in the middle?"""
    values, places = scored.values(metric), gold_rank_band(found.gold_rank)
    groups = []
    for code, label in enumerate(GOLD_RANK_BANDS):
        mine = (places == code) & np.isfinite(values)
        if mine.any():
            groups.append(Group(label, label, _mean(scored, values, mine, bounds_of(metric))))
    return groups
