"""A planned slide in PowerPoint: shapes, texts and charts that stay editable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pptx.dml.color import RGBColor
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, MSO_AUTO_SIZE, PP_ALIGN
from pptx.oxml.ns import qn
from pptx.slide import Slide
from pptx.util import Inches, Pt

from ragtriage.dashboard.present.export.pptx.chart_model import editable_chart
from ragtriage.dashboard.present.export.pptx.charts import add_chart
from ragtriage.dashboard.present.export.pptx.deck import Deck
from ragtriage.dashboard.present.export.pptx.theme import hex_digits
from ragtriage.dashboard.present.export.slide_layout import Area, Paragraph, Picture, SlidePlan, Words

_ALIGNED = {"left": PP_ALIGN.LEFT, "center": PP_ALIGN.CENTER, "right": PP_ALIGN.RIGHT}
_FORMS = {"rectangle": MSO_SHAPE.RECTANGLE, "circle": MSO_SHAPE.OVAL}


def add_planned_slide(deck: Deck, plan: SlidePlan, heading: str, notes: Sequence[str]) -> Slide:
    """Add a slide as it was planned, with its notes."""
    slide = deck.slide(heading, notes, edge=hex_digits(plan.edge), foot=plan.foot)
    for part in plan.parts:
        if isinstance(part, Area):
            shape = slide.shapes.add_shape(_FORMS[part.form], *map(Inches, part.box))
            shape.fill.solid()
            shape.fill.fore_color.rgb = RGBColor.from_string(hex_digits(part.colour))
            shape.line.fill.background()
            shape._element.remove(shape._element.find(qn("p:style")))
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
    frame.word_wrap, frame.auto_size = True, MSO_AUTO_SIZE.NONE
    frame.vertical_anchor = MSO_ANCHOR.MIDDLE if words.anchor == "middle" else MSO_ANCHOR.TOP
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
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
