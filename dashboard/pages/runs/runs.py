"""Runs: what is loaded, what of it can be read as it is, and how to load more."""

from functools import partial

import streamlit as st

from ragtriage.dashboard.headlines.runs import runs_headline
from ragtriage.dashboard.pages.runs.chosen_run import run_card, run_detail
from ragtriage.dashboard.pages.runs.loading import load_button, loader
from ragtriage.dashboard.pages.runs.project import (
    declaration_section,
    means_section,
    plan_section,
    question_set_list,
)
from ragtriage.dashboard.pages.runs.run_list import (
    LIST_HEIGHT,
    OWN,
    all_digests,
    matching_runs,
    read_on,
    run_filters,
    run_list,
    strip_chart,
    strip_legend,
)
from ragtriage.dashboard.shell.components import open_page, show_results
from ragtriage.dashboard.shell.session import View, current_selection, open_store, tell_unreadable
from ragtriage.dashboard.shell.user import may_write, only_reads
from ragtriage.dashboard.shell.widgets import draw_tabs
from ragtriage.metrics.number_text import count

store = open_store()
view = View.of(store, current_selection())
runs = tuple(store.runs())


if view is None:
    open_page(runs_headline((), {}, {}, len(store.unreadable())))
    show_results()
    tell_unreadable(store)
    if may_write():
        loader(store, "default")
        question_set_list(store.workspace)
    else:
        only_reads("Uploads")
        if not store.unreadable():
            st.caption("Runs appear here once they are loaded.")
    st.stop()

others = [run for run in runs if run.project != view.project]
own_last = (*others, *(run for run in runs if run.project == view.project))  # the last are read first
digests = all_digests(store, own_last)
baselines = set(store.ledger.baselines().values())
projects = count(len({run.project for run in runs}), "project")
open_page(
    runs_headline(runs, digests, store.names(), len(store.unreadable()), view.project),
    [
        f"{projects}, {count(len(runs), 'run')}",
        f"from {runs[0].created_at:%Y-%m-%d}",
        f"to {runs[-1].created_at:%Y-%m-%d}",
    ],
)
everywhere = st.session_state.get("runs_shown", OWN) != OWN  # of other projects the headline has a count
strip_chart(view, runs if everywhere else view.runs, digests)
strip_legend(everywhere)
read_on(store, own_last, digests)
show_results()
tell_unreadable(store)
with st.container(horizontal=True, vertical_alignment="center"):
    run_filters(view, runs, digests, baselines)
    st.space("stretch")
    load_button(view)
left, right = st.columns([0.66, 0.34], gap="medium")
with left:
    run_list(view, matching_runs(view, runs, digests, baselines), digests)
with right, st.container(border=True, height=LIST_HEIGHT + 60):
    run_card(view, digests.get(view.run.run_id))
TABS = {
    "run": ("This run", partial(run_detail, view)),
    "means": (f"Means of {view.project}", partial(means_section, view)),
    "imported": ("Imported scores", partial(declaration_section, view)),
    "questions": ("Question sets", partial(question_set_list, store.workspace)),
    "plan": ("What to measure next", partial(plan_section, view)),
}
draw_tabs(TABS, "runs_tab")
