"""Which ranks the answers use: a column for each answer, or shares by group where they are many."""

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import BARE, HOVER
from ragtriage.dashboard.charts.tokens import FONT, Tokens, luminance
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.analysis.alignment import ALERT, GOLD_GROUPS, Group, UseGrid
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.schema.scores import BoolArray

MOST_COLUMNS = 120  # answers that have a column of their own
ROW_HEIGHT, TOP, BOTTOM = 34, 66, 34
CLICKABLE = tuple(step / 20 for step in range(-9, 10, 2))  # places across a cell
FEW = 8  # answers of a group below which a share is a hint
_GRID, _STRIPS = (0.0, 0.79), (0.83, 1.0)
Keys = Callable[[int, int], list[str]]  # (column or group, rank) -> what a click leads to


def grid_height(ranks: int) -> int:
    """Return the height of either figure in pixels."""
    return TOP + BOTTOM + ROW_HEIGHT * ranks


def use_columns(
    grid: UseGrid, by_rank: Sequence[Group], names: Sequence[str], keys: Keys, tokens: Tokens
) -> go.Figure:
    """Draw a column for each answer and a row for each rank, with the share that uses the rank beside it.

    Args:
        grid: the answers.
        by_rank: share of answers that use each rank.
        names: of the questions, by column.
        keys: what a click on an answer and a rank leads to.
        tokens: colours of the theme.
    """
    figure = go.Figure()
    m, ranks = grid.used.shape
    places = np.arange(m) + 1.6 * np.searchsorted(np.unique(grid.group), grid.group)  # gaps between groups
    size = float(np.clip(400 / max(m, 1), 4, 13))
    looks: tuple[tuple[str, BoolArray, dict[str, object]], ...] = (
        (
            "not used",
            grid.listed & ~grid.used & ~grid.gold,
            {"color": tokens.alive, "size": max(size / 3, 3)},
        ),
        (
            "gold, not used",
            grid.listed & ~grid.used & grid.gold,
            {"color": tokens.background, "size": size, "line": {"width": 2, "color": tokens.good_mark}},
        ),
        ("used, not gold", grid.used & ~grid.gold, {"color": tokens.stages["retrieval"], "size": size}),
        ("used, gold", grid.used & grid.gold, {"color": tokens.good_mark, "size": size}),
    )
    for title, cells, marker in looks:
        columns, rows = np.nonzero(cells)
        figure.add_scatter(
            x=places[columns],
            y=rows + 1,
            mode="markers",
            name=title,
            marker={"symbol": "circle" if title == "not used" else "square", "opacity": 1, **marker},
            customdata=[keys(int(column), int(row) + 1) for column, row in zip(columns, rows, strict=True)],
            hovertext=[
                f"{chart_text(shorten(names[int(column)], 70))}<br>rank {row + 1}: {title}"
                for column, row in zip(columns, rows, strict=True)
            ],
            hovertemplate=HOVER,
        )
    skipped = np.flatnonzero(grid.listed[:, 0] & ~grid.used[:, 0])
    figure.add_scatter(
        x=places[skipped], y=np.full(len(skipped), 0.35), mode="markers", name="ignores the top document",
        marker={"symbol": "x-thin", "size": min(size, 8), "line": {"width": 1.8, "color": tokens.bad.text}},
        customdata=[keys(int(column), 1) for column in skipped],
        hovertext=[
            f"{chart_text(shorten(names[int(column)], 70))}<br>ignores the top document" for column in skipped
        ],
        hovertemplate=HOVER,
    )  # fmt: skip
    spans = _spans(grid.group, places)
    for code, (start, end) in spans.items():
        in_group = grid.group == code
        using, n = int(grid.used[in_group, 0].sum()), int(in_group.sum())
        last = code == max(spans) and n < 0.2 * m
        title = list(GOLD_GROUPS.values())[code]
        if n < 0.2 * m:  # two lines where the group has little room
            words = title.split(" ")
            title = f"{' '.join(words[: len(words) // 2])}<br>{' '.join(words[len(words) // 2 :])}"
        figure.add_annotation(
            x=end + 0.5 if last else start - 0.4, y=1, yref="paper", yshift=TOP - 4,
            text=f"<b>{title}</b><br>{using:,} of {n:,} use it", showarrow=False, yanchor="top",
            xanchor="right" if last else "left", align="right" if last else "left",
            font={"size": 12, "color": tokens.text},
        )  # fmt: skip
    _add_strips(figure, by_rank[:ranks], keys, tokens)
    width = float(places[-1]) if m else 1.0
    _finish(figure, ranks, tokens)
    figure.update_layout(xaxis={"range": [-1, width + 1], "visible": False})
    return figure


def _spans(group: np.ndarray, places: np.ndarray) -> dict[int, tuple[float, float]]:
    return {
        int(code): (float(places[group == code].min()), float(places[group == code].max()))
        for code in np.unique(group)
    }


