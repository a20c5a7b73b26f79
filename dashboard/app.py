"""The entry point of the dashboard: navigation, pickers, and the one place that catches errors."""

from __future__ import annotations

import streamlit as st

from dashboard.shell.components import begin_page
from dashboard.shell.session import (
    View,
    current_selection,
    open_store,
    pin_run,
    restore_selection,
    save_selection,
)
from dashboard.shell.stale_links import tell_missing, tell_unreadable
from dashboard.shell.user import may_write
from dashboard.shell.widgets import choose
from dashboard.wording.escaping import markdown_text
from dashboard.wording.runs import baseline_text
from data.errors import DataError
from metrics.schema.scores import MetricsError

PAGES = [
    st.Page("views/triage.py", title="Triage", default=True),
    st.Page("views/diagnosis.py", title="Diagnosis"),
    st.Page("views/cases.py", title="Cases"),
    st.Page("views/compare.py", title="Compare"),
    st.Page("views/trend.py", title="Trend"),
    st.Page("views/retrieval.py", title="Retrieval"),
    st.Page("views/chunking.py", title="Chunking"),
    st.Page("views/alignment.py", title="Alignment"),
    st.Page("views/benchmarks.py", title="Benchmarks"),
    st.Page("views/judge.py", title="Judge"),
    st.Page("views/present.py", title="Present"),
    st.Page("views/runs.py", title="Runs"),
]
SHOW_REPORTED_MEANS = ("benchmarks", "trend", "runs")  # pages that show runs without samples
CLEAR_RUN = {"baseline": "", "versions": (), "other": "", "slices": {}, "cohort": "", "grid": "", "page": 1}
CONVENTIONS = {
    "default": "ragtriage (undefined stays undefined)",
    "ragchecker": "RAGChecker (empty lists give 0)",
    "refusals_0": "refusals count 0 (as in Ragas)",
}


def pick(view: View) -> View:
    """Draw the pickers of project, run and baseline."""
    with st.sidebar:
        projects = view.store.projects()
        choose("Project", "project", projects, str, {**CLEAR_RUN, "run": "", "case": ""}, shown=view.project)
        newest = [run.run_id for run in reversed(view.runs)]
        choose("Run", "run", newest, view.labels, {"page": 1}, shown=view.run.run_id)
        others = [run.run_id for run in reversed(view.sampled) if run.run_id != view.run.run_id]
        if others:
            titles = {"": baseline_text(view.found, view.previous, view.labels), **view.labels}
            choose("Baseline", "baseline", ["", *others], titles)
        with st.expander("Conventions"):
            choose("Undefined values", "convention", list(CONVENTIONS), CONVENTIONS)
        if not may_write():
            st.caption("Read only: nothing can be changed here.")
    return view


st.set_page_config(page_title="ragtriage", page_icon="🩺", layout="wide")
presenting = bool(current_selection().slide)
page = st.navigation(PAGES, position="hidden" if presenting else "sidebar")
restore_selection(page.url_path)
begin_page()
if presenting != bool(current_selection().slide):
    st.rerun()
try:
    store = open_store()
    if tell_missing(store, reading=page.url_path == "cases"):
        save_selection()
        st.stop()
    view = View.of(store, current_selection())
    if view is None and page.url_path != "runs" and store.unreadable():
        st.title("No run can be read")
        tell_unreadable(store)
    elif view is None and page.url_path != "runs":
        st.title("No runs yet")
        st.write(
            "Load evaluation results on the Runs page, or start `ragtriage demo` to see the bundled samples."
        )
        st.page_link("views/runs.py", label="Load a run")
    else:
        if view is not None:
            pin_run(view.run)
        st.session_state["view"] = pick(view) if view is not None and not presenting else view
        save_selection(view)
        if view is not None and view.run.means and page.url_path not in SHOW_REPORTED_MEANS:
            from dashboard.shell.reported_means import reported_means_page

            reported_means_page(view)
        else:
            page.run()
except (DataError, MetricsError) as error:
    st.error(markdown_text(str(error)), title="This cannot be shown")
