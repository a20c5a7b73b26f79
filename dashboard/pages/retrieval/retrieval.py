"""Retrieval: does it find what the answers need, and how many documents does it take?"""

from functools import partial

import streamlit as st

from ragtriage.dashboard.headlines.retrieval import no_gold_headline, retrieval_headline
from ragtriage.dashboard.pages.retrieval.ranks import (
    curve_section,
    gold_section,
    lists_of,
    step_section,
    tile_section,
    top_gold,
)
from ragtriage.dashboard.pages.retrieval.retrieval_tabs import (
    context_section,
    has_context_quality,
    hop_section,
    rerank_section,
    type_section,
)
from ragtriage.dashboard.shell.components import bundled_example, open_page, run_facts
from ragtriage.dashboard.shell.session import current_view
from ragtriage.dashboard.shell.widgets import draw_tabs, k_picker
from ragtriage.data.analysis.retrieval_curves import list_lengths

view = current_view()
name = view.store.names()[view.run.run_id]
findings = view.findings(view.run)
lists = lists_of(view, view.run)
if lists is None or not len(list_lengths(lists)):
    asks_gold = lists is not None
    open_page(no_gold_headline(name, findings, asks_gold), meta=run_facts(view))
    if has_context_quality(view):
        st.markdown("### Context quality beyond relevance")
        context_section(view)
    bundled_example("musique", "", "scores retrieval against gold paragraphs")
    st.stop()

above = st.container()
hero, steps = st.columns([2.3, 1], gap="medium")
with hero:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("### Rank of the gold")
        k = k_picker(view.run)
    gold_section(view, lists, k)
with above:
    open_page(retrieval_headline(name, top_gold(view, k), findings), meta=run_facts(view))
    tile_section(view, k)
with steps:
    step_section(view.run, view, k)

TABS = {
    "types": ("By question type", partial(type_section, view, lists, k)),
    "reranking": ("Reranking", partial(rerank_section, view, lists, k)),
    "hops": ("Hops", partial(hop_section, view, lists, k)),
    "context": ("Context", partial(context_section, view)),
    "metrics": ("All metrics", partial(curve_section, view, lists, k)),
}
draw_tabs(TABS, "retrieval_tab")
