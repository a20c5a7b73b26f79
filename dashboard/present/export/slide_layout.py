"""Where things stand on a slide of 13.333 x 7.5 inches: the same for PowerPoint and for the preview."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragtriage.dashboard.charts.chart import Chart
from ragtriage.dashboard.charts.tokens import LIGHT, StateColours
from ragtriage.dashboard.headlines.headline import GLYPHS, LOOKS, State
from ragtriage.dashboard.present.export.pptx.style import cut_to, height_of
from ragtriage.dashboard.present.page_html.blocks import Tile
from ragtriage.dashboard.present.stories.story import (
    BigNumber,
    Layout,
    Remark,
    RenderedSection,
    SideAnswer,
    SlideContent,
    Step,
    marked_pieces,
)
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.table_files import one_line
from ragtriage.data.text.printable import printable
from ragtriage.metrics.number_text import count, number, percent

SLIDE_WIDTH, SLIDE_HEIGHT, MARGIN, EDGE = 13.333, 7.5, 0.7, 0.18
WIDTH = SLIDE_WIDTH - 2 * MARGIN
BODY_BOTTOM = 6.85
Box = tuple[float, float, float, float]  # left, top, width, height in inches
SIDE, SIDE_WIDTH = 9.45, 3.2  # left and width of the column beside a chart
_COLOURS = {"good": LIGHT.good, "bad": LIGHT.bad, "unclear": LIGHT.unclear, "unmeasured": LIGHT.unmeasured}


@dataclass(frozen=True)
class Area:
    """A filled rectangle or circle."""

    box: Box
    colour: str
    form: Literal["rectangle", "circle"] = "rectangle"


@dataclass(frozen=True)
class Paragraph:
    """A text in one style; a bold lead may stand before it."""

    text: str
    size: float  # in points
    colour: str = LIGHT.text  # "#rrggbb"
    bold: bool = False
    lead: str = ""  # what stands before it in bold
    lead_colour: str = ""  # of that; "" for the same
    marked: tuple[str, ...] = ()  # parts of the text that are underlined
    marked_colour: str = LIGHT.text  # of these

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The text in parts, with whether each is marked."""
        return marked_pieces(self.text, self.marked)


@dataclass(frozen=True)
class Words:
    """Paragraphs in a box."""

    box: Box  # where
    paragraphs: tuple[Paragraph, ...]  # from the top
    align: Literal["left", "center", "right"] = "left"  # across
    anchor: Literal["top", "middle"] = "top"  # up and down
    name: str = ""  # of the box, "title" for the title of the slide


@dataclass(frozen=True)
class Picture:
    """A chart in a box, with a description in words."""

    box: Box
    chart: Chart
    alt: str


@dataclass(frozen=True)
class SlidePlan:
    """All that stands on a slide, from the back to the front."""

    edge: str
    parts: tuple[Area | Words | Picture, ...]
    foot: str
    whole: bool


class _Plan:
    """Collects the parts of a slide."""

    def __init__(self) -> None:
        self.parts: list[Area | Words | Picture] = []
        self.whole = True

    def area(self, box: Box, colour: str, form: Literal["rectangle", "circle"] = "rectangle") -> None:
        self.parts.append(Area(box, colour, form))

    def words(self, box: Box, *paragraphs: Paragraph, **style: str) -> None:
        """Place paragraphs; where they are too long, all get smaller, at last the last one is cut."""
        shown = [paragraph for paragraph in map(_printable, paragraphs) if paragraph.text or paragraph.lead]
        if not shown:
            return
        for factor in (1.0, 0.92, 0.85, 0.8):
            sizes = [max(10.0, round(2 * paragraph.size * factor) / 2) for paragraph in shown]
            scaled = [replace(part, size=size) for part, size in zip(shown, sizes, strict=True)]
            if sum(_height(paragraph, box[2]) for paragraph in scaled) <= box[3]:
                break
        else:
            scaled, self.whole = _cut(scaled, box), False
        self.parts.append(Words(box, tuple(scaled), **style))  # type: ignore[arg-type] # literals of Words

    def title(self, heading: str, colour: str = LIGHT.text) -> None:
        """Place the title of the slide."""
        box = (MARGIN, 0.32, WIDTH, 1.0)  # two lines
        self.words(box, Paragraph(one_line(heading), 28, colour, True), anchor="middle", name="title")

    def line(self, box: Box, text: str, size: float, colour: str = LIGHT.text, bold: bool = False) -> None:
        """Place one text."""
        self.words(box, Paragraph(text, size, colour, bold))


