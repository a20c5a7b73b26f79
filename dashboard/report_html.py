"""A report as one HTML file: opens from disk, asks the network for nothing, charts stay interactive."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from dashboard.report import OBTAINED, Report
from dashboard.report_cases import CASE_STYLE, Fold
from dashboard.report_points import figure_json, point_html, safe

__all__ = ["html_report", "paper_report"]

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
    drawn = [(made.figure, number) for number, made in enumerate(report.made, 1) if made.figure is not None]
    figures = [figure_json(figure, number) for figure, number in drawn]
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
