"""Alignment: do the answers use the top-ranked document?"""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.headlines.alignment import alignment_headline, no_use_headline
from ragtriage.dashboard.pages.alignment.citations import citation_section
from ragtriage.dashboard.pages.alignment.context_use import (
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
from ragtriage.dashboard.pages.alignment.grid import grid_section
from ragtriage.dashboard.shell.blocks import bundled_example, open_page, run_facts
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.shell.widgets import k_picker, page_tabs

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
source = source_picker(context_use)
rates = {rate.source: rate for rate in rates_of(scored)}
with band:
    open_page(
        alignment_headline(name, rates[source], by_relevance(scored, source), findings), meta=run_facts(view)
    )
st.markdown("### Which ranks the answers use")
grid_section(scored, context_use, source)
advice(context_use, rates[source])

TABS = {
    "versions": "Versions",
    "splits": "By document and type",
    "ranks": "By rank",
    "over_k": "Over k",
    "order": "Order of use",
    "places": "Gold in the middle",
    "citations": "Citations",
}
versions, splits, ranks, over_k, order, places, cited = page_tabs(TABS, "alignment_tab")
if versions.open:
    with versions:
        version_section(view)
if splits.open:
    with splits:
        split_section(scored, context_use, source)
if ranks.open:
    with ranks:
        rank_section(scored, context_use, source)
if over_k.open:
    with over_k:
        k_section(scored, context_use, source, k_picker(view.run))
if order.open:
    with order:
        gap_section(scored, context_use, source)
if places.open:
    with places:
        gold_rank_section(scored, context_use)
if cited.open:
    with cited:
        citation_section(scored)
