"""The numbers behind a chart, read from the figure itself, so that exports and screen cannot differ."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dashboard.wording.export_text import label_text

__all__ = ["Points", "axis_title", "figure_rows", "plain_json", "points_of", "tick_names", "values"]

SIGNIFICANT = 6  # digits of a number in an export
_FIELD = re.compile(r"%\{(x|y|z|text|customdata\[(\d+)\])(?::([^}]*))?\}")
_CLEAR = re.compile(r"rgba\([^)]*,0(?:\.0*)?\)|transparent")
_EXTRA = re.compile(r"<extra>.*?</extra>", re.DOTALL)
_COUNTED = (
    re.compile(r"n = %\{customdata\[(\d+)\]"),
    re.compile(r"%\{customdata\[(\d+)\][^}]*\} pairs"),
)
Ends = tuple[list[float | None], list[float | None]]


@dataclass(frozen=True)
class Points:
    """A trace as lists of one length.

    Attributes:
        kind: of the trace: bar, scatter, ...
        name: as the legend has it, "" without one.
        x: places, numbers or text; None where missing.
        y: the same.
        text: what stands at each point, "" for nothing.
        x_ends: lower and upper ends of the intervals along x; None where there is none.
        y_ends: the same along y.
        n: how many are behind each point; None where the chart does not say.
        told: what the chart says when one points at it.
    """

    kind: str
    name: str
    x: list[Any]
    y: list[Any]
    text: list[str]
    x_ends: Ends
    y_ends: Ends
    n: list[Any]
    told: list[str]


def values(array: Any) -> list[Any]:
    """Give an array of a figure as plain numbers and text; what is not finite is None."""
    if isinstance(array, Mapping) and "bdata" in array:
        found = np.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"])
        shape = [int(one) for one in str(array.get("shape", "")).split(",") if one.strip()]
        array = found.reshape(shape) if shape else found
    if array is None or isinstance(array, str):
        return []
    return [_value(one) for one in (array.tolist() if hasattr(array, "tolist") else array)]


def _value(one: Any) -> Any:
    if isinstance(one, np.generic):
        one = one.item()
    if isinstance(one, float):
        return one if np.isfinite(one) else None
    if one is None or isinstance(one, int | str):
        return one
    if isinstance(one, list | tuple | np.ndarray):
        return values(one)
    return one.isoformat(sep=" ") if hasattr(one, "isoformat") else str(one)


def points_of(trace: Any) -> Points:
    """Read a trace with x and y; one that lacks an axis counts along it."""
    x, y = values(trace.x), values(trace.y)
    n = max(len(x), len(y))
    x, y = _padded(x or list(range(n)), n), _padded(y or list(range(n)), n)
    custom = _padded(values(getattr(trace, "customdata", None)), n)
    text = [
        label_text(one) if one not in (None, "") else ""
        for one in _per_point(getattr(trace, "text", None), n)
    ]
    template = getattr(trace, "hovertemplate", None)
    template = template if isinstance(template, str) else ""
    fields = [{"x": x[at], "y": y[at], "text": text[at], "customdata": custom[at]} for at in range(n)]
    return Points(
        trace.type, label_text(trace.name or ""), x, y, text,
        _ends(getattr(trace, "error_x", None), x), _ends(getattr(trace, "error_y", None), y),
        _counts(template, custom), [_told(template, one) for one in fields],
    )  # fmt: skip


def _padded(found: list[Any], n: int) -> list[Any]:
    return [*found[:n], *([None] * (n - len(found)))]


def _per_point(given: Any, n: int) -> list[Any]:
    return [given] * n if isinstance(given, str) else _padded(values(given), n)


def _ends(bar: Any, middles: Sequence[Any]) -> Ends:
    n = len(middles)
    if bar is None or bar.visible is False or bar.array is None:
        return [None] * n, [None] * n
    up = _padded(values(bar.array), n)
    down = up if bar.arrayminus is None else _padded(values(bar.arrayminus), n)
    low: list[float | None] = [None] * n
    high: list[float | None] = [None] * n
    for at, (middle, above, below) in enumerate(zip(middles, up, down, strict=True)):
        if isinstance(middle, int | float) and (above or below):  # no arm at all means no interval
            low[at], high[at] = middle - (below or 0.0), middle + (above or 0.0)
    return low, high


def _counts(template: str, custom: Sequence[Any]) -> list[Any]:
    """Find how many are behind a point where the chart says so when one points at it."""
    found = next((match for look in _COUNTED if (match := look.search(template))), None)
    at = int(found.group(1)) if found else -1
    return [
        one[at] if isinstance(one, list) and 0 <= at < len(one) and isinstance(one[at], int | float) else None
        for one in custom
    ]


def _told(template: str, point: Mapping[str, Any]) -> str:
    def write(found: re.Match[str]) -> str:
        value = point.get(found.group(1).partition("[")[0])
        if found.group(2) is not None:
            at = int(found.group(2))
            value = value[at] if isinstance(value, list) and at < len(value) else None
        return _formatted(value, found.group(3) or "")

    return label_text(_FIELD.sub(write, _EXTRA.sub("", template)))


def _formatted(value: Any, form: str) -> str:
    if value is None:
        return "–"
    try:
        return format(int(value) if form.endswith("d") else value, form)
    except (TypeError, ValueError):
        return str(value)


def axis_title(axis: Any) -> str:
    """Give the title of an axis as plain text."""
    return label_text(axis.title.text or "") if axis.title is not None else ""


def tick_names(axis: Any) -> dict[Any, str]:
    """Give the names that stand in place of values on an axis."""
    if not axis.ticktext:
        return {}
    return dict(zip(values(axis.tickvals), map(label_text, axis.ticktext), strict=False))


def figure_rows(figure: go.Figure) -> list[dict[str, Any]]:
    """Give the data behind a chart as rows: series, place, value, ends of the interval, n, what is told.

    Columns without any content are left out. Invisible marks that only take clicks are not data.
    """
    names = _column_names(figure)
    rows: list[dict[str, Any]] = []
    for trace in figure.data:
        if trace.type == "heatmap":
            rows += _cell_rows(trace, names)
        elif {"x", "y"} <= set(trace._valid_props) and not _unseen(trace):
            rows += _point_rows(points_of(trace), names, figure)
    kept = [name for name in _all_names(rows) if any(row.get(name) not in (None, "") for row in rows)]
    return [{name: row.get(name) for name in kept} for row in rows]


def _all_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _column_names(figure: go.Figure) -> tuple[str, str]:
    x, y = axis_title(figure.layout.xaxis) or "x", axis_title(figure.layout.yaxis) or "y"
    taken = {"series", "low", "high", "n", "text", "details", "value"}
    return ("x", "y") if x == y or taken & {x, y} else (x, y)


def _unseen(trace: Any) -> bool:
    colour = getattr(getattr(trace, "marker", None), "color", None)
    clear = isinstance(colour, str) and bool(_CLEAR.match(colour.replace(" ", "")))
    return trace.visible is False or (clear and getattr(trace, "mode", None) == "markers")


def _point_rows(points: Points, names: tuple[str, str], figure: go.Figure) -> list[dict[str, Any]]:
    along = tick_names(figure.layout.xaxis), tick_names(figure.layout.yaxis)
    rows = []
    for at, (x, y) in enumerate(zip(points.x, points.y, strict=True)):
        if x is None and y is None:
            continue
        row = {"series": points.name, names[0]: _named(x, along[0]), names[1]: _named(y, along[1])}
        for word, (low, high) in (("", points.y_ends), (f"{names[0]} ", points.x_ends)):
            word = "" if not any(one is not None for one in points.y_ends[0]) else word
            if low[at] is not None:
                row |= {f"{word}low": _rounded(low[at]), f"{word}high": _rounded(high[at])}
        told = "" if points.told[at] == points.text[at] else points.told[at]
        rows.append(row | {"n": points.n[at], "text": points.text[at], "details": told})
    return rows


def _cell_rows(trace: Any, names: tuple[str, str]) -> list[dict[str, Any]]:
    z = values(trace.z)
    y = values(trace.y) or list(range(len(z)))
    x = values(trace.x) or list(range(max((len(line) for line in z), default=0)))
    text = values(trace.text)
    rows = []
    for row, line in enumerate(z):
        for column, cell in enumerate(line):
            label = text[row][column] if row < len(text) and isinstance(text[row], list) else ""
            place = {names[0]: _named(x[column], {}), names[1]: _named(y[row], {})}
            rows.append({**place, "value": _rounded(cell), "text": label_text(label or "")})
    return rows


def _named(value: Any, names: Mapping[Any, str]) -> Any:
    if isinstance(value, int | float | str) and value in names:
        return names[value]
    return label_text(value) if isinstance(value, str) else _rounded(value)


def _rounded(value: Any) -> Any:
    return float(f"{value:.{SIGNIFICANT}g}") if isinstance(value, float) else value


def plain_json(value: Any) -> Any:
    """Give a part of a figure as lists and mappings that any JSON writer takes, numbers rounded."""
    if isinstance(value, Mapping) and "bdata" not in value:
        return {str(key): plain_json(one) for key, one in value.items()}
    if isinstance(value, Mapping | np.ndarray):
        return [plain_json(one) for one in values(value)]
    if isinstance(value, list | tuple):
        return [plain_json(one) for one in value]
    return _rounded(_value(value))
