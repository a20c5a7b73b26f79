"""Charts as pure functions: values in, figure out. Text from outside is escaped here, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from dashboard.charts.style import (
    BLUE,
    FRAME,
    GREEN,
    GREY,
    LEGEND,
    OWNER_COLOURS,
    ROW,
    VERMILION,
    error_bars,
    laid_out,
)
from dashboard.wording.escaping import capital, chart_text, shorten
from data.comparison.compare import GOOD, MetricDifference
from metrics.diagnosis.fix_first import FixFirst
from metrics.diagnosis.stages import STAGES
from metrics.metric_registry import title_of
from metrics.schema.scores import FloatArray

__all__ = ["Point", "case_map", "difference_forest", "fix_first_bars", "stage_transition_map", "trend"]

HOVER_RUN = "%{customdata[0]}<br>%{customdata[1]}<br>%{y:.2f}, n = %{customdata[2]}<extra></extra>"


def fix_first_bars(entries: Sequence[FixFirst]) -> go.Figure:
    """Draw the stages by how many bad cases they own, the largest on top, coloured by who owns them."""
    figure = go.Figure()
    order = [entry.title for entry in entries]
    for owner, colour in OWNER_COLOURS.items():
        mine = [entry for entry in entries if entry.owner == owner]
        if mine:
            figure.add_bar(
                y=[entry.title for entry in mine],
                x=[entry.n_bad for entry in mine],
                name=owner,
                orientation="h",
                marker_color=colour,
                text=[f"{entry.n_bad:,}" for entry in mine],
                textposition="outside",
                cliponaxis=False,
                hovertemplate="%{y}: %{x:,} bad cases<extra></extra>",
            )
    figure.update_yaxes(categoryorder="array", categoryarray=order[::-1], automargin=True, ticksuffix="  ")
    figure.update_xaxes(title="bad cases", rangemode="tozero", automargin=True, tickformat=",d")
    return laid_out(figure, FRAME + ROW * max(len(entries), 3), legend=LEGEND, bargap=0.35)


@dataclass(frozen=True)
class Point:
    """One run in a trend.

    Attributes:
        label: its name.
        when: when it was made, as shown.
        mean: the value; None where not measured.
        low: lower end of its interval.
        high: upper end.
        n: questions behind it.
        current: whether it is the run on display.
    """

    label: str
    when: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    current: bool


def trend(points: Sequence[Point], title: str, baseline: float | None) -> go.Figure:
    """Draw a metric over the runs of a project in time, with intervals; the baseline is a dashed line."""
    measured = [(at, point) for at, point in enumerate(points) if point.mean is not None]
    figure = go.Figure()
    for current, colour, name in ((False, GREY, "other runs"), (True, BLUE, "this run")):
        mine = [(at, point) for at, point in measured if point.current == current]
        figure.add_scatter(
            x=[at for at, _ in mine],
            y=[point.mean for _, point in mine],
            mode="markers",
            name=name,
            marker={
                "color": colour,
                "size": 13 if current else 9,
                "symbol": "diamond" if current else "circle",
            },
            error_y=_error_bars([point for _, point in mine]),
            customdata=[[chart_text(point.label), point.when, point.n] for _, point in mine],
            hovertemplate=HOVER_RUN,
        )
    if baseline is not None:
        figure.add_hline(
            y=baseline,
            line_dash="dash",
            line_color=GREY,
            annotation_text="baseline",
            annotation_position="top left",
        )
    ticks = [chart_text(shorten(point.label, 22)) for point in points]
    figure.update_xaxes(
        tickvals=list(range(len(points))),
        ticktext=ticks,
        range=[-0.6, len(points) - 0.4],
        tickangle=-35 if len(points) > 6 else 0,
        automargin=True,
    )
    figure.update_yaxes(title=title, automargin=True)
    return laid_out(figure, 330, showlegend=False)


def _error_bars(points: Sequence[Point]) -> dict[str, object]:
    middles = [point.mean for point in points]
    return error_bars(middles, [point.low for point in points], [point.high for point in points], width=3)


def case_map(
    context: FloatArray, faithfulness: FloatArray, cutoffs: tuple[float, float], signal: str
) -> go.Figure:
    """Draw where the cases lie: context against faithfulness in cells of 0.1, cut-offs as dashed lines."""
    edges = np.linspace(0, 1, 11)
    known = np.isfinite(context) & np.isfinite(faithfulness)
    x, y = np.clip(context[known], 0, 1), np.clip(faithfulness[known], 0, 1)
    counts, _, _ = np.histogram2d(y, x, bins=(edges, edges))
    middles = (edges[:-1] + edges[1:]) / 2
    shown = np.where(counts > 0, counts, np.nan)
    labels = [[f"{int(cell):,}" if cell else "" for cell in row] for row in counts]
    figure = go.Figure(
        go.Heatmap(
            x=middles,
            y=middles,
            z=shown,
            text=labels,
            texttemplate="%{text}",
            showscale=False,
            xgap=1,
            ygap=1,
            colorscale=[[0, "#cfe3f1"], [1, "#0b5e94"]],
            hovertemplate="context %{x:.2f}, faithfulness %{y:.2f}: %{z:,} cases<extra></extra>",
        )
    )
    figure.add_vline(x=cutoffs[0], line_dash="dash", line_color=VERMILION)
    figure.add_hline(y=cutoffs[1], line_dash="dash", line_color=VERMILION)
    figure.update_xaxes(
        title=f"context: {chart_text(signal)}", range=[0, 1], constrain="domain", showgrid=False
    )
    figure.update_yaxes(title="faithfulness", range=[0, 1], showgrid=False)
    return laid_out(figure, 360)


def difference_forest(
    differences: Sequence[MetricDifference], higher: Mapping[str, bool | None]
) -> go.Figure:
    """Draw signed differences with intervals and a dashed line at 0; each verdict has a mark of its own."""
    looks = {
        "better": (GREEN, "triangle-up"),
        "worse": (VERMILION, "triangle-down"),
        "cannot tell": (GREY, "circle"),
        "unchanged": (GREY, "line-ew-open"),
    }
    figure = go.Figure()
    names = [_directed(one.metric, higher.get(one.metric, True)) for one in differences]
    for verdict, (colour, symbol) in looks.items():
        mine = [
            (name, one.difference)
            for name, one in zip(names, differences, strict=True)
            if one.verdict == verdict
        ]
        if mine:
            figure.add_scatter(
                x=[one.difference for _, one in mine],
                y=[name for name, _ in mine],
                mode="markers",
                name=verdict,
                marker={"color": colour, "symbol": symbol, "size": 11},
                error_x=error_bars(
                    [one.difference for _, one in mine],
                    [one.low for _, one in mine],
                    [one.high for _, one in mine],
                ),
                customdata=[[one.n_pairs] for _, one in mine],
                hovertemplate="%{y}: %{x:+.3f}, %{customdata[0]} pairs<extra></extra>",
            )
    figure.add_vline(x=0, line_dash="dash", line_color=GREY)
    figure.update_yaxes(categoryorder="array", categoryarray=names[::-1], automargin=True, ticksuffix="  ")
    figure.update_xaxes(title="difference to the baseline, 95 % interval", automargin=True)
    return laid_out(figure, FRAME + 26 * max(len(names), 3), legend=LEGEND)


def _directed(metric: str, higher: bool | None) -> str:
    arrow = {True: "", False: " (lower is better)", None: " (no direction)"}[higher]
    return chart_text(f"{capital(title_of(metric))}{arrow}")


def stage_transition_map(flow: Mapping[tuple[str, str], int], base: str, other: str) -> go.Figure:
    """Draw how questions moved between failure stages: rows in the baseline, columns in the other run."""
    titles = {GOOD: "Good", **{stage.key: stage.title for stage in STAGES}}
    rows = [key for key in titles if any(one == key for one, _ in flow)]
    columns = [key for key in titles if any(one == key for _, one in flow)]
    counts = [[flow.get((row, column), 0) for column in columns] for row in rows]
    figure = go.Figure(
        go.Heatmap(
            x=[_wrapped(titles[key]) for key in columns],
            y=[titles[key] for key in rows],
            z=[[cell or None for cell in line] for line in counts],
            text=[[f"{cell:,}" if cell else "" for cell in line] for line in counts],
            texttemplate="%{text}",
            showscale=False,
            xgap=2,
            ygap=2,
            colorscale=[[0, "#cfe3f1"], [1, "#0b5e94"]],
            hovertemplate="%{y} → %{x}: %{z:,} questions<extra></extra>",
        )
    )
    figure.update_xaxes(
        title=f"in {chart_text(shorten(other, 40))}", side="bottom", showgrid=False, automargin=True
    )
    figure.update_yaxes(
        title=f"in {chart_text(shorten(base, 40))}", autorange="reversed", showgrid=False, automargin=True
    )
    return laid_out(figure, 150 + 42 * len(rows))


def _wrapped(title: str) -> str:
    """Break a title in lines of about 14 characters, so that columns need little room."""
    lines = [""]
    for word in title.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) > 13:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)
