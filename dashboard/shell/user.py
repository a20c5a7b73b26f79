"""The current user: the name under which labels and changes are recorded, and whether changes are allowed."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import streamlit as st

from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.errors import DataError
from ragtriage.data.store.access import allowed_folders, read_only

COOKIE = "ragtriage_name"
LONGEST_NAME = 60
USER_NAME = "annotator_name"  # in the session
WANTED = "label_wanted"  # in the session: the box that the last key press asks to fill


def current_user() -> str:
    """Return the name that the user entered, here or before in this browser; "" without one."""
    if USER_NAME not in st.session_state and (name := unquote(_cookie())):
        st.session_state[USER_NAME] = name[:LONGEST_NAME]
    return str(st.session_state.get(USER_NAME, "")).strip()


def _cookie() -> str:
    value: object = st.context.cookies.get(COOKIE, "")
    return value if isinstance(value, str) else ""  # it is none where no browser asks


def name_box(width: int = 150, **more: Any) -> None:
    """Draw the box for the user's name, which all pages share; the rest is passed on to st.text_input."""
    current_user()
    st.text_input(
        "Your name", key=USER_NAME, persist_state="session", width=width, max_chars=LONGEST_NAME, **more
    )


def remember_user() -> None:
    """Let the browser keep the name for its next visit."""
    name = quote(current_user(), safe="")  # leaves nothing that ends a script or a cookie
    if name != _cookie():
        age = 31_536_000 if name else 0
        script = f'document.cookie = "{COOKIE}={name};path=/;max-age={age};samesite=lax"'
        st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)


def name_is_missing(done: str) -> bool:
    """Return whether the name is missing; where it is, say so and ask for the cursor in its box.

    Args:
        done: what would have been done, as "labelled".
    """
    if current_user():
        return False
    st.session_state[WANTED] = USER_NAME
    st.toast(f"Nothing was {done}: enter your name first, in the box among the buttons.", icon="⚠️")
    return True


def wanted_box() -> str:
    """Return the key of the box that the last key press asks to fill, once; "" for none."""
    return str(st.session_state.pop(WANTED, ""))


def attempt(change: Callable[[], str | None]) -> None:
    """Make a change in a callback, and show its message or the reason why it failed.

    Args:
        change: makes the change and returns a message, outside text in it escaped; None for no message.
    """
    try:
        message = change()
        if message:
            st.toast(message)
    except DataError as error:
        st.toast(markdown_text(str(error)), icon="⚠️", duration="long")


def may_write() -> bool:
    """Return whether pages may offer changes of the workspace; not under `ragtriage serve --read-only`.

    The data package refuses changes as well, in case a page forgets to hide a control.
    """
    return not read_only()


def path_input(label: str, key: str, placeholder: str = "") -> str:
    """Draw the box for a path on this machine, unless none may be read; return what was typed.

    What is typed goes through `allowed_path` before it is read.
    """
    folders = allowed_folders()
    if folders == ():
        return ""
    below = "" if folders is None else f", below {' or '.join(map(str, folders))}"
    return st.text_input(f"{label}{markdown_text(below)}", key=key, placeholder=placeholder)


def only_reads(what: str) -> None:
    """Show that something is switched off.

    Args:
        what: the start of the sentence, in the plural, e.g. "Labels".
    """
    st.caption(f"{what} are switched off: this dashboard was started with `--read-only`.")
