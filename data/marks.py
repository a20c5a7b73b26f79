"""Marks: named groups of cases that a bar or a cell of a view leads to.

A mark is written as its key, or as "key:value"; that text is what the address holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from data.agreement_marks import AGREEMENT_MARKS
from data.broken_marks import BROKEN_MARKS
from data.errors import DataError
from data.judge_marks import JUDGE_MARKS
from data.loss_marks import LOSS_MARKS
from data.rank_marks import RANK_MARKS
from data.tables import RunTable
from data.use_marks import USE_MARKS
from metrics.values import BoolArray

__all__ = ["MARKS", "Mark", "mark_rows", "mark_title"]


@dataclass(frozen=True)
class Mark:
    """One group of cases.

    Attributes:
        title: what to call it, given the value after the colon ("" without one).
        rows: (n,) samples of a run that belong to it, given the value; raises ValueError for a wrong value.
    """

    title: Callable[[str], str]
    rows: Callable[[RunTable, str], BoolArray]


MARKS: Mapping[str, Mark] = {
    key: Mark(*made)
    for key, made in {
        **USE_MARKS,
        **RANK_MARKS,
        **LOSS_MARKS,
        **BROKEN_MARKS,
        **AGREEMENT_MARKS,
        **JUDGE_MARKS,
    }.items()
}


def mark_title(text: str) -> str:
    """Name a mark for people."""
    mark, value = _found(text)
    return mark.title(value)


def mark_rows(table: RunTable, text: str) -> BoolArray:
    """Say of every sample of a run whether it bears the mark.

    Raises:
        DataError: there is no such mark, or its value is none.
    """
    mark, value = _found(text)
    try:
        return mark.rows(table, value)
    except ValueError as error:
        raise DataError(f"mark {text[:60]!r}: {error}") from error


def _found(text: str) -> tuple[Mark, str]:
    key, _, value = text.partition(":")
    if key not in MARKS:
        raise DataError(f"mark {text[:60]!r}; accepted: {', '.join(MARKS)}")
    return MARKS[key], value
