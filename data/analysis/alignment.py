"""Retriever-generator alignment: which retrieved documents the answers use, and at which rank."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.analysis.retrieval_curves import block_of
from ragtriage.data.scoring.context_use import ORIGINS, RunContextUse
from ragtriage.data.scoring.ranked_lists import ranked_lists
from ragtriage.data.scoring.sampling import mean_of_questions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval import curve_intervals
from ragtriage.metrics.definitions.alignment import (
    deep_reliance,
    ignored_top_ranked,
    rank_use_gap,
    used_nothing,
    wasted_context,
)
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.batch import ContextUse, Rankings
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Scores
from ragtriage.metrics.statistics.intervals import Interval, question_means

ALERT = 0.30  # above this share of ignored first documents the gate warns
DEEPEST = 20  # ranks that a chart shows at most
GRID_RANKS = 10  # ranks that the grid of used documents shows at most
LENGTHS = ("under 300", "300 to 799", "800 to 1,999", "2,000 or more")
_LENGTH_EDGES = (300, 800, 2000)
GOLD_RANK_BANDS = ("1", "2", "3", "4", "5", "6 to 10", "deeper", "none")
GOLD_POSITIONS = ("first", "early", "middle", "late", "last", "only one", "none")
SPLITS: Mapping[str, str] = {
    "relevant": "whether the first document is relevant",
    "length": "length of the first document, in characters",
    "query_type": "type of question",
}
_RELEVANT = ("not relevant", "relevant")


@dataclass(frozen=True)
class Published:
    """A published range, for reference."""

    low: float  # lowest reported rate
    high: float  # highest reported rate
    source: str  # the publication
    caution: str  # why it is not comparable


PUBLISHED = Published(
    0.47,
    0.67,
    "Randl et al. 2026, arXiv 2601.21803",
    "by Shapley attribution on two datasets: measured in another way, so not comparable",
)


@dataclass(frozen=True)
class Rate:
    """The share of answers that ignore the top-ranked document, by one source of context use."""

    source: str  # a key of ragtriage.data.scoring.context_use.ORIGINS
    value: Interval  # mean over questions with its interval
    used_nothing: int  # number of answers that use no document at all; they count as ignoring


@dataclass(frozen=True)
class Group:
    """One group of cases with a mean."""

    label: str  # text on screen
    key: str  # value of the cohort that has the cases
    value: Interval  # mean over questions with its interval


def sources_of_use(context_use: RunContextUse) -> list[str]:
    """List the sources of a run's context use, the most trusted first."""
    return [source for source in ORIGINS if (context_use.answered & (context_use.source == source)).any()]


def rate_of(scored: ScoredRun, context_use: RunContextUse, source: str) -> Rate:
    """Return the rate of ignored top-ranked documents over the answers of one source."""
    chosen = context_use.answered & (context_use.source == source)
    nothing = int((used_nothing(context_use.use) & chosen).sum())
    return Rate(source, _mean(scored, _ignored(context_use), chosen), nothing)


def gap_of(scored: ScoredRun, context_use: RunContextUse, source: str) -> Interval:
    """Return the rank-use gap over the answers of one source; n_scored is 0 where no shares are known."""
    chosen = context_use.answered & (context_use.source == source)
    return _mean(scored, rank_use_gap(context_use.use).values, chosen)


def ignored(context_use: RunContextUse) -> BoolArray:
    """(n,) True where an answer ignores the top-ranked document."""
    return np.asarray(_ignored(context_use) == 1, dtype=np.bool_)


def _ignored(context_use: RunContextUse) -> FloatArray:
    return ignored_top_ranked(context_use.use).values


