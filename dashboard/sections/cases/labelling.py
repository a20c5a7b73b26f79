"""The buttons that step through the list and label the open case, with their keys."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard.shell.session import View, keep
from dashboard.shell.user import attempt, current_user, may_write, name_box, only_reads
from dashboard.wording.escaping import markdown_text
from data.labels.failure_taxonomy import offered_labels
from data.labels.reviewed_cases import mark_reviewed
from data.store.ledger import Label, Verdict

__all__ = ["label_bar", "run_is_there", "step_bar"]


def step_bar(
    view: View, case: tuple[str, str, int], place: tuple[int, int], before: str | None, after: str | None
) -> None:
    """Draw the buttons Previous and Next, with the keys K and J.

    Next marks the case as reviewed by the current user, if they gave a name.

    Args:
        view: of the page.
        case: the open case.
        place: its position in the list, from 0, and the length of the list.
        before: name of the previous case.
        after: name of the next case.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Previous",
            key="step_back",
            shortcut="K",
            disabled=before is None,
            on_click=keep,
            kwargs={"case": before},
        )
        st.button(
            "Next",
            key="step_on",
            shortcut="J",
            disabled=after is None,
            on_click=_step_on,
            args=(view, case, after),
        )
        st.caption(f"case {place[0] + 1:,} of {place[1]:,}")


def _step_on(view: View, case: tuple[str, str, int], after: str) -> None:
    keep(case=after)  # first: a ledger that cannot be written must not stop the reader
    if current_user() and may_write():
        attempt(lambda: mark_reviewed(view.store.ledger, case, current_user()))


_VERDICTS: tuple[tuple[str, Verdict | None, str], ...] = (
    ("Pass", "pass", "P"),
    ("Fail", "fail", "F"),
    ("Note only", None, "N"),
)


def label_bar(
    view: View,
    case: tuple[str, str, int],
    labels: Sequence[Label],
    after: str | None,
    queue_id: int | None = None,
) -> None:
    """Draw the label controls: P and F label the case and open the next, U undoes the newest label.

    Args:
        view: of the page.
        case: the open case.
        labels: of the case.
        after: name of the next case.
        queue_id: the random queue that drew the case; None where it was opened by browsing.
    """
    if not may_write():
        only_reads("Labels")
        _list_labels(labels)
        return
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name_box()
            failures = offered_labels(view.store.ledger, view.project)
            st.selectbox(
                "Failure label", failures, index=None, key="failure_label", accept_new_options=True,
                width=190, placeholder="optional",
            )  # fmt: skip
            st.text_input("Note", key="label_note", placeholder="optional", width=220, max_chars=2000)
        named = bool(current_user())
        with st.container(horizontal=True, vertical_alignment="center"):
            for text, verdict, shortcut in _VERDICTS:
                st.button(
                    text, key=f"label_{text}", shortcut=shortcut, disabled=not named,
                    on_click=_label, args=(view, case, verdict, after, queue_id),
                )  # fmt: skip
            st.button(
                "Undo",
                key="label_undo",
                shortcut="U",
                disabled=not named,
                on_click=_undo,
                args=(view, case[0]),
            )
            if not named:
                st.caption("Enter your name to label.")
        _list_labels(labels)


def _list_labels(labels: Sequence[Label]) -> None:
    for label in labels:
        parts = [label.verdict or "note", label.failure, label.note]
        text = " · ".join(markdown_text(part) for part in parts if part)
        st.caption(f"**{markdown_text(label.annotator)}**: {text} :gray[{label.at} UTC]")


def _label(
    view: View, case: tuple[str, str, int], verdict: Verdict | None, after: str | None, queue_id: int | None
) -> None:
    failure, note = st.session_state.get("failure_label") or "", st.session_state.get("label_note") or ""
    if verdict is None and not note.strip():
        st.toast("A note needs text.")
        return
    if not run_is_there(view, case[0]):
        return
    name = st.session_state["annotator_name"]
    view.store.ledger.add_label(case, name, verdict, failure, note, queue_id)
    st.session_state["failure_label"], st.session_state["label_note"] = None, ""
    if after is not None and (verdict is not None or queue_id is None):  # a note alone rates nothing
        keep(case=after)
    st.toast(f"Labelled {verdict or 'with a note'}. Press U to undo.")


def run_is_there(view: View, run_id: str) -> bool:
    """Return whether a run is still in the workspace; where it is not, say that nothing was labelled."""
    if run_id in view.store.workspace.run_ids():
        return True
    st.toast("This run was deleted meanwhile; nothing was labelled.", icon="⚠️")
    return False


def _undo(view: View, run_id: str) -> None:
    undone = view.store.ledger.undo_label(run_id, st.session_state["annotator_name"])
    if undone is None:
        st.toast("You have nothing to undo in this run.")
        return
    keep(case=f"{undone.question_id}~{undone.repeat}")
    st.toast(f"Undone: {undone.verdict or 'note'}.")