def _printable(paragraph: Paragraph) -> Paragraph:
    return replace(
        paragraph,
        text=_unbroken(paragraph.text).strip(),
        lead=one_line(paragraph.lead),
        marked=tuple(map(_unbroken, paragraph.marked)),
    )


def _unbroken(text: str) -> str:
    return printable(text).replace("\t", " ").replace(" %", "\u00a0%")


def _whole(paragraph: Paragraph) -> str:
    return " ".join(filter(None, [paragraph.lead, paragraph.text]))


def _height(paragraph: Paragraph, width: float) -> float:
    return height_of(_whole(paragraph), paragraph.size, width)


def _cut(paragraphs: Sequence[Paragraph], box: Box) -> list[Paragraph]:
    """Return paragraphs as far as there is room, the last of them cut."""
    kept: list[Paragraph] = []
    room = box[3]
    for paragraph in paragraphs:
        height = _height(paragraph, box[2])
        if height > room:
            text = cut_to(_whole(paragraph), box[2], room, paragraph.size)
            if len(text) > len(paragraph.lead) + 2:
                kept.append(replace(paragraph, text=text[len(paragraph.lead) :].strip()))
            elif not kept:
                kept.append(Paragraph(text, paragraph.size, paragraph.colour, True))
            break
        kept.append(paragraph)
        room -= height
    return kept


def _tones(state: State) -> StateColours:
    return _COLOURS[LOOKS[state]]


def plan_slide(section: RenderedSection, content: SlideContent) -> SlidePlan:
    """Return where everything of a section stands on its slide."""
    plan = _Plan()
    edge = LIGHT.primary if content.state is None else _tones(content.state).text
    coloured = content.layout == "verdict"
    plan.title(section.heading, edge if coloured else LIGHT.text)
    top = 1.35
    below = f"{content.subtitle.rstrip('.')}." if content.subtitle else ""
    lines = [Paragraph(below, 18), Paragraph(section.note, 16, LIGHT.muted)]
    if below or section.note:
        room = 0.62 if coloured or not (below and section.note) else 0.9
        plan.words((MARGIN, top, WIDTH, room), *lines)
        top += room + 0.08
    else:
        top += 0.2
    _LAYOUTS[content.layout](plan, section, content, top)
    return SlidePlan(edge, tuple(plan.parts), content.foot, plan.whole)


def sketch_slide(section: RenderedSection, foot: str) -> SlidePlan:
    """Return a sketch of a section that PowerPoint gets on slides of tables, charts or cases."""
    plan = _Plan()
    plan.title(section.heading)
    holds = [
        "a chart" if section.chart is not None else "",
        f"a table of {count(len(section.rows), 'row')}" if section.rows else "",
        f"{count(len(section.cases), 'case')} in full" if section.cases else "",
    ]
    listed = ", ".join(filter(None, holds))
    where = f"\nShown below, and in a file on slides of its own: {listed}." if listed else ""
    plan.words(
        (MARGIN, 1.5, WIDTH, 4.6),
        Paragraph(section.sentence, 20),
        Paragraph(section.note, 18, LIGHT.muted),
        Paragraph(where, 18, LIGHT.muted),
    )
    return SlidePlan(LIGHT.primary, tuple(plan.parts), foot, plan.whole)


def _verdict(plan: _Plan, section: RenderedSection, content: SlideContent, top: float) -> None:
    tiles, bottom = content.tiles, BODY_BOTTOM
    if content.caveats:
        bottom -= 0.8
        _box(plan, "Before you quote this:", "; ".join(content.caveats), (MARGIN, bottom, WIDTH, 0.8))
        bottom -= 0.1
    if content.doubt:
        _doubt(plan, content.doubt, (MARGIN, top, WIDTH, 0.5))
        top += 0.6
    if tiles:
        gap, height = 0.2, 1.4
        width = (WIDTH - gap * (len(tiles) - 1)) / len(tiles)
        for at, tile in enumerate(tiles):
            _tile(plan, tile, (MARGIN + at * (width + gap), top, width, height))
        top += height + 0.1
    _chart_and_remarks(plan, section, content.remarks, top, bottom=bottom)


