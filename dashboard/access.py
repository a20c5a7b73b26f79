"""Who may change what: a dashboard for reading shows everything and offers no change."""

from __future__ import annotations

import streamlit as st

from data.reading_only import read_only

__all__ = ["may_write", "only_reads"]


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
