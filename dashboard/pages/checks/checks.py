"""Checks: which suite of checks fails, why, in which cases, and is it better than the baseline?"""

from functools import partial

import streamlit as st

from ragtriage.dashboard.pages.checks.chosen_suite import suite_section, suite_tabs
from ragtriage.dashboard.pages.checks.import_form import import_form
from ragtriage.dashboard.pages.checks.suite_list import changes_since, suite_list, suites_in, what_follows
from ragtriage.dashboard.shell.components import open_page, run_facts
from ragtriage.dashboard.shell.empty_pages import example_section
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.suites.headline import checks_headline, no_checks_headline

view = current_view()
name = view.store.names()[view.run.run_id]
summaries = suites_in(view.scored(view.run))
if not summaries:
    open_page(no_checks_headline(name), meta=run_facts(view))
    example_section("checks", partial(import_form, view), "Start from a table of checks")
    st.stop()

changes = changes_since(view)
base_name = view.labels[view.baseline.run_id] if changes and view.baseline is not None else ""
open_page(checks_headline(name, summaries, changes, base_name), meta=run_facts(view))
sides = st.grid(2, min_column_width=350, gap="medium")
with sides.container(gap="xsmall"):
    suite = suite_list(summaries, changes, base_name)
    what_follows(suite, changes.get(suite.key), base_name)
with sides.container(gap="xsmall"):
    shown = suite_section(view, suite)
suite_tabs(view, suite, shown, changes.get(suite.key), base_name)
