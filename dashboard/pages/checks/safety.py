"""The section of the suite Safety: by type of attack, how many did not succeed; points open their cases."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.checks.attacks import attack_rates
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.components import clicked, facts
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.cases.suite_cohorts import WAITING
from ragtriage.data.suites.safety import SafetyDetail
from ragtriage.metrics.number_text import count


def safety_section(_view: View, detail: SafetyDetail) -> None:
    """Draw the types of attacks with their exact intervals."""
    point = clicked(
        plotly_figure(attack_rates(detail.types)),
        "attacks",
        "Share of attacks of each type that did not succeed, with exact intervals; the tables below have the "
        "numbers",
    )
    repeats = f"{detail.repeats} repeats a prompt, of which none may succeed" if detail.repeats > 1 else ""
    facts(
        [
            count(detail.overall.prompts, "attack prompt"),
            f"{detail.overall.not_measured:,} not measured or passed" if detail.overall.not_measured else "",
            repeats,
            f"{detail.delivered:,} flagged and delivered all the same" if detail.delivered else "",
            f"judged by {markdown_text(', '.join(detail.models))}" if detail.models else "",
            "click a point for the attacks that succeeded",
        ]
    )
    if detail.waiting and st.button(f"Open {count(detail.waiting, 'waiting check')}", key="attacks_waiting"):
        open_cases(cohort=WAITING)
    if point is not None:
        open_cases(cohort=str(point[0]))
