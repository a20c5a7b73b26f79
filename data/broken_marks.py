"""The cases that passed in a baseline and fail now: what the list on Triage leads to.

As with data.loss_marks the mark names the other run, and the page, which has both at hand, finds the rows.
"""

from __future__ import annotations

from collections.abc import Callable

from data.loss_marks import _two_runs
from data.tables import RunTable
from metrics.values import BoolArray

__all__ = ["BROKEN_MARKS", "broken_baseline", "broken_mark_text"]

_KEY = "newly_failing"


def broken_baseline(text: str) -> str | None:
    """Read the id of the baseline from a mark; None where it is another mark."""
    key, _, baseline = text.partition(":")
    return baseline if key == _KEY else None


def broken_mark_text(baseline: str) -> str:
    """Write a mark."""
    return f"{_KEY}:{baseline}"


BROKEN_MARKS: dict[str, tuple[Callable[[str], str], Callable[[RunTable, str], BoolArray]]] = {
    _KEY: (lambda _: "newly failing: passed in the baseline of the gates", _two_runs)
}
