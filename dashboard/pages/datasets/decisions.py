"""The keys of a review: accept, edit, also gold, reject with a reason, undo, and the steps of the list.

Each button is of one question: a key that is pressed while the page still changes never decides on the next.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from ragtriage.dashboard.pages.datasets.item import Offers
from ragtriage.dashboard.pages.datasets.opened import Opened, open_dataset
from ragtriage.dashboard.pages.datasets.queue import Queued, reader_of
from ragtriage.dashboard.shell.components import current_theme
from ragtriage.dashboard.shell.session import current_selection, keep
from ragtriage.dashboard.shell.user import (
    attempt,
    current_user,
    may_write,
    name_box,
    name_is_missing,
    only_reads,
    remember_user,
    wanted_box,
)
from ragtriage.dashboard.shell.widgets import put_cursor
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.datasets.dataset import Dataset
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.review import (
    REASONS,
    DraftItem,
    accept,
    add_distractor,
    add_gold,
    edit,
    reject,
    undo,
)
from ragtriage.data.errors import DataError

# in the session
EDITED = "edited_items"  # slots of the questions with an unfinished edit
REJECTING = "rejecting_item"  # slot of the question that X was pressed for
REASON = "pressed_reason"  # slot and reason of a digit that was pressed without X
DONE = "decision_done"  # what the last key press did
BEGUN = "begun_edit"  # slot of the question whose boxes ask for the cursor
QUESTION, ANSWER = "edit_question", "edit_answer"  # of text boxes, before the slot
LONGEST = 4_000


def next_unread(rows: Sequence[Queued], at: int) -> str:
    """Return the id of the next question to read, after this one or from the start; "" where none is left."""
    others = [*rows[at + 1 :], *rows[:at]]
    return next((each.item.question_id for each in others if each.is_unread), "")


def slot_of(opened: Opened, item: Item, span: GoldSpan | None = None) -> str:
    """Return what the keys of widgets of a question end with, or those of a place that may answer it."""
    place = () if span is None else (span.doc_id, span.start, span.end)
    named = repr((opened.dataset.dataset_id, item.question_id, *place))
    return hashlib.sha256(named.encode()).hexdigest()[:10]


def decision_bar(opened: Opened, rows: Sequence[Queued], at: int, offers: Offers) -> None:
    """Draw where the list is, what the last key did and who reads; below it the keys."""
    slot, decides = slot_of(opened, rows[at].item), opened.version is None and may_write()
    edited = decides and is_edited(slot)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="item_bar"):
        _step_buttons(rows, at, slot, edited)
        st.markdown(f"{at + 1:,} of {len(rows):,}", width="content")
        with st.container(key="item_note", width="stretch"):  # cut at its end, so that nothing moves
            st.markdown(f":gray[{st.session_state.pop(DONE, '') or ' '}]")
        if opened.version is not None:
            st.caption("A version never changes: decisions are about the draft.", width="content")
        elif not may_write():
            only_reads("Decisions")
        else:
            _reader()
    if decides:
        with st.container(gap=None, key="item_keys"):
            if edited:
                st.caption("Ctrl+Enter saves and accepts, Esc cancels. The other keys are off meanwhile.")
            else:
                _keys(opened, rows, at, offers)
            remember_user()
            if box := wanted_box():
                put_cursor(box)


def _reader() -> None:
    """Draw the box for the reader's name; once it is given, behind a button that shows it."""
    if name := current_user():
        with st.popover(markdown_text(shorten(name, 16)), icon=":material/person:", type="tertiary"):
            name_box(220)
    else:
        name_box(130, placeholder="Your name", label_visibility="collapsed")


def _step_buttons(rows: Sequence[Queued], at: int, slot: str, edited: bool) -> None:
    before = rows[at - 1].item.question_id if at else None
    after = rows[at + 1].item.question_id if at + 1 < len(rows) else None
    for word, icon, key, target in (("Previous", "up", "K", before), ("Next", "down", "J", after)):
        st.button(
            "", key=f"item_{word}", icon=f":material/keyboard_arrow_{icon}:", shortcut=key, help=word,
            disabled=target is None or edited, on_click=_step, args=(slot, target),
        )  # fmt: skip


def _step(slot: str, target: str) -> None:
    if not is_edited(slot):  # a letter that was typed before the boxes were there
        _close_reasons()
        keep(item=target)


def _keys(opened: Opened, rows: Sequence[Queued], at: int, offers: Offers) -> None:
    """Draw the decisions, or the reasons of a rejection; what is hidden is there for its keys alone."""
    slot = slot_of(opened, rows[at].item)
    asked = _reasons_open(slot)
    with st.container(
        horizontal=True, gap="xsmall", vertical_alignment="center", key=f"reasons_{'on' if asked else 'off'}"
    ):
        _reasons(opened, rows, at)
        if asked:
            _reject_button(opened, rows[at].item, next_unread(rows, at))
            st.button("", key="close_reasons", icon=":material/close:", shortcut="Escape", type="tertiary",
                help="Do not reject", on_click=_close_reasons)  # fmt: skip
    with st.container(
        horizontal=True, gap="xsmall", vertical_alignment="center", key=f"actions_{'off' if asked else 'on'}"
    ):
        _decision_buttons(opened, rows, at, offers, asked)


