"""The charts of the Benchmarks page as pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dashboard.charts.style import (
    BLUE,
    FRAME,
    GREEN,
    GREY,
    LEGEND,
    ORANGE,
    PURPLE,
    VERMILION,
    error_bars,
    set_places,
    with_layout,
)
from dashboard.wording.escaping import chart_text, shorten
from dashboard.wording.formatting import metric_label
from data.comparison.published_results import PublishedRow
from data.scoring.summaries import MetricSummary
from metrics.metric_registry import is_share

__all__ = ["VersionPoint", "dot_plot", "progress"]

ROW = 34
MARKERS = (
    (ORANGE, "circle-open"),
    (GREEN, "square-open"),
    (PURPLE, "triangle-up-open"),
    (VERMILION, "cross-open"),
    (GREY, "star-open"),
)
NOT_COMPUTED = "0, likely not computed"


def dot_plot(ours: dict[str, MetricSummary], name: str, rows: Sequence[PublishedRow]) -> go.Figure:
    """Draw our means with intervals beside published ones, in percent; each system has its own marker."""
    metrics = [metric for metric in ours if any(metric in row.values for row in rows)]
    labels = [chart_text(metric_label(metric)) for metric in metrics]
    figure = go.Figure()
    for at, row in enumerate(rows):
        colour, symbol = MARKERS[at % len(MARKERS)]
        published = [
            (label, row.values[metric])
            for metric, label in zip(metrics, labels, strict=True)
            if metric in row.values
        ]
        figure.add_scatter(
            x=[100 * value for _, value in published],
            y=[label for label, _ in published],
            mode="markers",
            name=chart_text(shorten(row.name, 40)),
            marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2}},
            hovertemplate="%{y}: %{x:.1f} %<extra>%{fullData.name}</extra>",
        )
    measured = [(label, ours[metric]) for metric, label in zip(metrics, labels, strict=True)]
    figure.add_scatter(
        x=[100 * (metric.mean or 0.0) for _, metric in measured],
        y=[label for label, _ in measured],
        mode="markers",
        name=chart_text(shorten(name, 40)),
        marker={"color": BLUE, "symbol": "diamond", "size": 13},
        error_x=_error_bars([metric for _, metric in measured]),
        customdata=[[metric.metric] for _, metric in measured],
        hovertemplate="%{y}: %{x:.1f} %<extra>%{fullData.name}</extra>",
    )
    figure.update_yaxes(categoryorder="array", categoryarray=labels[::-1], automargin=True, ticksuffix="  ")
    figure.update_xaxes(title="mean, in percent", range=[-2, 102], automargin=True)
    return with_layout(
        figure, FRAME + 20 + ROW * max(len(metrics), 2), legend=LEGEND, clickmode="event+select"
    )


def _error_bars(summaries: Sequence[MetricSummary | None], factor: float = 100.0) -> dict[str, object]:
    """Return the error bars of our intervals, in percent or times another factor."""
    bounds = [(None, None, None) if part is None else (part.mean, part.low, part.high) for part in summaries]
    means, lows, highs = zip(*bounds, strict=True) if bounds else ((), (), ())
    return error_bars(means, lows, highs, factor)


@dataclass(frozen=True)
class VersionPoint:
    """One version in the history of a metric.

    Attributes:
        label: its name.
        summary: its mean; None where it does not have the metric.
        uncomputed: whether its 0 looks like a value that was not computed.
    """

    label: str
    summary: MetricSummary | None
    uncomputed: bool


def progress(points: Sequence[VersionPoint], metric: str, target: float | None) -> go.Figure:
    """Draw a metric over versions; a gap is not measured, a cross a 0 that looks uncomputed.

    Versions are places on the axis, since names that are cut to fit may be equal.
    """
    names = [chart_text(shorten(point.label, 60)) for point in points]
    factor, unit = (100.0, " %") if is_share(metric) else (1.0, "")
    summaries = [
        point.summary if point.summary is not None and not point.uncomputed else None for point in points
    ]
    means = [None if summary is None else summary.mean for summary in summaries]
    figure = go.Figure(
        go.Scatter(
            x=list(range(len(points))),
            y=[None if mean is None else factor * mean for mean in means],
            mode="lines+markers",
            name=chart_text(metric_label(metric)),
            connectgaps=False,
            line={"color": BLUE},
            marker={"color": BLUE, "size": 10},
            error_y=_error_bars(summaries, factor),
            customdata=names,
            hovertemplate=f"%{{customdata}}: %{{y:.2f}}{unit}<extra></extra>",
        )
    )
    crosses = [place for place, point in enumerate(points) if point.uncomputed]
    if crosses:
        figure.add_scatter(
            x=crosses,
            y=[0.0] * len(crosses),
            mode="markers+text",
            name=NOT_COMPUTED,
            marker={"symbol": "x-thin-open", "size": 13, "color": VERMILION, "line": {"width": 2}},
            text=["not computed?"] * len(crosses),
            textposition="top center",
            customdata=[names[place] for place in crosses],
            hovertemplate="%{customdata}: written as 0, likely not computed<extra></extra>",
        )
    if target is not None:
        figure.add_hline(
            y=factor * target,
            line_dash="dash",
            line_color=GREY,
            annotation_text="good",
            annotation_position="top left",
        )
    set_places(figure, [point.label for point in points])
    axis_title = f"{chart_text(metric_label(metric))}{',' if unit else ''}{unit}"
    figure.update_yaxes(title=axis_title, rangemode="tozero", automargin=True)
    return with_layout(figure, 330, legend=LEGEND, showlegend=bool(crosses))
