"""The charts of the Judge page: agreement with human labels, corrected means, failure labels, statuses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import (
    BARE,
    BLUE,
    FRAME,
    GREY,
    ORANGE,
    ROW,
    VERMILION,
    count_step,
    error_bars,
    with_layout,
)
from ragtriage.dashboard.charts.tokens import FONT, Tokens
from ragtriage.dashboard.headlines.judge import rank_correlation
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.cases.judge_cohorts import STATUS_TITLES
from ragtriage.data.labels.agreement import CELLS, Cell, EvaluatedMetric
from ragtriage.data.labels.agreement_report import MetricAgreement
from ragtriage.data.labels.failure_taxonomy import LabelCount
from ragtriage.data.labels.human_ratings import dimension_title
from ragtriage.metrics.number_text import interval_text, number, percent
from ragtriage.metrics.statistics.agreement import Agreement, Confusion

LONGEST_NAME = 44
_PLACES: Mapping[Cell, tuple[int, int]] = dict(zip(CELLS, ((0, 1), (1, 1), (0, 0), (1, 0)), strict=True))
INK = ("#16232e", "#f2f6f8")  # of numbers on coloured cells: on light, on dark
Words = tuple[str, str]
TRUST_ROW, TRUST_FRAME = 56, 48  # pixels
LONGEST_DIMENSION = 28


@dataclass(frozen=True)
class Mean:
    """One estimate of a mean."""

    label: str  # what it is
    value: float
    low: float  # lower end of its 95 % interval; NaN where there is none
    high: float  # upper end
    n: str  # what it is based on, in words
    main: bool = False  # whether it is the one to use


def confusion_matrix(
    counts: Confusion,
    words: tuple[Words, Words],
    titles: tuple[str, str],
    cohorts: Sequence[str],
    dark: bool = False,
) -> go.Figure:
    """Draw the four counts; a cell carries the cohort of its cases.

    Args:
        counts: the pairs of labels.
        words: (yes, no) of the human labels, and of the metric.
        titles: of the human labels and of the metric.
        cohorts: of the cells, in the order of ragtriage.data.labels.agreement.CELLS.
        dark: whether the theme is dark.
    """
    by_cell = dict(zip(CELLS, (counts.tp, counts.fn, counts.fp, counts.tn), strict=True))
    figure = go.Figure()
    for cell, count in by_cell.items():
        row = counts.tp + counts.fn if cell.startswith("yes") else counts.fp + counts.tn
        # fill a cell by its share of the human label; agreement blue, disagreement vermilion
        x, y = _PLACES[cell]
        colour = BLUE if cell in ("yes-yes", "no-no") else VERMILION
        figure.add_shape(
            type="rect", x0=x - 0.47, x1=x + 0.47, y0=y - 0.45, y1=y + 0.45, layer="below",
            fillcolor=colour, opacity=0.1 + 0.4 * (count / row if row else 0.0),
            line={"color": colour, "width": 1},
        )  # fmt: skip
    figure.add_scatter(
        x=[_PLACES[cell][0] for cell in CELLS],
        y=[_PLACES[cell][1] for cell in CELLS],
        mode="markers+text",
        marker={"symbol": "square", "size": 92, "color": GREY, "opacity": 0.001},
        text=[_in_cell(cell, count, counts) for cell, count in by_cell.items()],
        textfont={"size": 15, "color": INK[dark]},
        customdata=[[cohort] for cohort in cohorts],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )
    (human_yes, human_no), (metric_yes, metric_no) = words
    figure.update_xaxes(
        title=chart_text(shorten(titles[1], LONGEST_NAME)), side="top", showgrid=False, zeroline=False,
        tickvals=[0, 1], ticktext=[chart_text(metric_yes), chart_text(metric_no)], range=[-0.55, 1.55],
    )  # fmt: skip
    figure.update_yaxes(
        title=chart_text(shorten(titles[0], LONGEST_NAME)), tickvals=[1, 0], showgrid=False, zeroline=False,
        ticktext=[chart_text(human_yes), chart_text(human_no)], range=[-0.55, 1.55], automargin=True,
    )  # fmt: skip
    with_layout(figure, 330, clickmode="event+select", showlegend=False)
    return figure.update_layout(margin={"t": 64, "b": 8})


def _in_cell(cell: Cell, count: int, counts: Confusion) -> str:
    row = counts.tp + counts.fn if cell.startswith("yes") else counts.fp + counts.tn
    agrees = "agree" if cell in ("yes-yes", "no-no") else "disagree"
    share = f"{percent(count / row)} of {row:,}" if row else "none of 0"
    return f"<b>{count:,}</b><br>{agrees}<br>{share}"


def ranking_dots(ranking: Sequence[tuple[EvaluatedMetric, Agreement]], chosen: EvaluatedMetric) -> go.Figure:
    """Draw the rank correlation of each metric with human labels; a point carries its metric."""
    defined = [(metric, agreement) for metric, agreement in ranking if np.isfinite(agreement.value)]
    figure = go.Figure()
    for is_chosen, colour, symbol in ((False, GREY, "circle"), (True, ORANGE, "diamond")):
        part = [pair for pair in defined if (pair[0] == chosen) == is_chosen]
        agreements = [agreement for _, agreement in part]
        values = [agreement.value for agreement in agreements]
        figure.add_scatter(
            x=values,
            y=[_row_name(metric.title) for metric, _ in part],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 11},
            error_x=error_bars(values, *_bounds(agreements)),
            customdata=[
                [
                    metric.key,
                    f"{agreement.n:,}",
                    interval_text(_finite(agreement.low), _finite(agreement.high)),
                ]
                for metric, agreement in part
            ],
            hovertemplate="%{y}: %{x:.2f} %{customdata[2]}, n = %{customdata[1]}<extra></extra>",
            showlegend=False,
        )
    rows = [_row_name(metric.title) for metric, _ in defined]
    figure.add_vline(x=0, line_color=GREY, line_dash="dot")
    figure.update_yaxes(
        type="category", categoryorder="array", categoryarray=rows[::-1], automargin=True, ticksuffix="  "
    )
    figure.update_xaxes(
        title="Spearman's rank correlation with human labels, 95 % interval", range=[-1.03, 1.03]
    )
    return with_layout(figure, FRAME + 20 + ROW * len(rows), clickmode="event+select")


def _bounds(estimates: Sequence[Agreement | Mean]) -> tuple[list[float | None], list[float | None]]:
    lows = [_finite(estimate.low) for estimate in estimates]
    return lows, [_finite(estimate.high) for estimate in estimates]


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _row_name(title: str) -> str:
    return chart_text(shorten(title, LONGEST_NAME))


def mean_rows(means: Sequence[Mean]) -> go.Figure:
    """Draw the estimates of a mean below each other, the one to use in colour."""
    figure = go.Figure()
    for main, colour, symbol in ((False, GREY, "circle"), (True, BLUE, "diamond")):
        part = [mean for mean in means if mean.main == main]
        figure.add_scatter(
            x=[mean.value for mean in part],
            y=[mean.label for mean in part],
            mode="markers+text",
            text=[
                f"{number(mean.value)} {interval_text(_finite(mean.low), _finite(mean.high))}"
                for mean in part
            ],
            textposition="top center",
            marker={"color": colour, "symbol": symbol, "size": 12},
            error_x=error_bars([mean.value for mean in part], *_bounds(part)),
            customdata=[[mean.n] for mean in part],
            hovertemplate="%{y}: %{text}, %{customdata[0]}<extra></extra>",
            showlegend=False,
        )
    labels = [mean.label for mean in means]
    figure.update_yaxes(
        type="category", categoryorder="array", categoryarray=labels[::-1], automargin=True, ticksuffix="  ",
        range=[-0.6, len(labels) - 0.3],
    )  # fmt: skip
    low = min([0.0, *(mean.low for mean in means if np.isfinite(mean.low))])
    high = max([1.0, *(mean.high for mean in means if np.isfinite(mean.high))])
    figure.update_xaxes(title="mean, 95 % interval", range=[low - 0.05, high + 0.05])
    return with_layout(figure, FRAME + 52 * len(labels))


MOST_BARS = 20
_LONGEST = 44


def label_bars(counts: Sequence[LabelCount], run_id: str) -> go.Figure:
    """Draw the cases of a run by failure label, the most frequent on top; a bar carries its label."""
    shown = [label_count for label_count in counts if label_count.by_run.get(run_id)]
    shown = sorted(shown, key=lambda label_count: -label_count.by_run[run_id])[:MOST_BARS]
    positions = list(range(len(shown)))
    cases = [label_count.by_run[run_id] for label_count in shown]
    figure = go.Figure(
        go.Bar(
            y=positions,
            x=cases,
            orientation="h",
            marker_color=BLUE,
            text=[f"{n:,}" for n in cases],
            textposition="outside",
            cliponaxis=False,
            customdata=[
                [label_count.label, chart_text(shorten(label_count.label, 200))] for label_count in shown
            ],
            hovertemplate="%{customdata[1]}: %{x:,} cases<extra></extra>",
        )
    )
    figure.update_yaxes(
        tickvals=positions,
        ticktext=[chart_text(shorten(label_count.label, _LONGEST)) for label_count in shown],
        range=[len(shown) - 0.4, -0.6],
        automargin=True,
        ticksuffix="  ",
    )
    figure.update_xaxes(
        title="cases with the label",
        range=[0, 1.12 * max(cases, default=1)],
        automargin=True,
        tickformat=",d",
        nticks=min(max(cases, default=1) + 1, 8),
    )
    return with_layout(
        figure, FRAME + ROW * max(len(shown), 2), showlegend=False, clickmode="event+select", bargap=0.35
    )


def status_chart(counts: Mapping[str, int]) -> go.Figure:
    """Draw the samples by judge status, one bar per status."""
    words = list(counts)
    total = sum(counts.values())
    colours = {"scored": BLUE, "not_applicable": GREY, "not run": GREY}
    figure = go.Figure(
        go.Bar(
            x=[counts[word] for word in words],
            y=[STATUS_TITLES[word] for word in words],
            orientation="h",
            marker_color=[colours.get(word, ORANGE) for word in words],
            text=[f"{counts[word]:,} ({percent(counts[word] / total)})" for word in words],
            textposition="auto",
            hovertemplate="%{y}: %{x:,}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", automargin=True)
    figure.update_xaxes(
        title="samples", rangemode="tozero", tickformat=",d", dtick=count_step(counts.values())
    )
    return with_layout(figure, FRAME + ROW * len(words))


def trust_height(n_rows: int) -> int:
    """Return the height of the chart in pixels."""
    return TRUST_FRAME + TRUST_ROW * n_rows


def trust_strips(agreements: Sequence[MetricAgreement], tokens: Tokens) -> go.Figure:
    """Draw a row a quantity: the judge above, one person below."""
    figure = go.Figure()
    for at, agreement in enumerate(agreements):
        _judge(figure, at, agreement, tokens)
        ceiling = agreement.ceilings.get("spearman")
        if ceiling is not None and isfinite(ceiling.annotator):
            _point(figure, ceiling.annotator, at + 0.2, "one person", tokens.muted, "diamond-open")
    figure.add_vline(x=0, line={"color": tokens.muted, "dash": "dot", "width": 1})
    bounds = map(rank_correlation, agreements)
    negative = any(bound is not None and isfinite(bound[1]) and bound[1] < -0.3 for bound in bounds)
    figure.update_xaxes(
        range=[-1, 1.05] if negative else [-0.3, 1.05], fixedrange=True, zeroline=False,
        gridcolor=tokens.track, tickfont={"color": tokens.muted},
        title={"text": "rank correlation", "font": {"color": tokens.muted}},
    )  # fmt: skip
    names = [chart_text(shorten(dimension_title(each.dimension), LONGEST_DIMENSION)) for each in agreements]
    figure.update_yaxes(
        range=[len(agreements) - 0.4, -0.6], tickvals=list(range(len(agreements))), ticktext=names,
        fixedrange=True, showgrid=False, zeroline=False, tickfont={"color": tokens.text, "size": 13},
    )  # fmt: skip
    figure.update_layout(
        height=trust_height(len(agreements)),
        margin={"l": 130, "r": 24, "t": 8, "b": 40},
        font={"family": FONT, "size": 12, "color": tokens.text},
        **BARE,
    )
    return figure


def _judge(figure: go.Figure, at: int, agreement: MetricAgreement, tokens: Tokens) -> None:
    correlation = rank_correlation(agreement)
    if correlation is None:
        figure.add_annotation(
            x=0.5, y=at, text="the judge gave one value throughout: nothing to rank", showarrow=False,
            font={"color": tokens.muted}, bordercolor=tokens.muted, borderpad=3,
        )  # fmt: skip
        return
    value, low, high = correlation
    shown = isfinite(low) and low > 0
    colour = tokens.good.text if shown else tokens.unclear.text
    if isfinite(low) and isfinite(high):
        figure.add_scatter(
            x=[low, high], y=[at - 0.2] * 2, mode="lines", line={"color": colour, "width": 4 if shown else 2},
            hoverinfo="skip",
        )  # fmt: skip
    _point(
        figure, value, at - 0.2, "judge", colour, "circle" if shown else "circle-open",
        interval_text(low, high),
    )  # fmt: skip


def _point(
    figure: go.Figure, value: float, at: float, who: str, colour: str, symbol: str,
    interval: str = "",
) -> None:  # fmt: skip
    figure.add_scatter(
        x=[value], y=[at], mode="markers+text", text=[f" {who} {number(value)}"], textposition="top center",
        textfont={"color": colour, "size": 12},
        marker={"symbol": symbol, "size": 11, "color": colour, "line": {"color": colour, "width": 2}},
        hovertext=f"{who}: {number(value)} {interval}".strip(), hoverinfo="text", cliponaxis=False,
    )  # fmt: skip
