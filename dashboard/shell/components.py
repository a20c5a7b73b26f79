"""What pages are drawn with: the headline that opens each, tiles, charts, tables and small print."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from markupsafe import Markup

from ragtriage.dashboard.charts.tokens import Theme
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.headlines.triage import reported_means_headline
from ragtriage.dashboard.present.page_html.blocks import Tile, band, style_sheet, tile
from ragtriage.dashboard.shell.session import View, keep, open_store
from ragtriage.dashboard.tables.project import config_table
from ragtriage.dashboard.tables.run import reported_means_table
from ragtriage.dashboard.wording.escaping import capital, markdown_text
from ragtriage.dashboard.wording.formatting import sampling_text
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.errors import DataError, InputError
from ragtriage.data.exports.tools import TOOLS, ToolFile, tools_of
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import NOT_MEASURED, count
from ragtriage.metrics.result_table import ResultTable, text_rows
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.scores import IntArray

TILE_HEIGHT, NARROWEST_TILE, LEAST_TILES = 118, 160, 3
BAND_HEIGHT, LINE_HEIGHT, DOUBT_HEIGHT = 68, 20, 26
LINE_LENGTH = 165  # characters of a line of the band at a width of 1,440 pixels
CHART = {
    "showSendToCloud": False,
    "displaylogo": False,
    "displayModeBar": "hover",
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "png", "scale": 2},
}
WITHOUT_BAR = {**CHART, "displayModeBar": False}
_DRAWN = "tables_drawn"
MOST_ROWS, ROW_HEIGHT = 8, 31  # of a table on a page, the head among the rows; more of them scroll
FILES = (("CSV", "csv", "csv"), ("Parquet", "parquet", "parquet"), ("Markdown", "md", "markdown"))
_LOADED = "load_results"


def current_theme() -> Theme:
    """Return the theme of the browser tab."""
    return "dark" if st.context.theme.type == "dark" else "light"


def draw_style_sheet() -> None:
    """Draw the style of the blocks; first of all, so that the browser has the element when the band comes."""
    st.html(style_sheet(current_theme()))


def open_page(headline: Headline, meta: Sequence[str] = ()) -> None:
    """Draw the conclusion of a page; the first thing that a page draws."""
    lines = max(1, ceil(len(headline.detail) / LINE_LENGTH))
    draw_html(
        band(headline, meta),
        BAND_HEIGHT + LINE_HEIGHT * (lines - 1) + (DOUBT_HEIGHT if headline.doubt else 0),
    )


def draw_html(body: Markup, least_height: int) -> None:
    """Draw HTML in a place that has its least height before the browser has loaded what draws HTML.

    Args:
        body: rendered by a template.
        least_height: pixels; more than the HTML needs leaves a gap below it.
    """
    with st.container(horizontal=True, gap=None, wrap=False):
        with st.container(width=1):
            st.space(least_height)
        st.html(Markup('<div class="rt-flush">{}</div>').format(body))


def run_facts(view: View) -> list[str]:
    """Return size and repeats, date and dataset of the run on display, each a line of plain text."""
    run = view.run
    questions = count(run.n_questions, "question")
    repeats = f" × {run.n / run.n_questions:.0f}" if run.n_questions and run.n > run.n_questions else ""
    cases = questions if run.n == run.n_questions else f"{count(run.n, 'case')} = {questions}{repeats}"
    dataset = f"{run.dataset} {run.dataset_version}".strip()
    sampled = sampling_text(view.scored(run)) if "sampling_rate" in run.fields else ""
    return [cases, f"{run.created_at:%Y-%m-%d}{f' · {dataset}' if dataset else ''}", *filter(None, [sampled])]


def draw_tiles(tiles: Sequence[Tile]) -> None:
    """Draw tiles of equal width in a row; in two rows on a telephone."""
    grid = st.grid(max(len(tiles), LEAST_TILES), min_column_width=NARROWEST_TILE)
    for shown in tiles:
        with grid.container():
            draw_html(tile(shown), TILE_HEIGHT)


def bundled_example(project: str, run: str, what: str) -> None:
    """Offer the bundled project that shows a page with content, where this one has none.

    Args:
        project: a bundled project.
        run: name of the run to open, "" for the one that the project opens with.
        what: what the example shows, as "shows claims and their support".
    """
    runs = [other for other in open_store().runs(project) if not run or other.name == run]
    if not runs:
        st.caption(f"`ragtriage demo` has a project that {markdown_text(what)}.")
        return

    def show() -> None:
        keep(project=project, run=runs[-1].run_id, baseline="", versions=(), other="", case="", page=1)

    st.button(f"Open the bundled example that {what}", key=f"example_{project}", on_click=show)


def draw(
    figure: go.Figure,
    key: str,
    alt: str,
    theme: Literal["streamlit"] | None = "streamlit",
    on_click: Callable[[list[Any]], None] | None = None,
    **more: Any,
) -> None:
    """Draw a chart.

    Args:
        figure: the chart; with clickmode "event+select" where its points can be clicked.
        key: name of its place on the page.
        alt: what it shows, for people who cannot see it.
        theme: None for a chart that brings its colours along.
        on_click: called with the custom data of a clicked point, before the page runs again.
        more: passed on to st.plotly_chart.
    """
    if on_click is not None:

        def call() -> None:
            if (data := _clicked_data(st.session_state[key])) is not None:
                on_click(data)

        more |= {"on_select": call, "selection_mode": "points"}
    st.plotly_chart(figure, key=key, alt=alt, theme=theme, **{"config": CHART, **more})


def clicked(
    figure: go.Figure, key: str, alt: str, theme: Literal["streamlit"] | None = "streamlit", **more: Any
) -> list[Any] | None:
    """Draw a chart whose points can be clicked, as `draw`; return the custom data of the clicked one."""
    event = st.plotly_chart(
        figure, key=key, alt=alt, theme=theme, on_select="rerun", selection_mode="points",
        **{"config": CHART, **more},
    )  # fmt: skip
    return _clicked_data(event)


def _clicked_data(event: Any) -> list[Any] | None:
    points = event["selection"]["points"]
    return next((list(point["customdata"]) for point in points if point.get("customdata")), None)


def show_table(table: ResultTable, columns: Mapping[str, Any] | None = None, *notes: str) -> None:
    """Draw a table of results, with a menu to export it and notes on method, as Markdown, below it."""
    rows = text_rows(table)
    st.dataframe(
        pd.DataFrame(rows), hide_index=True, alt=table.title, column_config=dict(columns or {}),
        height=_table_height(rows), placeholder=NOT_MEASURED,
    )  # fmt: skip
    _table_foot(table, rows, notes=notes)


def choose_row(table: ResultTable, key: str, hint: str = "", *notes: str) -> int | None:
    """Draw a table of results whose rows can be chosen, as `show_table`; return the chosen one."""
    rows = text_rows(table)
    event = st.dataframe(
        pd.DataFrame(rows), hide_index=True, key=key, on_select="rerun", selection_mode="single-row",
        height=_table_height(rows), placeholder=NOT_MEASURED, alt=table.title,
    )  # fmt: skip
    _table_foot(table, rows, hint, notes)
    chosen = event["selection"]["rows"]
    return chosen[0] if chosen and chosen[0] < len(rows) else None


def _table_height(rows: Sequence[object]) -> int | Literal["content"]:
    """Return the height of a table: its rows, or so many that half a row says that it scrolls."""
    return "content" if len(rows) < MOST_ROWS else int((MOST_ROWS + 0.5) * ROW_HEIGHT)


def _table_foot(
    table: ResultTable, rows: Sequence[Mapping[str, Any]], hint: str = "", notes: Sequence[str] = ()
) -> None:
    """Draw the line below a table: its export, what is to know of it, and notes on method."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if rows:
            export_menu(rows, table.title)
        how_measured(*notes)
        if table.note or hint:
            facts(markdown_text(table.note), hint)


