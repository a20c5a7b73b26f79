"""Groups of cases by the use of documents: what the bars of a view lead to."""

from __future__ import annotations

from collections.abc import Callable

from data.tables import RunTable
from metrics.values import BoolArray

__all__ = ["USE_MARKS"]

Made = tuple[Callable[[str], str], Callable[[RunTable, str], BoolArray]]

USE_MARKS: dict[str, Made] = {}
