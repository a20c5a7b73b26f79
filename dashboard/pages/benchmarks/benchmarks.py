"""Benchmarks: how does this run compare with published results and targets?"""

import streamlit as st

from ragtriage.dashboard.headlines.benchmarks import benchmark_headline
from ragtriage.dashboard.pages.benchmarks.tracks import (
    against_section,
    band_section,
    claims_section,
    errors_of,
    finding_section,
    missing_section,
    progress_section,
    published_in,
    sources_section,
    standings_on,
    table_picker,
    tracks_section,
)
from ragtriage.dashboard.shell.components import open_page, run_facts
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.shell.widgets import choose, chosen_of, draw_tabs
from ragtriage.data.comparison.published_results import SCALE_TITLES, band_scale

view = current_view()
scale = band_scale(view.store.workspace, chosen_of("bands", list(SCALE_TITLES)))
standings, errors = standings_on(view, scale), errors_of(view)
open_page(
    benchmark_headline(
        view.labels[view.run.run_id], standings, [finding.clause for finding in errors], view.run.n_questions
    ),
    run_facts(view) if view.run.n else ["means without samples", f"{view.run.created_at:%Y-%m-%d}"],
)
published = published_in(view)
with st.container(horizontal=True, vertical_alignment="bottom"):
    table, against = table_picker(published.tables)
    choose("Target bands", "bands", list(SCALE_TITLES), SCALE_TITLES, width=260)
if standings:
    left, right = st.columns([5, 3], gap="medium")
    with left:
        tracks_section(view, standings, published.tables, against)
    with right:
        claims_section(view)
        missing_section(standings, errors)

TABS = {
    "rows": ("Published rows", lambda: against_section(view, table, against)),
    "bands": ("Target bands", lambda: band_section(view, scale, against)),
    "progress": ("Progress", lambda: progress_section(view, published)),
    "findings": ("Figures that do not add up", lambda: finding_section(view, published.tables)),
    "sources": ("Sources", lambda: sources_section(published)),
}
draw_tabs(TABS, "benchmark_tabs")
