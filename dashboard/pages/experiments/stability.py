"""Stability: the share of questions whose verdict flips by kind of change, and which they are."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.experiments.robustness import flip_dots
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.components import draw, facts, metric_title
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.data.experiments.stability import StabilityFindings
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.number_text import count, number

MOST_LISTED = 200


def stability_section(view: View, summary: ExperimentSummary) -> None:
    """Draw what makes verdicts flip, and list the questions that do."""
    findings: StabilityFindings = summary.findings
    st.markdown("##### Questions whose verdict flips")
    draw(plotly_figure(flip_dots(findings.changes)), "flip_dots", "Questions that flip by kind of change")
    facts(
        [
            f"verdict: {metric_title(findings.verdict)} of {number(findings.passes_from)} or more passes",
            *(
                f"{each.change}: {len(each.questions):,} of {count(each.flips.compared, 'question')} in "
                f"{each.variants} ways"
                for each in findings.changes
            ),
            "bars: 95 %, Wilson or exact",
            f"always right {findings.overall.always:,}, never right {findings.overall.never:,}",
        ]
    )
    if findings.flipped:
        _flipped(view, summary, findings)


def _flipped(view: View, summary: ExperimentSummary, findings: StabilityFindings) -> None:
    st.markdown("##### The questions that flip")
    listed = findings.flipped[:MOST_LISTED]
    rows = [
        {
            "Question": name,
            "Flips when": ", ".join(each.change for each in findings.changes if name in each.questions)
            or "asked in different ways",
        }
        for name in listed
    ]
    event = st.dataframe(
        rows,
        hide_index=True,
        key="flipped",
        on_select="rerun",
        selection_mode="single-row",
        height="content",
        alt="Questions whose verdict flips",
    )
    facts(
        [
            f"the first {MOST_LISTED:,} of {len(findings.flipped):,}"
            if len(findings.flipped) > MOST_LISTED
            else "",
            "choose a row to open the case as asked",
        ]
    )
    chosen = event["selection"]["rows"]
    first = next((result.arm.run_id for result in summary.arms if result.arm.run_id), "")
    if chosen and chosen[0] < len(listed) and first and st.button("Open this case", key="flipped_case"):
        open_cases(run=first, project=view.project, case=f"{listed[chosen[0]]}~0")
