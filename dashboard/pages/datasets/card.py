"""The card of a dataset in Markdown, and its questions as files for other tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import streamlit as st

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.pages.datasets.opened import Opened
from ragtriage.dashboard.shell.components import open_page
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.data.datasets.card import card_text
from ragtriage.data.datasets.chosen import choose
from ragtriage.data.datasets.exports import FORMS, Export, export_bytes
from ragtriage.data.datasets.item import Item
from ragtriage.data.errors import DataError
from ragtriage.metrics.number_text import count

CARD_HEIGHT = 620  # pixels
UNREAD = "card_unreviewed"  # in the session


def card_section(opened: Opened) -> None:
    """Draw the card of the draft or the version on display, with its exports."""
    none_read = opened.version is None and not opened.draft.golden
    try:
        export = _export(opened, none_read or bool(st.session_state.get(UNREAD)))
    except DataError:  # nothing that could go into a version
        open_page(_nothing(opened))
        return
    open_page(_headline(opened, export.items, none_read))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="card_bar"):
        if opened.version is None and not none_read:
            st.toggle("With what nobody has read", key=UNREAD)
        st.space("stretch")
        form = st.selectbox(
            "Form", list(FORMS), format_func=lambda key: FORMS[key].title, key="export_form",
            label_visibility="collapsed", width=260,
        )  # fmt: skip
        name = f"{opened.dataset.name} v{opened.version.version}" if opened.version else opened.dataset.name
        place = FORMS[str(form)].place
        ending = "zip" if place == "folder" else place.rpartition(".")[2]
        written = partial(export_bytes, export, str(form))
        icon = ":material/download:"
        st.download_button("Questions", written, f"{name}.{ending}", key="export_dataset", icon=icon)
        st.download_button("Card", export.card, f"{name}.md", key="export_card", icon=icon)
    with st.container(border=True, height=CARD_HEIGHT):
        st.markdown(re.sub(r"^#", "####", export.card, flags=re.MULTILINE))  # below the page's headings


@kept
def _export(opened: Opened, unreviewed: bool) -> Export:
    corpus = opened.windows.corpus
    if opened.version is not None:
        items: tuple[Item, ...] = tuple(each.item for each in opened.items)
    else:
        items = choose(opened.draft, unreviewed).items
    card = card_text(opened.draft, items, corpus, opened.version)
    return Export(opened.dataset.name, items, corpus, card)


def _nothing(opened: Opened) -> Headline:
    """Return why there is nothing to hand over."""
    name, of = opened.dataset.name, count(len(opened.offered), "question")
    if opened.in_use:
        why = "The gold of every question is gone from the corpus; Versions shows where it was."
    else:
        why = "Readers rejected every question, or differ on it."
    return Headline("bad", f"{name}: none of {of} can be handed over", why)


def _headline(opened: Opened, items: Sequence[Item], none_read: bool) -> Headline:
    """Return what can be handed over."""
    name, questions = opened.dataset.name, count(len(items), "question")
    if none_read:
        return Headline("cannot tell", f"{name}: {questions} to hand over, none read by people")
    return Headline("good", f"{name}: {questions} to hand over")
