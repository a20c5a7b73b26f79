"""A report as slides: charts and tables that stay editable, and speaker notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pptx.dml.color import RGBColor
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.slide import Slide
from pptx.util import Inches, Pt

from ragtriage.dashboard.charts.chart import Heatmap
from ragtriage.dashboard.present.export.pptx.cases import case_slide
from ragtriage.dashboard.present.export.pptx.chart_model import editable_chart
from ragtriage.dashboard.present.export.pptx.charts import add_chart
from ragtriage.dashboard.present.export.pptx.deck import BODY, FAINT, Deck, lay_out, paint
from ragtriage.dashboard.present.export.pptx.style import cut_to, height_of, hex_digits
from ragtriage.dashboard.present.export.pptx.tables import (
    Page,
    add_page,
    grid_pages,
    heatmap_table,
    table_pages,
)
from ragtriage.dashboard.present.export.slide_layout import (
    MARGIN,
    WIDTH,
    Area,
    Paragraph,
    Picture,
    SlidePlan,
    Words,
    plan_slide,
)
from ragtriage.dashboard.present.stories.report import OBTAINED, Report
from ragtriage.dashboard.present.stories.story import RenderedSection
from ragtriage.data.text.printable import printable
from ragtriage.metrics.number_text import count

_ALIGNED = {"left": PP_ALIGN.LEFT, "center": PP_ALIGN.CENTER, "right": PP_ALIGN.RIGHT}
_FORMS = {"rectangle": MSO_SHAPE.RECTANGLE, "circle": MSO_SHAPE.OVAL}


def add_planned_slide(deck: Deck, plan: SlidePlan, heading: str, notes: Sequence[str]) -> Slide:
    """Add a slide as it was planned, with its notes."""
    slide = deck.slide(heading, notes, edge=hex_digits(plan.edge), foot=plan.foot)
    for part in plan.parts:
        if isinstance(part, Area):
            shape = slide.shapes.add_shape(_FORMS[part.form], *map(Inches, part.box))
            paint(shape, hex_digits(part.colour))
        elif isinstance(part, Picture):
            model = editable_chart(part.chart)
            if model is not None:
                add_chart(slide, model, part.box, part.alt)
        else:
            _add_words(slide, part)
    return slide


def _add_words(slide: Slide, words: Words) -> None:
    if words.name == "title":
        shape: Any = slide.shapes.title
        shape.left, shape.top, shape.width, shape.height = map(Inches, words.box)
    else:
        shape = slide.shapes.add_textbox(*map(Inches, words.box))
    frame = shape.text_frame
    lay_out(frame, MSO_ANCHOR.MIDDLE if words.anchor == "middle" else MSO_ANCHOR.TOP)
    for at, paragraph in enumerate(words.paragraphs):
        written = frame.paragraphs[0] if at == 0 else frame.add_paragraph()
        written.alignment = _ALIGNED[words.align]
        _write(written, paragraph)


def _write(written: Any, paragraph: Paragraph) -> None:
    """Write a paragraph: its lead, then its lines."""
    for child in list(written._p):
        if child.tag.endswith("}r") or child.tag.endswith("}br"):
            written._p.remove(child)
    if paragraph.lead:
        space = "  " if paragraph.text else ""
        _run(written, f"{paragraph.lead}{space}", paragraph, True, paragraph.lead_colour or paragraph.colour)
    for at, line in enumerate(paragraph.text.split("\n")):
        if at:
            written.add_line_break()
        if line:
            _run(written, line, paragraph, paragraph.bold, paragraph.colour)


def _run(written: Any, text: str, paragraph: Paragraph, bold: bool, colour: str) -> None:
    run = written.add_run()
    run.text = text
    run.font.size, run.font.bold = Pt(paragraph.size), bold
    run.font.color.rgb = RGBColor.from_string(hex_digits(colour))


MOST_CASES = 12  # of a section; the HTML file has all
SENTENCE_SIZES, TEXT_SIZES, ABOUT_SIZES = (18, 16, 14), (20, 18, 16, 14, 12), (14, 13, 12, 11)
MONOSPACED = "Courier New"
AUDIENCES = {"engineer": "for engineers", "lead": "for the lead", "stakeholder": ""}


def pptx_report(report: Report) -> bytes:
    """Return a report as a PPTX file: the measured sections, and how the numbers were obtained.

    A deck that opens with its verdict needs no title; for stakeholders, the notes say how the numbers were
    obtained.
    """
    deck = Deck(report.title)
    sections = [section for section in report.sections if section.measured]
    planned = any(section.slide is not None for section in sections)
    if not planned:
        facts = [f"{name}: {text}" for name, text in report.plain_facts.items()]
        slide = deck.slide(report.title, [report.subtitle, *facts, *report.caveats])
        deck.place_title(slide, report.title, (MARGIN, 1.6, WIDTH, 2.2), (44, 40, 36, 32, 28, 24))
        if report.subtitle:
            deck.text(slide, report.subtitle, (MARGIN, 4.0, WIDTH, 0.9), (22, 20, 18, 16), FAINT)
        lines = [*report.headline, *filter(None, [AUDIENCES[report.audience]])]
        deck.text(slide, "\n".join(lines), (MARGIN, 5.0, WIDTH, 1.6), (16, 14, 12), FAINT)
    for number, section in enumerate(sections, 1):
        _add_section(deck, section, section.heading or f"Section {number}", report)
    if not planned or report.audience != "stakeholder":
        _add_sources(deck, report)
    return deck.to_bytes()


def _add_section(deck: Deck, section: RenderedSection, heading: str, report: Report) -> None:
    notes = _notes(section, report.caveats)
    if section.slide is not None:
        plan = plan_slide(replace(section, heading=heading), section.slide)
        # for the notes where the numbers come from, and how to get them again
        facts = "\n".join(f"- {name}: {text}" for name, text in report.plain_facts.items())
        commands = "\n".join(report.commands)
        method = [f"{OBTAINED}:\n{facts}" if facts else "", commands]
        add_planned_slide(deck, plan, heading, [*_whole_texts(section), *notes, *method])
        return
    if section.chart is not None:
        _add_chart(deck, section, heading, notes)
        if section.rows:
            pages = list(table_pages(section.rows, BODY[1] - BODY[0]))
            _add_tables(deck, pages, heading, notes, section, "in numbers")
    elif section.rows:
        _add_tables(deck, list(table_pages(section.rows, _room(section))), heading, notes, section, "")
    elif not section.cases or section.sentence or section.note:
        _add_text(deck, section, heading, notes)
    for record in section.cases[:MOST_CASES]:
        case_slide(deck, record, heading, notes)
    if len(section.cases) > MOST_CASES:
        more = count(len(section.cases) - MOST_CASES, "case")
        slide = deck.slide(heading, notes)
        deck.text(slide, f"{more} more: in the HTML report, in full.", (MARGIN, 2.0, WIDTH, 1.0), (20, 16))


def _notes(section: RenderedSection, caveats: Sequence[str]) -> list[str]:
    """Return the speaker notes of the slides of a section."""
    facts = "\n".join(f"- {fact}" for fact in section.facts if fact)
    warnings = "\n".join(f"- {caveat}" for caveat in caveats)
    return [
        section.note,
        section.sentence,
        f"Facts:\n{facts}" if facts else "",
        f"Shown: {section.alt}" if section.alt else "",
        f"Before quoting a number:\n{warnings}" if warnings else "",
    ]


def _whole_texts(section: RenderedSection) -> list[str]:
    """Return for the notes the texts that a slide may have to cut."""
    content = section.slide
    if content is None:
        return []
    texts = [f"{answer.name} ({answer.how}): {answer.text}" for answer in content.answers]
    texts += [f"{number}. {step.title}: {step.detail}" for number, step in enumerate(content.steps, 1)]
    texts += [f"{tile.title}: {tile.value}, {tile.foot}" for tile in content.tiles]
    if content.question:
        texts.insert(0, f"Question: {content.question}")
    return [*texts, f"Doubted: {content.doubt}" if content.doubt else ""]


def _sentence_height(sentence: str) -> float:
    if not sentence:
        return 0.0
    return min(1.2, height_of(sentence, SENTENCE_SIZES[0], WIDTH)) + 0.12


def _room(section: RenderedSection) -> float:
    return BODY[1] - BODY[0] - _sentence_height(section.sentence)


def _first_slide(
    deck: Deck, section: RenderedSection, heading: str, notes: Sequence[str], facts: Sequence[str]
) -> tuple[Slide, float]:
    """Add a slide with sentence and small print; return it with the top of the remaining room."""
    slide = deck.slide(heading, notes)
    height = _sentence_height(section.sentence)
    if section.sentence:
        deck.text(slide, section.sentence, (MARGIN, BODY[0], WIDTH, height - 0.1), SENTENCE_SIZES)
    deck.facts(slide, facts)
    return slide, BODY[0] + height


def _add_chart(deck: Deck, section: RenderedSection, heading: str, notes: Sequence[str]) -> None:
    """Draw the chart so that it stays editable; a heatmap as a coloured table."""
    assert section.chart is not None  # noqa: S101 -- asked by the caller
    if isinstance(section.chart, Heatmap):
        pages = grid_pages(heatmap_table(section.chart), _room(section))
        _add_tables(deck, list(pages), heading, notes, section, "")
        return
    model = editable_chart(section.chart)
    if model is None:
        _add_text(deck, section, heading, notes)
        return
    slide, top = _first_slide(deck, section, heading, notes, [*section.facts, *model.remarks])
    add_chart(slide, model, (MARGIN, top, WIDTH, BODY[1] - top), section.alt or heading)


def _add_tables(
    deck: Deck,
    pages: Sequence[Page],
    heading: str,
    notes: Sequence[str],
    section: RenderedSection,
    what: str,
) -> None:
    """Put the pages of a table on slides; the first has the sentence, unless a chart had it."""
    for at, page in enumerate(pages):
        part = f"{at + 1} of {len(pages)}" if len(pages) > 1 else ""
        title = " – ".join(filter(None, [heading, ", ".join(filter(None, [what, part]))]))
        if what or at:
            slide, top = deck.slide(title, notes), BODY[0]
            deck.facts(slide, section.facts)
        else:
            slide, top = _first_slide(deck, section, title, notes, section.facts)
        add_page(slide, page, top)


def _add_text(deck: Deck, section: RenderedSection, heading: str, notes: Sequence[str]) -> None:
    slide, top = _first_slide(deck, section, heading, notes, section.facts)
    if section.note:
        deck.text(slide, section.note, (MARGIN, top + 0.1, WIDTH, BODY[1] - top - 0.1), TEXT_SIZES)


def _add_sources(deck: Deck, report: Report) -> None:
    """Close with facts, caveats and commands: on one slide where they fit, else on more."""
    facts = "\n".join(f"{name}: {text}" for name, text in report.plain_facts.items())
    caveats = "\n".join(f"• {caveat}" for caveat in report.caveats)
    commands = "\n".join(report.commands)
    half = (WIDTH - 0.5) / 2
    parts = [
        ("What was measured", facts, "", (MARGIN, BODY[0], half, 3.4)),
        ("Before quoting a number", caveats, "", (MARGIN + half + 0.5, BODY[0], half, 3.4)),
        ("How to get them again", commands, MONOSPACED, (MARGIN, 5.1, WIDTH, 1.8)),
    ]
    slide = deck.slide(OBTAINED, [facts, caveats, commands])
    for name, text, font, (left, top, width, height) in parts:
        if text:
            deck.text(slide, name.upper(), (left, top, width, 0.25), (10,), FAINT, bold=True)
            if not deck.text(slide, text, (left, top + 0.3, width, height - 0.3), ABOUT_SIZES, font=font):
                # write a long text over as many slides as it needs
                heading = f"{OBTAINED}: {name.lower()}"
                rest = printable(text)
                while rest:
                    part = cut_to(rest, WIDTH, BODY[1] - BODY[0], ABOUT_SIZES[-1])
                    part = rest if part == rest else part.removesuffix("…")
                    deck.text(
                        deck.slide(heading), part, (MARGIN, BODY[0], WIDTH, 5.2), ABOUT_SIZES[-1:], font=font
                    )
                    rest = rest[len(part) :].lstrip()
