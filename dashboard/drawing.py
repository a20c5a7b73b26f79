"""Putting charts and tables on a page, the same way everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

__all__ = ["clicked", "draw", "facts", "show_table"]

CHART = {"showSendToCloud": False, "displaylogo": False, "displayModeBar": False}


def draw(figure: go.Figure, key: str, alt: str) -> None:
    """Draw a chart.

    Args:
        figure: the chart.
        key: name of its place on the page.
        alt: what it shows, for people who cannot see it.
    """
    st.plotly_chart(figure, key=key, config=CHART, alt=alt)


def clicked(figure: go.Figure, key: str, alt: str) -> list[Any] | None:
    """Draw a chart whose points can be clicked; give the custom data of the one that was, else None.

    Args:
        figure: the chart, with clickmode "event+select".
        key: name of its place on the page.
        alt: what it shows, for people who cannot see it.
    """
    event: Any = st.plotly_chart(
        figure, key=key, config=CHART, alt=alt, on_select="rerun", selection_mode="points"
    )
    for point in event["selection"]["points"]:
        if point.get("customdata"):
            return list(point["customdata"])
    return None


def show_table(rows: Sequence[Mapping[str, Any]], alt: str, columns: Mapping[str, Any] | None = None) -> None:
    """Draw a table whose cells are already text or numbers, sized to its rows."""
    frame = pd.DataFrame([dict(row) for row in rows])
    st.dataframe(
        frame, hide_index=True, alt=alt, column_config=dict(columns or {}), height="content", placeholder="–"
    )


def facts(parts: Sequence[str]) -> None:
    """Write facts in a line of small print; parts are Markdown, outside text escaped by the caller."""
    st.caption(" · ".join(part for part in parts if part))
