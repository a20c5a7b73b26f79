"""The charts of the Alignment page as pure functions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import (
    BLUE,
    FRAME,
    GREEN,
    GREY,
    LEGEND,
    ORANGE,
    PURPLE,
    ROW,
    VERMILION,
    Axis,
    Chart,
    ErrorBars,
    ReferenceLine,
    interval_bars,
    interval_series,
    with_layout,
)
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.analysis.alignment import ALERT, GOLD_POSITIONS, PUBLISHED, Group, Rate
from ragtriage.data.scoring.context_use import ORIGINS
from ragtriage.metrics.number_text import interval_text, percent
from ragtriage.metrics.statistics.intervals import Interval

MARKERS = {
    "judge": (GREEN, "circle"),
    "claims": (BLUE, "square"),
    "citation": (PURPLE, "diamond"),
    "imported": (ORANGE, "triangle-up"),
    "lexical": (GREY, "circle-open"),
}
PUBLISHED_ROW = "Randl et al. 2026<br>arXiv 2601.21803"
PUBLISHED_TEXT = (
    "published; Shapley attribution on two datasets:<br>measured in another way, so not comparable"
)
SPACER_ROW = " "  # an empty row that sets the published range apart
LONGEST_NAME = 40
_RANKED = {"marker": {"color": BLUE, "symbol": "circle", "size": 11}}
_NOT_RANKED = {"marker": {"color": VERMILION, "symbol": "x", "size": 11}}
MOST_COUNTED = 10  # groups whose n is shown below the bar


@dataclass(frozen=True)
class VersionRate:
    """The rate of one version."""

    label: str
    run_id: str
    rate: Rate  # the rate by one source of use
    current: bool  # whether it is the run on display


def version_rates(rates: Sequence[VersionRate]) -> go.Figure:
    """Draw the rate of ignored first documents of each version with its interval, a marker for each source.

    The published range has its own row below the versions, since it was measured in another way; the alert
    line ends above it.
    """
    figure = go.Figure()
    rows = _rows(rates)
    for source, title in ORIGINS.items():
        points = [
            (row, version) for row, version in zip(rows, rates, strict=True) if version.rate.source == source
        ]
        if points:
            colour, symbol = MARKERS[source]
            values = [version.rate.value for _, version in points]
            figure.add_scatter(
                x=[value.mean for value in values],
                y=[row for row, _ in points],
                mode="markers",
                name=title,
                marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2, "color": colour}},
                error_x=interval_bars(values),
                customdata=[
                    [version.run_id, version.rate.value.n_scored, title, source, *_bounds(version.rate.value)]
                    for _, version in points
                ],
                hovertemplate="%{y}: %{x:.0%} (%{customdata[4]} to %{customdata[5]}), "
                "n = %{customdata[1]:,}, %{customdata[2]}<extra></extra>",
            )
    _add_published(figure)
    _add_alert(figure, len(rows))
    figure.update_yaxes(
        type="category",  # also where versions are named by numbers
        categoryorder="array",
        categoryarray=[PUBLISHED_ROW, SPACER_ROW, *rows[::-1]],
        range=[-1.3, len(rows) + 1.6],
        automargin=True,
        ticksuffix="  ",
    )
    figure.update_xaxes(
        title="answers that ignore the top-ranked document, 95 % interval",
        range=[-0.02, 1.02],
        tickformat=".0%",
        automargin=True,
    )
    height = FRAME + 40 + ROW * (len(rows) + 3)
    return with_layout(figure, height, legend=LEGEND, clickmode="event+select")


def _add_published(figure: go.Figure) -> None:
    figure.add_scatter(
        x=[PUBLISHED.low, PUBLISHED.high],
        y=[PUBLISHED_ROW, PUBLISHED_ROW],
        mode="lines+markers",
        name="published, not comparable",
        line={"color": GREY, "width": 3, "dash": "dot"},
        marker={"symbol": "line-ns-open", "size": 14, "color": GREY},
        hovertemplate=(
            f"{percent(PUBLISHED.low)} to {percent(PUBLISHED.high)}, {PUBLISHED.caution}<extra></extra>"
        ),
    )
    figure.add_annotation(
        x=(PUBLISHED.low + PUBLISHED.high) / 2,
        y=PUBLISHED_ROW,
        text=PUBLISHED_TEXT,
        showarrow=False,
        yshift=-24,
        font={"size": 11, "color": GREY},
    )


def _add_alert(figure: go.Figure, n: int) -> None:
    """Draw the alert line across the rows of the versions only, with its label below it."""
    line = {"dash": "dash", "color": VERMILION}
    figure.add_shape(type="line", x0=ALERT, x1=ALERT, y0=SPACER_ROW, y1=n + 1.6, line=line)
    figure.add_annotation(
        x=ALERT,
        y=SPACER_ROW,
        text=f"alert above {percent(ALERT)}",
        showarrow=False,
        xanchor="left",
        yanchor="top",
    )


def _rows(rates: Sequence[VersionRate]) -> list[str]:
    """Return a unique name of each row: the version, with the source of use where it has several rates."""
    n_rates = Counter(version.run_id for version in rates)
    names = [
        ("▸ " if version.current else "")
        + chart_text(_short(version.label))
        + (f" · {ORIGINS[version.rate.source]}" if n_rates[version.run_id] > 1 else "")
        for version in rates
    ]
    counts = Counter(names)
    return [
        name if counts[name] == 1 else f"{name} · {version.run_id[:6]}"
        for name, version in zip(names, rates, strict=True)
    ]


def _short(label: str) -> str:
    """Return a long name cut in its middle: versions often differ at the end."""
    line = " ".join(label.split())
    if len(line) <= LONGEST_NAME:
        return line
    half = LONGEST_NAME // 2
    return f"{line[:half].rstrip()}…{line[1 - half :].lstrip()}"


def _bounds(value: Interval) -> list[str]:
    return [percent(value.low), percent(value.high)]


def _detail(name: str, value: Interval) -> str:
    return f"{name}: {percent(value.mean)} ({span(value)}), n = {value.n_scored:,}"


def group_bars(groups: Sequence[Group], cohort: str, axis: str) -> Chart:
    """Return the rate of ignored first documents by group; a bar leads to the cohort of its cases."""
    alert = ReferenceLine(ALERT, False, VERMILION, name=f"alert above {percent(ALERT)}", position="top right")
    return replace(_bars(groups, cohort, axis, "ignore the top-ranked document"), lines=(alert,))


def rank_bars(groups: Sequence[Group]) -> Chart:
    """Return how often each rank is used."""
    return _bars(groups, "used_rank", "rank", "answers that use it")


def _bars(groups: Sequence[Group], cohort: str, axis: str, value_title: str) -> Chart:
    bars = interval_series(
        "",
        [group.value for group in groups],
        range(len(groups)),
        BLUE,
        error_bars=ErrorBars(GREY),
        details=tuple(_detail(group.label, group.value) for group in groups),
        keys=tuple((f"{cohort}:{group.key}",) for group in groups),
    )
    return Chart(
        "bars",
        (bars,),
        Axis(
            axis,
            names=tuple(
                f"{shorten(group.label, 24)}\n{percent(group.value.mean)}"
                + (f"\nn = {group.value.n_scored:,}" if len(groups) <= MOST_COUNTED else "")
                for group in groups
            ),
            unique=False,
            low=-0.6,
            high=len(groups) - 0.4,
        ),
        Axis(value_title, low=0, high=1.05, format=".0%"),
        320,
        legend=False,
        clickable=True,
        bar_width=min(0.7, 0.2 * max(len(groups), 1)),
    )


def k_lines(by_metric: Mapping[str, Sequence[Group]], titles: Mapping[str, str], k: int) -> Chart:
    """Return wasted context and deep reliance over k; a point leads to its metric and its k."""
    series = []
    for (metric, groups), (colour, symbol) in zip(
        by_metric.items(), ((BLUE, "circle"), (VERMILION, "square")), strict=False
    ):
        series.append(
            interval_series(
                titles[metric],
                [group.value for group in groups],
                [int(group.key) for group in groups],
                colour,
                error_bars=ErrorBars(GREY),
                details=tuple(_detail(f"{titles[metric]}@{group.key}", group.value) for group in groups),
                keys=tuple((metric, group.key) for group in groups),
                line="solid",
                symbol=symbol,
            )
        )
    return Chart(
        "points",
        tuple(series),
        Axis("k", step=1, format="d"),
        Axis(low=-0.03, high=1.08, format=".0%"),
        320,
        lines=(ReferenceLine(k, True, GREY, "dot", f"k = {k}", "top right"),),
        clickable=True,
    )


def place_points(groups: Sequence[Group], title: str) -> go.Figure:
    """Draw an answer metric by the place of the first gold document; lists without an order are apart."""
    figure = go.Figure()
    ranked = [group for group in groups if group.key in GOLD_POSITIONS[:-2]]
    without_gold = [group for group in groups if group.key in GOLD_POSITIONS[-2:]]
    if ranked:
        _add_places(figure, ranked, mode="markers+lines", line={"color": GREY, "width": 1}, **_RANKED)
    if without_gold:
        _add_places(figure, without_gold, mode="markers", **_NOT_RANKED)
    labels = [group.label for group in groups]
    figure.update_xaxes(
        title="rank of the first relevant document in the context",
        type="category",
        categoryorder="array",
        categoryarray=labels,
        tickvals=labels,
        ticktext=[
            f"<b>{group.label}</b><br>{group.value.mean:.2f}<br>n = {group.value.n_scored:,}"
            for group in groups
        ],
        automargin=True,
    )
    highs = [group.value.high for group in groups if np.isfinite(group.value.high)]
    figure.update_yaxes(title=chart_text(title), range=[0, 1.05 * max([1.0, *highs])], automargin=True)
    return with_layout(figure, 320, showlegend=False, clickmode="event+select")


def _add_places(figure: go.Figure, groups: Sequence[Group], **style: Any) -> None:
    figure.add_scatter(
        x=[group.label for group in groups],
        y=[group.value.mean for group in groups],
        error_y=interval_bars([group.value for group in groups], color=GREY),
        customdata=[
            [
                f"gold_position:{group.key}",
                group.value.n_scored,
                interval_text(group.value.low, group.value.high),
            ]
            for group in groups
        ],
        hovertemplate="gold at %{x}: %{y:.2f} %{customdata[2]}, n = %{customdata[1]:,}<extra></extra>",
        **style,
    )
