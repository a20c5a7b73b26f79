"""Checks: which suite of checks fails, why, and in which cases?"""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.pages.checks.suites import (
    failing_section,
    suite_picker,
    suite_section,
    suites_in,
    tile_section,
)
from ragtriage.dashboard.shell.blocks import bundled_example, open_page, run_facts
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.suites.headline import checks_headline, no_checks_headline

view = current_view()
name = view.store.names()[view.run.run_id]
summaries = suites_in(view.scored(view.run))
if not summaries:
    open_page(no_checks_headline(name), meta=run_facts(view))
    bundled_example("clinc_router", "", "shows a router compared with the right routes")
    st.stop()

open_page(checks_headline(name, summaries), meta=run_facts(view))
tile_section(view, summaries)
suite = suite_picker(summaries)
suite_section(view, suite)
failing_section(view, suite)
