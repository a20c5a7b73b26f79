"""HTML of the Cases page: score bars of the list, chips and scores of the open case, style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import Literal

from markupsafe import Markup

from ragtriage.dashboard.case_html.templating import render, svg_address
from ragtriage.dashboard.charts.tokens import THEMES, Theme, Tokens
from ragtriage.dashboard.headlines.headline import Look
from ragtriage.metrics.diagnosis.stages import Owner

_PACKAGE = "ragtriage.dashboard.page_html"
_WIDTH, _HEIGHT, _GAP = 16, 26, 6  # of a bar in the list, in pixels


@dataclass(frozen=True)
class ScoreBar:
    """A score of a case in the list: a bar with the case threshold across it.

    Attributes:
        value: from 0 to 1; NaN where it was not measured, which draws a dashed box.
        threshold: below which it is low.
    """

    value: float
    threshold: float


@dataclass(frozen=True)
class Chip:
    """A word or two in a coloured box.

    Attributes:
        text: what it says.
        look: state that colours it; "" for the neutral one.
        owner: the part of the pipeline whose colour it carries as a dot; None for none.
        help: shown when the pointer rests on it.
    """

    text: str
    look: Look | Literal[""] = ""
    owner: Owner | None = None
    help: str = ""


@dataclass(frozen=True)
class CaseScore:
    """A score of the open case.

    Attributes:
        title: of the metric.
        value: as text.
        share: how far the bar reaches, from 0 to 1; None where nothing was measured.
        threshold: of the case, from 0 to 1; None for none.
        source: how it was obtained.
        help: the reason that came with it.
    """

    title: str
    value: str
    share: float | None
    threshold: float | None = None
    source: str = ""
    help: str = ""

    @property
    def look(self) -> Look | Literal[""]:
        """State by the threshold; "" without one."""
        if self.share is None:
            return "unmeasured"
        if self.threshold is None:
            return ""
        return "bad" if self.share < self.threshold else "good"


@dataclass(frozen=True)
class CaseHead:
    """What stands above the answer.

    Attributes:
        chips: conclusion, whether it is inferred or doubted, refusal, human labels.
        turns: earlier turns of the conversation, (role, text).
        question: the question.
    """

    chips: Sequence[Chip]
    turns: Sequence[tuple[str, str]]
    question: str


@cache
def case_style(theme: Theme) -> Markup:
    """Return the style sheet of the page in the colours of a theme."""
    return render(_PACKAGE, "style_cases.html", t=THEMES[theme])


def case_head(head: CaseHead) -> Markup:
    """Return chips, earlier turns (folded) and the question of a case."""
    return render(_PACKAGE, "case_head.html", head=head)


def case_reference(reference: str, unfolded: bool, legend: bool = False) -> Markup:
    """Return the reference answer, folded or not.

    Args:
        reference: its text, "" for none.
        unfolded: whether it is open at first.
        legend: whether to say what the colours of the answer above it mean.
    """
    return render(_PACKAGE, "case_reference.html", reference=reference, unfolded=unfolded, legend=legend)


def context_heading(text: str) -> Markup:
    """Return the heading of a context of which nothing else may be said."""
    return Markup('<div class="rt rt-case"><div class="rt-contexthead"><h3>{}</h3></div></div>').format(text)


def case_scores(scores: Sequence[CaseScore], notes: Sequence[str] = ()) -> Markup:
    """Return the scores of a case as bars with their thresholds, and notes below them."""
    return render(_PACKAGE, "case_scores.html", scores=scores, notes=[note for note in notes if note])


def score_bars(bars: Sequence[ScoreBar], tokens: Tokens) -> str:
    """Return bars with their thresholds as the address of an image that needs no request."""
    width = len(bars) * (_WIDTH + _GAP) + 2
    drawn = "".join(_bar(bar, 4 + at * (_WIDTH + _GAP), tokens) for at, bar in enumerate(bars))
    image = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT + 2}">{drawn}</svg>'
    return svg_address(image)


def _bar(bar: ScoreBar, x: int, tokens: Tokens) -> str:
    if not isfinite(bar.value):
        box = f'<rect x="{x + 0.5}" y="1.5" width="{_WIDTH - 1}" height="{_HEIGHT - 1}"'
        return f'{box} fill="none" stroke="{tokens.muted}" stroke-dasharray="3 2"/>'
    height = max(1.5, _HEIGHT * min(1.0, max(0.0, bar.value)))  # a line at 0, so that it is seen as a bar
    colour = tokens.bad.text if bar.value < bar.threshold else tokens.good_mark
    top, line = 1 + _HEIGHT - height, _HEIGHT * (1 - bar.threshold)
    return (
        f'<rect x="{x}" y="1" width="{_WIDTH}" height="{_HEIGHT}" fill="{tokens.track}"/>'
        f'<rect x="{x}" y="{top:.1f}" width="{_WIDTH}" height="{height:.1f}" fill="{colour}"/>'
        f'<rect x="{x - 2}" y="{0.25 + line:.1f}" width="{_WIDTH + 4}" height="1.5" fill="{tokens.text}"/>'
    )
