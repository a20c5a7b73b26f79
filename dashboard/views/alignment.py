"""Alignment: do the answers use the top-ranked document?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections.alignment import (
    advice,
    context_use_in,
    gap_section,
    gold_rank_section,
    k_section,
    rank_section,
    rates_of,
    source_picker,
    split_section,
    version_section,
)
from dashboard.shell.session import current_view
from dashboard.shell.widgets import k_picker
from dashboard.wording.escaping import markdown_text

view = current_view()
st.title("Do the answers use the top-ranked document?")
scored = view.scored(view.run)
context_use = context_use_in(scored)
if context_use is None:
    st.info(
        f"{markdown_text(view.labels[view.run.run_id])} has no answers with retrieved texts that are not "
        "refusals, so context use cannot be shown. Samples can carry `answer` with `retrieved` texts (use is "
        "then estimated from words), `used` ranks, or `citations`."
    )
    st.stop()

with st.container(horizontal=True, vertical_alignment="bottom"):
    source = source_picker(context_use)
    k = k_picker(view.run)
rates = {rate.source: rate for rate in rates_of(scored)}
advice(context_use, rates[source])

st.subheader("Every version")
version_section(view)
split_section(scored, context_use, source)
rank_section(scored, context_use, source)
k_section(scored, context_use, source, k)
gap_section(scored, context_use, source)
gold_rank_section(scored, context_use)
