"""The rows and legends of single pages: gates, what to fix, changes, diagnoses, stages, next bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ragtriage.dashboard.charts.comparison import GLYPHS as VERSION_GLYPHS
from ragtriage.dashboard.charts.tokens import Tokens
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.present.page_html.blocks import Strip
from ragtriage.dashboard.present.templating import render
from ragtriage.metrics.diagnosis.patterns import Level, Pattern


@dataclass(frozen=True)
class GateRow:
    """One gate in a line."""

    state: State  # of its verdict
    subject: str  # what it judges
    need: str  # what it asks for
    value: str  # what was measured, as text
    strip: Strip  # where that lies
    sentence: str  # its result in full, shown when the pointer rests on the row
    doubted: bool = False  # whether the checks doubt what it rests on
    href: str = ""  # address of its cases, "" for none


@dataclass(frozen=True)
class FixRow:
    """One failure stage with what fixing it could bring."""

    title: str  # number of cases and short name
    bound: str  # the most that could pass, as text; "" where that is not known
    now: float  # share that passes now, 0..1
    gain: float  # share that fixing the stage could add, 0..1
    colour: str  # of the stage
    advice: str  # what to try
    inferred: bool = False  # whether its cases are inferred, which hatches the gain
    help: str = ""  # shown when the pointer rests on the row


@dataclass(frozen=True)
class ChangeRow:
    """One metric in the baseline and now."""

    state: State  # good where it is better, bad where it is worse
    mark: str  # an arrow or a question mark
    word: str  # what the mark means
    title: str  # of the metric
    before: str  # in the baseline, as text
    now: str  # in this run, as text
    help: str = ""  # shown when the pointer rests on the row


def section_title(title: str, chip: str = "", notice: str = "", advice: str = "") -> Markup:
    """Return the title of a part of the page, with a chip on what is doubted about it.

    A notice, with advice, is a box on what to do before anything below.
    """
    return render("section_title.html", title=title, chip=chip, notice=notice, advice=advice)


def fix_row(row: FixRow) -> Markup:
    """Return one failure stage, 54 pixels high."""
    return render(
        "fix_row.html",
        row=row,
        now=round(100 * row.now, 1),
        gain=round(100 * row.gain, 1),
    )


def gate_rows(title: str, rows: Sequence[GateRow], foot: str) -> Markup:
    """Return gates in lines of 26 pixels, under their title and over a line of small print."""
    return render("gate_rows.html", title=title, rows=rows, foot=foot)


def change_rows(title: str, rows: Sequence[ChangeRow], foot: str, doubt: str = "") -> Markup:
    """Return changes in lines of 24 pixels, under their title and over small print and what is doubted."""
    return render("change_rows.html", title=title, rows=rows, foot=foot, doubt=doubt)


def pattern_head(conditions: Sequence[tuple[str, str, str]]) -> Markup:
    """Return the head of the pattern table: each metric, below what it is low, and a doubt or ""."""
    return render("pattern_head.html", conditions=list(conditions))


def pattern_row(pattern: Pattern, text: str, help_text: str, empty: bool) -> Markup:
    """Return one diagnosis with its three levels, pale where no case has it.

    The text says where its bad cases fail and what to try; the help, what it means as well.
    """
    levels: tuple[Level | None, ...] = pattern.levels
    if pattern.key == "not_measured":
        levels = (None, None, None)
    return render("pattern_row.html", title=pattern.title, text=text, help_text=help_text,
        levels=levels, empty=empty,
    )  # fmt: skip


def stage_row(colour: str, title: str, help_text: str, owner: str, bound: str, advice: str) -> Markup:
    """Return one failure stage: what happened, its owner, how many cases pass at most if fixed, advice."""
    return render("stage_row.html", colour=colour, title=title, help_text=help_text,
        owner=owner, bound=bound, advice=advice,
    )  # fmt: skip


@dataclass(frozen=True)
class MissingRow:
    """One metric and what is missing to its next band."""

    title: str  # of the metric
    band: str  # the next band and where it begins
    missing: str  # how much is missing, as text
    state: State  # of the mean on its bands
    strip: Strip  # where it lies; its gate is the next edge


def missing_rows(rows: Sequence[MissingRow]) -> Markup:
    """Return the rows."""
    return render("missing_rows.html", rows=rows)


def forest_legend(names: Sequence[str], tokens: Tokens, note: str) -> Markup:
    """Return the mark and colour of each drawn version, how to read the marks, and what is left out."""
    marks = [(name, tokens.versions[at], VERSION_GLYPHS[at]) for at, name in enumerate(names)]
    return render("compare_legend.html", marks=marks, note=note)


def bars_legend(base: str, directed: bool) -> Markup:
    """Return how to read the bars of questions; directed where a rise is better or worse."""
    return render("compare_bars_legend.html", base=base, directed=directed)
