"""Alignment: do the answers use the top-ranked document?"""

from functools import partial

import streamlit as st

from ragtriage.dashboard.headlines.alignment import alignment_headline, no_use_headline
from ragtriage.dashboard.pages.alignment.context_use import (
    advice,
    by_relevance,
    citation_section,
    context_use_in,
    gap_section,
    gold_rank_section,
    grid_section,
    has_own_answers,
    k_section,
    rank_section,
    rates_of,
    source_picker,
    split_section,
    version_section,
)
from ragtriage.dashboard.shell.components import bundled_example, open_page, run_facts
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.shell.widgets import draw_tabs

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
    headline = alignment_headline(name, rates[source], by_relevance(scored, context_use, source), findings)
    open_page(headline, meta=run_facts(view))
st.markdown("### Which ranks the answers use")
grid_section(scored, context_use, source)
advice(context_use, rates[source])

TABS = {
    "versions": ("Versions", partial(version_section, view)),
    "splits": ("By document and type", partial(split_section, scored, context_use, source)),
    "ranks": ("By rank", partial(rank_section, scored, context_use, source)),
    "over_k": ("Over k", partial(k_section, scored, context_use, source)),
    "order": ("Order of use", partial(gap_section, scored, context_use, source)),
    "places": ("Gold in the middle", partial(gold_rank_section, scored, context_use)),
    "citations": ("Citations", partial(citation_section, scored)),
}
draw_tabs(TABS, "alignment_tab")