def _tile(plan: _Plan, tile: Tile, box: Box) -> None:
    left, top, width, height = box
    tones = _tones(tile.state)
    plan.area(box, tones.tint)
    inner = width - 0.4
    plan.line((left + 0.2, top + 0.08, inner, 0.3), tile.title, 15, LIGHT.muted)
    plan.line((left + 0.2, top + 0.38, inner, 0.54), tile.value, 30, tones.text, bold=True)
    lead = f"{GLYPHS[tile.state]} {tile.word}" if tile.word else ""
    write = percent if tile.value.endswith("%") else number
    gate = tile.strip.gate
    most = "at most " if tile.strip.higher_is_better is False else ""
    target = "" if gate is None else f"target {most}{write(gate)}"
    plan.words(
        (left + 0.2, top + 0.94, inner, height - 0.98),
        Paragraph("; ".join(filter(None, [target, tile.change])), 13, LIGHT.muted, False, lead, tones.text),
    )


def _doubt(plan: _Plan, doubt: str, box: Box) -> None:
    _box(plan, "Doubted:", doubt, box)


def _box(plan: _Plan, lead: str, text: str, box: Box) -> None:
    """Place a text that limits what the slide says, in a box of its own."""
    left, top, width, height = box
    plan.area(box, LIGHT.unclear.tint)
    plan.words(
        (left + 0.15, top + 0.06, width - 0.3, height - 0.12),
        Paragraph(f"{capital(text.rstrip('.'))}.", 14, lead=lead, lead_colour=LIGHT.unclear.text),
        anchor="middle",
    )


def _chart_and_remarks(
    plan: _Plan,
    section: RenderedSection,
    remarks: Sequence[Remark],
    top: float,
    doubt: str = "",
    bottom: float = BODY_BOTTOM,
) -> None:
    wide = not remarks and not doubt
    if isinstance(section.chart, Chart):
        width = WIDTH if wide else SIDE - MARGIN - 0.25
        plan.parts.append(
            Picture((MARGIN, top, width, bottom - top), section.chart, section.alt or section.heading)
        )
    if doubt:
        bottom -= 1.3
        _doubt(plan, doubt, (SIDE, bottom, SIDE_WIDTH, 1.25))
        bottom -= 0.1
    at = top + 0.1
    for remark in remarks:
        room = bottom - at
        if room < 0.6:
            plan.whole = False
            break
        height = min(room, 0.35 + height_of(remark.text.strip(), 14, SIDE_WIDTH))
        colour = LIGHT.text if remark.state is None else _tones(remark.state).text
        heading, text = Paragraph(remark.heading, 15, colour, True), Paragraph(f"{remark.text}\n", 14)
        plan.words((SIDE, at, SIDE_WIDTH, height), heading, text)
        at += height + 0.2


def _why(plan: _Plan, section: RenderedSection, content: SlideContent, top: float) -> None:
    _chart_and_remarks(plan, section, [Remark("", "")] if content.numbers else [], top, content.doubt)
    room = BODY_BOTTOM - top - (1.45 if content.doubt else 0.0)
    if not content.numbers:
        return
    height = min(1.15, room / len(content.numbers))
    for at, big in enumerate(content.numbers):
        _number(plan, big, (SIDE, top + at * height, SIDE_WIDTH, height - 0.15))


def _number(plan: _Plan, big: BigNumber, box: Box) -> None:
    left, top, width, height = box
    plan.area((left, top, 0.09, height), big.colour)
    figure = 0.62 + 0.2 * max(0, len(big.number) - 2)
    plan.words(
        (left + 0.22, top, figure, height),
        # text in the colour of a pale stage could not be read
        Paragraph(big.number, 28, LIGHT.text, True),
        anchor="middle",
    )
    plan.words(
        (left + 0.3 + figure, top, width - figure - 0.3, height),
        Paragraph(big.title, 15, bold=True),
        Paragraph(big.detail, 12, LIGHT.muted),
        anchor="middle",
    )


