"""Lines across a figure and words on it, for charts that hold neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from dashboard.figure_data import axis_title
from dashboard.native_colours import hex_colour
from dashboard.plain_text import label_text
from dashboard.rounding import number, percent

__all__ = ["Line", "lines_of", "remarks_of"]


_DASHES = {"dash": "dashed", "dot": "dotted"}


@dataclass(frozen=True)
class Line:
    """A line from end to end of a chart.

    Attributes:
        at: where it stands.
        upright: whether it stands on x, else on y.
        name: what the figure writes beside it, else what kind of line it is.
        colour: six hex digits.
        dash: Plotly's name of its dashes.
    """

    at: float
    upright: bool
    name: str
    colour: str
    dash: str


def lines_of(figure: go.Figure) -> list[Line]:
    """Find the lines that run across a figure at one numeric value."""
    found = []
    for shape in figure.layout.shapes or ():
        if shape.type != "line":
            continue
        upright = shape.x0 == shape.x1
        at = shape.x0 if upright else shape.y0
        if (upright or shape.y0 == shape.y1) and isinstance(at, int | float):
            name = _beside(figure, at, upright) or ("reference line" if at else "zero")
            colour = hex_colour(shape.line.color)
            found.append(Line(float(at), upright, name, colour, shape.line.dash or "solid"))
    return found


def _beside(figure: go.Figure, at: float, upright: bool) -> str:
    for note in figure.layout.annotations or ():
        if (note.x if upright else note.y) == at:
            return label_text(note.text or "")
    return ""


def remarks_of(figure: go.Figure, values: Any, drawn: Sequence[Line] = ()) -> list[str]:
    """Say in words what of a figure a native chart leaves out: lines that are not drawn, and notes.

    Args:
        figure: the figure.
        values: its axis of values, for the unit; None where all lines are drawn.
        drawn: the lines that the chart has.
    """
    lines = [line for line in lines_of(figure) if line not in drawn and line.at]
    form = (values.tickformat or "") if values is not None else ""
    written = percent if form.endswith("%") else number
    said = [f"{_DASHES.get(line.dash, line.dash)} line at {written(line.at)}: {line.name}" for line in lines]
    named = {line.name for line in (*lines, *drawn)}
    said += [
        f"{_DASHES.get(line.dash, line.dash)} line: {line.name}"
        for line in drawn
        if line.name not in ("zero", "reference line")
    ]
    notes = (label_text(note.text or "") for note in figure.layout.annotations or ())
    log = [f"{axis_title(axis)}: logarithmic" for axis in _log_axes(figure)]
    return [*said, *(note for note in notes if note and note not in named), *log]


def _log_axes(figure: go.Figure) -> list[Any]:
    return [axis for axis in (figure.layout.xaxis, figure.layout.yaxis) if axis.type == "log"]
