"""Datasets: can I trust what I measure with, and what is missing?"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from ragtriage.dashboard.headlines.datasets import EMPTY
from ragtriage.dashboard.pages.datasets.card import card_section
from ragtriage.dashboard.pages.datasets.make import make_button, make_form, make_jobs
from ragtriage.dashboard.pages.datasets.opened import bundled_dataset, open_dataset, version_picker
from ragtriage.dashboard.pages.datasets.overview import overview_section
from ragtriage.dashboard.pages.datasets.review import review_section
from ragtriage.dashboard.pages.datasets.versions import versions_section
from ragtriage.dashboard.present.page_html.blocks import page_style
from ragtriage.dashboard.shell.components import current_theme, open_page
from ragtriage.dashboard.shell.session import View, current_selection, open_store
from ragtriage.dashboard.shell.user import may_write
from ragtriage.dashboard.shell.widgets import choose, pick
from ragtriage.data.datasets.dataset import datasets

CLEAR = {"frozen": 0, "item": "", "reading": "", "check_mark": "", "document": ""}
PARTS = {"": "Overview", "review": "Review", "versions": "Versions", "card": "Card"}
store = open_store()
view = View.of(store, current_selection())
every = {each.dataset_id: each for each in reversed(datasets(store.workspace))}

st.html(page_style("triage", current_theme()) + page_style("datasets", current_theme()))
if not every:
    open_page(EMPTY)
    bundled_dataset()
    if may_write():
        st.markdown("##### Make one here")
        make_form(None)
    make_jobs("")
    st.stop()
with st.container(horizontal=True, vertical_alignment="center", gap="small", key="dataset_header"):
    chosen = choose(
        "Dataset", "dataset", list(every), lambda key: every[key].name, CLEAR,
        label_visibility="collapsed", width=180,
    )  # fmt: skip
    dataset = every[chosen]
    version_picker(dataset)
    part = pick("part", PARTS)
    opened = open_dataset(dataset)
    st.space("stretch")
    if not may_write():
        st.badge("Read only", icon=":material/lock:", color="gray", help="Nothing can be changed here.")
    if opened.version is None:
        make_button(opened if opened.items else None)
make_jobs(dataset.dataset_id)
if not opened.items:
    open_page(replace(EMPTY, statement=f"{dataset.name}: no question yet"))
elif part == "review":
    review_section(opened, view)
elif part == "versions":
    versions_section(opened)
elif part == "card":
    card_section(opened)
else:
    overview_section(opened, view)
