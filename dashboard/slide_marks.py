"""The looks of a series on a slide: colours, marks, lines, and texts at points."""

from __future__ import annotations

from typing import Any

from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_LABEL_POSITION, XL_MARKER_STYLE
from pptx.enum.dml import MSO_LINE
from pptx.util import Pt

from dashboard.native_charts import NativeSeries
from dashboard.native_colours import scale_colour

__all__ = ["paint_series"]

_MARKS = {
    "circle": XL_MARKER_STYLE.CIRCLE,
    "square": XL_MARKER_STYLE.SQUARE,
    "diamond": XL_MARKER_STYLE.DIAMOND,
    "triangle-up": XL_MARKER_STYLE.TRIANGLE,
    "triangle-down": XL_MARKER_STYLE.SQUARE,  # slides have no triangle that points down
    "x": XL_MARKER_STYLE.X,
    "cross": XL_MARKER_STYLE.PLUS,
    "star": XL_MARKER_STYLE.STAR,
    "line-ew": XL_MARKER_STYLE.DASH,
    "line-ns": XL_MARKER_STYLE.DASH,
}
_DASHES = {
    "dash": MSO_LINE.DASH,
    "dot": MSO_LINE.ROUND_DOT,
    "dashdot": MSO_LINE.DASH_DOT,
    "longdash": MSO_LINE.LONG_DASH,
}
LABEL_SIZE = 11


def paint_series(drawn: Any, one: NativeSeries, form: str) -> None:
    """Give a drawn series and its points the looks of the figure."""
    if form in ("bar", "column"):
        drawn.invert_if_negative = False
        _fill(drawn.format, one.colour)
    else:
        drawn.smooth = False
        _line(drawn.format.line, one)
        _mark(drawn.marker, one, one.colour)
    for at, colour in enumerate(one.colours):
        if colour and colour != one.colour:
            point = drawn.points[at]
            if form in ("bar", "column"):
                _fill(point.format, colour)
            else:
                _mark(point.marker, one, colour)
    _labels(drawn, one, form)


def _fill(shape: Any, colour: str) -> None:
    shape.fill.solid()
    shape.fill.fore_color.rgb = RGBColor.from_string(colour)


def _line(line: Any, one: NativeSeries) -> None:
    if not one.lines:
        line.fill.background()
        return
    line.width, line.color.rgb = Pt(2 if one.dash == "solid" else 1.5), RGBColor.from_string(one.colour)
    if one.dash in _DASHES:
        line.dash_style = _DASHES[one.dash]


def _mark(marker: Any, one: NativeSeries, colour: str) -> None:
    if not one.markers:
        marker.style = XL_MARKER_STYLE.NONE
        return
    shape = one.symbol.removesuffix("-open").removesuffix("-dot")
    marker.style = _MARKS.get(shape, XL_MARKER_STYLE.CIRCLE)
    marker.size = one.size
    _fill(marker.format, _pale(colour) if one.symbol.endswith("-open") else colour)
    marker.format.line.color.rgb = RGBColor.from_string(colour)


def _pale(colour: str) -> str:
    """Give a tint for marks that are open in the figure: white ones vanish where outlines are not drawn."""
    return scale_colour([(0, "#ffffff"), (1, f"#{colour}")], 0.35)


def _labels(drawn: Any, one: NativeSeries, form: str) -> None:
    """Write the figure's own texts at the points, so that they read as in the app."""
    place = _place(one, form)
    for at, text in enumerate(one.labels):
        if text:
            label = drawn.points[at].data_label
            label.has_text_frame = True
            label.text_frame.text = text
            font = label.text_frame.paragraphs[0].runs[0].font
            font.size, font.bold = Pt(LABEL_SIZE), False
            label.position = place


def _place(one: NativeSeries, form: str) -> XL_LABEL_POSITION:
    if form in ("bar", "column"):
        return XL_LABEL_POSITION.OUTSIDE_END
    if one.name == "names to the left" and not one.markers:
        return XL_LABEL_POSITION.LEFT
    return (
        XL_LABEL_POSITION.BELOW if one.name == "names below" and not one.markers else XL_LABEL_POSITION.ABOVE
    )
