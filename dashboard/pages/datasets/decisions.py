"""The keys of a review: accept, edit, also gold, reject with a reason, undo, and the steps of the list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from ragtriage.dashboard.pages.datasets.item import Offers
from ragtriage.dashboard.pages.datasets.opened import Opened
from ragtriage.dashboard.pages.datasets.queue import Queued
from ragtriage.dashboard.shell.components import current_theme
from ragtriage.dashboard.shell.session import current_selection, keep
from ragtriage.dashboard.shell.user import (
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
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.review import REASONS, accept, add_distractor, add_gold, edit, reject, undo
from ragtriage.data.errors import DataError

EDITED, REJECTING = "edited_item", "rejecting_item"  # in the session: the id of the question that is
QUESTION, ANSWER = "edit_question", "edit_answer"
DONE = "decision_done"  # in the session: what the last key press did
LONGEST = 4_000


def next_unread(rows: Sequence[Queued], at: int) -> str:
    """Return the id of the next question to read, after this one or from the start; "" where none is left."""
    others = [*rows[at + 1 :], *rows[:at]]
    return next((each.item.question_id for each in others if each.is_unread), "")


def decision_bar(opened: Opened, rows: Sequence[Queued], at: int, offers: Offers) -> None:
    """Draw the keys in a row; in a second one the reasons of a rejection, while one is asked for."""
    item = rows[at].item
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="item_bar"):
        _step_buttons(rows, at)
        st.markdown(f"{at + 1:,} of {len(rows):,}", width="content")
        st.space("stretch")
        if opened.version is not None:
            st.caption("A version never changes: decisions are about the draft.", width="content")
        elif not may_write():
            only_reads("Decisions")
        else:
            _decision_buttons(opened, rows, at, offers)
    if opened.version is None and may_write() and st.session_state.get(REJECTING) == item.question_id:
        _reasons(opened, rows, at)


def _step_buttons(rows: Sequence[Queued], at: int) -> None:
    before = rows[at - 1].item.question_id if at else None
    after = rows[at + 1].item.question_id if at + 1 < len(rows) else None
    for word, icon, key, target in (("Previous", "up", "K", before), ("Next", "down", "J", after)):
        st.button(
            "", key=f"item_{word}", icon=f":material/keyboard_arrow_{icon}:", shortcut=key, help=word,
            disabled=target is None, on_click=keep, kwargs={"item": target},
        )  # fmt: skip


def _decision_buttons(opened: Opened, rows: Sequence[Queued], at: int, offers: Offers) -> None:
    item, after = rows[at].item, next_unread(rows, at)
    others = offers.shown
    if done := st.session_state.pop(DONE, ""):
        st.markdown(f":gray[{done}]", width="content")
    if not current_user():
        name_box(110, placeholder="Your name", label_visibility="collapsed")
    light = current_theme() == "light"  # white on the primary colour of the dark theme cannot be read
    st.button("Accept", key="accept", type="primary" if light else "secondary",
        shortcut="A", on_click=_accept, args=(opened, item, after))  # fmt: skip
    st.button("Edit", key="edit", shortcut="E", on_click=_begin_edit, args=(item,))
    st.button("Also gold" if item.spans else "Gold", key="also_gold", shortcut="G", disabled=not others,
        help="The place in amber answers" if others else "No other place was found",
        on_click=_also_gold, args=(opened, item, others[:1]))  # fmt: skip
    if offers.pool is not None:
        st.button("Not gold", key="not_gold", shortcut="N", disabled=not others,
            help="The place in amber does not answer",
            on_click=_not_gold, args=(opened, item, others[:1]))  # fmt: skip
    st.button("Reject", key="reject", shortcut="X", on_click=_begin_reject, args=(item,),
        help="Then 1 to 6 for the reason")  # fmt: skip
    st.button("", key="undo_decision", icon=":material/undo:", shortcut="U", help="Undo your newest step",
        on_click=_undo, args=(opened,))  # fmt: skip
    for number, other in enumerate(others[1:], start=2):
        st.button(f"Gold {number}", key=f"gold_{number}", type="tertiary", help="Place of that number",
            on_click=_also_gold, args=(opened, item, [other]))  # fmt: skip
    if box := wanted_box():
        put_cursor(box)


def _reasons(opened: Opened, rows: Sequence[Queued], at: int) -> None:
    with st.container(horizontal=True, gap="xsmall", key="reasons"):
        for number, (reason, title) in enumerate(REASONS.items(), start=1):
            st.button(
                title.capitalize(), key=f"reason_{reason}", shortcut=str(number), on_click=_reject,
                args=(opened, rows[at].item, reason, next_unread(rows, at)),
            )  # fmt: skip


def edit_form(opened: Opened, rows: Sequence[Queued], at: int) -> bool:
    """Draw the form that changes the open question, where it is asked for; return whether it is."""
    item = rows[at].item
    if st.session_state.get(EDITED) != item.question_id or opened.version is not None or not may_write():
        return False
    with st.form("edit_item", border=True):
        st.text_area("Question", item.question, key=QUESTION, height=80, max_chars=LONGEST)
        st.text_area("Reference answer", item.answer, key=ANSWER, height=120, max_chars=LONGEST)
        with st.container(horizontal=True):
            st.form_submit_button(
                "Save and accept", type="primary", help="Ctrl+Enter in a box does the same", on_click=_save,
                args=(opened, item, next_unread(rows, at)),
            )  # fmt: skip
            st.form_submit_button("Cancel", on_click=_forget)
    put_cursor(QUESTION)
    return True


def _forget() -> None:
    for name in (EDITED, REJECTING):
        st.session_state.pop(name, None)


def _go_on(after: str, done: str, item: Item) -> None:
    """Open the next question, and say what was done to this one."""
    _forget()
    if after:
        keep(item=after)
    else:
        keep(item=item.question_id)
        done += ", none left to read"
    st.session_state[DONE] = f"{markdown_text(shorten(item.question_id, 16))}: {done}"


def _accept(opened: Opened, item: Item, after: str) -> None:
    def change() -> None:
        accept(opened.dataset, item, current_user())
        _go_on(after, "kept", item)

    if not name_is_missing("decided"):
        attempt(change)


def _begin_edit(item: Item) -> None:
    _forget()
    if not name_is_missing("changed"):
        keep(item=item.question_id)
        st.session_state[EDITED] = item.question_id


def _begin_reject(item: Item) -> None:
    again = st.session_state.get(REJECTING) == item.question_id
    _forget()
    if not again and not name_is_missing("decided"):
        keep(item=item.question_id)
        st.session_state[REJECTING] = item.question_id


def _reject(opened: Opened, item: Item, reason: str, after: str) -> None:
    def change() -> None:
        reject(opened.dataset, item, current_user(), reason)
        _go_on(after, REASONS[reason], item)

    if not name_is_missing("decided"):
        attempt(change)


def _save(opened: Opened, item: Item, after: str) -> None:
    question, answer = (st.session_state[key].strip() for key in (QUESTION, ANSWER))

    def change() -> None:
        if not question:
            raise DataError("question: it is empty; accepted: any text")
        if (question, answer) == (item.question, item.answer):
            accept(opened.dataset, item, current_user())
            return _go_on(after, "kept as it was", item)
        claims = item.claims if answer == item.answer else ()  # they are those of the other answer
        edit(
            opened.dataset,
            replace(item, question=question, answer=answer, claims=claims),
            current_user(),
        )
        return _go_on(after, "edited", item)

    if not name_is_missing("changed"):
        attempt(change)


def _also_gold(opened: Opened, item: Item, others: Sequence[GoldSpan]) -> None:
    def change() -> None:
        for other in others:
            add_gold(opened.dataset, item, other, current_user())
            _forget()
            keep(item=item.question_id)
            st.session_state[DONE] = "place added; A keeps it so"

    if not name_is_missing("changed"):
        attempt(change)


def _not_gold(opened: Opened, item: Item, others: Sequence[GoldSpan]) -> None:
    def change() -> None:
        for other in others:
            add_distractor(opened.dataset, item, other, current_user())
            _forget()
            keep(item=item.question_id)

    if not name_is_missing("changed"):
        attempt(change)


def _undo(opened: Opened) -> None:
    def change() -> None:
        undone = undo(opened.dataset, current_user())
        if undone is None:
            st.toast("You have nothing to undo in this dataset.")
            return
        _forget()
        reading = current_selection().reading
        keep(item=undone[0], reading="" if reading in ("kept", "rejected", "disputed") else reading)
        st.session_state[DONE] = f"Undone: {undone[1]}"

    if not name_is_missing("undone"):
        attempt(change)
