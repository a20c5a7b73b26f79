"""The blocks of pages as HTML: style sheet, conclusion, tiles, strips, the open case, rows and legends."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import Literal

from markupsafe import Markup

from ragtriage.dashboard.charts.comparison import GLYPHS as VERSION_GLYPHS
from ragtriage.dashboard.charts.tokens import THEMES, Theme, Tokens
from ragtriage.dashboard.headlines.headline import LOOKS, Headline, Look, State
from ragtriage.dashboard.present.templating import environment, render
from ragtriage.metrics.diagnosis.patterns import Level, Pattern
from ragtriage.metrics.diagnosis.stages import Owner


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
def page_style(
    page: Literal["cases", "compare", "datasets", "diagnosis", "live", "triage"], theme: Theme
) -> Markup:
    """Return the style rules of a page's own blocks in the colours of a theme."""
    return render(f"style_{page}.html", t=THEMES[theme])


def band(headline: Headline, meta: Sequence[str] = ()) -> Markup:
    """Return the band that opens a page: what it concludes, with facts of the run at the right."""
    return render("band.html", headline=headline, meta=list(meta))


def tile(shown: Tile) -> Markup:
    """Return one tile, 118 pixels high."""
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


@dataclass(frozen=True)
class Chip:
    """A word or two in a coloured box."""

    text: str  # what it says
    look: Look | Literal[""] = ""  # state that colours it; "" for the neutral one
    owner: Owner | None = None  # the part of the pipeline whose colour it carries as a dot; None for none
    help: str = ""  # shown when the pointer rests on it


@dataclass(frozen=True)
class CaseScore:
    """A score of the open case."""

    title: str  # of the metric
    value: str  # as text
    share: float | None  # how far the bar reaches, from 0 to 1; None where nothing was measured
    threshold: float | None = None  # of the case, from 0 to 1; None for none
    source: str = ""  # how it was obtained
    help: str = ""  # the reason that came with it

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
    """The texts above the answer."""

    chips: Sequence[Chip]  # conclusion, whether it is inferred or doubted, refusal, human labels
    turns: Sequence[tuple[str, str]]  # earlier turns of the conversation, (role, text)
    question: str


def case_head(head: CaseHead) -> Markup:
    """Return chips, earlier turns (folded) and the question of a case."""
    return render("case_head.html", head=head)


def case_reference(reference: str, unfolded: bool, legend: bool = False) -> Markup:
    """Return the reference answer, folded or not, with a legend of the colours of the answer above it."""
    return render("case_reference.html", reference=reference, unfolded=unfolded, legend=legend)


def context_heading(text: str) -> Markup:
    """Return the heading of a context of which nothing else may be said."""
    return Markup('<div class="rt rt-case"><div class="rt-contexthead"><h3>{}</h3></div></div>').format(text)


def case_scores(scores: Sequence[CaseScore], notes: Sequence[str] = ()) -> Markup:
    """Return the scores of a case as bars with their thresholds, and notes below them."""
    return render("case_scores.html", scores=scores, notes=[note for note in notes if note])


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
    interval: str = ""  # beside the value, "" for none


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
class ScaleRow:
    """One suite or experiment among others on the same scale; its name is the button beside it."""

    state: State  # of what it shows
    value: str  # as text
    note: str  # what it is compared with, or what it means
    strip: Strip  # where it lies
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
    """Return one next step: what to do, its bar, what it may bring, and the advice on one line."""
    return render("fix_row.html", row=row, now=round(100 * row.now, 1), gain=round(100 * row.gain, 1))


def gate_rows(title: str, rows: Sequence[GateRow], foot: str) -> Markup:
    """Return gates in lines of 26 pixels, under their title and over a line of small print.

    Where a value has an interval beside it, the column of values is wider.
    """
    wide = any(row.interval for row in rows)
    return render("gate_rows.html", title=title, rows=rows, foot=foot, wide=wide)


@dataclass(frozen=True)
class ArmRow:
    """One arm of a live test; its name is the button beside it."""

    sizes: Sequence[str]  # users and rows, as text
    value: str  # of the metric, as text
    interval: str
    strip: Strip


def arm_row(row: ArmRow) -> Markup:
    """Return the row of an arm, 34 pixels high."""
    return render("arm_row.html", row=row)


def fact_rows(title: str, facts: Sequence[tuple[str, str]]) -> Markup:
    """Return facts in lines, each with its name at the left and its value at the right."""
    return render("fact_rows.html", title=title, facts=list(facts))


@dataclass(frozen=True)
class LiveRow:
    """One line of a list on live traffic."""

    state: State | None  # shown as a mark; None for a line without one
    name: str
    middle: str
    right: str
    help: str = ""  # shown when the pointer rests on the row
    href: str = ""  # address of its case, "" for none


def live_rows(title: str, rows: Sequence[LiveRow], foot: str) -> Markup:
    """Return lines of 25 pixels under their title and over a line of small print."""
    return render("live_rows.html", title=title, rows=rows, foot=foot)


def scale_row(row: ScaleRow) -> Markup:
    """Return a row of 40 pixels: verdict, value and note over the strip."""
    return render("scale_row.html", row=row)


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
