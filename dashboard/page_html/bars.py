"""Bars as images for the labels of buttons, so that a bar itself can be clicked and reached by keyboard."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.case_html.templating import render, svg_address
from ragtriage.dashboard.charts.tokens import THEMES, Theme

_PACKAGE = "ragtriage.dashboard.page_html"
BAR_WIDTH, BAR_HEIGHT = 84, 14  # pixels


def bar_image(parts: Sequence[tuple[int, str]], total: int, theme: Theme, full_width: int = BAR_WIDTH) -> str:
    """Return a stacked bar as an image for a Markdown label, so that the bar itself can be a button.

    Args:
        parts: number of cases and colour of each part, from the left.
        total: number of cases of a full bar.
        theme: of the track.
        full_width: of a full bar in pixels.
    """
    drawn, at = [], 0.0
    for n, colour in parts:
        width = full_width * n / max(total, 1)
        drawn.append((round(at, 2), round(max(width, 1.5), 2), colour))
        at += width
    picture = render(
        _PACKAGE, "bar.svg", parts=drawn, track=THEMES[theme].track, width=full_width, height=BAR_HEIGHT
    )
    return svg_address(picture)
