"""A planned slide as HTML: the preview shows what PowerPoint will, at any width."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from ragtriage.dashboard.present.export.chart_svg import chart_svg
from ragtriage.dashboard.present.export.slide_layout import (
    SLIDE_HEIGHT,
    SLIDE_WIDTH,
    Area,
    Paragraph,
    Picture,
    SlidePlan,
    Words,
)
from ragtriage.dashboard.present.templating import render, svg_address

POINTS = 72.0  # an inch


def slide_style() -> Markup:
    """Return the style sheet of slides, which are white in both themes, as paper is."""
    return render("slide_style.html")


def slide_html(plan: SlidePlan, number: int, total: int, name: str, chosen: bool = False) -> Markup:
    """Return a slide that fills the width of its place.

    Args:
        plan: what stands on it.
        number: of the slide.
        total: slides of the deck.
        name: what it shows, for people who cannot see it.
        chosen: whether an outline marks it among others.
    """
    return render(
        "slide.html",
        edge=plan.edge,
        foot=plan.foot,
        parts=[_part(part) for part in plan.parts],
        number=number,
        total=total,
        name=name,
        chosen=chosen,
    )


def _part(part: Area | Words | Picture) -> dict[str, Any]:
    left, top, width, height = part.box
    box = {
        "left": round(100 * left / SLIDE_WIDTH, 3),
        "top": round(100 * top / SLIDE_HEIGHT, 3),
        "width": round(100 * width / SLIDE_WIDTH, 3),
        "height": round(100 * height / SLIDE_HEIGHT, 3),
    }
    if isinstance(part, Area):
        return {"kind": "area", "box": box, "colour": part.colour, "circle": part.form == "circle"}
    if isinstance(part, Picture):
        svg = chart_svg(part.chart, width, height)
        return {"kind": "picture", "box": box, "address": svg_address(svg) if svg else "", "alt": part.alt}
    return {
        "kind": "words",
        "box": box,
        "align": part.align,
        "middle": part.anchor == "middle",
        "paragraphs": [_paragraph(paragraph) for paragraph in part.paragraphs],
    }


def _paragraph(paragraph: Paragraph) -> dict[str, Any]:
    return {
        "text": paragraph.text,
        "lead": paragraph.lead,
        "lead_colour": paragraph.lead_colour or paragraph.colour,
        "colour": paragraph.colour,
        "weight": 700 if paragraph.bold else 400,
        "size": round(100 * paragraph.size / POINTS / SLIDE_WIDTH, 3),  # percent of the width of the slide
    }
