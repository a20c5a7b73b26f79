"""A chart specification as a Plotly figure; text is escaped here, once."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import HOVER, LEGEND, Axis, Chart, Heatmap, Series, with_layout
from ragtriage.dashboard.wording.escaping import chart_text

BAR_GAP = 0.35
SIGNIFICANT_DIGITS = 6  # of a number in an exported figure


def plotly_figure(chart: Chart | Heatmap) -> go.Figure:
    """Draw a chart with Plotly."""
    return _heatmap(chart) if isinstance(chart, Heatmap) else _series_figure(chart)


def _series_figure(chart: Chart) -> go.Figure:
    figure = go.Figure([_trace(chart, series) for series in chart.series])
    for line in chart.lines:
        add_line = figure.add_vline if line.vertical else figure.add_hline
        name = {"annotation_text": _label(line.name), "annotation_position": line.position}
        at = {"x" if line.vertical else "y": line.at}
        add_line(**at, line_color=line.colour, line_dash=line.dash, **(name if line.name else {}))
    for band in chart.bands:
        figure.add_vrect(
            x0=band.low, x1=band.high, fillcolor=band.colour, opacity=0.1, line_width=0, layer="below",
            annotation_text=_label(band.text), annotation_position="bottom right",
        )  # fmt: skip
    for note in chart.notes:
        x, y = _positions(chart.x, [note.x])[0], _positions(chart.y, [note.y])[0]
        figure.add_annotation(x=x, y=y, text=_label(note.text), showarrow=False, xanchor="left", xshift=8)
    figure.update_xaxes(_axis(chart.x, vertical=False)).update_yaxes(_axis(chart.y, vertical=True))
    figure.update_layout(legend=LEGEND, showlegend=None if chart.legend else False)
    if chart.kind == "bars":
        figure.update_layout(bargap=BAR_GAP, barmode="stack" if chart.stacked else None)
    return with_layout(figure, chart.height, clickmode="event+select" if chart.clickable else None)


def _trace(chart: Chart, series: Series) -> go.Bar | go.Scatter:
    """Draw a series as bars, or as points with or without a line."""
    common: dict[str, Any] = {
        "x": _positions(chart.x, series.x),
        "y": _positions(chart.y, series.y),
        "name": _label(series.name) or None,
        "showlegend": None if series.in_legend else False,
        "error_x" if chart.horizontal else "error_y": _error_bars(series, chart.horizontal),
        "text": [_label(text) for text in series.text] or None,
        "hovertext": [_label(text) for text in series.details] or None,
        "hovertemplate": HOVER if series.details else None,
        "customdata": [list(keys) for keys in series.keys] or None,
    }
    if chart.kind == "bars":
        pattern = {
            "shape": list(series.patterns), "fillmode": "overlay", "fgcolor": "rgba(255, 255, 255, 0.5)",
            "size": 7, "solidity": 0.2,
        }  # fmt: skip
        marker: dict[str, Any] = {
            "color": list(series.colours) or series.colour,
            "pattern": pattern if series.patterns else None,
        }
        return go.Bar(
            **common, orientation="h" if chart.horizontal else None, width=chart.bar_width, marker=marker,
            textposition=("inside" if chart.stacked else "outside") if series.text else None,
            textangle=0 if chart.stacked and series.text else None,
            cliponaxis=False if series.text else None,
        )  # fmt: skip
    modes = (
        ["lines"] * (series.line is not None)
        + ["markers"] * bool(series.symbol)
        + ["text"] * bool(series.text)
    )
    marker = {"color": list(series.colours) or series.colour, "symbol": series.symbol, "size": series.size}
    return go.Scatter(
        **common, mode="+".join(modes),
        marker=marker if series.symbol else None,
        line=None if series.line is None
        else {"color": series.colour, "dash": series.line, "width": series.line_width},
        textposition="top center" if series.text else None,
    )  # fmt: skip


def _error_bars(series: Series, horizontal: bool) -> dict[str, Any] | None:
    """Return the distances from the values to their interval bounds, as Plotly takes them."""
    if not any(bound is not None for bound in series.low):
        return None
    values = series.x if horizontal else series.y
    above = [_distance(value, high) for value, high in zip(values, series.high, strict=True)]
    below = [_distance(low, value) for value, low in zip(values, series.low, strict=True)]
    style = series.error_bars
    return {
        "type": "data", "symmetric": False, "array": above, "arrayminus": below,
        "thickness": style.thickness, "width": style.cap, "color": style.colour or None,
    }  # fmt: skip


def _distance(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None else high - low


def _positions(axis: Axis, values: Sequence[float | None]) -> list[Any]:
    """Return values as Plotly takes them: by name on an axis of unique names."""
    if not axis.names or not axis.unique:
        return list(values)
    return [None if value is None else _name(axis.names[int(value)]) for value in values]


def _axis(axis: Axis, vertical: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "title": _label(axis.title) or None,
        "range": None if axis.low is None else [axis.low, axis.high],
        "dtick": axis.step,
        "tickformat": axis.format or None,
        "rangemode": "tozero" if axis.from_zero else None,
        "type": "log" if axis.logarithmic else None,
        "autorange": "reversed" if axis.reversed else None,
        "tickangle": axis.angle,
        "automargin": True,
    }
    if axis.names:
        names = [_name(name) for name in axis.names]
        settings |= {"ticksuffix": "  "} if vertical else {}
        if axis.unique:
            settings |= {"type": "category", "categoryorder": "array", "categoryarray": names}
        else:
            settings |= {"tickvals": list(range(len(names))), "ticktext": names}
    return settings


def _label(text: str) -> str:
    """Escape a text for Plotly, which reads a part of HTML."""
    return "<br>".join(chart_text(line) for line in text.split("\n"))


def _name(text: str) -> str:
    """Escape the name of a position; the first of several lines is its heading."""
    first, *more = text.split("\n")
    return "<br>".join([f"<b>{chart_text(first)}</b>", *map(chart_text, more)]) if more else chart_text(first)


def _heatmap(chart: Heatmap) -> go.Figure:
    """Draw cells; those that take clicks have invisible markers on top, since cells themselves take none."""
    rows, columns = [_label(name) for name in chart.y.names], [_label(name) for name in chart.x.names]
    figure = go.Figure(
        go.Heatmap(
            x=columns, y=rows, z=[list(row) for row in chart.values],
            text=[[_label(text) for text in row] for row in chart.text],
            texttemplate="%{text}", textfont={"size": 14}, showscale=False, xgap=3, ygap=3,
            hoverinfo="skip", colorscale=[list(stop) for stop in chart.scale],
        )
    )  # fmt: skip
    places = [
        (row, column)
        for row, line in enumerate(chart.keys)
        for column, keys in enumerate(line)
        if keys is not None
    ]
    figure.add_scatter(
        x=[columns[column] for _, column in places], y=[rows[row] for row, _ in places], mode="markers",
        marker={"symbol": "square", "size": 40, "color": "rgba(0,0,0,0)"}, showlegend=False,
        customdata=[list(chart.keys[row][column] or ()) for row, column in places],
        hovertext=[_label(chart.details[row][column]) for row, column in places],
        hovertemplate=HOVER,
    )  # fmt: skip
    for frame in chart.frames:
        figure.add_shape(
            type="rect", x0=frame.column - 0.47, x1=frame.column + 0.47,
            y0=frame.row - 0.46, y1=frame.row + 0.46,
            line={"color": frame.colour, "width": frame.width, "dash": frame.dash},
        )  # fmt: skip
    figure.update_xaxes(title=_label(chart.x.title), type="category", showgrid=False, automargin=True)
    figure.update_yaxes(title=_label(chart.y.title), type="category", showgrid=False, automargin=True)
    with_layout(figure, chart.height, clickmode="event+select")
    top = 42 if chart.title else 8
    return figure.update_layout(title={"text": _label(chart.title), "font": {"size": 15}}, margin={"t": top})


def figure_json(chart: Chart | Heatmap) -> dict[str, Any]:
    """Return the figure of a chart as JSON values: numbers rounded, colours of axes and ground left out."""
    figure = plotly_figure(chart)
    layout = figure.layout.to_plotly_json()
    layout.pop("template", None)
    return {"data": [_plain(trace.to_plotly_json()) for trace in figure.data], "layout": _plain(layout)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if isinstance(value, float) else value
