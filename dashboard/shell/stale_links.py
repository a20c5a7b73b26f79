"""What an address names and the workspace does not hold: told once, then forgotten."""

from __future__ import annotations

import streamlit as st

from dashboard.shell.selection import Selection
from dashboard.shell.session import current_selection, keep
from dashboard.wording.escaping import markdown_text, shorten
from data.scoring.run_store import RunStore

__all__ = ["missing_choices", "tell_missing"]

LONGEST = 60  # characters of a name from an address that are repeated


def missing_choices(store: RunStore, selection: Selection) -> dict[str, str]:
    """Say of each field of a selection that names what is not there what it named."""
    runs = {run.run_id: run for run in store.runs()}
    if not runs:
        return {}
    found = {}
    project, chosen = selection.project, runs.get(selection.run)
    there = {run.project for run in runs.values()}
    if project and project not in there:
        found["project"] = f"There is no project {_named(project)} in this workspace"
    elif project and chosen and chosen.project != project:
        found["run"] = (
            f"Run {_named(selection.run)} belongs to {_named(chosen.project)}, not to {_named(project)}"
        )
    if selection.run and chosen is None:
        found["run"] = f"There is no run {_named(selection.run)} in this workspace"
    if selection.baseline and selection.baseline not in runs:
        found["baseline"] = f"There is no run {_named(selection.baseline)} to be the baseline"
    return found


def tell_missing(store: RunStore) -> None:
    """Say what the address names and is not there, and what is shown in its place; then drop it."""
    gone = missing_choices(store, current_selection())
    if not gone:
        return
    keep(**dict.fromkeys(gone, ""))
    said = " ".join(f"{markdown_text(text)}." for text in gone.values())
    st.warning(f"{said} What the workspace does hold is shown instead.", title="The address is out of date")


def _named(text: str) -> str:
    return repr(shorten(text, LONGEST))