def begin_page() -> None:
    """Reset the counts of tables with the same name; called once at the start of a page."""
    st.session_state[_DRAWN] = {}


def export_menu(rows: Sequence[Mapping[str, Any]], alt: str) -> None:
    """Offer a table as a file, written on download; tables of the same name get numbers."""
    drawn: dict[str, int] = st.session_state.setdefault(_DRAWN, {})
    drawn[alt] = drawn.get(alt, 0) + 1
    name = re.sub(r"[^\w-]+", "-", alt).strip("-")[:60] or "table"
    key = f"export_{name}_{drawn[alt]}"
    with st.popover("Export", type="tertiary", key=key, help=f"This table as a file: {alt}"):
        for title, ending, form in FILES:
            st.download_button(
                title,
                partial(_file, rows, form),
                f"{name}.{ending}",
                key=f"{key}_{form}",
                on_click="ignore",
                type="tertiary",
            )


def _file(rows: Sequence[Mapping[str, Any]], form: str) -> bytes:
    from ragtriage.dashboard.wording.table_files import export_table

    return export_table(rows, form)


def facts(*parts: str) -> None:
    """Draw facts as a line of small print; parts are Markdown, outside text escaped by the caller."""
    st.caption(" · ".join(part for part in parts if part))


def how_measured(*notes: str) -> None:
    """Draw one line that opens notes on method; notes are Markdown, outside text escaped by the caller."""
    shown = [note for note in notes if note]
    if shown:
        with st.popover("How this was measured", type="tertiary", icon=":material/info:"):
            for note in dict.fromkeys(shown):
                st.caption(note)


