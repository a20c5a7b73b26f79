"""Alignment: does the answer draw on what was ranked first?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections import alignment as parts
from dashboard.sections.alignment import advice, rates_of, version_section
from dashboard.sections.retrieval.curves import k_picker
from dashboard.shell.session import current_view
from dashboard.wording.escaping import markdown_text

view = current_view()
st.title("Does the answer draw on what was ranked first?")
scored = view.scored(view.run)
found = parts.use_in(scored)
if found is None:
    st.info(
        f"{markdown_text(view.labels[view.run.run_id])} has no answers with retrieved texts that are "
        f"not refusals, "
        "so there is no use of documents to look at. Samples can carry `answer` with `retrieved` texts "
        "(use is then "
        "estimated from words), `used` ranks, or `citations`."
    )
    st.stop()

with st.container(horizontal=True, vertical_alignment="bottom"):
    origin = parts.source_picker(found)
    k = k_picker(view.run)
rates = {rate.source: rate for rate in rates_of(scored)}
advice(found, rates[origin])

st.subheader("Every version")
version_section(view)
parts.split_section(scored, found, origin)
parts.rank_section(scored, found, origin)
parts.k_section(scored, found, origin, k)
parts.gap_section(scored, found, origin)
parts.gold_rank_section(scored, found)
