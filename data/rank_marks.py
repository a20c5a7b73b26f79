"""Groups of cases by ranks of the gold: what the bars of a view lead to."""

from __future__ import annotations

from collections.abc import Callable

from data.tables import RunTable
from metrics.values import BoolArray

__all__ = ["RANK_MARKS"]

Made = tuple[Callable[[str], str], Callable[[RunTable, str], BoolArray]]

RANK_MARKS: dict[str, Made] = {}
