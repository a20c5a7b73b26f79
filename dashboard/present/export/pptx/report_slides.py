"""A report as slides: charts and tables that stay editable, cases with their whole text in the notes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pptx.dml.color import RGBColor
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.slide import Slide
from pptx.util import Inches, Pt

from ragtriage.dashboard.charts.chart import Heatmap
from ragtriage.dashboard.present.case_html.report_case import case_name, case_scores, check_rows, stored_case
from ragtriage.dashboard.present.export.pptx.chart_model import editable_chart
from ragtriage.dashboard.present.export.pptx.charts import add_chart
from ragtriage.dashboard.present.export.pptx.slides import BODY, FAINT, Deck, lay_out, paint
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
from ragtriage.data.text.shown_case import cuts_told
from ragtriage.metrics.number_text import count

CASE_SIZES = (16, 14, 12, 11)
SMALL_SIZES = (13, 12, 11)
GAP, HEAD = 0.15, 0.25
RIGHT_WIDTH = 4.2
MOST_CLAIMS, MOST_SCORES, MOST_DOCUMENTS = 12, 12, 10


def case_slide(deck: Deck, record: Mapping[str, Any], heading: str, notes: Sequence[str]) -> None:
    """Add a slide for a case in the native form; the notes have the whole of what is cut on it."""
    parts = (
        ("Question", record.get("question"), 0.8),
        ("Answer", record.get("answer"), 2.3),
        ("Reference answer", record.get("reference_answer"), 0.8),
    )
    whole = [f"{name}: {text or 'not recorded'}" for name, text, _ in parts]
    checks = _checks(record)
    whole += [f"Checks: {'; '.join(checks)}"] if checks else []
    slide = deck.slide(f"{heading}: {case_name(record)}", [*whole, *_sources(record), *notes])
    top, cut = BODY[0], False
    left = WIDTH - RIGHT_WIDTH - 0.4
    for name, text, height in parts:
        deck.text(slide, name.upper(), (MARGIN, top, left, HEAD), (10,), FAINT, bold=True)
        box = (MARGIN, top + HEAD, left, height)
        cut |= not deck.text(slide, str(text or "not recorded"), box, CASE_SIZES)
        top += HEAD + height + GAP
    side, at = MARGIN + WIDTH - RIGHT_WIDTH, BODY[0]
    claims = _claims(record)
    scores = [f"{row['Metric']}: {row['Value']} ({row['From']})" for row in case_scores(record)[:MOST_SCORES]]
    for name, lines, height in (
        (("Checks", checks, 1.2), ("Claims", claims, 1.3), ("Scores", scores, 1.3))
        if checks
        else (("Claims", claims, 2.35), ("Scores", scores, 1.85))
    ):
        deck.text(slide, name.upper(), (side, at, RIGHT_WIDTH, HEAD), (10,), FAINT, bold=True)
        text = "\n".join(lines) or "none recorded"
        cut |= not deck.text(slide, text, (side, at + HEAD, RIGHT_WIDTH, height), SMALL_SIZES)
        at += HEAD + height + GAP
    fits = "cut to fit: the whole text is in the notes and in the HTML report" if cut else ""
    deck.facts(slide, [cuts_told(record) or fits])


def _checks(record: Mapping[str, Any]) -> list[str]:
    """Return the checks with expected and actual values, failed ones first."""
    sample, _ = stored_case(record)
    symbols = {"passed": "✓", "failed": "✗"}
    return [
        f"{symbols[row['Result']]} {row['Check']}"
        + (
            f": expected {row['Expected'] or 'nothing recorded'}, got {row['Actual'] or 'nothing'}"
            if row["Expected"] or row["Actual"]
            else ""
        )
        for row in (check_rows(sample) if sample else ())
    ]


def _claims(record: Mapping[str, Any]) -> list[str]:
    lines = []
    for claim in (record.get("claims") or ())[:MOST_CLAIMS]:
        supported, against = claim.get("supported_by"), claim.get("contradicted_by")
        verdict = "supported" if supported else "contradicted" if against else "not in the context"
        if supported is None and not against:
            verdict = "support not recorded"
        symbol = {"supported": "✓", "contradicted": "✗", "not in the context": "–"}.get(verdict, "·")
        lines.append(f"{symbol} {claim.get('text', '')} ({verdict})")
    return lines


def _sources(record: Mapping[str, Any]) -> list[str]:
    """Return the ids of the documents for the notes, in rank order."""
    documents = (record.get("retrieved") or ())[:MOST_DOCUMENTS]
    names = [
        str(document.get("id") or document.get("text") or "")[:80]
        if isinstance(document, Mapping)
        else str(document)[:80]
        for document in documents
    ]
    return ["Documents: " + "; ".join(f"{at}. {name}" for at, name in enumerate(names, 1))] if names else []


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
    for piece, marked in paragraph.pieces:
        for at, line in enumerate(piece.split("\n")):
            if at:
                written.add_line_break()
            if line:
                colour = paragraph.marked_colour if marked else paragraph.colour
                _run(written, line, paragraph, paragraph.bold, colour, marked)


def _run(
    written: Any, text: str, paragraph: Paragraph, bold: bool, colour: str, underline: bool = False
) -> None:
    run = written.add_run()
    run.text = text
    run.font.size, run.font.bold = Pt(paragraph.size), bold
    run.font.color.rgb = RGBColor.from_string(hex_digits(colour))
    if underline:
        run.font.underline = True


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
    passage = content.passage
    texts += [f"{passage.heading}: {passage.text}"] if passage is not None else []
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
    deck: Deck, pages: Sequence[Page], heading: str, notes: Sequence[str], section: RenderedSection, what: str
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
