"""Retrieval: does it find what the answers need, and how many documents does it take?"""

from __future__ import annotations

import streamlit as st

from dashboard.sections.retrieval.curves import (
    curve_section,
    first_gold_section,
    lists_of,
)
from dashboard.sections.retrieval.question_types import type_section
from dashboard.sections.retrieval.reranking import hop_section, rerank_section
from dashboard.shell.session import current_view
from dashboard.shell.widgets import k_picker
from dashboard.wording.escaping import markdown_text
from data.analysis.retrieval_curves import list_lengths

view = current_view()
st.title("Does retrieval find what the answers need?")
name = markdown_text(view.labels[view.run.run_id])
lists = lists_of(view, view.run)
if lists is None:
    st.info(
        f"{name} names no gold documents, so retrieval cannot be scored. Samples can carry `relevant` "
        "(document ids) or `relevant_spans` (characters), or labels can come from a file: "
        "`ragtriage import RUN_FILE --qrels LABELS_FILE`, in the TREC or BEIR form."
    )
    st.stop()
if not len(list_lengths(lists)):
    st.info(
        f"{name} names gold, but no sample has both gold and retrieved documents (`retrieved`). Samples "
        "with a given context (`context_mode` oracle or closed_book) and questions without any relevant "
        "document are left out."
    )
    st.stop()

k = k_picker(view.run)
curve_section(view, lists, k)
first_gold_section(lists)
type_section(view, lists, k)
rerank_section(view, lists, k)
hop_section(view, lists, k)
