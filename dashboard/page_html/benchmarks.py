"""The rows of the Benchmarks page that say how far each mean is from its next band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ragtriage.dashboard.case_html.templating import render
from ragtriage.dashboard.headlines.headline import GLYPHS, LOOKS, WORDS, State
from ragtriage.dashboard.page_html.blocks import Strip, strip


@dataclass(frozen=True)
class MissingRow:
    """One metric and what is missing to its next band.

    Attributes:
        title: of the metric.
        band: the next band and where it begins.
        missing: how much is missing, as text.
        state: of the mean on its bands.
        strip: where it lies; its gate is the next edge.
    """

    title: str
    band: str
    missing: str
    state: State
    strip: Strip


def missing_rows(rows: Sequence[MissingRow]) -> Markup:
    """Return the rows."""
    drawn = [
        {
            "row": row,
            "look": LOOKS[row.state],
            "glyph": GLYPHS[row.state],
            "word": WORDS[row.state],
            "strip": strip(row.strip),
        }
        for row in rows
    ]
    return render("ragtriage.dashboard.page_html", "missing_rows.html", rows=drawn)
