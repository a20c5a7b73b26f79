"""The arms of an experiment with their quality, and where each leads to."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.experiments.curves import arm_dots
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.components import draw, export_menu, facts, metric_title
from ragtriage.dashboard.shell.session import View, go_to_page, open_cases
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.dashboard.wording.formatting import methods
from ragtriage.data.experiments.record import ArmRecord
from ragtriage.data.experiments.summary import ArmResult, ExperimentSummary
from ragtriage.metrics.number_text import NOT_MEASURED, count, interval_text, number


def arm_chart(summary: ExperimentSummary) -> None:
    """Draw the quality of each arm with its interval."""
    title = metric_title(summary.quality)
    draw(plotly_figure(arm_dots(summary.arms, title)), "arm_dots", f"{title} of each arm with its interval")


def arm_table(view: View, summary: ExperimentSummary) -> None:
    """List the arms; a chosen one can be opened, and compared with the first."""
    st.markdown("##### Arms")
    rows = [_row(result, summary.quality) for result in summary.arms]
    event = st.dataframe(
        rows,
        hide_index=True,
        key="arms_table",
        on_select="rerun",
        selection_mode="single-row",
        height="content",
        alt="Arms of the experiment with their quality",
    )
    export_menu(rows, "Arms of the experiment")
    facts(
        [
            f"{count(summary.experiment.n_questions, 'question')}, the same in every arm",
            f"{metric_title(summary.quality)}: {summary.source}",
            methods([result.quality for result in summary.arms]),
            "choose a row to open its cases or to compare it",
        ]
    )
    chosen = event["selection"]["rows"]
    if chosen and chosen[0] < len(summary.arms):
        _buttons(view, summary, summary.arms[chosen[0]].arm)


def _row(result: ArmResult, quality: str) -> dict[str, str]:
    value = result.quality
    return {
        "Arm": result.arm.title,
        metric_title(quality): number(value.mean, 3),
        "95 % interval": interval_text(value.low, value.high, 3),
        "n": f"{value.n_scored:,} / {result.n:,}",
        "Without answer or value": f"{result.n - value.n_scored:,}" if result.arm.run_id else NOT_MEASURED,
        "Run": result.arm.run_id or "not asked to the end",
    }


def _buttons(view: View, summary: ExperimentSummary, arm: ArmRecord) -> None:
    if not arm.run_id:
        st.caption("This arm has no run yet: the same command goes on from here.")
        return
    first = next((other.run_id for other in summary.experiment.arms if other.run_id != arm.run_id), "")
    with st.container(horizontal=True):
        if st.button(f"Cases of {markdown_text(arm.title)}", key="arm_cases"):
            open_cases(run=arm.run_id, project=view.project)
        if first and st.button("Compare all arms with this one", key="arm_compare"):
            others = tuple(run_id for run_id in summary.experiment.run_ids if run_id != arm.run_id)
            go_to_page("compare", run=others[0], baseline=arm.run_id, versions=others, other="")
