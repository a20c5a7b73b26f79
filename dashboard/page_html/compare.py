"""Blocks of the Compare page: its style rules and the legend of the versions."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from ragtriage.dashboard.case_html.templating import render
from ragtriage.dashboard.charts.comparison import GLYPHS
from ragtriage.dashboard.charts.tokens import Tokens

_PACKAGE = "ragtriage.dashboard.page_html"


def compare_style() -> Markup:
    """Return the style rules of the page; their colours are those of the style sheet of all pages."""
    return render(_PACKAGE, "style_compare.html")


def forest_legend(names: Sequence[str], tokens: Tokens, note: str) -> Markup:
    """Return the mark and colour of each drawn version, and how to read the marks.

    Args:
        names: of the versions, in their order.
        tokens: colours of the theme.
        note: what is left out; "" for nothing.
    """
    marks = [(name, tokens.versions[at], GLYPHS[at]) for at, name in enumerate(names)]
    return render(_PACKAGE, "compare_legend.html", marks=marks, note=note)


def bars_legend(base: str, directed: bool) -> Markup:
    """Return how to read the bars of questions.

    Args:
        base: name of the baseline.
        directed: whether a rise is better or worse.
    """
    return render(_PACKAGE, "compare_bars_legend.html", base=base, directed=directed)
