"""The blocks that every page draws alike: style sheet, conclusion, tiles and strips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import Literal

from markupsafe import Markup

from ragtriage.dashboard.charts.tokens import THEMES, Theme
from ragtriage.dashboard.headlines.headline import GLYPHS, LOOKS, WORDS, Headline, State
from ragtriage.dashboard.present.templating import render


@dataclass(frozen=True)
class Strip:
    """A value on a line from `start` to `end`, with what it is held against.

    Attributes:
        value: the dot; None where nothing was measured, which draws a dashed line.
        low, high: its 95 % interval, None for none.
        gate: threshold, drawn as a tick.
        base: value of the baseline, drawn as a hollow diamond.
        state: colours the dot and its interval.
        label: what it shows, for people who cannot see it.
        start, end: values at the two ends.
        higher_is_better: which side of the gate holds; None where no side does.
        zero: whether a dotted line marks 0.
        hollow: whether the dot is hollow: not significant.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    gate: float | None = None
    base: float | None = None
    state: State = "not measured"
    label: str = ""
    start: float = 0.0
    end: float = 1.0
    higher_is_better: bool | None = None
    zero: bool = False
    hollow: bool = False


@dataclass(frozen=True)
class Tile:
    """One number with its place on a strip.

    Attributes:
        title: what was measured.
        value: as text.
        state: of the number.
        word: what the chip says, as "below gate"; "" for no chip.
        change: against the baseline, "" for none.
        foot: interval, n and gate.
        strip: where it lies.
        help: shown when the pointer rests on it: how it was obtained.
    """

    title: str
    value: str
    state: State
    word: str
    change: str
    foot: str
    strip: Strip
    help: str = ""

    @property
    def glyph(self) -> str:
        """The mark of its state."""
        return GLYPHS[self.state]


@cache
def style_sheet(theme: Theme) -> Markup:
    """Return the style sheet of the blocks in the colours of a theme."""
    return render("style.html", t=THEMES[theme])


@cache
def page_style(page: Literal["cases", "compare", "diagnosis", "triage"], theme: Theme) -> Markup:
    """Return the style rules of a page's own blocks in the colours of a theme."""
    return render(f"style_{page}.html", t=THEMES[theme])


def band(headline: Headline, meta: Sequence[str] = ()) -> Markup:
    """Return the band that opens a page.

    Args:
        headline: what the page concludes.
        meta: facts of the run at the right, a line each.
    """
    return render(
        "band.html",
        headline=headline,
        look=LOOKS[headline.state],
        glyph=GLYPHS[headline.state],
        word=WORDS[headline.state],
        meta=list(meta),
    )


def tile(shown: Tile) -> Markup:
    """Return one tile, 112 pixels high."""
    return render("tile.html", tile=shown, look=LOOKS[shown.state], strip=strip(shown.strip))


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
