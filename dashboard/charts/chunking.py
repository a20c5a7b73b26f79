"""The charts of the Chunking page as pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard.charts.style import BLUE, GREY, ORANGE, error_bars, laid_out
from dashboard.wording.escaping import chart_text
from data.chunking.grids import Grid
from data.chunking.ranking import GridRanking, MarginalEffect, TrialValue

__all__ = ["PLACE_MARKS", "heatmap", "marginal_effect_curve"]

PLACE_MARKS = {"best": "★", "same": "≈", "worse": "", "no direction": "", "not measured": ""}
CELL = 46  # pixels a row of the plane
HOVER = "size %{customdata[1]}, overlap %{customdata[2]}<br>%{customdata[3]}<extra></extra>"


def heatmap(grid: Grid, found: GridRanking, title: str) -> go.Figure:
    """Draw a metric over size and overlap; cells that were not run stay blank.

    ★ stands in the best cell, ≈ in those that a paired test cannot tell from it, which are outlined too.
    """
    cells = [[found.at(size, overlap) for overlap in grid.overlaps] for size in grid.sizes]
    x, y = [str(one) for one in grid.overlaps], [str(one) for one in grid.sizes]
    figure = go.Figure(
        go.Heatmap(
            x=x,
            y=y,
            z=[[_mean(one) for one in row] for row in cells],
            text=[[_label(one) for one in row] for row in cells],
            texttemplate="%{text}",
            textfont={"size": 14},
            showscale=False,
            xgap=3,
            ygap=3,
            hoverinfo="skip",
            colorscale=[[0, "#e4eff7"], [0.5, "#7fb6d9"], [1, "#0b5e94"]],
        )
    )
    there = [one for row in cells for one in row if one is not None and one.value is not None]
    figure.add_scatter(
        x=[str(one.cell.overlap) for one in there],
        y=[str(one.cell.size) for one in there],
        mode="markers",
        marker={"symbol": "square", "size": 40, "color": "rgba(0,0,0,0)"},
        customdata=[_hover(one) for one in there],
        hovertemplate=HOVER,
        showlegend=False,
    )
    for one in there:
        _outline(figure, one, x.index(str(one.cell.overlap)), y.index(str(one.cell.size)))
    unit = _in(grid.unit)
    figure.update_xaxes(title=f"overlap{unit}", type="category", showgrid=False, automargin=True)
    figure.update_yaxes(title=f"size{unit}", type="category", showgrid=False, automargin=True)
    laid_out(figure, 120 + CELL * len(y), clickmode="event+select")
    return figure.update_layout(title={"text": chart_text(title), "font": {"size": 15}}, margin={"t": 42})


def _in(unit: str) -> str:
    return f" ({chart_text(unit)})" if unit else ""


def _mean(one: TrialValue | None) -> float | None:
    return None if one is None or one.value is None else one.value.mean


def _label(one: TrialValue | None) -> str:
    mean = _mean(one)
    if one is None or mean is None:
        return ""
    return f"{mean:.3f} {PLACE_MARKS[one.outcome]}".strip()


def _outline(figure: go.Figure, one: TrialValue, column: int, row: int) -> None:
    """Frame the best cell with a full line and those like it with a dotted one."""
    looks = {"best": (3.5, "solid"), "same": (2, "dot")}
    if one.outcome in looks:
        width, dash = looks[one.outcome]
        figure.add_shape(
            type="rect",
            x0=column - 0.47,
            x1=column + 0.47,
            y0=row - 0.46,
            y1=row + 0.46,
            line={"color": ORANGE, "width": width, "dash": dash},
        )


def _hover(one: TrialValue) -> list[object]:
    value = one.value
    assert value is not None  # noqa: S101 -- cells without a value are not drawn
    text = f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}], n = {value.n_scored:,}"
    return [one.cell.run.run_id, one.cell.size, one.cell.overlap, f"{text}<br>{one.outcome}"]


def marginal_effect_curve(
    margin: MarginalEffect, unit: str, title: str, span: tuple[float, float]
) -> go.Figure:
    """Draw a metric along one axis, the other averaged out, with 95 % intervals.

    Args:
        margin: the points.
        unit: of the axis.
        title: of the metric.
        span: least and greatest value of the vertical axis, shared by the two curves.
    """
    spots: Sequence[float] = [one.mean for _, one in margin.points]
    figure = go.Figure(
        go.Scatter(
            x=[str(at) for at, _ in margin.points],
            y=spots,
            mode="lines+markers+text",
            text=[f"{one:.3f}" for one in spots],
            textposition="top center",
            line={"color": GREY},
            marker={"color": BLUE, "size": 10},
            error_y=error_bars(
                spots, [one.low for _, one in margin.points], [one.high for _, one in margin.points]
            ),
            customdata=[[one.n_scored] for _, one in margin.points],
            hovertemplate=f"{margin.axis} %{{x}}: %{{y:.3f}}, n = %{{customdata[0]}}<extra></extra>",
        )
    )
    figure.update_xaxes(title=f"{margin.axis}{_in(unit)}", type="category", automargin=True)
    figure.update_yaxes(title=chart_text(title), range=span, automargin=True)
    return laid_out(figure, 300, showlegend=False)
