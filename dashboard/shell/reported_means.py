"""What most pages show of a run of which only the means were reported."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.headlines.triage import reported_means_headline
from ragtriage.dashboard.shell.blocks import open_page, run_facts
from ragtriage.dashboard.shell.components import finding_list, show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.tables.run import reported_means_table


def reported_means_page(view: View) -> None:
    """Draw the reported means of the run with the findings on them, and link to the Benchmarks page."""
    open_page(reported_means_headline(view.run.name), meta=run_facts(view)[1:])  # it has no questions
    show_table(reported_means_table(view.summary(view.run)))
    finding_list(view.findings(view.run))
    st.page_link(
        "benchmarks/benchmarks.py", label="Compare it with other runs and published results: Benchmarks"
    )
