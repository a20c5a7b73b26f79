"""The small pictures in the list of runs, as data: images for the cells of a table."""

from __future__ import annotations

from functools import cache

from ragtriage.dashboard.case_html.templating import render, svg_address
from ragtriage.dashboard.charts.runs import MANY_QUESTIONS
from ragtriage.dashboard.charts.tokens import THEMES, Theme
from ragtriage.data.diagnosis.run_digest import MEASURES, RunDigest

LETTERS = dict(zip(MEASURES, "CFRAP", strict=True))  # context, faithfulness, relevancy, answer, people
START, LENGTH = 6.0, 92.0  # pixels of the line that stands for 0 to 1
_PACKAGE = "ragtriage.dashboard.page_html"


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
        colour=tokens.unclear.text if digest.warnings or digest.errors else tokens.primary,
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
    return svg_address(render(_PACKAGE, template, **values))
