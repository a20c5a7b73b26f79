"""A report as slides: native charts and tables that stay editable, and speaker notes."""

from __future__ import annotations

from collections.abc import Sequence

from pptx.slide import Slide

from dashboard.charts.chart import Heatmap
from dashboard.export.pptx.cases import case_slide
from dashboard.export.pptx.chart_model import editable_chart
from dashboard.export.pptx.charts import add_chart
from dashboard.export.pptx.deck import BODY, FAINT, MARGIN, WIDTH, Deck
from dashboard.export.pptx.heatmap import heatmap_table
from dashboard.export.pptx.tables import Page, add_page, grid_pages, table_pages
from dashboard.export.pptx.text_fit import cut_to, height_of
from dashboard.stories.report import OBTAINED, Report
from dashboard.stories.story import RenderedSection
from dashboard.wording.export_text import printable
from dashboard.wording.formatting import count

__all__ = ["pptx_report"]

MOST_CASES = 12  # of a point; the HTML file has all
SENTENCE_SIZES, TEXT_SIZES, ABOUT_SIZES = (18, 16, 14), (20, 18, 16, 14, 12), (14, 13, 12, 11)
MONOSPACED = "Courier New"
AUDIENCES = {"engineer": "for engineers", "lead": "for the lead", "stakeholder": ""}


def pptx_report(report: Report) -> bytes:
    """Write a report as a PPTX file: a title, the points, and how the numbers were obtained."""
    deck = Deck(report.title)
    _title(deck, report)
    for number, made in enumerate(report.sections, 1):
        _point(deck, made, number, report.caveats)
    _about(deck, report)
    return deck.to_bytes()


def _title(deck: Deck, report: Report) -> None:
    known = report.plain_facts
    notes = [report.subtitle, *(f"{name}: {text}" for name, text in known.items()), *report.caveats]
    slide = deck.slide(report.title, notes)
    deck.place_title(slide, report.title, (MARGIN, 1.6, WIDTH, 2.2), (44, 40, 36, 32, 28, 24))
    if report.subtitle:
        deck.text(slide, report.subtitle, (MARGIN, 4.0, WIDTH, 0.9), (22, 20, 18, 16), FAINT)
    said = [*report.headline, *filter(None, [AUDIENCES[report.audience]])]
    deck.text(slide, "\n".join(said), (MARGIN, 5.0, WIDTH, 1.6), (16, 14, 12), FAINT)


def _point(deck: Deck, made: RenderedSection, number: int, caveats: Sequence[str]) -> None:
    heading = made.heading or f"Section {number}"
    notes = _notes(made, caveats)
    if made.chart is not None:
        _chart(deck, made, heading, notes)
        if made.rows:
            pages = list(table_pages(made.rows, BODY[1] - BODY[0]))
            _tables(deck, pages, heading, notes, made, "in numbers")
    elif made.rows:
        _tables(deck, list(table_pages(made.rows, _room(made))), heading, notes, made, "")
    elif not made.cases or made.sentence or made.note:
        _words(deck, made, heading, notes)
    for record in made.cases[:MOST_CASES]:
        case_slide(deck, record, heading, notes)
    if len(made.cases) > MOST_CASES:
        more = count(len(made.cases) - MOST_CASES, "case")
        slide = deck.slide(heading, notes)
        deck.text(slide, f"{more} more: in the HTML report, in full.", (MARGIN, 2.0, WIDTH, 1.0), (20, 16))


def _notes(made: RenderedSection, caveats: Sequence[str]) -> list[str]:
    facts = "\n".join(f"- {one}" for one in made.facts if one)
    warned = "\n".join(f"- {one}" for one in caveats)
    return [
        made.note,
        made.sentence,
        f"Facts:\n{facts}" if facts else "",
        f"Shown: {made.alt}" if made.alt else "",
        f"Before quoting a number:\n{warned}" if warned else "",
    ]


def _sentence_height(sentence: str) -> float:
    if not sentence:
        return 0.0
    return min(1.2, height_of(sentence, SENTENCE_SIZES[0], WIDTH)) + 0.12


def _room(made: RenderedSection) -> float:
    return BODY[1] - BODY[0] - _sentence_height(made.sentence)


