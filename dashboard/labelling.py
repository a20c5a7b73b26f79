"""Labelling the open case under one's name: buttons, keys, undo."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard.session import View, keep
from dashboard.text import markdown_text
from data.ledger import Label, Verdict

__all__ = ["label_bar", "step_bar"]


def step_bar(position: int, total: int, before: str | None, after: str | None) -> None:
    """Draw previous and next; the keys K and J do the same unless one is typing."""
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
            "Next", key="step_on", shortcut="J", disabled=after is None, on_click=keep, kwargs={"case": after}
        )
        st.caption(f"case {position + 1:,} of {total:,}")


def label_bar(view: View, case: tuple[str, str, int], labels: Sequence[Label], after: str | None) -> None:
    """Draw the label controls; P and F label and go on, U takes the newest label back."""
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input("Your name", key="annotator_name", persist_state="session", width=150, max_chars=60)
            known = view.catalogue.ledger.failure_labels()
            st.selectbox(
                "Failure label", known, index=None, key="failure_label", accept_new_options=True, width=190,
                placeholder="optional",
            )  # fmt: skip
            st.text_input("Note", key="label_note", placeholder="optional", width=220, max_chars=2000)
        named = bool(st.session_state.get("annotator_name", "").strip())
        with st.container(horizontal=True, vertical_alignment="center"):
            for text, verdict, shortcut in (
                ("Pass", "pass", "P"),
                ("Fail", "fail", "F"),
                ("Note only", None, "N"),
            ):
                st.button(
                    text, key=f"label_{text}", shortcut=shortcut, disabled=not named,
                    on_click=_label, args=(view, case, verdict, after),
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
                st.caption("Give your name to label.")
        for one in labels:
            st.caption(_said(one))


def _said(one: Label) -> str:
    parts = [one.verdict or "note", one.failure, one.note]
    text = " · ".join(markdown_text(part) for part in parts if part)
    return f"**{markdown_text(one.annotator)}**: {text} :gray[{one.at} UTC]"


def _label(view: View, case: tuple[str, str, int], verdict: Verdict | None, after: str | None) -> None:
    failure, note = st.session_state.get("failure_label") or "", st.session_state.get("label_note") or ""
    if verdict is None and not note.strip():
        st.toast("A note needs text.")
        return
    view.catalogue.ledger.add_label(case, st.session_state["annotator_name"], verdict, failure, note)
    st.session_state["failure_label"], st.session_state["label_note"] = None, ""
    if after is not None:
        keep(case=after)
    st.toast(f"Labelled {verdict or 'with a note'}. U takes it back.")


def _undo(view: View, run_id: str) -> None:
    taken = view.catalogue.ledger.undo_label(run_id, st.session_state["annotator_name"])
    if taken is None:
        st.toast("Nothing of yours to take back in this run.")
        return
    keep(case=f"{taken.question_id}~{taken.repeat}")
    st.toast(f"Took back: {taken.verdict or 'note'}.")