def _example(plan: _Plan, _section: RenderedSection, content: SlideContent, top: float) -> None:
    plan.words(
        (MARGIN, top - 0.12, WIDTH, 0.62),
        Paragraph(one_line(content.question), 18, bold=True, lead="Question:", lead_colour=LIGHT.muted),
    )
    top += 0.6
    passage = content.passage
    height = 2.3 if passage is not None else 4.2
    gap = 0.2
    width = (WIDTH - gap * (len(content.answers) - 1)) / max(1, len(content.answers))
    for at, answer in enumerate(content.answers):
        _answer(plan, answer, (MARGIN + at * (width + gap), top, width, height))
    top += height + 0.12
    if passage is not None:
        plan.line((MARGIN, top, WIDTH, 0.3), passage.heading, 15, bold=True)
        box = (MARGIN, top + 0.34, WIDTH, BODY_BOTTOM - 0.5 - top - 0.34)
        plan.words(box, Paragraph(passage.text, 14, marked=passage.marked, marked_colour=LIGHT.good.text))
    if content.conclusion:
        box = (MARGIN, BODY_BOTTOM - 0.45, WIDTH, 0.45)
        plan.words(
            box,
            Paragraph(content.conclusion, 15, lead="So:", lead_colour=LIGHT.unclear.text),
            anchor="middle",
        )


def _answer(plan: _Plan, answer: SideAnswer, box: Box) -> None:
    left, top, width, height = box
    tones = _tones(answer.state)
    plan.area(box, LIGHT.panel)
    plan.area((left, top, width, 0.06), tones.text)
    plan.words(
        (left + 0.2, top + 0.16, width - 0.4, 0.34),
        Paragraph(
            f"{GLYPHS[answer.state]} {answer.how}", 15, LIGHT.muted, lead=answer.name, lead_colour=tones.text
        ),
    )
    plan.words(
        (left + 0.2, top + 0.55, width - 0.4, height - 0.65),
        Paragraph(f"“{answer.text.strip()}”", 15, marked=answer.marked, marked_colour=LIGHT.bad.text),
    )


def _next(plan: _Plan, _section: RenderedSection, content: SlideContent, top: float) -> None:
    bottom = BODY_BOTTOM - (1.15 if content.decision else 0.0)
    height = min(1.32, (bottom - top) / max(1, len(content.steps)))
    for at, step in enumerate(content.steps, 1):
        _step(plan, at, step, (MARGIN, top, WIDTH, height))
        top += height
    if not content.decision:
        return
    box = (MARGIN, BODY_BOTTOM - 1.0, WIDTH, 1.0)
    plan.area(box, LIGHT.panel)
    plan.words(
        (MARGIN + 0.25, box[1] + 0.08, WIDTH - 0.5, 0.84),
        Paragraph(content.decision, 18, lead="Decision asked for:"),
        Paragraph(content.reservation, 13, LIGHT.muted),
        anchor="middle",
    )


def _step(plan: _Plan, number: int, step: Step, box: Box) -> None:
    left, top, width, height = box
    size, aside = 0.7, 2.9
    plan.area((left, top + (height - size) / 2 - 0.05, size, size), LIGHT.primary, "circle")
    plan.words(
        (left, top + (height - size) / 2 - 0.05, size, size),
        Paragraph(str(number), 20, "#FFFFFF", True),
        align="center",
        anchor="middle",
    )
    plan.words(
        (left + 1.0, top + 0.05, width - 1.3 - aside, height - 0.2),
        Paragraph(step.title, 19, bold=True),
        Paragraph(step.detail, 15, LIGHT.muted),
        anchor="middle",
    )
    plan.words(
        (left + width - aside, top + 0.05, aside, height - 0.2),
        Paragraph(step.aside, 14, LIGHT.primary, True),
        align="right",
        anchor="middle",
    )
    plan.area((left, top + height - 0.06, width, 0.012), LIGHT.border)


_LAYOUTS: Mapping[Layout, Callable[[_Plan, RenderedSection, SlideContent, float], None]] = {
    "verdict": _verdict,
    "why": _why,
    "change": lambda plan, section, content, top: _chart_and_remarks(plan, section, content.remarks, top),
    "example": _example,
    "next": _next,
}
