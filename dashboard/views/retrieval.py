"""Retrieval: does it find what the answers need, and how many documents does it take?"""

from __future__ import annotations

import streamlit as st

from dashboard import retrieval_parts as parts
from dashboard.session import current_view
from dashboard.text import markdown_text

view = current_view()
st.title("Does retrieval find what the answers need?")
lists = parts.lists_of(view, view.run)
if lists is None:
    st.info(
        f"{markdown_text(view.labels[view.run.run_id])} names no gold documents, so there is nothing to "
        f"find. "
        "Samples can carry `relevant` (document ids) or `relevant_spans` (characters), or labels can "
        "come from "
        "a file: `ragtriage import RUN --qrels FILE`, in the TREC or BEIR form."
    )
    st.stop()

k = parts.k_picker(view.run)
parts.curve_section(view, lists, k)
parts.first_gold_section(lists)
parts.type_section(view, lists)
parts.rerank_section(view, lists, k)
parts.hop_section(lists, k)
