"""Words and marks that the pieces of the Alignment page share."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.shell.session import open_cases
from dashboard.wording.formatting import percent
from data.analysis.alignment import sources_of_use
from data.scoring.context_use import RunContextUse
from metrics.statistics.intervals import Interval

__all__ = ["METHODS", "methods", "narrowed", "open_bar", "span", "with_origin"]

METHODS = {
    "wilson": "Wilson's interval",
    "exact": "exact interval",
    "t": "interval by Student's t",
    "bootstrap": "bootstrap over questions or conversations",
    "normal": "normal interval",
    "no variance": "bound, as no value differs",
}


def narrowed(found: RunContextUse, origin: str) -> str:
    """Give the origin that marks have to name: none where the run has but one."""
    return origin if len(sources_of_use(found)) > 1 else ""


def with_origin(mark: str, origin: str) -> str:
    """Write the mark that keeps to an origin; "" for any."""
    return f"{mark}:{origin}" if origin else mark


def span(value: Interval) -> str:
    """Write a 95 % interval in percent."""
    return f"{percent(value.low)} to {percent(value.high)}"


def methods(values: Sequence[Interval]) -> str:
    """Say how the intervals of a chart were obtained."""
    known = dict.fromkeys(METHODS[one.method] for one in values if one.method in METHODS)
    return f"95 %: {', '.join(known)}" if known else ""


def open_bar(text: str, origin: str = "", **order: object) -> None:
    """Open the cases of a bar; a type of question is a slice beside the mark."""
    mark, _, key = text.partition(":")
    if mark == "ignored_top" and key:
        open_cases(cohort=with_origin(mark, origin), slices={"query_type": key}, **order)
    open_cases(cohort=with_origin(text, origin), **order)
