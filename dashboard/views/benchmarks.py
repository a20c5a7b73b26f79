"""Benchmarks: how do we stand against published results and targets?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections import benchmarks as parts
from dashboard.shell.session import current_view

view = current_view()
st.title("How do we stand against published results and targets?")
published = parts.published_in(view)
table, against = parts.table_picker(published.tables)
parts.against_section(view, table, against)
parts.band_section(view, published.bands, against)
parts.progress_section(view, published.bands)
parts.finding_section(view, published.tables)
st.caption(
    "Add rows of your own as JSON in the folder `benchmarks` of the workspace; the format is in "
    "docs/benchmarks.md."
)