def _decision_buttons(opened: Opened, rows: Sequence[Queued], at: int, offers: Offers, asked: bool) -> None:
    item, after, others = rows[at].item, next_unread(rows, at), offers.shown
    slot, place = slot_of(opened, item), slot_of(opened, item, others[0] if others else None)
    light = current_theme() == "light"  # white on the primary colour of the dark theme cannot be read
    st.button("Accept", key=f"accept_{slot}", type="primary" if light else "secondary", disabled=asked,
        shortcut="A", on_click=_accept, args=(opened, item, after))  # fmt: skip
    st.button("Edit", key=f"edit_{slot}", shortcut="E", disabled=asked, on_click=_begin_edit,
        args=(opened, item))  # fmt: skip
    st.button("Also gold" if item.spans else "Gold", key=f"also_gold_{place}", shortcut="G",
        disabled=asked or not others,
        help="The place in amber answers" if others else "No other place was found",
        on_click=_also_gold, args=(opened, item, others[:1]))  # fmt: skip
    if offers.pool is not None:
        st.button("Not gold", key=f"not_gold_{place}", shortcut="N", disabled=asked or not others,
            help="The place in amber does not answer",
            on_click=_not_gold, args=(opened, item, others[:1]))  # fmt: skip
    if not asked:
        _reject_button(opened, item, after)
    st.button("", key="undo_decision", icon=":material/undo:", shortcut="U", help="Undo your newest step",
        on_click=_undo, args=(opened,))  # fmt: skip
    for number, other in enumerate(others[1:], start=2):
        st.button(f"Gold {number}", key=f"gold_{number}_{slot_of(opened, item, other)}", type="tertiary",
            help="Place of that number", disabled=asked, on_click=_also_gold,
            args=(opened, item, [other]))  # fmt: skip


def _reject_button(opened: Opened, item: Item, after: str) -> None:
    st.button("Reject", key=f"reject_{slot_of(opened, item)}", shortcut="X",
        help="Then 1 to 6 for the reason", on_click=_press_reject, args=(opened, item, after))  # fmt: skip


def _reasons(opened: Opened, rows: Sequence[Queued], at: int) -> None:
    item = rows[at].item
    for number, (reason, title) in enumerate(REASONS.items(), start=1):
        st.button(
            title.capitalize(), key=f"reason_{reason}_{slot_of(opened, item)}", shortcut=str(number),
            on_click=_press_reason, args=(opened, item, reason, next_unread(rows, at)),
        )  # fmt: skip


def edit_form(opened: Opened, rows: Sequence[Queued], at: int) -> bool:
    """Draw the boxes that change the open question, where it is being edited; return whether it is.

    What is typed stays with its question until it is saved or cancelled.
    """
    item, slot = rows[at].item, slot_of(opened, rows[at].item)
    if not is_edited(slot) or opened.version is not None or not may_write():
        return False
    with st.container(border=True, key="edit_item"):
        for title, text, key, height in (
            ("Question", item.question, QUESTION, 80), ("Reference answer", item.answer, ANSWER, 120)
        ):  # fmt: skip
            st.text_area(title, text, key=f"{key}_{slot}", height=height, max_chars=LONGEST,
                persist_state="session")  # fmt: skip
        with st.container(horizontal=True):
            st.button(
                "Save and accept", key=f"save_{slot}", type="primary", shortcut="Ctrl+Enter",
                on_click=_save, args=(opened, item, next_unread(rows, at)),
            )  # fmt: skip
            st.button("Cancel", key=f"cancel_{slot}", shortcut="Escape", on_click=_end_edit, args=(slot,))
    if st.session_state.pop(BEGUN, "") == slot:
        put_cursor(f"{QUESTION}_{slot}")
    return True


def is_edited(slot: str) -> bool:
    """Return whether a question is being edited, or E was pressed together with the key that asks."""
    return slot in st.session_state.get(EDITED, ()) or bool(st.session_state.get(f"edit_{slot}"))


def _end_edit(slot: str) -> None:
    st.session_state[EDITED] = st.session_state.get(EDITED, frozenset()) - {slot}
    for key in (QUESTION, ANSWER):
        st.session_state.pop(f"{key}_{slot}", None)


def _reasons_open(slot: str) -> bool:
    return slot in (st.session_state.get(REJECTING), st.session_state.get(REASON, ("",))[0])


def _close_reasons() -> None:
    for name in (REJECTING, REASON):
        st.session_state.pop(name, None)


def _is_busy(slot: str) -> bool:
    """Return whether keys that decide are off, since the question is edited or its reasons are open."""
    return is_edited(slot) or _reasons_open(slot) or bool(st.session_state.get(f"reject_{slot}"))


