"""Alignment: does the answer draw on what was ranked first?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections.alignment import (
    advice,
    gap_section,
    gold_rank_section,
    k_section,
    rank_section,
    rates_of,
    source_picker,
    split_section,
    use_in,
    version_section,
)
from dashboard.shell.session import current_view
from dashboard.shell.widgets import k_picker
from dashboard.wording.escaping import markdown_text

view = current_view()
st.title("Does the answer draw on what was ranked first?")
scored = view.scored(view.run)
found = use_in(scored)
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
    origin = source_picker(found)
    k = k_picker(view.run)
rates = {rate.source: rate for rate in rates_of(scored)}
advice(found, rates[origin])

st.subheader("Every version")
version_section(view)
split_section(scored, found, origin)
rank_section(scored, found, origin)
k_section(scored, found, origin, k)
gap_section(scored, found, origin)
gold_rank_section(scored, found)
