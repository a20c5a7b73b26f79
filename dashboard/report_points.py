"""The points of a report as HTML: sentence, chart with its data, table, cases, facts, note."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
import plotly.graph_objects as go

from dashboard.figure_data import figure_rows, plain_json
from dashboard.plain_text import cell_text, columns_of, printable
from dashboard.report_cases import Fold, case_html
from dashboard.story import Made
from dashboard.table_exports import export_table

__all__ = ["facts_html", "figure_json", "point_html", "safe", "table_html"]

SHOWN_ROWS = 200  # of the data behind a chart; the file has all
SHORT_TABLE = 12  # rows that paper keeps on one page
WIDE_TABLE = 8  # columns above which paper is turned
LONGEST_WORD = 28  # characters that are kept on one line
Rows = Sequence[Mapping[str, Any]]


def safe(text: str) -> str:
    """Escape text from outside for HTML."""
    return html.escape(printable(text), quote=True)


def point_html(made: Made, number: int, fold: Fold) -> str:
    """Write one point.

    Args:
        made: what it shows.
        number: its place, from 1; names links and files.
        fold: how much of the context of a case stands open.
    """
    parts = [f"<h2>{safe(made.heading or f'Point {number}')}</h2>"]
    parts += [f'<p class="lead">{safe(made.sentence)}</p>'] if made.sentence else []
    parts += [f'<div class="note" dir="auto">{safe(made.note)}</div>'] if made.note else []
    parts += [_figure(made, number)] if made.figure is not None else []
    if made.rows:
        parts.append(table_html(made.rows) + _download(made.rows, f"point-{number}-table", "this table"))
    cases = (case_html(one, f"case-{number}-{at}", fold) for at, one in enumerate(made.cases, 1))
    parts += [*cases, facts_html(made.facts)]
    wide = ' class="wide"' if len(columns_of(made.rows)) > WIDE_TABLE else ""
    return f'<section id="point-{number}"{wide}>{"".join(parts)}</section>'


def facts_html(facts: Iterable[str]) -> str:
    """Write facts in a line of small print."""
    items = "".join(f"<li>{safe(fact)}</li>" for fact in facts if fact)
    return f'<ul class="facts">{items}</ul>' if items else ""


def _figure(made: Made, number: int) -> str:
    assert made.figure is not None  # noqa: S101 -- asked by the caller
    rows = figure_rows(made.figure)
    height = made.figure.layout.height or 360
    alt = safe(made.alt or made.heading)
    chart = (
        f'<div class="chart" data-figure="figure-{number}" role="img" aria-label="{alt}" '
        f'style="height:{int(height)}px"></div>'
    )
    caption = f"<figcaption>{safe(made.alt)}</figcaption>" if made.alt else ""
    return f"<figure>{chart}{caption}</figure>{_data(rows, number)}"


def _data(rows: Rows, number: int) -> str:
    if not rows:
        return ""
    more = len(rows) - SHOWN_ROWS
    rest = f'<p class="small">{more:,} more rows are in the CSV.</p>' if more > 0 else ""
    table = table_html(rows[:SHOWN_ROWS])
    return (
        f'<details class="screen"><summary>The data of this chart ({len(rows):,} rows)</summary>'
        f"{_download(rows, f'point-{number}-chart', 'the data of this chart')}{table}{rest}</details>"
    )


def _download(rows: Rows, name: str, what: str) -> str:
    """Give a link that saves rows as CSV: the file is in the page, nothing is fetched."""
    held = base64.b64encode(export_table(rows, "csv")).decode("ascii")
    link = f'<a download="{name}.csv" href="data:text/csv;charset=utf-8;base64,{held}">Save {what} as CSV</a>'
    return f'<p class="screen download">{link}</p>'


def table_html(rows: Rows) -> str:
    """Write a table; columns of numbers stand to the right, a long one repeats its head on paper."""
    columns = columns_of(rows)
    numeric = {name for name in columns if all(_number(row.get(name)) for row in rows)}
    look = {name: ' class="number"' if name in numeric else "" for name in columns}
    look |= {name: ' class="unbroken"' for name in columns if _unbroken(rows, name)}
    head = "".join(f"<th{look[name]}>{safe(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td{look[name]}>{_cell(row, name)}</td>" for name in columns) + "</tr>"
        for row in rows
    )
    kept = " short" if len(rows) <= SHORT_TABLE else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll{kept}">{table}</div>'


def _cell(row: Mapping[str, Any], name: str) -> str:
    return html.escape(cell_text(row[name]), quote=True) if name in row else ""


def _unbroken(rows: Rows, name: str) -> bool:
    """Whether a column holds words too long for a page, which may then be broken anywhere."""
    return any(len(word) > LONGEST_WORD for row in rows for word in _cell(row, name).split())


def _number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def figure_json(figure: go.Figure, number: int) -> str:
    """Write a figure as a data block that the page draws; numbers rounded, colours left to the page."""
    layout = figure.layout.to_plotly_json()
    for name in ("template", "width"):
        layout.pop(name, None)
    traces = [trace.to_plotly_json() for trace in figure.data]
    held = orjson.dumps(plain_json({"data": traces, "layout": layout})).decode()
    held = held.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="figure-{number}">{held}</script>'
