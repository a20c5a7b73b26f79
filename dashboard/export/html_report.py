"""The points of a report as HTML: sentence, chart with its data, table, cases, facts, note."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from dashboard.case_html.report_case import CASE_STYLE, Fold, case_html
from dashboard.charts.chart import Chart, Heatmap
from dashboard.charts.chart_rows import chart_rows
from dashboard.charts.plotly_figure import figure_json
from dashboard.stories.report import OBTAINED, Report
from dashboard.stories.story import RenderedSection
from dashboard.wording.export_text import cell_text, columns_of, printable
from dashboard.wording.table_files import export_table

__all__ = [
    "facts_html",
    "html_report",
    "paper_report",
    "point_html",
    "safe",
    "table_html",
]

SHOWN_ROWS = 200  # of the data behind a chart; the file has all
SHORT_TABLE = 12  # rows that paper keeps on one page
WIDE_TABLE = 8  # columns above which paper is turned
LONGEST_WORD = 28  # characters that are kept on one line
Rows = Sequence[Mapping[str, Any]]


def safe(text: str) -> str:
    """Escape text from outside for HTML."""
    return html.escape(printable(text), quote=True)


def point_html(made: RenderedSection, number: int, fold: Fold) -> str:
    """Write one point.

    Args:
        made: what it shows.
        number: its place, from 1; names links and files.
        fold: how much of the context of a case stands open.
    """
    parts = [f"<h2>{safe(made.heading or f'Point {number}')}</h2>"]
    parts += [f'<p class="lead">{safe(made.sentence)}</p>'] if made.sentence else []
    parts += [f'<div class="note" dir="auto">{safe(made.note)}</div>'] if made.note else []
    parts += [_figure(made, number)] if made.chart is not None else []
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


def _figure(made: RenderedSection, number: int) -> str:
    assert made.chart is not None  # noqa: S101 -- asked by the caller
    rows = chart_rows(made.chart)
    alt = safe(made.alt or made.heading)
    chart = (
        f'<div class="chart" data-figure="figure-{number}" role="img" aria-label="{alt}" '
        f'style="height:{made.chart.height}px"></div>'
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


def _figure_block(chart: Chart | Heatmap, number: int) -> str:
    """Write a figure as a data block that the page draws."""
    content = orjson.dumps(figure_json(chart)).decode()
    content = content.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="figure-{number}">{content}</script>'


HERE = Path(__file__).parent
ABOUT = "numbers"  # the last section's place in the page


def html_report(report: Report) -> str:
    """Write a report as one self-contained HTML file, light and dark, that also prints well."""
    return _page(report, paper=False)


def paper_report(report: Report) -> str:
    """Write the same page for printing: charts drawn at once and as wide as the paper.

    Contexts of cases stand open for engineers; others get their beginnings, and the rest in the HTML file.
    """
    return _page(report, paper=True)


def _page(report: Report, paper: bool) -> str:
    fold: Fold = "screen" if not paper else "open" if report.audience == "engineer" else "paper"
    points = [point_html(made, number, fold) for number, made in enumerate(report.made, 1)]
    drawn = [(made.chart, number) for number, made in enumerate(report.made, 1) if made.chart is not None]
    figures = [_figure_block(chart, number) for chart, number in drawn]
    scripts = [_plotly(), _script()] if drawn else []
    style = (HERE / "report_page.css").read_text(encoding="utf-8") + CASE_STYLE + (PAPER if paper else "")
    return "".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{safe(report.title)}</title><style>{style}</style></head>",
            '<body class="paper">' if paper else "<body>",
            _head(report), _contents(report), f"<main>{''.join(points)}{_about(report)}</main>",
            *figures, *(f"<script>{script}</script>" for script in scripts),
            "</body></html>\n",
        ]
    )  # fmt: skip


PAPER = """
body.paper :is(header, nav, section) { width: 680px; max-width: none; margin: 0; padding: 0; }
body.paper main { max-width: none; margin: 0; padding: 0; }
body.paper section.wide { width: 1005px; }
"""


@cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


@cache
def _script() -> str:
    return (HERE / "report_page.js").read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    """Allow the scripts of this file by their digests, and no connection at all."""
    allowed = " ".join(f"'sha256-{_digest(one)}'" for one in scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "connect-src 'none'; form-action 'none'; base-uri 'none'"
    )


@cache
def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def _head(report: Report) -> str:
    below = f'<p class="subtitle">{safe(report.subtitle)}</p>' if report.subtitle else ""
    said = " · ".join(report.headline)
    return f'<header><h1>{safe(report.title)}</h1>{below}<p class="small">{safe(said)}</p></header>'


def _contents(report: Report) -> str:
    entries = [
        f'<li><a href="#point-{number}">{safe(made.heading or f"Point {number}")}</a></li>'
        for number, made in enumerate(report.made, 1)
    ]
    last = f'<li><a href="#{ABOUT}">{OBTAINED}</a></li>'
    return f'<nav aria-label="Contents"><h3>Contents</h3><ol>{"".join(entries)}{last}</ol></nav>'


def _about(report: Report) -> str:
    facts = "".join(
        f"<dt>{safe(name)}</dt><dd>{safe(text)}</dd>" for name, text in report.plain_facts.items()
    )
    caveats = "".join(f"<li>{safe(one)}</li>" for one in report.caveats)
    commands = "\n".join(safe(line) for line in report.commands)
    return (
        f'<section id="{ABOUT}"><h2>{OBTAINED}</h2><dl class="about">{facts}</dl>'
        + (f"<h3>Before quoting a number</h3><ul>{caveats}</ul>" if caveats else "")
        + (f"<h3>How to get them again</h3><pre>{commands}</pre>" if commands else "")
        + "</section>"
    )
