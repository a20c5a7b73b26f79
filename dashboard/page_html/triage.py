"""The HTML of the Triage page: its sentence, what to fix first, gates and changes as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ragtriage.dashboard.case_html.templating import render
from ragtriage.dashboard.headlines.headline import GLYPHS, LOOKS, State
from ragtriage.dashboard.page_html.blocks import Strip, strip

_PACKAGE = "ragtriage.dashboard.page_html"


@dataclass(frozen=True)
class GateRow:
    """One gate in a line.

    Attributes:
        state: of its verdict.
        subject: what it judges.
        need: what it asks for.
        value: what was measured, as text.
        strip: where that lies.
        sentence: its result in full, shown when the pointer rests on the row.
        doubted: whether the checks doubt what it rests on.
        href: address of its cases, "" for none.
    """

    state: State
    subject: str
    need: str
    value: str
    strip: Strip
    sentence: str
    doubted: bool = False
    href: str = ""


@dataclass(frozen=True)
class FixRow:
    """One failure stage with what fixing it could bring.

    Attributes:
        title: number of cases and short name.
        bound: the most that could pass, as text; "" where that is not known.
        now: share that passes now, 0..1.
        gain: share that fixing the stage could add, 0..1.
        colour: of the stage.
        advice: what to try.
        inferred: whether its cases are inferred, which hatches the gain.
        help: shown when the pointer rests on the row.
    """

    title: str
    bound: str
    now: float
    gain: float
    colour: str
    advice: str
    inferred: bool = False
    help: str = ""


@dataclass(frozen=True)
class ChangeRow:
    """One metric in the baseline and now.

    Attributes:
        state: good where it is better, bad where it is worse.
        mark: an arrow or a question mark.
        word: what the mark means.
        title: of the metric.
        before: in the baseline, as text.
        now: in this run, as text.
        help: shown when the pointer rests on the row.
    """

    state: State
    mark: str
    word: str
    title: str
    before: str
    now: str
    help: str = ""


def triage_style() -> Markup:
    """Return the style rules of the page."""
    return render(_PACKAGE, "style_triage.html")


def section_title(title: str, chip: str = "", notice: str = "", advice: str = "") -> Markup:
    """Return the title of a part of the page.

    Args:
        title: a statement or name.
        chip: what is doubted about it, "" for nothing.
        notice: what to do before anything below, in a box; "" for none.
        advice: why, in the same box.
    """
    return render(_PACKAGE, "section_title.html", title=title, chip=chip, notice=notice, advice=advice)


def fix_row(row: FixRow) -> Markup:
    """Return one failure stage, 54 pixels high."""
    return render(
        _PACKAGE,
        "fix_row.html",
        row=row,
        now=round(100 * row.now, 1),
        gain=round(100 * row.gain, 1),
    )


def gate_rows(title: str, rows: Sequence[GateRow], foot: str) -> Markup:
    """Return gates in lines of 26 pixels, under their title and over a line of small print."""
    drawn = [
        {"row": row, "look": LOOKS[row.state], "glyph": GLYPHS[row.state], "strip": strip(row.strip)}
        for row in rows
    ]
    return render(_PACKAGE, "gate_rows.html", title=title, rows=drawn, foot=foot)


def change_rows(title: str, rows: Sequence[ChangeRow], foot: str, doubt: str = "") -> Markup:
    """Return changes in lines of 24 pixels, under their title and over small print and what is doubted."""
    drawn = [{"row": row, "look": LOOKS[row.state]} for row in rows]
    return render(_PACKAGE, "change_rows.html", title=title, rows=drawn, foot=foot, doubt=doubt)