def _now(opened: Opened, item: Item, who: str) -> DraftItem:
    """Return an item as the draft has it now.

    Raises:
        DataError: somebody else changed it since it was drawn.
    """
    entry = open_dataset(opened.dataset).draft.find(item.question_id)
    if entry is None or (entry.item.content_hash != item.content_hash and entry.events[-1].who != who):
        raise DataError(f"{item.question_id}: somebody changed it meanwhile, so read it again")
    return entry


def _go_on(after: str, done: str, item: Item) -> None:
    """Open the next question, and say what was done to this one."""
    _close_reasons()
    if after:
        keep(item=after)
    else:
        keep(item=item.question_id)
        done += ", none left to read"
    st.session_state[DONE] = f"{markdown_text(shorten(item.question_id, 16))}: {done}"


def _accept(opened: Opened, item: Item, after: str) -> None:
    def change() -> None:
        who = reader_of(opened)
        entry = _now(opened, item, who)
        own = entry.decisions.get(who)
        if own is None or own.action == "reject":  # pressed twice, it stands once
            accept(opened.dataset, entry.item, who)
        _go_on(after, "kept", item)

    if not _is_busy(slot_of(opened, item)) and not name_is_missing("decided"):
        attempt(change)


def _begin_edit(opened: Opened, item: Item) -> None:
    slot = slot_of(opened, item)
    if not _reasons_open(slot) and not name_is_missing("changed"):
        keep(item=item.question_id)
        st.session_state[EDITED] = st.session_state.get(EDITED, frozenset()) | {slot}
        st.session_state[BEGUN] = slot


def _press_reject(opened: Opened, item: Item, after: str) -> None:
    slot = slot_of(opened, item)
    digit = st.session_state.get(REASON, ("", ""))
    was_open = st.session_state.get(REJECTING) == slot
    _close_reasons()
    if is_edited(slot) or was_open or name_is_missing("decided"):
        return
    if digit[0] == slot:
        _reject(opened, item, digit[1], after)
    else:
        keep(item=item.question_id)
        st.session_state[REJECTING] = slot


def _press_reason(opened: Opened, item: Item, reason: str, after: str) -> None:
    """Reject, where X was pressed before; alone, a digit asks for X."""
    slot = slot_of(opened, item)
    if is_edited(slot) or name_is_missing("decided"):
        return
    if st.session_state.get(REJECTING) == slot:
        _reject(opened, item, reason, after)
    else:
        keep(item=item.question_id)
        st.session_state[REASON] = (slot, reason)
        st.session_state[DONE] = f"{REASONS[reason].capitalize()}? X rejects"


def _reject(opened: Opened, item: Item, reason: str, after: str) -> None:
    def change() -> None:
        who = reader_of(opened)
        entry = _now(opened, item, who)
        own = entry.decisions.get(who)
        if own is None or (own.action, own.reason) != ("reject", reason):
            reject(opened.dataset, entry.item, who, reason)
        _go_on(after, REASONS[reason], item)

    attempt(change)


def _save(opened: Opened, item: Item, after: str) -> None:
    slot = slot_of(opened, item)
    question, answer = (st.session_state[f"{key}_{slot}"].strip() for key in (QUESTION, ANSWER))

    def change() -> None:
        if not question:
            raise DataError("question: it is empty; accepted: any text")
        who = reader_of(opened)
        if (question, answer) == (item.question, item.answer):
            _end_edit(slot)
            return _accept(opened, item, after)
        claims = item.claims if answer == item.answer else ()  # they are those of the other answer
        before = _now(opened, item, who).item
        edit(opened.dataset, replace(before, question=question, answer=answer, claims=claims), who)
        _end_edit(slot)
        return _go_on(after, "edited", item)

    if is_edited(slot) and not name_is_missing("changed"):
        attempt(change)


def _also_gold(opened: Opened, item: Item, others: Sequence[GoldSpan]) -> None:
    _judge_places(opened, item, others, add_gold, "place added; A keeps it so")


def _not_gold(opened: Opened, item: Item, others: Sequence[GoldSpan]) -> None:
    _judge_places(opened, item, others, add_distractor)


def _judge_places(
    opened: Opened,
    item: Item,
    others: Sequence[GoldSpan],
    record: Callable[[Dataset, Item, GoldSpan, str], Item],
    done: str = "",
) -> None:
    def change() -> None:
        who = reader_of(opened)
        for other in others:
            record(opened.dataset, _now(opened, item, who).item, other, who)
            keep(item=item.question_id)
            if done:
                st.session_state[DONE] = done

    if not _is_busy(slot_of(opened, item)) and not name_is_missing("changed"):
        attempt(change)


def _undo(opened: Opened) -> None:
    def change() -> None:
        undone = undo(opened.dataset, reader_of(opened))
        if undone is None:
            st.toast("You have nothing to undo in this dataset.")
            return
        _close_reasons()
        reading = current_selection().reading
        keep(item=undone[0], reading="" if reading in ("kept", "rejected", "disputed") else reading)
        which = markdown_text(shorten(undone[0], 16))
        st.session_state[DONE] = f"{which}: {undone[1]} undone"

    if not name_is_missing("undone"):
        attempt(change)
