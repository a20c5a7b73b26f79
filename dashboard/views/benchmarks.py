"""Benchmarks: how does this run compare with published results and targets?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections.benchmarks import (
    against_section,
    band_section,
    finding_section,
    progress_section,
    published_in,
    table_picker,
)
from dashboard.shell.session import current_view

view = current_view()
st.title("How does this run compare with published results and targets?")
published = published_in(view)
table, against = table_picker(published.tables)
against_section(view, table, against)
band_section(view, against)
progress_section(view, published)
finding_section(view, published.tables)
st.caption(
    "To add your own results, put JSON files in the folder `benchmarks` of the workspace; "
    "docs/benchmarks.md describes the format."
)
