"""The rows of the Diagnosis page: a diagnosis with its levels, and a failure stage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from markupsafe import Markup

from ragtriage.dashboard.case_html.templating import render
from ragtriage.dashboard.charts.tokens import THEMES, Theme
from ragtriage.metrics.diagnosis.patterns import Level, Pattern

_PACKAGE = "ragtriage.dashboard.page_html"


@cache
def diagnosis_style(theme: Theme) -> Markup:
    """Return the style sheet of the rows."""
    return render(_PACKAGE, "style_diagnosis.html", t=THEMES[theme])


def pattern_head(conditions: Sequence[tuple[str, str, str]]) -> Markup:
    """Return the head of the pattern table.

    Args:
        conditions: title of each of the three metrics, below what it is low, and a doubt about it or "".
    """
    return render(_PACKAGE, "pattern_head.html", conditions=list(conditions))


def pattern_row(pattern: Pattern, text: str, help_text: str, empty: bool) -> Markup:
    """Return one diagnosis with its three levels.

    Args:
        pattern: the diagnosis.
        text: below its title: where its bad cases fail and what to try.
        help_text: shown when the pointer rests on it: what it means, and the same in full.
        empty: whether no case has it, which makes it pale.
    """
    levels: tuple[Level | None, ...] = pattern.levels
    if pattern.key == "not_measured":
        levels = (None, None, None)
    return render(
        _PACKAGE, "pattern_row.html", title=pattern.title, text=text, help_text=help_text,
        levels=levels, empty=empty,
    )  # fmt: skip


def stage_row(colour: str, title: str, help_text: str, owner: str, bound: str, advice: str) -> Markup:
    """Return one failure stage.

    Args:
        colour: of the part of the pipeline that owns it.
        title: its short name.
        help_text: what happened, shown when the pointer rests on it.
        owner: that part, and whether the stage is inferred.
        bound: how many cases pass at most if it is fixed.
        advice: what to try.
    """
    return render(
        _PACKAGE, "stage_row.html", colour=colour, title=title, help_text=help_text,
        owner=owner, bound=bound, advice=advice,
    )  # fmt: skip
