"""Small pictures for the cells of tables and the labels of buttons, as addresses that need no request."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite

from ragtriage.dashboard.charts.project_strips import MANY_QUESTIONS
from ragtriage.dashboard.charts.tokens import THEMES, Theme, Tokens
from ragtriage.dashboard.present.templating import render, svg_address
from ragtriage.data.diagnosis.run_digest import MEASURES, RunDigest

BAR_WIDTH, BAR_HEIGHT = 84, 14  # pixels


def bar_image(parts: Sequence[tuple[int, str]], total: int, theme: Theme, full_width: int = BAR_WIDTH) -> str:
    """Return a stacked bar as an image for a Markdown label, so that the bar itself can be a button.

    The parts have their number of cases and colour, from the left; a full bar stands for the total.
    """
    drawn, at = [], 0.0
    for n, colour in parts:
        width = full_width * n / max(total, 1)
        drawn.append((round(at, 2), round(max(width, 1.5), 2), colour))
        at += width
    picture = render("bar.svg", parts=drawn, track=THEMES[theme].track, width=full_width, height=BAR_HEIGHT)
    return svg_address(picture)


LETTERS = dict(zip(MEASURES, "CFRAP", strict=True))  # context, faithfulness, relevancy, answer, people
START, LENGTH = 6.0, 92.0  # pixels of the line that stands for 0 to 1


def pass_strip_image(digest: RunDigest | None, theme: Theme) -> str:
    """Return the pass rate with its interval on a line from 0 to 1; a dashed box where not measured."""
    tokens = THEMES[theme]
    if digest is None or digest.pass_rate is None:
        return _image("pass_strip.svg", dot=None, t=tokens)
    bar = None
    if digest.low is not None and digest.high is not None:
        bar = (_place(digest.low), round(LENGTH * (digest.high - digest.low), 1))
    return _image(
        "pass_strip.svg",
        dot=_place(digest.pass_rate),
        bar=bar,
        colour=tokens.primary if digest.readable and digest.answers_checked else tokens.unclear.text,
        hollow=digest.n_scored < MANY_QUESTIONS,
        t=tokens,
    )


@cache
def measured_image(measured: tuple[str, ...], theme: Theme) -> str:
    """Return a box for each of MEASURES, filled where the run has it."""
    boxes = [(letter, name in measured) for name, letter in LETTERS.items()]
    return _image("measured.svg", boxes=boxes, t=THEMES[theme])


def _place(value: float) -> float:
    return round(START + LENGTH * min(1.0, max(0.0, value)), 1)


def _image(template: str, **values: object) -> str:
    return svg_address(render(template, **values))


_WIDTH, _HEIGHT, _GAP = 16, 26, 6  # of a score in the list of cases, in pixels


@dataclass(frozen=True)
class ScoreBar:
    """A score of a case in the list: a bar with the case threshold across it."""

    value: float  # from 0 to 1; NaN where it was not measured, which draws a dashed box
    threshold: float  # below which it is low


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


@cache
def pass_boxes(passed: tuple[bool | None, ...], theme: Theme) -> str:
    """Return a box for each version, filled where it passes and dashed where nothing was measured."""
    tokens = THEMES[theme]
    drawn = "".join(_box(each, 2 + at * 15, tokens) for at, each in enumerate(passed))
    return svg_address(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{15 * len(passed) + 2}" height="26">{drawn}</svg>'
    )


def _box(passed: bool | None, x: int, tokens: Tokens) -> str:
    if passed:
        return f'<rect x="{x}" y="7" width="12" height="12" rx="2" fill="{tokens.good_mark}"/>'
    colour, dashes = (tokens.muted, ' stroke-dasharray="2 2"') if passed is None else (tokens.bad.text, "")
    return (
        f'<rect x="{x + 1}" y="8" width="10" height="10" rx="1.5" fill="none" stroke="{colour}" '
        f'stroke-width="1.7"{dashes}/>'
    )
