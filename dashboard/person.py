"""Who sits at the screen: the name that stands with what a person adds, and changes made under it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dashboard.text import markdown_text
from data.errors import DataError

__all__ = ["attempt", "name_box", "person"]

_KEY = "annotator_name"


def person() -> str:
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
