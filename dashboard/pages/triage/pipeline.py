"""The picture of the pipeline on the Triage page; a click on a loss opens its cases."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st

from ragtriage.dashboard.charts.river import river, river_alt
from ragtriage.dashboard.charts.tokens import THEMES, Theme
from ragtriage.dashboard.headlines.triage import loss_statement
from ragtriage.dashboard.present.page_html.rows import section_title
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import stage_doubt
from ragtriage.data.diagnosis.pipeline import pipeline_of

FIXED = {"displayModeBar": False, "showSendToCloud": False, "displaylogo": False}


def pipeline_section(view: View, diagnosis: Diagnosis, base_name: str) -> None:
    """Draw how many cases survive each step of the pipeline, beside what the run is compared with."""
    findings = view.findings(view.run)
    doubts = {entry.key: stage_doubt(diagnosis, findings, entry.key) for entry in diagnosis.fix_first}
    doubted = {key: doubt for key, doubt in doubts.items() if doubt is not None}
    n, lost = sum(doubt.n for doubt in doubted.values()), int(diagnosis.bad.bad.sum())
    chip = f"{n:,} of {lost:,} losses rest on doubted numbers" if n else ""
    st.html(section_title(loss_statement(diagnosis), chip))
    base = None if view.baseline is None else view.diagnosis(view.baseline)
    some = () if n == lost else tuple(doubted)  # the chip says it of all
    figure, alt = _picture(diagnosis, base, base_name, some, current_theme())
    event: Any = st.plotly_chart(
        figure,
        key="pipeline",
        theme=None,
        config=FIXED,
        alt=alt,
        on_select="rerun",
        selection_mode="points",
    )
    stages = [point["customdata"] for point in event["selection"]["points"] if point.get("customdata")]
    if stages:
        open_cases(stage=str(next(iter(stages[0]))))


@kept
def _picture(
    diagnosis: Diagnosis, base: Diagnosis | None, base_name: str, doubted: tuple[str, ...], theme: Theme
) -> tuple[go.Figure, str]:
    """Return the picture and what it shows in words."""
    pipeline = pipeline_of(diagnosis)
    compared = None if base is None else pipeline_of(base)
    return river(pipeline, THEMES[theme], compared, base_name, doubted), river_alt(pipeline)
