"""The rows and legends of single pages: gates, what to fix, changes, diagnoses, stages, next bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ragtriage.dashboard.charts.comparison import GLYPHS as VERSION_GLYPHS
from ragtriage.dashboard.charts.tokens import Tokens
from ragtriage.dashboard.headlines.headline import GLYPHS, LOOKS, WORDS, State
from ragtriage.dashboard.present.page_html.blocks import Strip, strip
from ragtriage.dashboard.present.templating import render
from ragtriage.metrics.diagnosis.patterns import Level, Pattern


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


def section_title(title: str, chip: str = "", notice: str = "", advice: str = "") -> Markup:
    """Return the title of a part of the page.

    Args:
        title: a statement or name.
        chip: what is doubted about it, "" for nothing.
        notice: what to do before anything below, in a box; "" for none.
        advice: why, in the same box.
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
    drawn = [
        {"row": row, "look": LOOKS[row.state], "glyph": GLYPHS[row.state], "strip": strip(row.strip)}
        for row in rows
    ]
    return render("gate_rows.html", title=title, rows=drawn, foot=foot)


def change_rows(title: str, rows: Sequence[ChangeRow], foot: str, doubt: str = "") -> Markup:
    """Return changes in lines of 24 pixels, under their title and over small print and what is doubted."""
    drawn = [{"row": row, "look": LOOKS[row.state]} for row in rows]
    return render("change_rows.html", title=title, rows=drawn, foot=foot, doubt=doubt)


def pattern_head(conditions: Sequence[tuple[str, str, str]]) -> Markup:
    """Return the head of the pattern table.

    Args:
        conditions: title of each of the three metrics, below what it is low, and a doubt about it or "".
    """
    return render("pattern_head.html", conditions=list(conditions))


def pattern_row(pattern: Pattern, text: str, help_text: str, empty: bool) -> Markup:
    """Return one diagnosis with its three levels.

    Args:
        pattern: the diagnosis.
        text: below its title: where its bad cases fail and what to try.
        help_text: shown when the pointer rests on it: what it means, and the same in full.
        empty: whether no case has it, which makes it pale.
    """
    levels: tuple[Level | None, ...] = pattern.levels
    if pattern.key == "not_measured":
        levels = (None, None, None)
    return render("pattern_row.html", title=pattern.title, text=text, help_text=help_text,
        levels=levels, empty=empty,
    )  # fmt: skip


def stage_row(colour: str, title: str, help_text: str, owner: str, bound: str, advice: str) -> Markup:
    """Return one failure stage.

    Args:
        colour: of the part of the pipeline that owns it.
        title: its short name.
        help_text: what happened, shown when the pointer rests on it.
        owner: that part, and whether the stage is inferred.
        bound: how many cases pass at most if it is fixed.
        advice: what to try.
    """
    return render("stage_row.html", colour=colour, title=title, help_text=help_text,
        owner=owner, bound=bound, advice=advice,
    )  # fmt: skip


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
    return render("missing_rows.html", rows=drawn)


def forest_legend(names: Sequence[str], tokens: Tokens, note: str) -> Markup:
    """Return the mark and colour of each drawn version, and how to read the marks.

    Args:
        names: of the versions, in their order.
        tokens: colours of the theme.
        note: what is left out; "" for nothing.
    """
    marks = [(name, tokens.versions[at], VERSION_GLYPHS[at]) for at, name in enumerate(names)]
    return render("compare_legend.html", marks=marks, note=note)


def bars_legend(base: str, directed: bool) -> Markup:
    """Return how to read the bars of questions.

    Args:
        base: name of the baseline.
        directed: whether a rise is better or worse.
    """
    return render("compare_bars_legend.html", base=base, directed=directed)
