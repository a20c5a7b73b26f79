"""What can be changed of a run: name, tags, baseline, release; and taking it out of the workspace."""

from __future__ import annotations

import json

import numpy as np
import streamlit as st

from dashboard.access import may_write, only_reads
from dashboard.baseline_words import moved_text
from dashboard.drawing import facts
from dashboard.person import attempt, name_box, person
from dashboard.session import View, keep
from dashboard.text import markdown_text
from data.baselines import baseline_history, clear_baseline
from data.exports import export_rows
from data.releases import LONGEST_RELEASE, mark_release, releases_of, unmark_release
from data.workspace import Run

__all__ = ["run_changes", "run_marks"]

HISTORY = 12  # changes of the baseline that are listed


def run_marks(view: View) -> dict[str, list[str]]:
    """Give what the runs of the project are marked with: baseline, release, tags."""
    ledger = view.catalogue.ledger
    found: dict[str, list[str]] = {}
    baseline = ledger.baselines().get(view.project)
    if baseline:
        found[baseline] = ["baseline"]
    for run_id, release in releases_of(ledger, view.project).items():
        found.setdefault(run_id, []).append(f"release {release.name}")
    for run_id, tags in ledger.tags().items():
        found.setdefault(run_id, []).extend(tags)
    return found


def run_changes(view: View, run: Run) -> None:
    """Show who set the baseline, and draw the controls that change a run; exports for everyone."""
    if may_write():
        _names(view, run)
        _standing(view, run)
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Export", on_change="rerun") as box:
            if box.open:
                _exports(view, run)
        if may_write():
            with st.popover("Delete"):
                st.write(f"Delete {markdown_text(view.labels[run.run_id])}? Its labels stay in the ledger.")
                st.button("Delete this run", key="delete", type="primary", on_click=_delete, args=(view, run))
    if not may_write():
        only_reads("Changes")
    _history(view)


def _names(view: View, run: Run) -> None:
    ledger = view.catalogue.ledger
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(
            "Display name", value=view.catalogue.names()[run.run_id], key=f"name_{run.run_id}", width=220
        )
        st.button(
            "Rename",
            key="rename",
            on_click=lambda: ledger.rename(run.run_id, name, person()),
            disabled=not name.strip(),
        )
        tag = st.text_input("Tag", key=f"tag_{run.run_id}", placeholder="nightly", width=140)
        st.button(
            "Add tag",
            key="add_tag",
            on_click=lambda: ledger.tag(run.run_id, tag, person()),
            disabled=not tag.strip(),
        )
        tags = ledger.tags().get(run.run_id, [])
        if tags:
            gone = st.selectbox("Tags", tags, key=f"tags_{run.run_id}", width=140)
            st.button("Remove tag", key="remove_tag", on_click=lambda: ledger.untag(run.run_id, gone))


def _standing(view: View, run: Run) -> None:
    """Let a person make the run the baseline, or mark it as a release."""
    ledger = view.catalogue.ledger
    current = releases_of(ledger, run.project).get(run.run_id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name_box(160)
        given = st.text_input(
            "Release",
            value="" if current is None else current.name,
            key=f"release_{run.run_id}",
            placeholder="2.4.0",
            width=220,
            max_chars=LONGEST_RELEASE,
        )
        st.button(
            "Mark as release", key="mark_release", on_click=attempt, disabled=not given.strip(),
            args=(lambda: mark_release(ledger, run.project, run.run_id, given, person()),),
        )  # fmt: skip
        if current is not None:
            st.button("Not a release", key="unmark_release", on_click=_unmark, args=(view, run))
        if ledger.baselines().get(run.project) == run.run_id:
            st.button("No baseline any more", key="clear_baseline", on_click=_clear, args=(view, run))
        elif not run.means:
            st.button("Make it the baseline", key="set_baseline", on_click=_set_baseline, args=(view, run))


def _history(view: View) -> None:
    """Say which run is the baseline, who set it and when, and what it was before."""
    moves = baseline_history(view.catalogue.ledger, view.project)
    if not moves:
        st.caption("Baseline: none is set; the run before the one on display stands in for it.")
        return
    newest, *earlier = [markdown_text(moved_text(one, view.labels)) for one in moves[:HISTORY]]
    facts([f"Baseline: {newest}", "" if earlier else "never moved"])
    if earlier:
        with st.expander(f"Where the baseline was before ({len(moves) - 1:,})"):
            for line in earlier:
                st.caption(line)
            if len(moves) > HISTORY:
                st.caption(f"and {len(moves) - HISTORY:,} earlier ones: `ragtriage baseline`")


def _exports(view: View, run: Run) -> None:
    diagnosis = view.diagnosis(run)
    for form in ("jsonl", "csv", "parquet"):
        st.download_button(
            form.upper(),
            lambda form=form: export_rows(diagnosis, np.arange(run.n), form),  # type: ignore[misc] # binds the loop's value
            file_name=f"{run.run_id}.{form}",
            key=f"export_run_{form}",
        )
    st.download_button(
        "Facts (JSON)", json.dumps(json.loads(run.to_json()), indent=1), file_name=f"{run.run_id}.json"
    )


def _set_baseline(view: View, run: Run) -> None:
    def change() -> str:
        view.catalogue.ledger.set_baseline(run.project, run.run_id, person())
        keep(baseline="")
        return "This run is now the baseline of its project."

    attempt(change)


def _clear(view: View, run: Run) -> None:
    def change() -> str:
        clear_baseline(view.catalogue.ledger, run.project, person())
        keep(baseline="")
        return "The project has no baseline now."

    attempt(change)


def _unmark(view: View, run: Run) -> None:
    def change() -> str:
        unmark_release(view.catalogue.ledger, run.project, run.run_id, person())
        st.session_state[f"release_{run.run_id}"] = ""
        return "This run is no release any more."

    attempt(change)


def _delete(view: View, run: Run) -> None:
    def change() -> str:
        view.catalogue.workspace.delete_run(run.run_id)
        keep(run="", baseline="", case="")
        return "Deleted."

    attempt(change)
