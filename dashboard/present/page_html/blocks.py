"""The blocks that every page draws alike: style sheet, conclusion, tiles and strips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import Literal

from markupsafe import Markup

from ragtriage.dashboard.charts.tokens import THEMES, Theme
from ragtriage.dashboard.headlines.headline import LOOKS, Headline, State
from ragtriage.dashboard.present.templating import environment, render


@dataclass(frozen=True)
class Strip:
    """A value on a line from `start` to `end`, with what it is held against."""

    value: float | None  # the dot; None where nothing was measured, which draws a dashed line
    low: float | None = None  # its 95 % interval, None for none
    high: float | None = None
    gate: float | None = None  # threshold, drawn as a tick
    base: float | None = None  # value of the baseline, drawn as a hollow diamond
    state: State = "not measured"  # colours the dot and its interval
    label: str = ""  # what it shows, for people who cannot see it
    start: float = 0.0  # values at the two ends
    end: float = 1.0
    higher_is_better: bool | None = None  # which side of the gate holds; None where no side does
    zero: bool = False  # whether a dotted line marks 0
    hollow: bool = False  # whether the dot is hollow: not significant


@dataclass(frozen=True)
class Tile:
    """One number with its place on a strip."""

    title: str  # what was measured
    value: str  # as text
    state: State  # of the number
    word: str  # what the chip says, as "below gate"; "" for no chip
    change: str  # against the baseline, "" for none
    foot: str  # interval, n and gate
    strip: Strip  # where it lies
    help: str = ""  # shown when the pointer rests on it: how it was obtained


@cache
def style_sheet(theme: Theme) -> Markup:
    """Return the style sheet of the blocks in the colours of a theme."""
    return render("style.html", t=THEMES[theme])


@cache
def page_style(page: Literal["cases", "compare", "diagnosis", "triage"], theme: Theme) -> Markup:
    """Return the style rules of a page's own blocks in the colours of a theme."""
    return render(f"style_{page}.html", t=THEMES[theme])


def band(headline: Headline, meta: Sequence[str] = ()) -> Markup:
    """Return the band that opens a page: what it concludes, with facts of the run at the right."""
    return render("band.html", headline=headline, meta=list(meta))


def tile(shown: Tile) -> Markup:
    """Return one tile, 112 pixels high."""
    return render("tile.html", tile=shown)


def strip(shown: Strip) -> Markup:
    """Return a strip, 14 pixels high and as wide as its place."""

    def place(value: float | None) -> float | None:
        if value is None or not isfinite(value):
            return None
        return round(100 * min(1.0, max(0.0, (value - shown.start) / (shown.end - shown.start))), 2)

    low, high, gate = place(shown.low), place(shown.high), place(shown.gate)
    holds = None
    if gate is not None and shown.higher_is_better is not None:
        holds = (gate, 100 - gate) if shown.higher_is_better else (0.0, gate)
    drawn = {
        "dot": place(shown.value),
        "interval": None if low is None or high is None else (low, round(high - low, 2)),
        "gate": gate,
        "base": place(shown.base),
        "zero": place(0.0) if shown.zero else None,
        "holds": holds,
        "hollow": shown.hollow,
        "look": LOOKS[shown.state],
        "label": shown.label,
    }
    return render("strip.html", strip=drawn)


environment().filters["drawn_strip"] = strip
