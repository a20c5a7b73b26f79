"""Charts, tables, small print and findings, drawn the same way on every page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.wording.escaping import capital, markdown_text
from ragtriage.data.store.run_config import flat_settings, setting_text
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import NOT_MEASURED
from ragtriage.metrics.result_table import ResultTable, text_rows
from ragtriage.metrics.sanity.rule import Finding

CHART = {
    "showSendToCloud": False,
    "displaylogo": False,
    "displayModeBar": "hover",
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "png", "scale": 2},
}
_DRAWN = "tables_drawn"
FILES = (("CSV", "csv", "csv"), ("Parquet", "parquet", "parquet"), ("Markdown", "md", "markdown"))


def draw(figure: go.Figure, key: str, alt: str, theme: Literal["streamlit"] | None = "streamlit") -> None:
    """Draw a chart.

    Args:
        figure: the chart.
        key: name of its place on the page.
        alt: what it shows, for people who cannot see it.
        theme: None for a chart that brings its colours along.
    """
    st.plotly_chart(figure, key=key, config=CHART, alt=alt, theme=theme)


def clicked(
    figure: go.Figure, key: str, alt: str, theme: Literal["streamlit"] | None = "streamlit"
) -> list[Any] | None:
    """Draw a chart whose points can be clicked; return the custom data of the clicked one, else None.

    Args:
        figure: the chart, with clickmode "event+select".
        key: name of its place on the page.
        alt: what it shows, for people who cannot see it.
        theme: None for a chart that brings its colours along.
    """
    event: Any = st.plotly_chart(
        figure, key=key, config=CHART, alt=alt, theme=theme, on_select="rerun", selection_mode="points"
    )
    for point in event["selection"]["points"]:
        if point.get("customdata"):
            return list(point["customdata"])
    return None


def show_table(rows: Sequence[Mapping[str, Any]], alt: str, columns: Mapping[str, Any] | None = None) -> None:
    """Draw a table of text and numbers, as high as its rows, with a menu to export it."""
    frame = pd.DataFrame([dict(row) for row in rows])
    st.dataframe(
        frame, hide_index=True, alt=alt, column_config=dict(columns or {}), height="content", placeholder="–"
    )
    if len(frame):
        export_menu(rows, alt)


def show_result(table: ResultTable) -> None:
    """Draw a table of results with what is to know of it."""
    show_table(text_rows(table), table.title)
    facts([markdown_text(table.note)])


def choose_row(table: ResultTable, key: str, hint: str) -> int | None:
    """Draw a table of results whose rows can be chosen; return the chosen one.

    Args:
        table: of results.
        key: names it on the page.
        hint: what choosing a row is for.
    """
    rows = text_rows(table)
    event = st.dataframe(
        rows, hide_index=True, key=key, on_select="rerun", selection_mode="single-row", height="content",
        alt=table.title,
    )  # fmt: skip
    export_menu(rows, table.title)
    facts([markdown_text(table.note), hint])
    chosen = event["selection"]["rows"]
    return chosen[0] if chosen and chosen[0] < len(rows) else None


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


def facts(parts: Sequence[str]) -> None:
    """Draw facts as a line of small print; parts are Markdown, outside text escaped by the caller."""
    st.caption(" · ".join(part for part in parts if part))


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


def config_table(view: View, runs: Sequence[Run]) -> None:
    """List the configurations of runs side by side, differing settings first."""
    configs = [
        {path: setting_text(value) for path, value in flat_settings(run.config).items()} for run in runs
    ]
    values = {key: {config.get(key) for config in configs} for config in configs for key in config}
    if not values:
        st.caption(
            "No configuration was recorded with these runs; `ragtriage import --config key=value` records it."
        )
        return
    show_table(
        [
            {
                "Setting": key,
                **{
                    view.labels[run.run_id]: config.get(key, NOT_MEASURED)
                    for run, config in zip(runs, configs, strict=True)
                },
                "": "differs" if len(values[key]) > 1 else "",
            }
            for key in sorted(values, key=lambda key: (len(values[key]) == 1, key))
        ],
        "Configuration of each version",
    )