def _opened(
    deck: Deck, made: RenderedSection, heading: str, notes: Sequence[str], facts: Sequence[str]
) -> tuple[Slide, float]:
    """Begin a slide with the sentence and the small print; give it with the top of what is left."""
    slide = deck.slide(heading, notes)
    high = _sentence_height(made.sentence)
    if made.sentence:
        deck.text(slide, made.sentence, (MARGIN, BODY[0], WIDTH, high - 0.1), SENTENCE_SIZES)
    deck.facts(slide, facts)
    return slide, BODY[0] + high


def _chart(deck: Deck, made: RenderedSection, heading: str, notes: Sequence[str]) -> None:
    """Draw the chart so that it stays editable; a heatmap as a coloured table."""
    assert made.chart is not None  # noqa: S101 -- asked by the caller
    if isinstance(made.chart, Heatmap):
        pages = grid_pages(heatmap_table(made.chart), _room(made))
        _tables(deck, list(pages), heading, notes, made, "")
        return
    model = editable_chart(made.chart)
    if model is None:
        _words(deck, made, heading, notes)
        return
    slide, top = _opened(deck, made, heading, notes, [*made.facts, *model.remarks])
    add_chart(slide, model, (MARGIN, top, WIDTH, BODY[1] - top), made.alt or heading)


def _tables(
    deck: Deck,
    pages: Sequence[Page],
    heading: str,
    notes: Sequence[str],
    made: RenderedSection,
    what: str,
) -> None:
    """Put the pages of a table on slides; the sentence stands on the first unless a chart had it."""
    for at, page in enumerate(pages):
        part = f"{at + 1} of {len(pages)}" if len(pages) > 1 else ""
        named = " – ".join(one for one in (heading, ", ".join(two for two in (what, part) if two)) if one)
        if what or at:
            slide, top = deck.slide(named, notes), BODY[0]
            deck.facts(slide, made.facts)
        else:
            slide, top = _opened(deck, made, named, notes, made.facts)
        add_page(slide, page, top)


def _words(deck: Deck, made: RenderedSection, heading: str, notes: Sequence[str]) -> None:
    slide, top = _opened(deck, made, heading, notes, made.facts)
    if made.note:
        deck.text(slide, made.note, (MARGIN, top + 0.1, WIDTH, BODY[1] - top - 0.1), TEXT_SIZES)


def _about(deck: Deck, report: Report) -> None:
    """Close with facts, caveats and commands: on one slide where they fit, else on more."""
    facts = "\n".join(f"{name}: {text}" for name, text in report.plain_facts.items())
    caveats = "\n".join(f"• {one}" for one in report.caveats)
    commands = "\n".join(report.commands)
    parts = [
        ("What was measured", facts, ""),
        ("Before quoting a number", caveats, ""),
        ("How to get them again", commands, MONOSPACED),
    ]
    slide = deck.slide(OBTAINED, [facts, caveats, commands])
    half = (WIDTH - 0.5) / 2
    left, right = MARGIN, MARGIN + half + 0.5
    boxes = [(left, BODY[0], half, 3.4), (right, BODY[0], half, 3.4), (left, 5.1, WIDTH, 1.8)]
    for (name, text, font), (at, top, width, height) in zip(parts, boxes, strict=True):
        if text:
            deck.text(slide, name.upper(), (at, top, width, 0.25), (10,), FAINT, bold=True)
            room = (at, top + 0.3, width, height - 0.3)
            if not deck.text(slide, text, room, ABOUT_SIZES, font=font):
                _whole(deck, f"{OBTAINED}: {name.lower()}", text, font)


def _whole(deck: Deck, heading: str, text: str, font: str) -> None:
    """Write a long text over as many slides as it needs."""
    left = printable(text)
    while left:
        part = cut_to(left, WIDTH, BODY[1] - BODY[0], ABOUT_SIZES[-1])
        part = left if part == left else part.removesuffix("…")
        deck.text(deck.slide(heading), part, (MARGIN, BODY[0], WIDTH, 5.2), ABOUT_SIZES[-1:], font=font)
        left = left[len(part) :].lstrip()
