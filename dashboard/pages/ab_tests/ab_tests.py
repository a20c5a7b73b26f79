"""A/B: which arm of a live test is better, can it stop, and what did it cost?"""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.headlines.ab import FIRST_TEST, ab_headline, metric_title
from ragtriage.dashboard.pages.ab_tests.arms import arms_section, before_section
from ragtriage.dashboard.pages.ab_tests.chosen_test import metric_names, open_test, usual_metric
from ragtriage.dashboard.pages.ab_tests.differences import (
    levels_section,
    looks_section,
    metrics_section,
    tiles_of,
)
from ragtriage.dashboard.pages.ab_tests.manage import AGAIN, load_button, test_menu
from ragtriage.dashboard.pages.ab_tests.plan import plan_button
from ragtriage.dashboard.present.page_html.blocks import page_style
from ragtriage.dashboard.shell.components import current_theme, draw_tiles, open_page
from ragtriage.dashboard.shell.session import keep, open_store
from ragtriage.dashboard.shell.user import attempt, may_write
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.wording.escaping import capital, markdown_text, shorten
from ragtriage.data.ab.stored_tests import stored_tests
from ragtriage.metrics.number_text import count

LEFT, RIGHT = 57, 43  # widths in percent
NAME = 40


def _empty() -> None:
    """Draw what the page of a workspace without a test offers."""
    open_page(FIRST_TEST)
    st.code("ragtriage ab events.csv --by variant --save 'V2 against V1'", language=None)
    with st.container(horizontal=True):
        if may_write():
            st.button("Open the bundled examples", key="bundled_tests", icon=":material/visibility:",
                on_click=attempt, args=(_load_examples,))  # fmt: skip
        else:
            st.caption("`ragtriage demo` has two examples.")
        load_button()
        plan_button(None)


def _load_examples() -> None:
    from ragtriage.data.demo import FIRST_PROJECT, load_samples  # loads importers and experiments

    load_samples(open_store(), project=FIRST_PROJECT)


tests, problems = stored_tests(open_store().workspace)
st.html(page_style("triage", current_theme()) + page_style("live", current_theme()))
if not tests:
    _empty()
    for problem in problems:
        st.warning(markdown_text(problem), title="A live test cannot be read")
    st.stop()
every = {test.test_id: test for test in reversed(tests)}
with st.container(horizontal=True, vertical_alignment="center", gap="small", key="test_header"):
    test_id = choose(
        "Test", "test", list(every), lambda key: shorten(every[key].name, NAME), AGAIN,
        label_visibility="collapsed", width=230,
    )  # fmt: skip
    stored = every[test_id]
    names, usual = metric_names(stored), usual_metric(stored)
    if names:
        choose(
            "Metric that decides", "deciding", list(names),
            lambda name: capital(metric_title(name)) + (" (decides)" if name == usual else ""), {"look": 0},
            label_visibility="collapsed", width=220,
        )  # fmt: skip
    opened = open_test(stored)
    if len(stored.arms) > 2 and opened.lead is not None:
        base = shorten(stored.arms[0], 14)
        choose(
            "Arm", "arm", list(stored.arms[1:]), lambda arm: f"{shorten(arm, 14)} against {base}",
            {"look": 0}, shown=opened.lead.arm, label_visibility="collapsed", width=170,
        )  # fmt: skip
    st.space("stretch")
    if not may_write():
        st.badge("Read only", icon=":material/lock:", color="gray", help="Nothing can be changed here.")
    load_button()
    plan_button(opened)
    test_menu(opened)
if opened.look and (look := opened.shown_look) is not None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(
            f"As known at look {opened.look} of {len(opened.looks)}, {look.at[:10]}",
            icon=":material/history:",
        )
        st.button(
            "All that is known now", key="last_look", type="tertiary", on_click=keep, kwargs={"look": 0}
        )
test = opened.test
units, rows = sum(test.units.values()), sum(test.rows.values())
size = (
    f"{count(units, 'user')}{f' · {rows:,} rows' if rows > units else ''}"
    if test.by_user
    else count(rows, "row")
)
days = "" if test.days is None else f" · {count(round(test.days), 'day')}"
other = "" if test.metric == usual else f"chosen now; {metric_title(usual)} was to decide"
open_page(ab_headline(test), [line for line in (f"{size}{days}", shorten(stored.note, 60), other) if line])
draw_tiles(tiles_of(opened))
if test.state == "split_broken" or opened.lead is None:
    arms_section(opened)
    st.stop()
left, right = st.columns([LEFT, RIGHT], gap="medium")
with left:
    looks_section(opened)
    arms_section(opened)
with right:
    if not opened.looks and opened.lead.decides.kind == "nps":
        levels_section(opened)
    metrics_section(opened)
    before_section(opened)
for problem in problems:
    st.warning(markdown_text(problem), title="A live test cannot be read")
