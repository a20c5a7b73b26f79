"""Who sits at the screen: the name that stands with what a person adds, and changes made under it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dashboard.wording.escaping import markdown_text
from data.errors import DataError
from data.store.read_only import read_only

__all__ = [
    "attempt",
    "current_user",
    "may_write",
    "name_box",
    "only_reads",
]

_KEY = "annotator_name"


def current_user() -> str:
    """Give the name that the person gave, "" without one."""
    return str(st.session_state.get(_KEY, "")).strip()


def name_box(width: int = 150) -> None:
    """Ask for the name; it stays while one goes from page to page."""
    st.text_input("Your name", key=_KEY, persist_state="session", width=width, max_chars=60)


def attempt(change: Callable[[], str | None]) -> None:
    """Make a change from a callback and say what came of it, or why it cannot be made.

    Args:
        change: makes it and gives a sentence for people, outside text in it escaped; None to say nothing.
    """
    try:
        said = change()
        if said:
            st.toast(said)
    except DataError as error:
        st.toast(markdown_text(str(error)), icon="⚠️", duration="long")


def may_write() -> bool:
    """Whether pages offer what changes the workspace; not under `ragtriage serve --read-only`.

    The data package refuses on its own as well: what a page forgets to hide still changes nothing.
    """
    return not read_only()


def only_reads(what: str) -> None:
    """Say in one sentence what is switched off here.

    Args:
        what: begins the sentence, in the plural, e.g. "Labels".
    """
    st.caption(f"{what} are switched off: this dashboard was started with `--read-only`.")
