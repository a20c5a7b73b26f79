"""Groups of cases by the use of documents: what the bars of the Alignment page lead to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from data.alignments import GOLD_PLACES, LENGTHS, gold_place, ignored, length_band
from data.tables import RunTable
from data.use_tables import UseOfRun, use_of
from metrics.alignment import used_nothing
from metrics.values import BoolArray

__all__ = ["USE_MARKS"]

Made = tuple[Callable[[str], str], Callable[[RunTable, str], BoolArray]]
RELEVANT = {"not relevant": 0, "relevant": 1}


def _use(table: RunTable) -> UseOfRun:
    found = use_of(table)
    if found is None:
        raise ValueError("it is not known which documents the answers of this run draw on")
    return found


def _ignored_top(table: RunTable, _value: str) -> BoolArray:
    return ignored(_use(table))


def _used_nothing(table: RunTable, _value: str) -> BoolArray:
    return used_nothing(_use(table).use)


def _used_rank(wanted: bool) -> Callable[[RunTable, str], BoolArray]:
    def rows(table: RunTable, value: str) -> BoolArray:
        found = _use(table)
        if not value.isdecimal() or not 1 <= int(value) <= 10**6:
            raise ValueError(f"{value[:20]!r}; accepted: a rank of 1 or more")
        there = found.answered & (found.use.documents >= int(value))
        if int(value) > found.use.used.shape[1]:
            return np.zeros(table.n, dtype=np.bool_)
        return np.asarray(there & (found.use.used[:, int(value) - 1] == wanted))

    return rows


def _ignored_relevant(table: RunTable, value: str) -> BoolArray:
    if value not in RELEVANT:
        raise ValueError(f"{value[:20]!r}; accepted: {', '.join(RELEVANT)}")
    found = _use(table)
    return np.asarray(ignored(found) & (found.top_relevant == RELEVANT[value]))


def _ignored_length(table: RunTable, value: str) -> BoolArray:
    if value not in LENGTHS:
        raise ValueError(f"{value[:20]!r}; accepted: {', '.join(LENGTHS)}")
    found = _use(table)
    return np.asarray(ignored(found) & (length_band(found.top_length) == LENGTHS.index(value)))


def _gold_place(table: RunTable, value: str) -> BoolArray:
    if value not in GOLD_PLACES:
        raise ValueError(f"{value[:20]!r}; accepted: {', '.join(GOLD_PLACES)}")
    return np.asarray(gold_place(_use(table).gold_rank) == GOLD_PLACES.index(value))


USE_MARKS: dict[str, Made] = {
    "ignored_top": (lambda _: "the answer passes over the first document", _ignored_top),
    "used_nothing": (lambda _: "the answer draws on none of its documents", _used_nothing),
    "used_rank": (lambda rank: f"the answer draws on rank {rank}", _used_rank(True)),
    "unused_rank": (lambda rank: f"the answer does not draw on rank {rank}", _used_rank(False)),
    "ignored_relevant": (
        lambda which: f"the answer passes over the first document, which is {which}",
        _ignored_relevant,
    ),
    "ignored_length": (
        lambda band: f"the answer passes over the first document, of {band} characters",
        _ignored_length,
    ),
    "gold_place": (lambda place: f"the first gold document is at rank: {place}", _gold_place),
}
