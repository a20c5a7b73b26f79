"""Warnings about names in the URL that do not exist in the workspace, and about runs that cannot be read."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.shell.session import current_selection, keep
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.scoring.run_store import RunStore

LONGEST = 60  # characters of a name from the URL that the warning repeats


def missing_choices(store: RunStore, selection: Selection) -> dict[str, str]:
    """Return a message for each field of a selection that names something missing."""
    runs = {run.run_id: run for run in store.runs()}
    if not runs:
        return {}
    messages = {}
    project, chosen = selection.project, runs.get(selection.run)
    projects = {run.project for run in runs.values()}
    if project and project not in projects:
        messages["project"] = f"There is no project {_named(project)} in this workspace"
    elif project and chosen and chosen.project != project:
        messages["run"] = (
            f"Run {_named(selection.run)} belongs to {_named(chosen.project)}, not to {_named(project)}"
        )
    if selection.run and chosen is None:
        messages["run"] = f"There is no run {_named(selection.run)} in this workspace"
    if selection.baseline and selection.baseline not in runs:
        messages["baseline"] = f"There is no run {_named(selection.baseline)} to be the baseline"
    return messages


def tell_missing(store: RunStore, reading: bool = False) -> bool:
    """Warn of names in the URL that do not exist, then drop them from the selection.

    Args:
        store: of the workspace.
        reading: whether the page shows a case and has keys that label it. A run that is gone then gives way
            to no other by itself, since the next key press would label a case that nobody has read.

    Returns:
        Whether the page must not be drawn.
    """
    messages = missing_choices(store, current_selection())
    if not messages:
        return False
    text = " ".join(f"{markdown_text(message)}." for message in messages.values())
    if reading and "run" in messages:
        st.warning(f"{text} It may have been deleted while it was open.", title="This run is not there")
        st.button(
            "Show the newest run", key="leave_missing_run", on_click=keep, kwargs={"run": "", "case": ""}
        )
        return True
    keep(**dict.fromkeys(messages, ""))
    st.warning(f"{text} What opens without a link is shown instead.", title="The link is out of date")
    return False


def tell_unreadable(store: RunStore) -> None:
    """Warn of what is wrong with each run of the workspace that cannot be read."""
    for problem in store.unreadable().values():
        st.warning(markdown_text(problem), title="A run cannot be read")


def _named(text: str) -> str:
    return repr(shorten(text, LONGEST))
