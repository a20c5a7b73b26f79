"""Cohorts of the Alignment page: which of its retrieved documents an answer uses.

The value may end in the source of context use ("used_rank:3:judge"): the cohort then has only the cases whose
context use comes from that source.
"""

from collections.abc import Callable, Mapping

import numpy as np

from ragtriage.data.analysis.alignment import (
    GOLD_GROUPS,
    GOLD_POSITIONS,
    GOLD_RANK_BANDS,
    LENGTHS,
    gold_group,
    gold_position,
    gold_rank_band,
    ignored,
    length_band,
)
from ragtriage.data.cases.cohort import Cohort, parse_rank
from ragtriage.data.scoring.context_use import ORIGINS, RunContextUse, context_use_of
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.definitions.alignment import used_nothing
from ragtriage.metrics.schema.scores import BoolArray

UseRows = Callable[[RunContextUse, str], BoolArray]
RELEVANCE = ("not relevant", "relevant")  # by top_relevant


def _cohort(title: Callable[[str], str], use_rows: UseRows) -> Cohort:
    """Return a cohort of context use that a source can narrow."""

    def split(text: str) -> tuple[str, str]:
        value, _, source = text.rpartition(":")
        return (value, source) if source in ORIGINS else (text, "")

    def titled(text: str) -> str:
        value, source = split(text)
        return f"{title(value)} ({ORIGINS[source]})" if source else title(value)

    def rows(scored: ScoredRun, text: str) -> BoolArray:
        value, source = split(text)
        context_use = context_use_of(scored)
        if context_use is None:
            raise ValueError("it is not known which documents the answers of this run use")
        chosen = use_rows(context_use, value)
        return np.asarray(chosen & (context_use.source == source) if source else chosen, dtype=np.bool_)

    return Cohort(titled, rows)


def _without_value(use_rows: Callable[[RunContextUse], BoolArray]) -> UseRows:
    """Return the rows of a cohort that takes no value."""

    def rows(context_use: RunContextUse, value: str) -> BoolArray:
        if value:
            raise ValueError(f"{value[:20]!r}; accepted: {', '.join(ORIGINS)}, or nothing")
        return use_rows(context_use)

    return rows


def _used_rank(wanted: bool) -> UseRows:
    def rows(context_use: RunContextUse, value: str) -> BoolArray:
        rank, use = parse_rank(value), context_use.use
        retrieved = context_use.answered & (use.documents >= rank)
        if rank > use.used.shape[1]:
            return np.zeros(len(retrieved), dtype=np.bool_)
        return np.asarray(retrieved & (use.used[:, rank - 1] == wanted))

    return rows


def _used_by_gold(context_use: RunContextUse, value: str) -> BoolArray:
    name, _, rank = value.partition(":")
    in_group = gold_group(context_use) == _index(name, tuple(GOLD_GROUPS))
    return np.asarray(in_group & _used_rank(True)(context_use, rank))


def _used_by_gold_title(value: str) -> str:
    name, _, rank = value.partition(":")
    group = GOLD_GROUPS[tuple(GOLD_GROUPS)[_index(name, tuple(GOLD_GROUPS))]]
    return f"the answer uses rank {parse_rank(rank)}; {group[:1].lower()}{group[1:]}"


def _wasted(context_use: RunContextUse, value: str) -> BoolArray:
    k = parse_rank(value)
    retrieved = np.minimum(context_use.use.documents, k)
    return np.asarray(context_use.answered & (context_use.use.used[:, :k].sum(axis=1) < retrieved))


def _deep(context_use: RunContextUse, value: str) -> BoolArray:
    return np.asarray(context_use.answered & context_use.use.used[:, parse_rank(value) :].any(axis=1))


def _index(value: str, accepted: tuple[str, ...]) -> int:
    if value not in accepted:
        raise ValueError(f"{value[:20]!r}; accepted: {', '.join(accepted)}")
    return accepted.index(value)


def _ignored_relevant(context_use: RunContextUse, value: str) -> BoolArray:
    return np.asarray(ignored(context_use) & (context_use.top_relevant == _index(value, RELEVANCE)))


def _ignored_length(context_use: RunContextUse, value: str) -> BoolArray:
    return np.asarray(ignored(context_use) & (length_band(context_use.top_length) == _index(value, LENGTHS)))


def _gold_rank(context_use: RunContextUse, value: str) -> BoolArray:
    return np.asarray(gold_rank_band(context_use.gold_rank) == _index(value, GOLD_RANK_BANDS))


def _gold_position(context_use: RunContextUse, value: str) -> BoolArray:
    positions = gold_position(context_use.gold_rank, context_use.use.documents)
    return np.asarray(positions == _index(value, GOLD_POSITIONS))


ALIGNMENT_COHORTS: Mapping[str, Cohort] = {
    "ignored_top": _cohort(lambda _: "the answer ignores the top-ranked document", _without_value(ignored)),
    "used_nothing": _cohort(
        lambda _: "the answer uses none of its documents",
        _without_value(lambda context_use: used_nothing(context_use.use)),
    ),
    "known_use": _cohort(
        lambda _: "it is known which documents the answer uses",
        _without_value(lambda context_use: context_use.answered),
    ),
    "used_rank": _cohort(lambda rank: f"the answer uses rank {rank}", _used_rank(True)),
    "unused_rank": _cohort(lambda rank: f"the answer does not use rank {rank}", _used_rank(False)),
    "used_by_gold": _cohort(_used_by_gold_title, _used_by_gold),
    "wasted": _cohort(lambda k: f"the answer leaves documents of the top {k} unused", _wasted),
    "deep": _cohort(lambda k: f"the answer uses documents below rank {k}", _deep),
    "ignored_relevant": _cohort(
        lambda relevance: f"the answer ignores the top-ranked document, which is {relevance}",
        _ignored_relevant,
    ),
    "ignored_length": _cohort(
        lambda band: f"the answer ignores the top-ranked document, of {band} characters", _ignored_length
    ),
    "gold_position": _cohort(
        lambda position: f"position of the first gold document in the context: {position}", _gold_position
    ),
    "gold_place": _cohort(lambda band: f"the first gold document is at rank: {band}", _gold_rank),
}
