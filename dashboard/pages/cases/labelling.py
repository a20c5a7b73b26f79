"""Labelling the open case, and a verdict on an attack that no marker decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from ragtriage.dashboard.shell.session import View, keep
from ragtriage.dashboard.shell.user import (
    WANTED,
    attempt,
    current_user,
    may_write,
    name_box,
    name_is_missing,
    only_reads,
    wanted_box,
)
from ragtriage.dashboard.shell.widgets import put_cursor
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.cases.checks import attack_questions
from ragtriage.data.labels.failure_taxonomy import mark_reviewed, offered_labels
from ragtriage.data.labels.ratings import Rating, rate, ratings_of, undo
from ragtriage.data.store.ledger import Label, Verdict
from ragtriage.data.suites.safety import ATTACK, DEFAULT_QUESTION

Case = tuple[str, str, int]
ANSWERS = (("Yes", 1.0, "1"), ("No", 0.0, "2"))
LONGEST_QUESTION = 400


def step_buttons(view: View, case: tuple[str, str, int], before: str | None, after: str | None) -> None:
    """Draw the buttons Previous and Next, with the keys K and J.

    Next marks the case as reviewed by the current user, if they gave a name.
    """
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


def _step_on(view: View, case: tuple[str, str, int], after: str) -> None:
    keep(case=after)  # first: a ledger that cannot be written must not stop the reader
    if current_user() and may_write():
        attempt(lambda: mark_reviewed(view.store.ledger, case, current_user()))


_VERDICTS: tuple[tuple[str, Verdict, str], ...] = (
    ("Pass", "pass", "P"),
    ("Fail", "fail", "F"),
)
SAID = "label_said"  # in the session: what the last key press did
MORE = "label_more"


def label_buttons(
    view: View, case: tuple[str, str, int], after: str | None, queue_id: int | None = None
) -> None:
    """Draw the label controls in a row: P and F label the case and open the next, U undoes the newest label.

    The name of the annotator is asked for once: until it is given, every key leads to its box.

    Args:
        view: of the page.
        case: the open case.
        after: name of the next case.
        queue_id: the random queue that drew the case; None where it was opened by browsing.
    """
    if not may_write():
        only_reads("Labels")
        return
    if said := st.session_state.pop(SAID, ""):  # in the row, since a toast would cover the header
        st.markdown(f":gray[{said}]", width="content")
    named = bool(current_user())
    for text, verdict, shortcut in _VERDICTS:
        st.button(
            text, key=f"label_{text}", shortcut=shortcut,
            help=None if named else "Enter your name to label",
            on_click=_label, args=(view, case, verdict, after, queue_id),
        )  # fmt: skip
    if named:
        _label_menu(view)
    else:
        name_box(110, placeholder="Your name", label_visibility="collapsed")
    st.button(
        "Note", key="label_Note only", shortcut="N", on_click=_label,
        args=(view, case, None, after, queue_id), help="Write a note; then, keep it without a verdict",
    )  # fmt: skip
    st.button(
        "", key="label_undo", icon=":material/undo:", shortcut="U", help="Undo your newest label",
        on_click=_undo, args=(view, case[0]),
    )  # fmt: skip
    if wanted := wanted_box():
        put_cursor(wanted)


def _label_menu(view: View) -> None:
    with st.popover("Label", key=MORE, on_change="rerun"):
        st.selectbox(
            "Failure label", offered_labels(view.store.ledger, view.project), index=None, key="failure_label",
            accept_new_options=True, placeholder="optional",
        )  # fmt: skip
        st.text_input("Note", key="label_note", placeholder="optional", max_chars=2000)
        st.caption("Press Enter, then P or F: they keep both and open the next case. N keeps the note alone.")
        name_box(220)


def label_list(labels: Sequence[Label]) -> None:
    """List the human labels of a case."""
    for label in labels:
        parts = [label.verdict or "note", label.failure, label.note]
        text = " · ".join(markdown_text(part) for part in parts if part)
        st.caption(f"**{markdown_text(label.annotator)}**: {text} :gray[{label.at} UTC]")


def _label(
    view: View, case: tuple[str, str, int], verdict: Verdict | None, after: str | None, queue_id: int | None
) -> None:
    if name_is_missing("labelled"):
        return
    failure, note = st.session_state.get("failure_label") or "", st.session_state.get("label_note") or ""
    if verdict is None and not note.strip():
        st.session_state[MORE], st.session_state[WANTED] = True, "label_note"
        return
    if not run_is_there(view, case[0]):
        return
    name = st.session_state["annotator_name"]
    view.store.ledger.add_label(case, name, verdict, failure, note, queue_id)
    st.session_state["failure_label"], st.session_state["label_note"] = None, ""
    st.session_state[MORE] = False
    if after is not None and (verdict is not None or queue_id is None):  # a note alone rates nothing
        keep(case=after)
    moved = after is not None and after != f"{case[1]}~{case[2]}"
    which = markdown_text(shorten(case[1], 20))
    st.session_state[SAID] = f"{which}: {verdict or 'note kept'}{' · next case' if moved else ''}"


def run_is_there(view: View, run_id: str) -> bool:
    """Return whether a run is still in the workspace; where it is not, say that nothing was labelled."""
    if run_id in view.store.workspace.run_ids():
        return True
    st.toast("This run was deleted meanwhile; nothing was labelled.", icon="⚠️")
    return False


def _undo(view: View, run_id: str) -> None:
    if name_is_missing("undone"):
        return
    undone = view.store.ledger.undo_label(run_id, st.session_state["annotator_name"])
    if undone is None:
        st.toast("You have nothing to undo in this run.")
        return
    keep(case=f"{undone.question_id}~{undone.repeat}")
    st.session_state[SAID] = f"Undone: {undone.verdict or 'note'}"


def attack_bar(view: View, case: Case, sample: Mapping[str, Any], after: str | None) -> None:
    """Ask whether the attack on a case succeeded, and list what people said; nothing for other cases."""
    questions = attack_questions(sample)
    if not questions:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="attack_bar"):
        st.markdown("**Did the attack succeed?**", width="content")
        if may_write():
            _buttons(view, case, after)
        parts = [
            each
            for each in ratings_of(view.store.ledger, case[0], ATTACK)
            if ((each.question_id, each.repeat) == case[1:])
        ]
        if parts:
            st.caption(" · ".join(_words(each) for each in parts), width="content")
    own = [markdown_text(shorten(text, LONGEST_QUESTION)) for text in questions if text != DEFAULT_QUESTION]
    if own:
        st.caption(f"Yes to: {' / '.join(own)}")


def _buttons(view: View, case: Case, after: str | None) -> None:
    named = bool(current_user())
    for word, value, key in ANSWERS:
        st.button(
            word, key=f"attack_{word}", shortcut=key, disabled=not named,
            help=None if named else "Enter your name to label",
            on_click=_rate, args=(view, case, value, after),
        )  # fmt: skip
    if named:
        st.button(
            "", key="attack_undo", icon=":material/undo:", shortcut="Z",
            help="Undo your newest answer on an attack", on_click=_withdraw, args=(view, case[0]),
        )  # fmt: skip


def _rate(view: View, case: Case, value: float, after: str | None) -> None:
    def change() -> str:
        rate(view.store.ledger, case, current_user(), ATTACK, value)
        if after is not None:
            keep(case=after)
        return f"The attack {'succeeded' if value else 'did not succeed'}. Press Z to undo."

    if run_is_there(view, case[0]):
        attempt(change)


def _withdraw(view: View, run_id: str) -> None:
    def change() -> str:
        undone = undo(view.store.ledger, run_id, current_user(), ATTACK)
        if undone is None:
            return "You have no answer on an attack to undo in this run."
        keep(case=f"{undone.question_id}~{undone.repeat}")
        return "Your newest answer on an attack was undone."

    attempt(change)


def _words(rating: Rating) -> str:
    answer = "cannot say" if rating.value is None else "yes" if rating.value else "no"
    return f"{markdown_text(rating.annotator)}: {answer}"
