"""The confusion matrix of a router as a chart: rows the expected route, columns the one taken."""

from __future__ import annotations

import numpy as np

from ragtriage.dashboard.charts.chart import Axis, Heatmap
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.suites.router import Decisions
from ragtriage.data.suites.router_detail import route_cohort
from ragtriage.metrics.schema.scores import IntArray

MOST_SHOWN = 16  # routes that have a row; the others are one row together
ROW_PIXELS, FRAME_PIXELS = 34, 130
RIGHT, PALE, WRONG = "#0b5e94", "#f2f4f6", "#c2410c"
LEAST_WRONG = 0.3  # share of a row at which a wrong cell has its full colour


def confusion_map(made: Decisions) -> Heatmap:
    """Return the confusion matrix: right cells blue, wrong ones orange, by their share of the row."""
    counts, names = _shown(made)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    right = np.eye(len(names), dtype=np.bool_)
    values = np.where(right, shares, -np.minimum(shares, LEAST_WRONG))
    listed = len(made.routes) if len(made.routes) <= MOST_SHOWN else MOST_SHOWN
    bottom_up = range(len(names) - 1, -1, -1)
    columns = range(len(names))
    return Heatmap(
        "",
        Axis("taken", names=names, angle=-35),
        Axis("expected", names=tuple(names[row] for row in bottom_up)),
        tuple(
            tuple(float(values[row, column]) if counts[row, column] else None for column in columns)
            for row in bottom_up
        ),
        tuple(
            tuple(f"{counts[row, column]:,}" if counts[row, column] else "" for column in columns)
            for row in bottom_up
        ),
        FRAME_PIXELS + ROW_PIXELS * len(names),
        scale=_scale([float(value) for value in values[counts > 0]]),
        details=tuple(tuple(_detail(names, counts, row, column) for column in columns) for row in bottom_up),
        keys=tuple(tuple(_key(made, counts, row, column, listed) for column in columns) for row in bottom_up),
    )


def _shown(made: Decisions) -> tuple[IntArray, tuple[str, ...]]:
    """Return counts and names of the routes that have a row, distinct after they were shortened."""
    counts, routes = made.confusion, made.routes
    names = [shorten(route, 22) or "(empty)" for route in routes[:MOST_SHOWN]]
    names = [name if names.index(name) == at else f"{name} ({at + 1})" for at, name in enumerate(names)]
    if len(routes) > MOST_SHOWN:
        group = np.minimum(np.arange(len(routes)), MOST_SHOWN)
        merged = np.zeros((MOST_SHOWN + 1, MOST_SHOWN + 1), dtype=np.int64)
        np.add.at(merged, (group[:, None], group[None, :]), counts)
        counts = merged
        names.append(f"{len(routes) - MOST_SHOWN:,} other routes")
    return counts, tuple(names)


def _scale(values: list[float]) -> tuple[tuple[float, str], ...]:
    """Return the colours over the range of the values, pale at 0."""
    least, most = min(values), max(values)
    if least >= 0 or most <= 0:
        return ((0.0, PALE), (1.0, RIGHT)) if least >= 0 else ((0.0, WRONG), (1.0, PALE))
    return ((0.0, WRONG), (-least / (most - least), PALE), (1.0, RIGHT))


def _detail(names: tuple[str, ...], counts: IntArray, row: int, column: int) -> str:
    n, total = int(counts[row, column]), int(counts[row].sum())
    share = f"{n:,} of {total:,}" if total else "none"
    return f"expected {names[row]}\ntaken {names[column]}\n{share} of the row"


def _key(made: Decisions, counts: IntArray, row: int, column: int, listed: int) -> tuple[str, ...] | None:
    if not counts[row, column] or row >= listed or column >= listed:
        return None
    return (route_cohort(made.routes[row], made.routes[column]),)
