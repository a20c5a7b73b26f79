"""Groups of cases by the use of documents: what the bars of the Alignment page lead to.

A mark may end in an origin ("used_rank:3:judge"): then only cases whose use of documents has it belong.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from data.analysis.alignment import GOLD_RANK_BANDS, LENGTHS, gold_rank_band, ignored, length_band
from data.cases.retrieval_cohorts import rank_named
from data.scoring.context_use import ORIGINS, RunContextUse, context_use_of
from data.scoring.scored_run import ScoredRun
from metrics.definitions.alignment import used_nothing
from metrics.schema.scores import BoolArray

__all__ = ["USE_MARKS"]

Title = Callable[[str], str]
Rows = Callable[[RunContextUse, str], BoolArray]
Made = tuple[Title, Callable[[ScoredRun, str], BoolArray]]
RELEVANT = {"not relevant": 0, "relevant": 1}


def _use(scored: ScoredRun) -> RunContextUse:
    found = context_use_of(scored)
    if found is None:
        raise ValueError("it is not known which documents the answers of this run draw on")
    return found


def _parted(text: str) -> tuple[str, str]:
    """Part a value into what it names and the origin behind it; "" where it ends in none."""
    value, _, origin = text.rpartition(":")
    return (value, origin) if origin in ORIGINS else (text, "")


def _made(title: Title, rows: Rows) -> Made:
    """Make a mark that an origin can narrow."""

    def named(text: str) -> str:
        value, origin = _parted(text)
        return f"{title(value)} ({ORIGINS[origin]})" if origin else title(value)

    def chosen(scored: ScoredRun, text: str) -> BoolArray:
        value, origin = _parted(text)
        found = _use(scored)
        kept = rows(found, value)
        return np.asarray(kept & (found.source == origin) if origin else kept, dtype=np.bool_)

    return named, chosen


def _nothing_more(value: str) -> None:
    if value:
        raise ValueError(f"{value[:20]!r}; accepted: {', '.join(ORIGINS)}, or nothing")


def _ignored_top(found: RunContextUse, value: str) -> BoolArray:
    _nothing_more(value)
    return ignored(found)


def _used_nothing(found: RunContextUse, value: str) -> BoolArray:
    _nothing_more(value)
    return used_nothing(found.use)


def _known_use(found: RunContextUse, value: str) -> BoolArray:
    _nothing_more(value)
    return found.answered


def _used_rank(wanted: bool) -> Rows:
    def rows(found: RunContextUse, value: str) -> BoolArray:
        rank = rank_named(value)
        there = found.answered & (found.use.documents >= rank)
        if rank > found.use.used.shape[1]:
            return np.zeros(len(there), dtype=np.bool_)
        return np.asarray(there & (found.use.used[:, rank - 1] == wanted))

    return rows


def _wasted(found: RunContextUse, value: str) -> BoolArray:
    k = rank_named(value)
    given = np.minimum(found.use.documents, k)
    return np.asarray(found.answered & (found.use.used[:, :k].sum(axis=1) < given))


def _deep(found: RunContextUse, value: str) -> BoolArray:
    return np.asarray(found.answered & found.use.used[:, rank_named(value) :].any(axis=1))


def _ignored_relevant(found: RunContextUse, value: str) -> BoolArray:
    if value not in RELEVANT:
        raise ValueError(f"{value[:20]!r}; accepted: {', '.join(RELEVANT)}")
    return np.asarray(ignored(found) & (found.top_relevant == RELEVANT[value]))


def _ignored_length(found: RunContextUse, value: str) -> BoolArray:
    if value not in LENGTHS:
        raise ValueError(f"{value[:20]!r}; accepted: {', '.join(LENGTHS)}")
    return np.asarray(ignored(found) & (length_band(found.top_length) == LENGTHS.index(value)))


def _gold_place(found: RunContextUse, value: str) -> BoolArray:
    if value not in GOLD_RANK_BANDS:
        raise ValueError(f"{value[:20]!r}; accepted: {', '.join(GOLD_RANK_BANDS)}")
    return np.asarray(gold_rank_band(found.gold_rank) == GOLD_RANK_BANDS.index(value))


USE_MARKS: dict[str, Made] = {
    "ignored_top": _made(lambda _: "the answer passes over the first document", _ignored_top),
    "used_nothing": _made(lambda _: "the answer draws on none of its documents", _used_nothing),
    "known_use": _made(lambda _: "it is known which documents the answer draws on", _known_use),
    "used_rank": _made(lambda rank: f"the answer draws on rank {rank}", _used_rank(True)),
    "unused_rank": _made(lambda rank: f"the answer does not draw on rank {rank}", _used_rank(False)),
    "wasted": _made(lambda k: f"the answer leaves documents of the top {k} unused", _wasted),
    "deep": _made(lambda k: f"the answer draws on documents below rank {k}", _deep),
    "ignored_relevant": _made(
        lambda which: f"the answer passes over the first document, which is {which}", _ignored_relevant
    ),
    "ignored_length": _made(
        lambda band: f"the answer passes over the first document, of {band} characters", _ignored_length
    ),
    "gold_place": _made(lambda place: f"the first gold document is at rank: {place}", _gold_place),
}
