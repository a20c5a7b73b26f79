"""Runs: what is loaded, and how to load more."""

from __future__ import annotations

import streamlit as st

from dashboard import run_parts as parts
from dashboard.session import View, current_selection, open_catalogue

catalogue = open_catalogue()
view = View.of(catalogue, current_selection())

st.title("What is loaded, and how do I load more?")
with st.expander("Load runs from files", expanded=view is None, icon=":material/upload_file:"):
    parts.loader(catalogue, view.project if view is not None else "default")

if view is None:
    st.info(
        "The workspace is empty. Upload a file above, or run `ragtriage demo` to see the bundled samples."
    )
else:
    st.subheader(f"Runs of this project ({len(view.runs)})")
    parts.run_table(view)
    st.subheader("This run")
    parts.run_detail(view)
