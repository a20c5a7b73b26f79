"""The charts of the Chunking page as pure functions."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from dashboard.charts.chart import Axis, Dash, Frame, Heatmap, finite
from dashboard.charts.style import BLUE, GREY, ORANGE, error_bars, with_layout
from dashboard.wording.escaping import chart_text
from dashboard.wording.formatting import interval_text, signed
from data.chunking.grids import Grid
from data.chunking.ranking import GridRanking, MarginalEffect, TrialValue

__all__ = ["OUTCOME_SYMBOLS", "heatmap", "marginal_effect_curve"]

OUTCOME_SYMBOLS = {
    "best": "★",
    "same": "≈",
    "worse": "",
    "equal": "=",
    "no direction": "",
    "not measured": "",
}
ROW_PIXELS = 46
FRAMES: Mapping[str, tuple[float, Dash]] = {"best": (3.5, "solid"), "same": (2, "dot")}  # width and dashes


def heatmap(grid: Grid, ranking: GridRanking, title: str) -> Heatmap:
    """Return a metric over size and overlap; configurations that were not run stay blank.

    ★ marks the best one, ≈ those that a paired test cannot tell from it, which are outlined too.
    """
    rows = [[_with_value(ranking.at(size, overlap)) for overlap in grid.overlaps] for size in grid.sizes]
    unit = f" ({grid.unit})" if grid.unit else ""
    return Heatmap(
        title,
        Axis(f"overlap{unit}", names=tuple(str(overlap) for overlap in grid.overlaps)),
        Axis(f"size{unit}", names=tuple(str(size) for size in grid.sizes)),
        tuple(finite(entry.value.mean if entry and entry.value else None for entry in row) for row in rows),
        tuple(tuple(_label(entry) for entry in row) for row in rows),
        120 + ROW_PIXELS * len(rows),
        scale=((0.0, "#e4eff7"), (0.5, "#7fb6d9"), (1.0, "#0b5e94")),
        details=tuple(tuple(_details(entry) for entry in row) for row in rows),
        keys=tuple(tuple((entry.trial.run.run_id,) if entry else None for entry in row) for row in rows),
        frames=tuple(
            Frame(row, column, ORANGE, *FRAMES[entry.outcome])
            for row, entries in enumerate(rows)
            for column, entry in enumerate(entries)
            if entry is not None and entry.outcome in FRAMES
        ),
    )


def _with_value(entry: TrialValue | None) -> TrialValue | None:
    return None if entry is None or entry.value is None else entry


def _label(entry: TrialValue | None) -> str:
    if entry is None or entry.value is None:
        return ""
    return f"{entry.value.mean:.3f} {OUTCOME_SYMBOLS[entry.outcome]}".strip()


def _details(entry: TrialValue | None) -> str:
    if entry is None or entry.value is None:
        return ""
    value, to_the_best = entry.value, ""
    if entry.difference is not None and entry.test is not None:
        gap = interval_text(entry.test.low, entry.test.high, 3)
        to_the_best = f": {signed(entry.difference.difference, 3)} {gap} to the best"
    return (
        f"size {entry.trial.size}, overlap {entry.trial.overlap}\n"
        f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}] by itself, n = {value.n_scored:,}\n"
        f"{entry.outcome}{to_the_best}"
    )


def marginal_effect_curve(
    effect: MarginalEffect, unit: str, title: str, span: tuple[float, float]
) -> go.Figure:
    """Draw a metric along one axis, the other averaged out, with 95 % intervals.

    Args:
        effect: the points.
        unit: of the axis.
        title: of the metric.
        span: least and greatest value of the vertical axis, shared by the two curves.
    """
    intervals = [interval for _, interval in effect.points]
    means = [interval.mean for interval in intervals]
    figure = go.Figure(
        go.Scatter(
            x=[str(value) for value, _ in effect.points],
            y=means,
            mode="lines+markers+text",
            text=[f"{mean:.3f}" for mean in means],
            textposition="top center",
            line={"color": GREY},
            marker={"color": BLUE, "size": 10},
            error_y=error_bars(
                means, [interval.low for interval in intervals], [interval.high for interval in intervals]
            ),
            customdata=[[interval.n_scored] for interval in intervals],
            hovertemplate=f"{effect.axis} %{{x}}: %{{y:.3f}}, n = %{{customdata[0]}}<extra></extra>",
        )
    )
    axis_title = f"{effect.axis} ({unit})" if unit else effect.axis
    figure.update_xaxes(title=chart_text(axis_title), type="category", automargin=True)
    figure.update_yaxes(title=chart_text(title), range=span, automargin=True)
    return with_layout(figure, 300, showlegend=False)