def use_heat(grid: UseGrid, by_rank: Sequence[Group], keys: Keys, tokens: Tokens) -> go.Figure:
    """Draw the share that uses each rank for each group of answers; groups of few answers are pale."""
    figure = go.Figure()
    ranks, codes = grid.used.shape[1], [int(code) for code in np.unique(grid.group)]
    cells = []
    for place, code in enumerate(codes):
        in_group = grid.group == code
        for rank in range(1, ranks + 1):
            n, using = int(grid.listed[in_group, rank - 1].sum()), int(grid.used[in_group, rank - 1].sum())
            if n:
                cells.append((place, rank, using, n, code))
    steps = [min(9, int(10 * using / n)) for _, _, using, n, _ in cells]
    figure.add_scatter(
        x=[place for place, *_ in cells],
        y=[rank for _, rank, *_ in cells],
        mode="text",
        text=[f"{percent(using / n)} · {using:,} of {n:,}" for _, _, using, n, _ in cells],
        textfont={"size": 12, "color": [_text_on(tokens.sequential[step]) for step in steps]},
        hoverinfo="skip",
    )
    targets = [(place + shift, cell) for cell in cells for place in cell[:1] for shift in CLICKABLE]
    figure.add_scatter(  # heat cells take no clicks, so transparent marks stand across each
        x=[x for x, _ in targets],
        y=[rank for _, (_, rank, *_) in targets],
        mode="markers",
        marker={"symbol": "square", "size": 30, "opacity": 0},
        customdata=[keys(code, rank) for _, (_, rank, _, _, code) in targets],
        hovertext=[
            f"{list(GOLD_GROUPS.values())[code]}, rank {rank}: {using:,} of {n:,} use it"
            + ("; few answers: a hint" if n < FEW else "")
            for _, (_, rank, using, n, code) in targets
        ],
        hovertemplate=HOVER,
    )
    for (place, rank, *_), step in zip(cells, steps, strict=True):
        figure.add_shape(
            type="rect", x0=place - 0.48, x1=place + 0.48, y0=rank - 0.45, y1=rank + 0.45, line_width=0,
            fillcolor=tokens.sequential[step], layer="below",
        )  # fmt: skip
    for place, code in enumerate(codes):
        n = int((grid.group == code).sum())
        figure.add_annotation(
            x=place, y=1, yref="paper", yshift=TOP - 20, yanchor="top", showarrow=False,
            text=f"<b>{list(GOLD_GROUPS.values())[code]}</b><br>{n:,} answers",
            font={"size": 12, "color": tokens.text},
        )  # fmt: skip
    _add_strips(figure, by_rank[:ranks], keys, tokens)
    _finish(figure, ranks, tokens)
    figure.update_layout(xaxis={"range": [-0.55, len(codes) - 0.45], "visible": False})
    return figure


def _text_on(fill: str) -> str:
    return "#17212B" if luminance(fill) > 0.18 else "#FFFFFF"


def _add_strips(figure: go.Figure, by_rank: Sequence[Group], keys: Keys, tokens: Tokens) -> None:
    """Draw the share of answers that use each rank with its interval, the first against its line."""
    values = [group.value for group in by_rank]
    at = list(range(1, len(values) + 1))
    colours = [tokens.muted] * len(values)
    if values:
        top = values[0]
        state = (
            tokens.good if top.low >= 1 - ALERT else tokens.bad if top.high < 1 - ALERT else tokens.unclear
        )
        colours[0] = state.text
    figure.add_scatter(
        x=[value.mean for value in values],
        y=at,
        xaxis="x2",
        mode="markers+text",
        marker={"size": 11, "color": colours},
        text=[f"<b>{percent(value.mean)}</b>" for value in values],
        textposition="top center",
        textfont={"size": 12, "color": tokens.text},
        error_x={
            "type": "data", "symmetric": False, "thickness": 4, "width": 0, "color": tokens.alive,
            "array": [value.high - value.mean for value in values],
            "arrayminus": [value.mean - value.low for value in values],
        },
        customdata=[keys(-1, rank) for rank in at],
        hovertext=[
            f"rank {rank}: {percent(value.mean)} of {value.n_scored:,} questions use it "
            f"[{percent(value.low)}, {percent(value.high)}]"
            for rank, value in zip(at, values, strict=True)
        ],
        hovertemplate=HOVER,
        cliponaxis=False,
    )  # fmt: skip
    figure.add_shape(
        type="line", xref="x2", x0=1 - ALERT, x1=1 - ALERT, y0=0.55, y1=1.45,
        line={"color": tokens.text, "width": 2},
    )  # fmt: skip
    figure.add_annotation(
        x=0, xref="x2", y=1, yref="paper", yshift=TOP - 4, showarrow=False, xanchor="left", yanchor="top",
        text=f"<b>Share that uses it</b><br>target: {percent(1 - ALERT)}", align="left",
        font={"size": 12, "color": tokens.text},
    )  # fmt: skip


def _finish(figure: go.Figure, ranks: int, tokens: Tokens) -> None:
    figure.update_layout(
        height=grid_height(ranks),
        margin={"l": 54, "r": 14, "t": TOP, "b": BOTTOM},
        **BARE,
        font={"family": FONT, "size": 12, "color": tokens.text},
        clickmode="event+select",
        xaxis={"domain": _GRID, "fixedrange": True},
        xaxis2={
            "domain": _STRIPS, "range": [-0.04, 1.04], "fixedrange": True, "tickvals": [0, 0.5, 1],
            "tickformat": ".0%", "gridcolor": tokens.track, "zeroline": False, "anchor": "y",
        },
        yaxis={
            "range": [ranks + 0.55, 0], "tickvals": list(range(1, ranks + 1)),
            "ticktext": [f"rank {rank}" for rank in range(1, ranks + 1)],
            "showgrid": False, "zeroline": False, "fixedrange": True,
        },
    )  # fmt: skip
