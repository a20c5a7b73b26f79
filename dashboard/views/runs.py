"""Runs: what is loaded, and how to load more."""

from __future__ import annotations

import streamlit as st

from dashboard.sections.runs.declarations import declaration_section
from dashboard.sections.runs.runs import (
    load_results,
    loader,
    run_detail,
    run_table,
)
from dashboard.shell.session import View, current_selection, open_store
from dashboard.shell.stale_links import tell_unreadable
from dashboard.shell.user import may_write, only_reads

store = open_store()
view = View.of(store, current_selection())

st.title("What is loaded, and how do I load more?")
load_results()
if may_write():
    with st.expander("Load runs from files", expanded=view is None, icon=":material/upload_file:"):
        loader(store, view.project if view is not None else "default")
else:
    only_reads("Uploads")

tell_unreadable(store)
if view is None and not store.unreadable():
    st.info(
        "The workspace is empty. Upload a file above, or run `ragtriage demo` to see the bundled samples."
        if may_write()
        else "The workspace is empty; runs appear here when somebody loads them."
    )
elif view is not None:
    st.subheader(f"Runs of this project ({len(view.runs)})")
    run_table(view)
    declaration_section(view)
    st.subheader("This run")
    run_detail(view)
