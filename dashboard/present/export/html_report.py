"""A report as one HTML file: sections with sentence, chart and data, table, cases, facts and note."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from markupsafe import Markup

from ragtriage.dashboard.charts.chart import Chart, Heatmap, chart_rows
from ragtriage.dashboard.charts.plotly_figure import figure_json
from ragtriage.dashboard.charts.tokens import Theme
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.present.case_html.report_case import CollapseLevel, case_html
from ragtriage.dashboard.present.page_html.blocks import band, style_sheet, tile
from ragtriage.dashboard.present.stories.report import OBTAINED, Report
from ragtriage.dashboard.present.stories.story import RenderedSection, marked_pieces
from ragtriage.dashboard.present.templating import environment, render
from ragtriage.dashboard.wording.table_files import columns_of, export_table, table_cells

FOLDER = Path(__file__).parent
SHOWN_ROWS = 200  # of the data behind a chart; the CSV has all
SHORT_TABLE = 12  # rows that paper keeps on one page
WIDE_TABLE = 8  # columns above which the paper is turned
COUNT = re.compile(r"[\d,]+ of [\d,]+")  # kept on one line
LONGEST_WORD = 28  # characters that are kept on one line
# Chromium takes the square of its length to lay out a word that it may break anywhere
LONG_WORD = re.compile(r"(?P<tag><[^>]*>)|(?:&#?\w+;|[^\s<&]){200}")
THEME_NAMES: tuple[Theme, Theme] = ("light", "dark")
Rows = Sequence[Mapping[str, Any]]


environment().filters["marked_pieces"] = marked_pieces


def html_report(report: Report) -> str:
    """Return a report as one self-contained HTML file, light and dark, that also prints well."""
    return _page(report, paper=False)


def paper_report(report: Report) -> str:
    """Return the same page for printing: charts are drawn at once and as wide as the paper.

    Contexts of cases are open for engineers; others get their beginnings, and the rest in the HTML file.
    """
    head, body, rest = _page(report, paper=True).partition("<body")
    texts, script, scripts = rest.partition("<script")
    # a tag as it is, and a part of a very long word with leave to break it behind
    broken = LONG_WORD.sub(lambda part: part[0] if part["tag"] else f"{part[0]}<wbr>", texts)
    return "".join((head, body, broken, script, scripts))


def _page(report: Report, paper: bool) -> str:
    collapse: CollapseLevel = "screen" if not paper else "open" if report.audience == "engineer" else "paper"
    shown = [(number, section) for number, section in enumerate(report.sections, 1) if section.measured]
    charts = [
        (number, section.chart) for number, section in shown if section.chart and _charted(section, paper)
    ]
    # the part of plotly.js that draws what a report has: a third of the whole, and sooner read
    scripts = [*map(_own_file, ("plotly-cartesian.min.js", "report_page.js"))] if charts else []
    style_files = ("report_page.css", *(["report_paper.css"] if paper else []))
    style = "".join(map(_own_file, style_files))
    # the style sheets of the blocks, in the colours of the dark theme where a reader prefers that
    light, dark = (
        style_sheet(theme).strip().removeprefix("<style>").removesuffix("</style>") for theme in THEME_NAMES
    )
    block_styles = Markup(f"{light}\n@media screen and (prefers-color-scheme: dark) {{ {dark} }}")  # noqa: S704 -- our own templates
    # the scripts of this file by their digests, and no connection at all
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(each).decode('ascii')}'" for each in digests) or "'none'"
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "connect-src 'none'; form-action 'none'; base-uri 'none'"
    )
    return render(
        "report.html",
        report=report,
        paper=paper,
        obtained=OBTAINED,
        headings=[(number, _heading(section, number)) for number, section in shown],
        sections=[_section(section, number, collapse, paper) for number, section in shown],
        skipped=[section.heading for section in report.sections if not section.measured],
        blocks=block_styles,
        rules=[fact for _, section in shown if _behind(section) for fact in section.facts],
        opens=any(section.slide is not None for _, section in shown),
        figures=[{"number": number, "json": _figure_json(chart)} for number, chart in charts],
        # Markup: style sheets, scripts and the policy over their digests are our own files, with no text
        # from outside
        style=Markup(style),  # noqa: S704 -- see above
        scripts=[Markup(script) for script in scripts],  # noqa: S704 -- see above
        policy=Markup(policy),  # noqa: S704 -- see above
    )


def _heading(section: RenderedSection, number: int) -> str:
    return section.heading or f"Section {number}"


def _behind(section: RenderedSection) -> bool:
    """Return whether the chart of a section stands behind its opening, folded."""
    return section.slide is not None and section.slide.layout == "verdict"


def _charted(section: RenderedSection, paper: bool) -> bool:
    return section.chart is not None and not (paper and _behind(section))


def _section(section: RenderedSection, number: int, collapse: CollapseLevel, paper: bool) -> Markup:
    """Return a section; its number names links and files. Paper has no folded parts and saves no files."""
    data = chart_rows(section.chart) if section.chart and not paper else []
    in_full = not (paper and section.slide)
    return render(
        "section.html",
        section=section,
        number=number,
        heading=_heading(section, number),
        paper=paper,
        behind=_behind(section),
        charted=_charted(section, paper),
        wide=section.slide is None and len(columns_of(section.rows)) > WIDE_TABLE,
        chart_data={
            "count": f"{len(data):,} rows",
            "file": _csv(data, f"section-{number}-chart"),
            "table": _table(data[:SHOWN_ROWS]),
            "more": f"{len(data) - SHOWN_ROWS:,}" if len(data) > SHOWN_ROWS else "",
        }
        if data
        else None,
        rows={"table": _table(section.rows), "file": _csv(section.rows, f"section-{number}-table")}
        if section.rows and in_full
        else None,
        cases=[
            case_html(case, f"case-{number}-{at}", collapse)
            for at, case in enumerate(section.cases if in_full else (), 1)
        ],
        facts=[fact for fact in section.facts if fact],
        slide=section.slide,
        opening=_opening(section),
    )


def _opening(section: RenderedSection) -> Markup:
    """Return what stands on the slide of a section besides its chart: the same blocks as on the pages."""
    content = section.slide
    if content is None:
        return Markup("")
    headline = None
    if content.layout == "verdict" and content.state is not None:
        headline = band(
            Headline(content.state, section.heading, content.subtitle, content.doubt), [content.foot]
        )
    return render(
        "opening.html", content=content, headline=headline, tiles=[tile(shown) for shown in content.tiles]
    )


def _csv(rows: Rows, name: str) -> dict[str, str]:
    """Return a file that a link in the page saves: nothing is fetched."""
    return {"name": name, "content": base64.b64encode(export_table(rows, "csv")).decode("ascii")}


def _table(rows: Rows) -> dict[str, Any]:
    """Return the cells of a table, and of its columns whether they hold numbers or long words."""
    names, cells, numeric = table_cells(rows)
    columns = []
    for at, name in enumerate(names):
        css = "number" if numeric[at] else ""
        if all(COUNT.fullmatch(row[at]) for row in cells):
            css = "count"
        if any(len(word) > LONGEST_WORD for row in cells for word in row[at].split()):
            css = "unbroken"  # which may then be broken anywhere
        columns.append({"name": name, "css": css})
    return {"columns": columns, "rows": cells, "short": len(rows) <= SHORT_TABLE}


def _figure_json(chart: Chart | Heatmap) -> Markup:
    """Return the figure of a chart as JSON for a data block of the page."""
    content = orjson.dumps(figure_json(chart)).decode()
    for character in "<>&":
        content = content.replace(character, f"\\u{ord(character):04x}")
    return Markup(content)  # noqa: S704 -- escaped above in the way of JSON, which the script reads


@cache
def _own_file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