def finding_list(findings: Sequence[Finding]) -> None:
    """List the findings of the sanity checks."""
    if not findings:
        st.write("The numbers agree with each other.")
    colours = {"error": "red", "warning": "orange", "note": "gray"}
    for finding in findings:
        badge = f":{colours[finding.severity]}-badge[{finding.severity}]"
        st.markdown(f"{badge} **{markdown_text(finding.title)}**  \n{markdown_text(finding.message)}")


def metric_title(name: str) -> str:
    """Return the title of a metric or of the pass rate, capitalised."""
    return capital(title_of(name))


def config_section(view: View, runs: Sequence[Run]) -> None:
    """List the configurations of runs side by side, differing settings first."""
    table = config_table(runs, view.labels)
    if table is None:
        st.caption(
            "No configuration was recorded with these runs; `ragtriage import --config key=value` records it."
        )
    else:
        show_table(table)


def tool_downloads(diagnosis: Diagnosis, ledger: Ledger, rows: IntArray, key: str) -> None:
    """Offer the scores and labels of some cases to each tool whose ids they have, written on download."""
    names = tools_of(diagnosis.scored, rows)
    for name in names:
        tool = TOOLS[name]
        st.download_button(
            f"Scores and labels for {tool.title}",
            partial(_content, name, diagnosis, ledger, rows),
            file_name=f"{diagnosis.scored.run.run_id}-{name}.{tool.ending}",
            key=f"{key}_{name}",
        )
    if names:
        st.caption(f"`ragtriage export RUN --to {names[0]}` prints the lines that send such a file.")


def _content(name: str, diagnosis: Diagnosis, ledger: Ledger, rows: IntArray) -> bytes:
    return b"".join(ToolFile(name, diagnosis, ledger, rows=rows).lines())


def keep_results(results: Sequence[DataError | str]) -> None:
    """Keep what came of each file for the page that opens next."""
    st.session_state[_LOADED] = results


def show_results() -> None:
    """Show what came of the last load, once: a message for each file, and the errors of those that failed."""
    for result in st.session_state.pop(_LOADED, []):
        if isinstance(result, str):
            st.success(markdown_text(result))
        else:
            show_errors(result)


def show_errors(error: DataError) -> None:
    """Show why a file cannot be read: each problem of it a line."""
    lines = [str(line) for line in error.errors] if isinstance(error, InputError) else [str(error)]
    total = error.total if isinstance(error, InputError) else 1
    st.error(
        "\n".join(f"- {markdown_text(line)}" for line in lines),
        title=f"Cannot be read ({count(total, 'problem')})",
    )


def reported_means_page(view: View) -> None:
    """Draw the reported means of the run with the findings on them, and link to the Benchmarks page."""
    open_page(reported_means_headline(view.run.name), meta=run_facts(view)[1:])  # it has no questions
    show_table(reported_means_table(view.summary(view.run)))
    finding_list(view.findings(view.run))
    st.page_link(
        "benchmarks/benchmarks.py", label="Compare it with other runs and published results: Benchmarks"
    )