def _mean(
    scored: ScoredRun, values: FloatArray, keep: BoolArray, bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """Return the mean over questions of the kept samples; Wilson's interval where all values are 0 or 1."""
    means, _ = question_means(np.where(keep, values, np.nan), scored.question)
    return mean_of_questions(scored, means, bounds=bounds)


def length_band(length: FloatArray) -> NDArray[np.int64]:
    """(n,) index in LENGTHS; -1 where the length is not known."""
    bands = np.digitize(np.nan_to_num(length), _LENGTH_EDGES)
    return np.where(np.isnan(length), -1, bands).astype(np.int64)


def gold_rank_band(rank: FloatArray) -> NDArray[np.int64]:
    """(n,) index in GOLD_RANK_BANDS; -1 where it is not known whether there is gold."""
    known = np.nan_to_num(rank, nan=1.0, posinf=1.0).astype(np.int64)
    place = np.select([known <= 5, known <= 10], [known - 1, 5], 6)
    place = np.where(np.isinf(rank), len(GOLD_RANK_BANDS) - 1, place)
    return np.where(np.isnan(rank), -1, place).astype(np.int64)


def gold_position(rank: FloatArray, documents: IntArray) -> IntArray:
    """(n,) Index in GOLD_POSITIONS of the first gold document; -1 where it is not known whether there is any.

    The place is relative to the length of the list, so that lists of different lengths line up: with
    (rank - 1) / (length - 1), first is 0, last is 1, and early, middle and late are the thirds between.
    """
    with np.errstate(invalid="ignore"):
        place = (rank - 1) / np.maximum(documents - 1, 1)
    named = [
        np.isinf(rank),
        documents == 1,
        place <= 0,
        place >= 1,
        place < 1 / 3 + 1e-9,
        place < 2 / 3 - 1e-9,
    ]
    names = ("none", "only one", "first", "last", "early", "middle")
    codes = np.select(named, [GOLD_POSITIONS.index(name) for name in names], GOLD_POSITIONS.index("late"))
    return np.where(np.isnan(rank), -1, codes).astype(np.int64)


def split(scored: ScoredRun, context_use: RunContextUse, source: str, by: str) -> list[Group]:
    """Return the rate of ignored top-ranked documents per group of a split, without empty groups."""
    codes, labels = _split_codes(scored, context_use, by)
    groups = []
    for code, label in enumerate(labels):
        chosen = context_use.answered & (context_use.source == source) & (codes == code)
        if chosen.any():
            groups.append(Group(label, label, _mean(scored, _ignored(context_use), chosen)))
    return groups


def _split_codes(
    scored: ScoredRun, context_use: RunContextUse, by: str
) -> tuple[NDArray[np.int64], Sequence[str]]:
    if by == "relevant":
        return context_use.top_relevant.astype(np.int64), _RELEVANT
    if by == "length":
        return length_band(context_use.top_length), LENGTHS
    types = next((group for group in scored.slices if group.name == "query_type"), None)
    return (np.full(scored.n, -1), ()) if types is None else (types.codes, types.labels)


def by_rank(scored: ScoredRun, context_use: RunContextUse, source: str) -> list[Group]:
    """Return for each rank the share of answers that use it, of those with a document at that rank."""
    deepest = _deepest(context_use, source, DEEPEST)
    used = np.where(
        context_use.use.documents[:, None] >= np.arange(1, deepest + 1),
        context_use.use.used[:, :deepest],
        np.nan,
    )
    return _groups(scored, context_use, source, used)


def by_k(scored: ScoredRun, context_use: RunContextUse, source: str, k: int = 1) -> dict[str, list[Group]]:
    """Return wasted context and deep reliance over k.

    Args:
        scored: the run.
        context_use: which documents its answers use.
        source: source of context use.
        k: a k to include beyond DEEPEST, if any list is that long.
    """
    ks = range(1, _deepest(context_use, source, max(DEEPEST, k)) + 1)
    formulas: Mapping[str, Callable[[ContextUse, int], Scores]] = {
        "wasted_context": wasted_context,
        "deep_reliance": deep_reliance,
    }
    return {
        name: _groups(
            scored, context_use, source, np.array([formula(context_use.use, at).values for at in ks]).T
        )
        for name, formula in formulas.items()
    }


def _deepest(context_use: RunContextUse, source: str, most: int) -> int:
    chosen = context_use.answered & (context_use.source == source)
    return int(min(most, context_use.use.documents[chosen].max(initial=0)))


def _groups(scored: ScoredRun, context_use: RunContextUse, source: str, values: FloatArray) -> list[Group]:
    """Return the mean of each column of (n, K) values, at k = 1 to K, over the answers of one source."""
    if not values.size:
        return []
    chosen = context_use.answered & (context_use.source == source)
    means, _ = question_means(np.where(chosen[:, None], values, np.nan), scored.question)
    estimates = curve_intervals(means, scored.clusters, weights=scored.question_weights)
    return [Group(str(k), str(k), estimate) for k, estimate in enumerate(estimates, 1)]


def outcome_by_gold_position(scored: ScoredRun, context_use: RunContextUse, metric: str) -> list[Group]:
    """Return the mean of an answer metric by the relative place of the first gold document in the context.

    A dip in the middle is what "lost in the middle" means (Liu et al. 2023, arXiv 2307.03172).
    """
    values = scored.values(metric)
    positions = gold_position(context_use.gold_rank, context_use.use.documents)
    groups = []
    for code, label in enumerate(GOLD_POSITIONS):
        chosen = (positions == code) & np.isfinite(values)
        if chosen.any():
            groups.append(Group(label, label, _mean(scored, values, chosen, bounds_of(metric))))
    return groups


GOLD_GROUPS: Mapping[str, str] = {  # key in links -> title
    "top": "Top document is gold",
    "lower": "Gold is ranked lower",
    "missing": "No gold in the list",
    "unknown": "Gold not known",
}


@dataclass(frozen=True)
class UseGrid:
    """The m answers of one source of use, in the order of GOLD_GROUPS, those that use the top first."""

    rows: IntArray  # (m,) rows of the run
    group: IntArray  # (m,) index in GOLD_GROUPS
    used: BoolArray  # (m, K) True where the answer uses the document at a rank
    gold: BoolArray  # (m, K) True where that document is gold
    listed: BoolArray  # (m, K) True where there is a document


def gold_group(context_use: RunContextUse) -> IntArray:
    """(n,) index in GOLD_GROUPS of each sample, by the rank of its first gold document."""
    rank = context_use.gold_rank
    return np.select([np.isnan(rank), rank == 1, np.isinf(rank)], [3, 0, 2], 1)


def use_grid(scored: ScoredRun, context_use: RunContextUse, source: str) -> UseGrid:
    """Return which ranks the answers of one source use, GRID_RANKS at most."""
    use, group = context_use.use, gold_group(context_use)
    rows = np.flatnonzero(context_use.answered & (context_use.source == source))
    width = int(min(GRID_RANKS, use.documents[rows].max(initial=1)))
    used = use.used[rows, :width]
    order = np.lexsort((*(~used[:, ::-1]).T, group[rows]))
    rows, used = rows[order], used[order]
    listed = np.arange(width) < use.documents[rows][:, None]
    gold = _gold(scored, context_use, width)[rows]
    return UseGrid(rows, group[rows], used & listed, gold & listed, listed)


def _gold(scored: ScoredRun, context_use: RunContextUse, width: int) -> BoolArray:
    """(n, width) True where the document at a rank is gold: by ids or text, else the first gold alone."""
    gold = np.zeros((scored.n, width), dtype=np.bool_)
    first = np.isfinite(context_use.gold_rank) & (context_use.gold_rank <= width)
    gold[first, context_use.gold_rank[first].astype(np.int64) - 1] = True
    lists = ranked_lists(scored)
    block = None if lists is None else block_of(lists)
    if block is not None:
        hits = np.nan_to_num(block.grades) > 0 if isinstance(block, Rankings) else block.hits
        wide = min(width, hits.shape[1])
        gold[:, :wide] |= hits[:, :wide]
    return gold
