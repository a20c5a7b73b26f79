"""Groups of cases by where their gold stands: what the bars of the Retrieval page lead to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from data.ranked_tables import RankedLists, ranked_lists
from data.retrieval_curves import missed_names
from data.tables import RunTable
from metrics.hops import hop_outcomes
from metrics.inputs import Rankings
from metrics.reranking import moves
from metrics.values import BoolArray, FloatArray, Status

__all__ = ["RANK_MARKS"]

Made = tuple[Callable[[str], str], Callable[[RunTable, str], BoolArray]]


def _lists(table: RunTable) -> RankedLists:
    found = ranked_lists(table)
    if found is None or found.documents is None:
        raise ValueError("the run names no gold documents")
    return found


def _documents(table: RunTable) -> Rankings:
    found = _lists(table).documents
    assert found is not None  # noqa: S101 -- _lists has looked
    return found


def _rank(value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= 10**6:
        raise ValueError(f"{value[:20]!r}; accepted: a rank of 1 or more")
    return int(value)


def _first(lists: Rankings) -> FloatArray:
    """(n,) rank of the first gold unit, inf where none was found, NaN where not known."""
    known = (lists.status == Status.SCORED) & (~np.isnan(lists.unit_rank)).any(axis=1)
    first = np.min(np.where(np.isnan(lists.unit_rank), np.inf, lists.unit_rank), axis=1, initial=np.inf)
    return np.where(known, first, np.nan)


def _gold_at(table: RunTable, value: str) -> BoolArray:
    return np.asarray(_first(_documents(table)) == _rank(value))


def _gold_below(table: RunTable, value: str) -> BoolArray:
    first = _first(_documents(table))
    return np.asarray(np.isfinite(first) & (first > _rank(value)))


def _gold_missed(table: RunTable, _value: str) -> BoolArray:
    return np.asarray(np.isinf(_first(_documents(table))))


def _moved(part: str) -> Callable[[RunTable, str], BoolArray]:
    def rows(table: RunTable, value: str) -> BoolArray:
        lists = _lists(table)
        if lists.first_pass is None or lists.documents is None:
            raise ValueError("the run records no candidates")
        return np.asarray(getattr(moves(lists.first_pass, lists.documents, _rank(value)), part) > 0)

    return rows


def _hop_missed(table: RunTable, value: str) -> BoolArray:
    lists = _lists(table)
    found = hop_outcomes(_documents(table), lists.first_pass, 1)
    return np.asarray(missed_names(lists, found.missed) == value)


def _hops_below(table: RunTable, value: str) -> BoolArray:
    return hop_outcomes(_documents(table), _lists(table).first_pass, _rank(value)).below


def _hops_complete(table: RunTable, value: str) -> BoolArray:
    return hop_outcomes(_documents(table), _lists(table).first_pass, _rank(value)).complete


RANK_MARKS: dict[str, Made] = {
    "gold_at": (lambda rank: f"the first gold document is at rank {rank}", _gold_at),
    "gold_below": (lambda rank: f"the first gold document is below rank {rank}", _gold_below),
    "gold_missed": (lambda _: "no gold document was retrieved", _gold_missed),
    "lifted": (lambda k: f"the reranker lifted gold into the top {k}", _moved("lifted")),
    "pushed_out": (lambda k: f"the reranker pushed gold out of the top {k}", _moved("pushed_out")),
    "left_below": (lambda k: f"gold was found and stays below rank {k}", _moved("left_below")),
    "hop_missed": (lambda hops: f"hop {hops.replace('+', ' and ')} was not found", _hop_missed),
    "hops_below": (lambda k: f"every hop was found, some below rank {k}", _hops_below),
    "hops_complete": (lambda k: f"every hop is in the top {k}", _hops_complete),
}
