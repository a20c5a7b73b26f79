"""Production: is live traffic still as good, since when, for whom, with which release?"""

from __future__ import annotations

import shlex

import streamlit as st

from ragtriage.dashboard.headlines.production import FIRST_TRACE, band_facts, production_headline
from ragtriage.dashboard.pages.production.lanes import lanes_section, tiles_of, topics_section
from ragtriage.dashboard.pages.production.lists import lists_section
from ragtriage.dashboard.pages.production.live_view import Opened, open_live
from ragtriage.dashboard.pages.production.menu import regression_button, rules_menu, share_menu
from ragtriage.dashboard.present.page_html.blocks import page_style
from ragtriage.dashboard.shell.components import current_theme, draw_tiles, open_page
from ragtriage.dashboard.shell.session import current_selection, keep, open_store
from ragtriage.dashboard.shell.user import attempt, may_write
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.live.calls import FILE, Calls, live_folder, live_projects
from ragtriage.data.live.production.times import (
    BEFORE,
    RELEASE,
    SPANS,
    USUAL_SPAN,
    clock,
    moment_of,
    span_title,
)

EXAMPLE = "handbook live"
LEFT, RIGHT = 62, 38  # widths in percent


def _empty(projects: list[str], project: str = "my system") -> None:
    """Draw what the page offers before a first call: the command, and the bundled example."""
    open_page(FIRST_TRACE)
    with st.container(border=True):
        st.markdown(
            "Spans of OpenTelemetry's GenAI conventions and of OpenInference become calls, runs and alerts."
        )
        st.code(f"ragtriage collect --project {shlex.quote(project)}", language="bash")
        if EXAMPLE in projects:
            return
        if may_write():
            st.button("Open the bundled example, 8,819 real calls around a release", key="bundled_traffic",
                icon=":material/visibility:", on_click=attempt, args=(_load_example,))  # fmt: skip
        else:
            st.caption("`ragtriage demo` has an example.")


def _has_call(project: str) -> bool:
    workspace = open_store().workspace
    there = (live_folder(workspace, project) / FILE).exists()  # a journal alone is not read yet
    return there and Calls.of(workspace, project).span_of_time() is not None


def _load_example() -> None:
    from ragtriage.data.demo import FIRST_PROJECT, load_project  # loads importers and experiments

    load_project(open_store(), FIRST_PROJECT)
    load_project(open_store(), EXAMPLE)
    keep(project=EXAMPLE)


def _span_picker() -> None:
    """Draw the choice of the time; one that the address names is among them."""
    chosen = current_selection().live_span
    names = ["" if name == USUAL_SPAN else name for name in SPANS]
    titles = {name: span_title(name or USUAL_SPAN) for name in names}
    if "~" in chosen:
        first, last = map(moment_of, chosen.split("~"))
        names, titles[chosen] = (
            [chosen, *names],
            f"{clock(first, last - first)} to {clock(last, last - first)}",
        )
    choose("Time", "live_span", names, titles, {"live_against": ""}, label_visibility="collapsed", width=200)


def _against_picker(opened: Opened) -> None:
    releases = [release for release in opened.facts.times.releases[1:] if release.name]
    st.text("against")
    words = {"": opened.against}
    if releases:
        words = {"": f"before {shorten(releases[-1].name, 22)}", BEFORE: "the time before"}
    if current_selection().live_against == RELEASE and releases:
        words = {RELEASE: words[""], BEFORE: words[BEFORE]}
    choose("Against", "live_against", list(words), words, label_visibility="collapsed", width=220)


store = open_store()
projects = live_projects(store.workspace)
filled = [name for name in projects if _has_call(name)]
st.html(page_style("triage", current_theme()) + page_style("live", current_theme()))
chosen_project = current_selection().project
shown = [name for name in projects if name in filled or name == chosen_project]
if not shown:
    _empty(projects)
    st.stop()
header = st.container(horizontal=True, vertical_alignment="center", gap="small", key="live_header")
with header:
    project = choose(
        "Project", "project", shown, str, {"run": "", "live_span": "", "live_against": ""},
        label_visibility="collapsed", width=170,
    )  # fmt: skip
    if project in filled:
        _span_picker()
if project not in filled:
    _empty(projects, project)
    st.stop()
opened = open_live(project)
facts = opened.facts
with header:
    _against_picker(opened)
    st.space("stretch")
    if not may_write():
        st.badge("Read only", icon=":material/lock:", color="gray", help="Nothing can be changed here.")
    regression_button(opened)
    rules_menu(opened)
    share_menu(opened)
open_page(production_headline(facts), band_facts(facts))
draw_tiles(tiles_of(facts))
left, right = st.columns([LEFT, RIGHT], gap="medium")
with left:
    lanes_section(opened)
with right:
    topics_section(opened)
lists_section(opened)
