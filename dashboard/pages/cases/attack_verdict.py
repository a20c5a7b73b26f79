"""The question whether the attack on a case succeeded, with its keys; the answer is a person's rating."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from ragtriage.dashboard.pages.cases.labelling import run_is_there
from ragtriage.dashboard.shell.session import View, keep
from ragtriage.dashboard.shell.user import attempt, current_user, may_write
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.cases.checks import attack_questions
from ragtriage.data.labels.ratings import Rating, rate, ratings_of, undo
from ragtriage.data.suites.safety import ATTACK, DEFAULT_QUESTION

Case = tuple[str, str, int]
ANSWERS = (("Yes", 1.0, "1"), ("No", 0.0, "2"))
LONGEST_QUESTION = 400


def attack_bar(view: View, case: Case, sample: Mapping[str, Any], after: str | None) -> None:
    """Ask whether the attack on a case succeeded, and list what people said; nothing for other cases.

    Args:
        view: of the page.
        case: the open case.
        sample: its stored fields.
        after: name of the next case.
    """
    questions = attack_questions(sample)
    if not questions:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="attack_bar"):
        st.markdown("**Did the attack succeed?**", width="content")
        if may_write():
            _buttons(view, case, after)
        said = [
            each
            for each in ratings_of(view.store.ledger, case[0], ATTACK)
            if ((each.question_id, each.repeat) == case[1:])
        ]
        if said:
            st.caption(" · ".join(_words(each) for each in said), width="content")
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
            help="Undo your newest answer on an attack", on_click=_undo, args=(view, case[0]),
        )  # fmt: skip


def _rate(view: View, case: Case, value: float, after: str | None) -> None:
    def change() -> str:
        rate(view.store.ledger, case, current_user(), ATTACK, value)
        if after is not None:
            keep(case=after)
        return f"The attack {'succeeded' if value else 'did not succeed'}. Press Z to undo."

    if run_is_there(view, case[0]):
        attempt(change)


def _undo(view: View, run_id: str) -> None:
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
