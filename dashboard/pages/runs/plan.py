"""The evaluation plan of the project on the Runs page."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.shell.components import show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.tables.plan import deciding_table, step_table
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.dashboard.wording.strategy import held_text, plan_sentence, size_text
from ragtriage.data.strategy.plan import USE_CASES, plan_of

USUAL = "production"


def plan_section(view: View) -> None:
    """Show what to measure next: from a use case, and from what the project holds."""
    titles = {key: case.title for key, case in USE_CASES.items()}
    options = sorted(USE_CASES, key=lambda key: key != USUAL)
    use_case = choose("Use case", "use_case", options, titles, width=260)
    plan = plan_of(view.store, view.project, use_case, view.usual_diagnosis)
    st.markdown(f"**{markdown_text(plan_sentence(plan))}**")
    st.caption(markdown_text(f"{held_text(plan)} {size_text(plan)}"))
    show_table(step_table(plan))
    st.markdown("#### What decides")
    show_table(deciding_table(plan))
