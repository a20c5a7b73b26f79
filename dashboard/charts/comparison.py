"""Charts of versions against a baseline: forest plot, questions better and worse, leaderboard, stage flow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import HOVER, interval_bars, with_tokens
from ragtriage.dashboard.charts.tokens import Tokens, contrast
from ragtriage.dashboard.wording.comparisons import drawable, gain, gain_bounds, gain_title
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.comparison.compare import GOOD, MetricDifference
from ragtriage.data.comparison.leaderboard import LeaderboardRow
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.number_text import interval_text, number, p_value, signed

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "hexagon")  # of the drawn versions
GLYPHS = ("●", "■", "◆", "▲", "▼", "⬢")  # the same in a legend
AXIS, STEP, LEAST_BAND = 52, 8, 34  # pixels: below the rows; of a version; of a metric
BOARD_ROW = 22
LEAST_PART = 0.06  # of the longest bar, for a number to fit into a part
LEAST_CONTRAST = 4.5  # of text on its ground


def _base(figure: go.Figure, tokens: Tokens, height: int) -> go.Figure:
    """Return the figure in the colours of a theme, with lines across the plot and little margin."""
    with_tokens(figure, tokens, height, margin={"l": 8, "r": 12, "t": 6, "b": 8})
    figure.update_xaxes(
        zeroline=False, showline=False, gridcolor=tokens.border, tickfont={"size": 12, "color": tokens.muted}
    )
    return figure.update_yaxes(zeroline=False, showgrid=False, showline=False)


def forest_height(metrics: int, versions: int) -> int:
    """Return the height of a forest plot in pixels."""
    return AXIS + metrics * _band(versions)


def _band(versions: int) -> int:
    return max(LEAST_BAND, 10 + STEP * versions)


def forest(
    versions: Sequence[tuple[str, str, Mapping[str, MetricDifference]]],
    metrics: Sequence[str],
    tokens: Tokens,
) -> go.Figure:
    """Draw the change of every metric in every version; right is better, filled is beyond chance.

    Args:
        versions: (key, name, metric -> difference) of each version, from the top of each band.
        metrics: from the top.
        tokens: colours of the theme.
    """
    figure = go.Figure()
    slot = STEP / _band(len(versions))
    for at, (key, name, rows) in enumerate(versions):
        offset = (at - (len(versions) - 1) / 2) * slot
        places = [
            (place + offset, rows[metric])
            for place, metric in enumerate(metrics)
            if metric in rows and drawable(rows[metric])
        ]
        for significant in (False, True):
            shown = [(y, row) for y, row in places if (row.verdict in ("better", "worse")) is significant]
            if shown:
                _points(figure, shown, (key, name), (tokens.versions[at], SYMBOLS[at]), significant)
    for place in range(0, len(metrics), 2):
        figure.add_hrect(y0=place - 0.5, y1=place + 0.5, fillcolor=tokens.panel, line_width=0, layer="below")
    figure.add_vline(x=0, line_color=tokens.text, line_dash="dot", line_width=1.5)
    _base(figure, tokens, forest_height(len(metrics), len(versions)))
    figure.update_yaxes(
        tickvals=list(range(len(metrics))),
        ticktext=[f"{chart_text(gain_title(metric))}  " for metric in metrics],
        range=[len(metrics) - 0.5, -0.5],
    )  # fmt: skip
    reach = _reach(versions, metrics)
    step = next(step for step in (0.05, 0.1, 0.2, 0.5, 1.0) if reach / step < 4)
    many = int(reach / step)
    ticks = [round(at * step, 2) for at in range(-many, many + 1)]
    figure.update_xaxes(
        range=[-reach, reach], tickvals=ticks,
        ticktext=[signed(tick, 2 if ticks[-1] < 0.2 else 1) for tick in ticks],
        title={"text": "◂ worse     better ▸", "font": {"size": 12, "color": tokens.muted}, "standoff": 4},
    )  # fmt: skip
    figure.update_layout(clickmode="event+select", margin={"b": AXIS - 6})
    return figure


def _points(
    figure: go.Figure,
    shown: Sequence[tuple[float, MetricDifference]],
    version: tuple[str, str],
    look: tuple[str, str],
    significant: bool,
) -> None:
    (key, name), (colour, symbol) = version, look
    bounds = [gain_bounds(row) for _, row in shown]
    figure.add_scatter(
        x=[gain(row) for _, row in shown],
        y=[y for y, _ in shown],
        mode="markers",
        name=chart_text(name),
        marker={
            "color": colour, "symbol": symbol if significant else f"{symbol}-open",
            "size": 11 if significant else 8, "line": {"width": 1.5, "color": colour},
        },
        error_x={
            "type": "data", "symmetric": False, "width": 0, "color": colour,
            "thickness": 4 if significant else 1.2,
            "array": [high - gain(row) for (_, row), (_, high) in zip(shown, bounds, strict=True)],
            "arrayminus": [gain(row) - low for (_, row), (low, _) in zip(shown, bounds, strict=True)],
        },
        customdata=[[key, row.metric] for _, row in shown],
        hovertext=[_forest_text(name, row) for _, row in shown],
        hovertemplate=HOVER,
        selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
    )  # fmt: skip


def _forest_text(name: str, row: MetricDifference) -> str:
    difference = row.difference
    return (
        f"<b>{chart_text(shorten(name, 40))}</b><br>{chart_text(gain_title(row.metric))} {signed(gain(row))} "
        f"{interval_text(*gain_bounds(row))}<br>p {p_value(row.adjusted_p)} after correction, "
        f"n = {difference.n_pairs:,}<br>questions: {difference.better:,} better, {difference.same:,} same, "
        f"{difference.worse:,} worse"
    )


def _reach(
    versions: Sequence[tuple[str, str, Mapping[str, MetricDifference]]], metrics: Sequence[str]
) -> float:
    """Return how far the axis goes on both sides of 0."""
    ends = [
        abs(bound)
        for _, _, rows in versions
        for metric in metrics
        if metric in rows and drawable(rows[metric])
        for bound in (*gain_bounds(rows[metric]), gain(rows[metric]))
        if np.isfinite(bound)
    ]
    return min(1.05, max(0.1, 1.06 * max(ends, default=0.1)))


@dataclass(frozen=True)
class QuestionCounts:
    """The shared questions of a version and the baseline by what became of them under one metric."""

    key: str
    name: str
    worse: int
    same: int
    better: int


def question_bars(
    versions: Sequence[QuestionCounts], tokens: Tokens, height: int, directed: bool = True
) -> go.Figure:
    """Draw how many questions are worse, the same and better; a part opens its cases."""
    names = ("worse", "same", "better") if directed else ("fell", "same", "rose")
    low, high = (
        (tokens.bad.text, tokens.good.text) if directed else (tokens.sequential[4], tokens.sequential[7])
    )
    on_ends = tokens.background if directed else None
    most = max((version.worse + version.same + version.better for version in versions), default=0)
    figure = go.Figure()
    for name, attribute, colour, text in (
        (names[0], "worse", low, on_ends or _text_on(low, tokens)),
        (names[1], "same", tokens.alive, tokens.text),
        (names[2], "better", high, on_ends or _text_on(high, tokens)),
    ):
        counts = [int(getattr(version, attribute)) for version in versions]
        figure.add_bar(
            x=counts, y=list(range(len(versions))), orientation="h", name=name,
            marker={"color": colour, "line": {"width": 1, "color": tokens.background}},
            text=[f"{value:,}" if value > LEAST_PART * most else "" for value in counts],
            textposition="inside", insidetextanchor="middle", textangle=0, constraintext="none",
            insidetextfont={"color": text, "size": 13},
            customdata=[[version.key, attribute] for version in versions],
            hovertext=[
                f"<b>{chart_text(shorten(version.name, 40))}</b><br>{value:,} {name}: click to open the cases"
                for version, value in zip(versions, counts, strict=True)
            ],
            hovertemplate=HOVER,
            selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
        )  # fmt: skip
    _base(figure, tokens, height)
    figure.update_layout(barmode="stack", bargap=0.3, clickmode="event+select")
    figure.update_xaxes(visible=False)
    figure.update_yaxes(
        tickvals=list(range(len(versions))),
        ticktext=[f"{chart_text(shorten(version.name, 32))} " for version in versions],
        range=[max(len(versions), 3) - 0.5, -0.5],
    )
    return figure


def _text_on(colour: str, tokens: Tokens) -> str:
    """Return the text colour that reads best on a colour; black or white where those of the theme do not."""
    own = max((tokens.text, tokens.background), key=lambda text: contrast(text, colour))
    if contrast(own, colour) >= LEAST_CONTRAST:
        return own
    return max(("#000000", "#FFFFFF"), key=lambda text: contrast(text, colour))


def leaderboard_height(rows: int) -> int:
    """Return the height of a leaderboard in pixels."""
    return AXIS + BOARD_ROW * max(rows, 3)


def leaderboard_chart(
    rows: Sequence[LeaderboardRow],
    names: Mapping[str, str],
    marked: Mapping[str, str],
    ends: tuple[float, float],
    tokens: Tokens,
) -> go.Figure:
    """Draw versions with their intervals, the best on top; what the test cannot tell from it is filled.

    Args:
        rows: from the top.
        names: run id -> name.
        marked: run id -> what the version is, as "baseline".
        ends: of the axis, the same on every page.
        tokens: colours of the theme.
    """
    looks = {
        "best": (tokens.good.text, "star", 14), "same": (tokens.good.text, "circle", 10),
        "worse": (tokens.muted, "circle-open", 9), "not compared": (tokens.muted, "x-thin-open", 9),
        "no direction": (tokens.primary, "circle", 9),
    }  # fmt: skip
    figure = go.Figure()
    for standing, (colour, symbol, size) in looks.items():
        placed = [(at, row) for at, row in enumerate(rows) if row.standing == standing]
        if placed:
            values = [row.value for _, row in placed]
            figure.add_scatter(
                x=[value.mean for value in values], y=[at for at, _ in placed], mode="markers", name=standing,
                marker={
                    "color": colour, "symbol": symbol, "size": size, "line": {"width": 1.5, "color": colour},
                },
                error_x=interval_bars(
                    values, width=0, color=colour, thickness=3 if standing in ("best", "same") else 1.2
                ),
                customdata=[[row.run_id] for _, row in placed],
                hovertext=[_board_text(names[row.run_id], row) for _, row in placed],
                hovertemplate=HOVER,
                selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
            )  # fmt: skip
    _base(figure, tokens, leaderboard_height(len(rows)))
    labels = [
        chart_text(shorten(names[row.run_id], 38))
        + (f" ({marked[row.run_id]})" if row.run_id in marked else "")
        for row in rows
    ]
    figure.update_yaxes(
        tickvals=list(range(len(rows))), ticktext=[f"{label}  " for label in labels],
        range=[max(len(rows), 3) - 0.5, -0.5],
    )  # fmt: skip
    figure.update_xaxes(range=list(ends), side="top", nticks=7)
    figure.update_layout(clickmode="event+select", margin={"t": 30})
    return figure


def _board_text(name: str, row: LeaderboardRow) -> str:
    value = row.value
    text = (
        f"<b>{chart_text(shorten(name, 60))}</b><br>{number(value.mean, 3)} "
        f"{interval_text(value.low, value.high, 3)}, n = {value.n_scored:,}"
    )
    if row.difference is None or row.test is None:
        return f"{text}<br>{row.standing}"
    return (
        f"{text}<br>to the best {signed(row.difference.difference, 3)} "
        f"{interval_text(row.test.low, row.test.high, 3)}, p {p_value(row.test.p)} after correction"
    )


def stage_flow(flow: Mapping[tuple[str, str], int], base: str, other: str, tokens: Tokens) -> go.Figure:
    """Draw how questions moved between failure stages: rows in the baseline, columns in the version."""
    titles = {GOOD: "Good", **{stage.key: stage.title for stage in STAGES}}
    rows = [key for key in titles if any(stage == key for stage, _ in flow)]
    columns = [key for key in titles if any(stage == key for _, stage in flow)]
    counts = [[flow.get((row, column), 0) for column in columns] for row in rows]
    most = max((count for line in counts for count in line), default=1)
    figure = go.Figure(
        go.Heatmap(
            x=list(range(len(columns))), y=list(range(len(rows))),
            z=[[cell or None for cell in line] for line in counts], zmin=0, zmax=most, showscale=False,
            xgap=2, ygap=2, colorscale=[[at / 9, colour] for at, colour in enumerate(tokens.sequential)],
            hovertext=[
                [
                    f"{titles[row]} → {titles[column]}: {flow.get((row, column), 0):,} questions"
                    for column in columns
                ]
                for row in rows
            ],
            hovertemplate=HOVER,
        )
    )  # fmt: skip
    for at, line in enumerate(counts):
        for place, cell in enumerate(line):
            if cell:
                colour = tokens.sequential[round(9 * cell / most)]
                figure.add_annotation(
                    x=place, y=at, text=f"{cell:,}", showarrow=False,
                    font={"color": _text_on(colour, tokens), "size": 14},
                )  # fmt: skip
    _base(figure, tokens, 110 + 40 * len(rows))
    ticks = {"tickfont": {"size": 13, "color": tokens.text}, "showgrid": False}
    figure.update_xaxes(
        title=f"in {chart_text(shorten(other, 40))}", tickvals=list(range(len(columns))),
        ticktext=[titles[key] for key in columns], automargin=True, **ticks,
    )  # fmt: skip
    figure.update_yaxes(
        title=f"in {chart_text(shorten(base, 40))}", tickvals=list(range(len(rows))),
        ticktext=[titles[key] for key in rows], autorange="reversed", **ticks,
    )  # fmt: skip
    return figure


def cell_colours(share: float, scale: Sequence[str], tokens: Tokens) -> tuple[str, str]:
    """Return the colour of a cell and of the text on it.

    Args:
        share: place of its value on the scale, from 0 to 1.
        scale: colours from low to high.
        tokens: colours of the theme.
    """
    colour = scale[min(len(scale) - 1, int(share * len(scale)))]
    return colour, _text_on(colour, tokens)
