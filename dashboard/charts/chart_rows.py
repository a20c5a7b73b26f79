"""The numbers behind a chart as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragtriage.dashboard.charts.chart import Axis, Chart, Heatmap, Series
from ragtriage.dashboard.wording.export_text import one_line

SIGNIFICANT_DIGITS = 6
_OWN_COLUMNS = {"series", "low", "high", "n", "text", "details", "value"}


def chart_rows(chart: Chart | Heatmap) -> list[dict[str, Any]]:
    """Return a row for each point: series, x, y, interval bounds, n, label and details; no empty columns."""
    if isinstance(chart, Heatmap):
        rows = list(_cell_rows(chart))
    else:
        rows = [row for series in chart.series for row in _point_rows(chart, series)]
    columns = dict.fromkeys(name for row in rows for name in row)
    filled = [name for name in columns if any(row.get(name) not in (None, "") for row in rows)]
    return [{name: row.get(name) for name in filled} for row in rows]


def _point_rows(chart: Chart, series: Series) -> Iterator[dict[str, Any]]:
    x_name, y_name = _axis_columns(chart)
    for at, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
        if x is None and y is None:
            continue
        low = series.low[at] if series.low else None
        text = one_line(series.text[at]) if series.text else ""
        details = one_line(series.details[at]) if series.details else ""
        row = {"series": one_line(series.name), x_name: _position(chart.x, x), y_name: _position(chart.y, y)}
        if low is not None:
            row |= {"low": _rounded(low), "high": _rounded(series.high[at])}
        n = series.n[at] if series.n else None
        yield row | {"n": n, "text": text, "details": "" if details == text else details}


def _cell_rows(chart: Heatmap) -> Iterator[dict[str, Any]]:
    x_name, y_name = _axis_columns(chart)
    for row, (values, texts) in enumerate(zip(chart.values, chart.text, strict=True)):
        for column, (value, text) in enumerate(zip(values, texts, strict=True)):
            place = {x_name: one_line(chart.x.names[column]), y_name: one_line(chart.y.names[row])}
            yield {**place, "value": _rounded(value), "text": one_line(text)}


def _axis_columns(chart: Chart | Heatmap) -> tuple[str, str]:
    """Return the titles of the axes as names of columns, "x" and "y" where they would not tell apart."""
    x, y = one_line(chart.x.title) or "x", one_line(chart.y.title) or "y"
    return ("x", "y") if x == y or _OWN_COLUMNS & {x, y} else (x, y)


def _position(axis: Axis, value: float | None) -> Any:
    return one_line(axis.names[int(value)]) if axis.names and value is not None else _rounded(value)


def _rounded(value: float | None) -> float | None:
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if isinstance(value, float) else value
