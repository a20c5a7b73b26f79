"""The charts of the calibration by people, as pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from dashboard.charts.style import BLUE, FRAME, GREY, ORANGE, ROW, VERMILION, error_bars, with_layout
from dashboard.wording.escaping import chart_text, shorten
from dashboard.wording.formatting import interval_text, number, percent
from data.cases.judge_cohorts import STATUS_TITLES
from data.labels.agreement import CELLS, Cell
from data.labels.evaluated_metric import EvaluatedMetric
from data.labels.failure_taxonomy import LabelCount
from metrics.statistics.agreement import Agreement, Confusion

__all__ = [
    "MOST_BARS",
    "Mean",
    "confusion_matrix",
    "label_bars",
    "mean_rows",
    "ranking_dots",
    "status_chart",
]

LONGEST_NAME = 44
_PLACES: Mapping[Cell, tuple[int, int]] = dict(zip(CELLS, ((0, 1), (1, 1), (0, 0), (1, 0)), strict=True))
INK = ("#16232e", "#f2f6f8")  # of numbers on coloured cells: on light, on dark
Words = tuple[str, str]


@dataclass(frozen=True)
class Mean:
    """One way to state a mean.

    Attributes:
        label: what it is.
        value: the mean.
        low: lower end of its 95 % interval; NaN where there is none.
        high: upper end.
        n: what it rests on, in words.
        main: whether it is the one to read.
    """

    label: str
    value: float
    low: float
    high: float
    n: str
    main: bool = False


def confusion_matrix(
    counts: Confusion,
    words: tuple[Words, Words],
    titles: tuple[str, str],
    marks: Sequence[str],
    dark: bool = False,
) -> go.Figure:
    """Draw the four counts; a cell carries the mark that leads to its cases.

    Args:
        counts: the pairs of verdicts.
        words: (yes, no) of people, and of the metric.
        titles: of people's side and of the metric's.
        marks: of the cells, in the order of data.labels.agreement.CELLS.
        dark: whether it stands on a dark ground.
    """
    by_cell = dict(zip(CELLS, (counts.tp, counts.fn, counts.fp, counts.tn), strict=True))
    figure = go.Figure()
    for cell, count in by_cell.items():
        row = counts.tp + counts.fn if cell.startswith("yes") else counts.fp + counts.tn
        _add_cell(figure, cell, count / row if row else 0.0)
    figure.add_scatter(
        x=[_PLACES[cell][0] for cell in CELLS],
        y=[_PLACES[cell][1] for cell in CELLS],
        mode="markers+text",
        marker={"symbol": "square", "size": 92, "color": GREY, "opacity": 0.001},
        text=[_in_cell(cell, count, counts) for cell, count in by_cell.items()],
        textfont={"size": 15, "color": INK[dark]},
        customdata=[[mark] for mark in marks],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )
    (people_yes, people_no), (held_yes, held_no) = words
    figure.update_xaxes(
        title=chart_text(shorten(titles[1], LONGEST_NAME)), side="top", showgrid=False, zeroline=False,
        tickvals=[0, 1], ticktext=[chart_text(held_yes), chart_text(held_no)], range=[-0.55, 1.55],
    )  # fmt: skip
    figure.update_yaxes(
        title=chart_text(shorten(titles[0], LONGEST_NAME)), tickvals=[1, 0], showgrid=False, zeroline=False,
        ticktext=[chart_text(people_yes), chart_text(people_no)], range=[-0.55, 1.55], automargin=True,
    )  # fmt: skip
    with_layout(figure, 330, clickmode="event+select", showlegend=False)
    return figure.update_layout(margin={"t": 64, "b": 8})


def _add_cell(figure: go.Figure, cell: Cell, share: float) -> None:
    """Fill a cell by its share of what people said; agreement blue, disagreement vermilion."""
    x, y = _PLACES[cell]
    colour = BLUE if cell in ("yes-yes", "no-no") else VERMILION
    figure.add_shape(
        type="rect", x0=x - 0.47, x1=x + 0.47, y0=y - 0.45, y1=y + 0.45, layer="below",
        fillcolor=colour, opacity=0.1 + 0.4 * share, line={"color": colour, "width": 1},
    )  # fmt: skip


def _in_cell(cell: Cell, count: int, counts: Confusion) -> str:
    row = counts.tp + counts.fn if cell.startswith("yes") else counts.fp + counts.tn
    agrees = "agree" if cell in ("yes-yes", "no-no") else "disagree"
    share = f"{percent(count / row)} of {row:,}" if row else "none of 0"
    return f"<b>{count:,}</b><br>{agrees}<br>{share}"


def ranking_dots(ranking: Sequence[tuple[EvaluatedMetric, Agreement]], chosen: EvaluatedMetric) -> go.Figure:
    """Draw the rank correlation of each metric with people, with its interval; a point carries its metric.

    Args:
        ranking: metrics with their correlation, the strongest first.
        chosen: the one on display.
    """
    known = [(held, one) for held, one in ranking if np.isfinite(one.value)]
    figure = go.Figure()
    for mine, colour, symbol in ((False, GREY, "circle"), (True, ORANGE, "diamond")):
        part = [(held, one) for held, one in known if (held == chosen) == mine]
        figure.add_scatter(
            x=[one.value for _, one in part],
            y=[_row_name(held.title) for held, _ in part],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 11},
            error_x=error_bars([one.value for _, one in part], *_ends([one for _, one in part])),
            customdata=[
                [held.key, f"{one.n:,}", interval_text(_end(one.low), _end(one.high))] for held, one in part
            ],
            hovertemplate="%{y}: %{x:.2f} %{customdata[2]}, n = %{customdata[1]}<extra></extra>",
            showlegend=False,
        )
    rows = [_row_name(held.title) for held, _ in known]
    figure.add_vline(x=0, line_color=GREY, line_dash="dot")
    figure.update_yaxes(
        type="category", categoryorder="array", categoryarray=rows[::-1], automargin=True, ticksuffix="  "
    )
    figure.update_xaxes(title="Spearman's rank correlation with people, 95 % interval", range=[-1.03, 1.03])
    return with_layout(figure, FRAME + 20 + ROW * len(rows), clickmode="event+select")


def _ends(part: Sequence[Agreement | Mean]) -> tuple[list[float | None], list[float | None]]:
    return [_end(one.low) for one in part], [_end(one.high) for one in part]


def _end(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _row_name(title: str) -> str:
    return chart_text(shorten(title, LONGEST_NAME))


def mean_rows(means: Sequence[Mean]) -> go.Figure:
    """Draw the ways to state a mean below each other, the one to read in colour."""
    figure = go.Figure()
    for main, colour, symbol in ((False, GREY, "circle"), (True, BLUE, "diamond")):
        part = [one for one in means if one.main == main]
        figure.add_scatter(
            x=[one.value for one in part],
            y=[one.label for one in part],
            mode="markers+text",
            text=[f"{number(one.value)} {interval_text(_end(one.low), _end(one.high))}" for one in part],
            textposition="top center",
            marker={"color": colour, "symbol": symbol, "size": 12},
            error_x=error_bars([one.value for one in part], *_ends(part)),
            customdata=[[one.n] for one in part],
            hovertemplate="%{y}: %{text}, %{customdata[0]}<extra></extra>",
            showlegend=False,
        )
    labels = [one.label for one in means]
    figure.update_yaxes(
        type="category", categoryorder="array", categoryarray=labels[::-1], automargin=True, ticksuffix="  ",
        range=[-0.6, len(labels) - 0.3],
    )  # fmt: skip
    low = min([0.0, *(one.low for one in means if np.isfinite(one.low))])
    high = max([1.0, *(one.high for one in means if np.isfinite(one.high))])
    figure.update_xaxes(title="mean, 95 % interval", range=[low - 0.05, high + 0.05])
    return with_layout(figure, FRAME + 52 * len(labels))


MOST_BARS = 20
_LONGEST = 44


def label_bars(counts: Sequence[LabelCount], run_id: str) -> go.Figure:
    """Draw the cases of a run by failure label, the most frequent on top; a bar carries its label."""
    shown = [one for one in counts if one.by_run.get(run_id)]
    shown = sorted(shown, key=lambda one: -one.by_run[run_id])[:MOST_BARS]
    places = list(range(len(shown)))
    cases = [one.by_run[run_id] for one in shown]
    figure = go.Figure(
        go.Bar(
            y=places,
            x=cases,
            orientation="h",
            marker_color=BLUE,
            text=[f"{n:,}" for n in cases],
            textposition="outside",
            cliponaxis=False,
            customdata=[[one.label, chart_text(shorten(one.label, 200))] for one in shown],
            hovertemplate="%{customdata[1]}: %{x:,} cases<extra></extra>",
        )
    )
    figure.update_yaxes(
        tickvals=places,
        ticktext=[chart_text(shorten(one.label, _LONGEST)) for one in shown],
        range=[len(shown) - 0.4, -0.6],
        automargin=True,
        ticksuffix="  ",
    )
    figure.update_xaxes(
        title="cases that people gave the label",
        range=[0, 1.12 * max(cases, default=1)],
        automargin=True,
        tickformat=",d",
        nticks=min(max(cases, default=1) + 1, 8),
    )
    return with_layout(
        figure,
        FRAME + ROW * max(len(shown), 2),
        showlegend=False,
        clickmode="event+select",
        bargap=0.35,
    )


def status_chart(counts: Mapping[str, int]) -> go.Figure:
    """Draw samples by what became of their judging, one bar a state."""
    words = list(counts)
    total = sum(counts.values())
    colours = {"scored": BLUE, "not_applicable": GREY, "not run": GREY}
    figure = go.Figure(
        go.Bar(
            x=[counts[word] for word in words],
            y=[STATUS_TITLES[word] for word in words],
            orientation="h",
            marker_color=[colours.get(word, ORANGE) for word in words],
            text=[f"{counts[word]:,} ({100 * counts[word] / total:.0f} %)" for word in words],
            textposition="auto",
            hovertemplate="%{y}: %{x:,}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", automargin=True)
    figure.update_xaxes(title="samples", rangemode="tozero")
    return with_layout(figure, FRAME + ROW * len(words))
