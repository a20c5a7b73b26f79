"""From a Plotly figure to a chart that slides can hold natively, so that its numbers stay editable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import plotly.graph_objects as go

from dashboard.charts.figure_data import Points, axis_title, points_of, tick_names
from dashboard.export.pptx.axes import ChartAxis, axis_of, categories_of, is_number
from dashboard.export.pptx.theme import colour_of, hex_colour, point_colours
from dashboard.wording.export_text import label_text
from dashboard.wording.formatting import number, percent

__all__ = [
    "Arms",
    "ChartSeries",
    "EditableChart",
    "Line",
    "editable_chart",
    "lines_of",
    "remarks_of",
]

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


Form = Literal["bar", "column", "line", "scatter"]
Arms = tuple[tuple[float, float], ...]  # below and above each point; empty for none
SCATTERS = ("scatter", "scattergl")


@dataclass(frozen=True)
class ChartSeries:
    """A series of a native chart.

    Attributes:
        name: in the legend, "" for none.
        x: places of a scatter; empty where categories are the places.
        y: values; None where missing. Of a "bar" chart they run to the right.
        colour: of the series, as six hex digits.
        colours: of single points, None for that of the series.
        labels: texts at the points, "" for none.
        x_arms: of intervals along x.
        y_arms: of intervals along the value.
        lines: whether points are joined.
        markers: whether points are marked.
        symbol: Plotly's name of the mark.
        size: of the mark in points.
        dash: Plotly's name of the line's dashes.
        legend: whether it stands in the legend.
    """

    name: str
    x: tuple[float | None, ...]
    y: tuple[float | None, ...]
    colour: str
    colours: tuple[str | None, ...] = ()
    labels: tuple[str, ...] = ()
    x_arms: Arms = ()
    y_arms: Arms = ()
    lines: bool = False
    markers: bool = True
    symbol: str = "circle"
    size: int = 8
    dash: str = "solid"
    legend: bool = True


@dataclass(frozen=True)
class EditableChart:
    """A chart as slides hold it.

    Attributes:
        form: bars to the right, columns upwards, lines over categories, or points over two numeric axes.
        categories: names of the places, from the left or from below; empty for a scatter.
        series: what is drawn.
        x: the horizontal axis; in a scatter its `names` stand in place of numbers.
        y: the vertical axis.
        stacked: whether bars stand on each other.
        overlap: of bars in percent; 100 where no two series share a place.
        legend: whether one is drawn.
        remarks: what the figure shows and this chart cannot: to be written beside it.
    """

    form: Form
    categories: tuple[str, ...]
    series: tuple[ChartSeries, ...]
    x: ChartAxis
    y: ChartAxis
    stacked: bool = False
    overlap: int = 0
    legend: bool = True
    remarks: tuple[str, ...] = field(default=())


def editable_chart(figure: go.Figure) -> EditableChart | None:
    """Map a figure; None where slides have no such chart, and a table has to stand in.

    Bars become bars. Points over named places become a line chart; points over numbers, or beside names,
    a scatter, whose names are labels. Lines across the chart are series of their own where that can be done,
    else remarks.
    """
    traces = [trace for trace in figure.data if trace.visible in (None, True)]
    kinds = {trace.type for trace in traces}
    if not traces or not (kinds == {"bar"} or kinds <= set(SCATTERS)) or _several_axes(traces):
        return None
    points = [points_of(trace) for trace in traces]
    if not any(one.x for one in points):
        return None
    if kinds == {"bar"}:
        return _bars(figure, traces, points)
    return _lines(figure, traces, points) or _scatter(figure, traces, points)


def _several_axes(traces: Sequence[Any]) -> bool:
    return any((trace.xaxis or "x") != "x" or (trace.yaxis or "y") != "y" for trace in traces)


def _bars(figure: go.Figure, traces: Sequence[Any], points: Sequence[Points]) -> EditableChart | None:
    turned = {trace.orientation == "h" for trace in traces}
    if len(turned) > 1:
        return None
    across = turned.pop()
    layout = figure.layout
    places, lengths = (layout.yaxis, layout.xaxis) if across else (layout.xaxis, layout.yaxis)
    given = [(one.y, one.x) if across else (one.x, one.y) for one in points]
    if any(value is not None and not is_number(value) for _, found in given for value in found):
        return None
    keys, names = categories_of(places, [place for place, _ in given])
    series = []
    for at, (trace, one, (place, value)) in enumerate(zip(traces, points, given, strict=True)):
        order = {key: spot for spot, key in enumerate(place)}
        spots = [order.get(key) for key in keys]
        ends = one.x_ends if across else one.y_ends
        series.append(
            ChartSeries(
                one.name, (), _picked(value, spots), colour_of(trace, at),
                _picked(point_colours(trace, len(place)), spots), _texts(one.text, spots), (),
                _arms(value, ends, spots), markers=False, legend=_in_legend(trace),
            )
        )  # fmt: skip
    stacked = layout.barmode in ("stack", "relative")
    shared = sum(len(set(place)) for place, _ in given) > len(keys)
    overlap = 100 if stacked or not shared or layout.barmode == "overlay" else 0
    x, y = axis_of(layout.xaxis, [], across), axis_of(layout.yaxis, [], not across)
    legend = layout.showlegend is not False and len(series) > 1
    return EditableChart(
        "bar" if across else "column", tuple(names), tuple(series), x, y, stacked, overlap, legend,
        tuple(remarks_of(figure, lengths)),
    )  # fmt: skip


def _picked(found: Sequence[Any], spots: Sequence[int | None]) -> tuple[Any, ...]:
    return tuple(None if spot is None else found[spot] for spot in spots)


def _texts(found: Sequence[str], spots: Sequence[int | None]) -> tuple[str, ...]:
    return tuple("" if spot is None else found[spot] for spot in spots)


def _arms(middles: Sequence[Any], ends: Any, spots: Sequence[int | None]) -> Arms:
    """Give the arms of intervals at each spot; empty where no point has one."""
    low, high = ends
    if not any(one is not None for one in low):
        return ()
    return tuple(
        (0.0, 0.0) if spot is None or low[spot] is None
        else (float(middles[spot] - low[spot]), float(high[spot] - middles[spot]))
        for spot in spots
    )  # fmt: skip


def _in_legend(trace: Any) -> bool:
    return trace.showlegend is not False and bool(trace.name)


def _lines(figure: go.Figure, traces: Sequence[Any], points: Sequence[Points]) -> EditableChart | None:
    """Map points over named places, each place once in a series and intervals upright alone."""
    named = bool(tick_names(figure.layout.xaxis)) or _has_text(one.x for one in points)
    if not named or _has_text(one.y for one in points):
        return None
    if any(len(set(one.x)) < len(one.x) or any(end is not None for end in one.x_ends[0]) for one in points):
        return None
    keys, names = categories_of(figure.layout.xaxis, [one.x for one in points])
    series = []
    for at, (trace, one) in enumerate(zip(traces, points, strict=True)):
        order = {key: spot for spot, key in enumerate(one.x)}
        spots = [order.get(key) for key in keys]
        look = _look(trace, at)
        series.append(
            ChartSeries(
                one.name, (), _picked(one.y, spots), colours=_picked(point_colours(trace, len(one.x)), spots),
                labels=_texts(one.text, spots), y_arms=_arms(one.y, one.y_ends, spots), **look,
            )
        )  # fmt: skip
    levels = [line for line in lines_of(figure) if not line.upright]
    series += [_level(line, len(keys)) for line in levels]
    legend = figure.layout.showlegend is not False and len(points) > 1
    y = axis_of(figure.layout.yaxis, _extent(series), True)
    x = axis_of(figure.layout.xaxis, [], False)
    told = tuple(remarks_of(figure, None, levels))
    return EditableChart("line", tuple(names), tuple(series), x, y, legend=legend, remarks=told)


def _has_text(axes: Any) -> bool:
    return any(isinstance(value, str) for found in axes for value in found)


def _look(trace: Any, at: int) -> dict[str, Any]:
    mode = trace.mode or "lines+markers"
    symbol = trace.marker.symbol if isinstance(trace.marker.symbol, str) else "circle"
    size = trace.marker.size if is_number(trace.marker.size) else 8
    return {
        "colour": colour_of(trace, at), "lines": "lines" in mode, "markers": "markers" in mode,
        "symbol": symbol, "size": max(3, min(12, round(size * 0.75))), "dash": trace.line.dash or "solid",
        "legend": _in_legend(trace),
    }  # fmt: skip


def _level(line: Line, n: int) -> ChartSeries:
    return ChartSeries(
        line.name, (), (line.at,) * n, line.colour, lines=True, markers=False, dash=line.dash, legend=False
    )


def _extent(series: Sequence[ChartSeries]) -> list[float]:
    found: list[float] = []
    for one in series:
        arms = one.y_arms or ((0.0, 0.0),) * len(one.y)
        for value, (below, above) in zip(one.y, arms, strict=True):
            found += [] if value is None else [value - below, value + above]
    return found


def _scatter(figure: go.Figure, traces: Sequence[Any], points: Sequence[Points]) -> EditableChart | None:
    """Map points over numbers; an axis of names becomes places from 0 with the names as labels."""
    layout, named = figure.layout, {}
    for axis, found in (("x", [one.x for one in points]), ("y", [one.y for one in points])):
        shown = layout[f"{axis}axis"]
        if _has_text(found) or shown.type == "category" or tick_names(shown):
            named[axis] = categories_of(shown, found)
    if len(named) > 1:
        return None
    series = []
    for at, (trace, one) in enumerate(zip(traces, points, strict=True)):
        x, y = _placed(one.x, named.get("x")), _placed(one.y, named.get("y"))
        spots = [spot for spot in range(len(x)) if x[spot] is not None and y[spot] is not None]
        series.append(
            ChartSeries(
                one.name, _picked(x, spots), _picked(y, spots),
                colours=_picked(point_colours(trace, len(x)), spots), labels=_texts(one.text, spots),
                x_arms=_arms(x, one.x_ends, spots), y_arms=_arms(y, one.y_ends, spots), **_look(trace, at),
            )
        )  # fmt: skip
    axes = {}
    for axis in ("x", "y"):
        names = named[axis][1] if axis in named else ()
        axes[axis] = axis_of(layout[f"{axis}axis"], _reach(series, axis), True, tuple(names))
    lines = lines_of(figure)
    series += [_across(line, axes["y" if line.upright else "x"]) for line in lines]
    legend = layout.showlegend is not False and len(points) > 1
    told = tuple(remarks_of(figure, None, lines))
    return EditableChart("scatter", (), tuple(series), axes["x"], axes["y"], legend=legend, remarks=told)


def _placed(found: Sequence[Any], named: tuple[list[Any], list[str]] | None) -> list[Any]:
    if named is None:
        return [value if is_number(value) else None for value in found]
    spots = {key: spot for spot, key in enumerate(named[0])}
    return [spots.get(value) for value in found]


def _reach(series: Sequence[ChartSeries], axis: str) -> list[float]:
    found: list[float] = []
    for one in series:
        middles, arms = (one.x, one.x_arms) if axis == "x" else (one.y, one.y_arms)
        arms = arms or ((0.0, 0.0),) * len(middles)
        for value, (below, above) in zip(middles, arms, strict=True):
            found += [] if value is None else [value - below, value + above]
    return found


def _across(line: Line, axis: ChartAxis) -> ChartSeries:
    """Draw a line across the chart from end to end of the other axis."""
    ends = (axis.low or 0.0, axis.high or 0.0)
    x, y = ((line.at, line.at), ends) if line.upright else (ends, (line.at, line.at))
    return ChartSeries(line.name, x, y, line.colour, lines=True, markers=False, dash=line.dash, legend=False)
