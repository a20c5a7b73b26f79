"""The entry point of the dashboard: navigation, header, and the one place that catches errors."""

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.pages.registry import FIRST, PAGES, address_of, title_of
from ragtriage.dashboard.shell.components import (
    begin_page,
    current_theme,
    draw_style_sheet,
    open_page,
    reported_means_page,
)
from ragtriage.dashboard.shell.empty_pages import empty_pages
from ragtriage.dashboard.shell.header import base_word, draw_header
from ragtriage.dashboard.shell.process import costs_told
from ragtriage.dashboard.shell.session import (
    View,
    current_selection,
    end_presentation,
    keep,
    open_store,
    pin_run,
    restore_selection,
    save_selection,
    tell_missing,
    tell_unreadable,
)
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.errors import DataError
from ragtriage.metrics.schema.scores import MetricsError

# pages that show runs without samples
SHOW_REPORTED_MEANS = ("benchmarks", "trend", "runs", "chunking", "datasets", "ab", "production")
WITHOUT_RUNS = ("runs", "datasets", "ab", "production")  # pages of a workspace without runs
WITHOUT_HEADER = ("datasets", "ab", "production")  # about the workspace: what is chosen stands on the page
SIDEBAR_WIDTH = 208
STATIC = Path(__file__).parent.parent / "static"


def _page(name: str, icon: str, hidden: bool) -> StreamlitPage:
    opens_first = name == FIRST
    return st.Page(
        f"{name}/{name}.py",
        title=title_of(name),
        icon=f":material/{icon}:",
        url_path="" if opens_first else address_of(name),
        default=opens_first,
        visibility="hidden" if hidden else "visible",
    )


st.set_page_config(
    page_title="ragtriage",
    page_icon=str(STATIC / "mark.svg"),
    layout="wide",
    initial_sidebar_state=SIDEBAR_WIDTH,
)
draw_style_sheet()
presenting = bool(current_selection().slide)
empty = empty_pages()
pages = {
    heading: [_page(name, icon, name in empty) for name, icon in rows] for heading, rows in PAGES.items()
}
first = next(iter(pages.values()))[0]
# people type /triage as well, though the page that opens first has no address of its own
typed = st.Page(f"{FIRST}/{FIRST}.py", title=first.title, url_path=FIRST, visibility="hidden")
page = st.navigation({**pages, "": [typed]}, position="hidden" if presenting else "sidebar", expanded=True)
if empty and not presenting:
    with st.sidebar.expander("More", key="more_pages", expanded=page.url_path in empty):
        for entry in (each for rows in pages.values() for each in rows if each.url_path in empty):
            st.page_link(entry)
if page.url_path == FIRST:
    st.switch_page(first, query_params=st.query_params.to_dict())
st.set_page_config(page_title=f"{page.title} · ragtriage")
if not presenting:
    st.logo(str(STATIC / f"logo-{current_theme()}.svg"), size="large", icon_image=str(STATIC / "mark.svg"))
restore_selection(page.url_path)
begin_page()
if current_selection().slide and page.url_path != "present":
    keep(slide=0)
if presenting != bool(current_selection().slide):
    st.rerun()
try:
    with costs_told(page.url_path or "triage"), st.container(key="page"):  # wider than the margins leave it
        store = open_store()
        needs_run = page.url_path not in WITHOUT_HEADER
        if tell_missing(store, reading=page.url_path == "cases", needs_run=needs_run):
            save_selection()
            st.stop()
        view = View.of(store, current_selection())
        if presenting and (view is None or view.run.means):
            end_presentation()
        if view is None and page.url_path not in WITHOUT_RUNS and store.unreadable():
            open_page(Headline("bad", "No run can be read", "Each problem is listed below."))
            tell_unreadable(store)
        elif view is None and page.url_path not in WITHOUT_RUNS:
            open_page(
                Headline(
                    "empty",
                    "Load a first run",
                    "Load evaluation results on the Runs page, or see the bundled samples with "
                    "`ragtriage demo`.",
                )
            )
            st.page_link("runs/runs.py", label="Load a run", icon=":material/upload:")
        else:
            if view is not None:
                pin_run(view.run)
                if page.url_path not in WITHOUT_HEADER:
                    st.set_page_config(
                        page_title=f"{page.title} · {view.labels[view.run.run_id]} · ragtriage"
                    )
                st.session_state["view"] = view
                if not presenting and page.url_path not in WITHOUT_HEADER:
                    draw_header(view, page.url_path)
            else:
                st.session_state["view"] = None
            save_selection(view, base_word(view) if view is not None and page.url_path == "compare" else "")
            if view is not None and view.run.means and page.url_path not in SHOW_REPORTED_MEANS:
                reported_means_page(view)
            else:
                page.run()
except (DataError, MetricsError) as error:
    if presenting:
        end_presentation()
    st.error(markdown_text(str(error)), title="This cannot be shown")
