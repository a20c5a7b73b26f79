"""Alignment: do the answers use the top-ranked document?"""

from __future__ import annotations

import streamlit as st

from dashboard.headlines.alignment import alignment_headline, no_use_headline
from dashboard.sections.alignment import (
    advice,
    by_relevance,
    context_use_in,
    gap_section,
    gold_rank_section,
    has_own_answers,
    k_section,
    rank_section,
    rates_of,
    source_picker,
    split_section,
    version_section,
)
from dashboard.shell.blocks import bundled_example, open_page, run_facts
from dashboard.shell.session import current_view
from dashboard.shell.widgets import k_picker

view = current_view()
name = view.store.names()[view.run.run_id]
findings = view.findings(view.run)
scored = view.scored(view.run)
context_use = context_use_in(scored)
if context_use is None:
    open_page(no_use_headline(name, has_own_answers(scored), findings), meta=run_facts(view))
    bundled_example("mtrag", "", "shows which documents answers use")
    st.stop()

band = st.container()
with st.container(horizontal=True, vertical_alignment="bottom"):
    source = source_picker(context_use)
    k = k_picker(view.run)
rates = {rate.source: rate for rate in rates_of(scored)}
with band:
    open_page(
        alignment_headline(name, rates[source], by_relevance(scored, source), findings), meta=run_facts(view)
    )
advice(context_use, rates[source])

st.subheader("Every version")
version_section(view)
split_section(scored, context_use, source)
rank_section(scored, context_use, source)
k_section(scored, context_use, source, k)
gap_section(scored, context_use, source)
gold_rank_section(scored, context_use)
