"""Benchmarks: how do we stand against published results and targets?"""

from __future__ import annotations

import streamlit as st

from dashboard import benchmark_parts as parts
from dashboard.session import current_view

view = current_view()
st.title("How do we stand against published results and targets?")
tables = parts.published_in(view)
targets = parts.targets_in(view)
table, against = parts.table_picker(tables)
parts.against_section(view, table, against)
parts.band_section(view, targets, against)
parts.progress_section(view, targets)
parts.finding_section(view, tables)
st.caption(
    "Add rows of your own as JSON in the folder `benchmarks` of the workspace; the format is in "
    "docs/benchmarks.md."
)
