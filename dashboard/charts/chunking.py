"""The charts of the Chunking page as pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dashboard.charts.chart import Axis, Dash, Frame, Heatmap, finite
from dashboard.charts.style import BLUE, GREY, ORANGE, error_bars, with_layout
from dashboard.wording.escaping import chart_text
from data.chunking.grids import Grid
from data.chunking.ranking import GridRanking, MarginalEffect, TrialValue

__all__ = ["OUTCOME_SYMBOLS", "heatmap", "marginal_effect_curve"]

OUTCOME_SYMBOLS = {"best": "★", "same": "≈", "worse": "", "no direction": "", "not measured": ""}
CELL = 46  # pixels a row of the heatmap
FRAMES: Mapping[str, tuple[float, Dash]] = {"best": (3.5, "solid"), "same": (2, "dot")}  # width and dashes


def heatmap(grid: Grid, ranking: GridRanking, title: str) -> Heatmap:
    """Return a metric over size and overlap; cells that were not run stay blank.

    ★ stands in the best cell, ≈ in those that a paired test cannot tell from it, which are outlined too.
    """
    cells = [[ranking.at(size, overlap) for overlap in grid.overlaps] for size in grid.sizes]
    unit = f" ({grid.unit})" if grid.unit else ""
    return Heatmap(
        title,
        Axis(f"overlap{unit}", names=tuple(str(overlap) for overlap in grid.overlaps)),
        Axis(f"size{unit}", names=tuple(str(size) for size in grid.sizes)),
        tuple(finite(_mean(trial) for trial in row) for row in cells),
        tuple(tuple(_label(trial) for trial in row) for row in cells),
        120 + CELL * len(cells),
        scale=((0.0, "#e4eff7"), (0.5, "#7fb6d9"), (1.0, "#0b5e94")),
        details=tuple(tuple(_details(trial) for trial in row) for row in cells),
        keys=tuple(
            tuple(
                None if trial is None or trial.value is None else (trial.trial.run.run_id,) for trial in row
            )
            for row in cells
        ),
        frames=tuple(
            Frame(row, column, ORANGE, *FRAMES[trial.outcome])
            for row, line in enumerate(cells)
            for column, trial in enumerate(line)
            if trial is not None and trial.value is not None and trial.outcome in FRAMES
        ),
    )


def _mean(trial: TrialValue | None) -> float | None:
    return None if trial is None or trial.value is None else trial.value.mean


def _label(trial: TrialValue | None) -> str:
    mean = _mean(trial)
    if trial is None or mean is None:
        return ""
    return f"{mean:.3f} {OUTCOME_SYMBOLS[trial.outcome]}".strip()


def _details(trial: TrialValue | None) -> str:
    if trial is None or trial.value is None:
        return ""
    value, cell = trial.value, trial.trial
    interval = f"[{value.low:.3f}, {value.high:.3f}]"
    return (
        f"size {cell.size}, overlap {cell.overlap}\n"
        f"{value.mean:.3f} {interval}, n = {value.n_scored:,}\n{trial.outcome}"
    )


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
    figure.update_xaxes(
        title=chart_text(f"{margin.axis} ({unit})" if unit else margin.axis), type="category", automargin=True
    )
    figure.update_yaxes(title=chart_text(title), range=span, automargin=True)
    return with_layout(figure, 300, showlegend=False)
