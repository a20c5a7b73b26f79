"""What came of loading files: kept for the page that opens next, which shows it once."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.errors import DataError, InputError
from ragtriage.metrics.number_text import count

_LOADED = "load_results"


def keep_results(results: Sequence[DataError | str]) -> None:
    """Keep what came of each file for the page that opens next."""
    st.session_state[_LOADED] = results


def show_results() -> None:
    """Show what came of the last load, once: a message for each file, and the errors of those that failed."""
    for result in st.session_state.pop(_LOADED, []):
        if isinstance(result, str):
            st.success(markdown_text(result))
        else:
            show_errors(result)


def show_errors(error: DataError) -> None:
    """Show why a file cannot be read: each problem of it a line."""
    lines = [str(line) for line in error.errors] if isinstance(error, InputError) else [str(error)]
    total = error.total if isinstance(error, InputError) else 1
    st.error(
        "\n".join(f"- {markdown_text(line)}" for line in lines),
        title=f"Cannot be read ({count(total, 'problem')})",
    )
