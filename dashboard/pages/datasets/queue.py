"""The list of a review: its items in their order with what was decided, filters, and who reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from ragtriage.dashboard.charts.tokens import THEMES, Tokens
from ragtriage.dashboard.pages.datasets.analysis import VERSION_MARKS, Versions
from ragtriage.dashboard.pages.datasets.opened import Opened
from ragtriage.dashboard.present.page_html.pictures import pass_boxes
from ragtriage.dashboard.shell.components import current_theme, facts
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.shell.session import current_selection, keep
from ragtriage.dashboard.shell.user import current_user
from ragtriage.dashboard.shell.widgets import show_in
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.datasets.checks import CHECKS, CheckResult
from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.review import DraftItem, State
from ragtriage.data.datasets.split import drawn
from ragtriage.metrics.number_text import count

SHOWN_REJECTS = 0.2  # share of what filters rejected that is read too, so that their loss is seen
SIZE = 50  # items on a page of the list
KEY = "dataset_list"
ROW_HEIGHT, LIST_HEIGHT = 34, 580
WORDS: dict[State, str] = {
    "kept": "✓ kept",
    "edited": "✎ edited",
    "rejected": "✕ rejected",
    "disputed": "? disputed",
    "stale": "to read again",
    "to read": "to read",
    "filtered": "to read",
}
DECIDED: dict[str, State] = {"accept": "kept", "edit": "edited", "reject": "rejected"}
UNREAD = ("to read", "stale", "filtered")
KEPT = ("kept", "edited")
CHIPS = {
    "unread": "To read",
    "marked": "Marked",
    "kept": "Kept",
    "rejected": "Rejected",
    "filtered": "Filters' rejects",
    "disputed": "Disputed",
}


@dataclass(frozen=True)
class Queued:
    """An item of the list."""

    entry: DraftItem
    state: State  # for the reader, who does not see what the others said
    marks: tuple[CheckResult, ...]  # of the free checks
    disputed: bool  # whether readers differ, which one is told who has decided
    reasons: tuple[str, ...] = ()  # why the reader rejected it

    @property
    def item(self) -> Item:
        """The question as it is now."""
        return self.entry.item

    @property
    def is_unread(self) -> bool:
        """Whether the reader has not decided on it as it is now."""
        return self.state in UNREAD


@kept
def queue_of(opened: Opened, who: str | None) -> tuple[Queued, ...]:
    """Return the items for a reader, most marks first; a fifth of the filters' rejects is among them.

    A reader without a name yet ("") has decided nothing; None stands for all readers together. The order does
    not change while people decide.
    """
    checks, queue = opened.checks, []
    for entry in opened.items:
        own = entry.decisions.get(who or "")
        state = entry.state if who is None else entry.state_for(who)
        if own is not None:  # what the reader did: the edits of others are not theirs
            state = DECIDED[own.action]
        disputed = entry.state == "disputed" and state not in UNREAD
        marks = tuple(checks.of(entry.item).marks)
        rejected = [
            event.reason
            for reader, event in entry.decisions.items()
            if event.action == "reject" and who in (None, reader)
        ]
        queued = Queued(entry, state, marks, disputed, tuple(sorted(set(rejected))))
        queue.append((-len(checks.of(entry.made).marks), queued))
    queue.sort(key=lambda pair: (pair[0], pair[1].item.question_id))
    return tuple(each for _, each in queue)


def reader_of(opened: Opened) -> str:
    """Return the user's name as the history has it: "anna" and "Anna" are one reader; "" without one."""
    name = current_user()
    known = (event.who for entry in opened.draft.items for event in entry.events)
    return next((who for who in known if who.casefold() == name.casefold()), name)


def is_read_too(item: Item) -> bool:
    """Return whether an item is in the queue: it passed the filters, or is of the fifth that is read too."""
    return not item.rejected_by or drawn(item.question_id) < SHOWN_REJECTS


def in_queue(queue: Sequence[Queued]) -> list[Queued]:
    """Return the items that are to be read."""
    return [each for each in queue if is_read_too(each.item) or each.entry.golden]


def listed(queue: Sequence[Queued], selection: Selection, versions: Versions | None) -> list[Queued]:
    """Return the items that the filters of the address keep."""
    rows = _of_state(queue, selection.reading)
    if selection.check_mark in VERSION_MARKS:
        marked = set() if versions is None else versions.marked(selection.check_mark)
        rows = [each for each in rows if each.item.question_id in marked]
    elif selection.check_mark:
        rows = [each for each in rows if any(mark.key == selection.check_mark for mark in each.marks)]
    if selection.document:
        rows = [each for each in rows if any(s.doc_id == selection.document for s in each.item.spans)]
    return rows


def _of_state(queue: Sequence[Queued], reading: str) -> list[Queued]:
    if reading == "filtered":
        return [each for each in queue if each.item.rejected_by]
    if reading == "disputed":
        return [each for each in queue if each.disputed]
    rows = in_queue(queue)
    if reading == "unread":
        return [each for each in rows if each.is_unread]
    if reading == "marked":
        return [each for each in rows if each.marks]
    if reading in ("kept", "rejected"):
        states = KEPT if reading == "kept" else ("rejected",)
        return [each for each in rows if each.state in states]
    return rows


def filter_chips(queue: Sequence[Queued]) -> None:
    """Draw a chip for each state with its number; what else narrows the list stands below."""
    counts = {key: len(_of_state(queue, key)) for key in CHIPS}
    chips = {key: f"{title} {counts[key]:,}" for key, title in CHIPS.items()}
    if not counts["disputed"]:
        del chips["disputed"]
    chosen = current_selection()
    show_in("reading_chips", chosen.reading or None)
    st.pills(
        "State of the questions",
        list(chips),
        format_func=chips.__getitem__,
        key="reading_chips",
        label_visibility="collapsed",
        wrap=True,
        on_change=lambda: keep(reading=st.session_state["reading_chips"] or "", item=""),
    )
    narrowed = []
    if chosen.check_mark in VERSION_MARKS:
        narrowed.append(VERSION_MARKS[chosen.check_mark])
    elif chosen.check_mark in CHECKS:
        narrowed.append(f"marked by “{CHECKS[chosen.check_mark].title}”")
    if chosen.document:
        narrowed.append(f"with gold in {shorten(chosen.document, 40)}")
    if narrowed:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"Only questions {markdown_text(' and '.join(narrowed))}", width="content")
            st.button(
                "All questions", key="all_items", type="tertiary", on_click=keep,
                kwargs={"check_mark": "", "document": "", "reading": ""},
            )  # fmt: skip


def position_in(rows: Sequence[Queued]) -> int | None:
    """Return the place of the open item in the list; where none is open, that of the first to be read."""
    if not rows:
        return None
    wanted = current_selection().item
    found = next((at for at, each in enumerate(rows) if each.item.question_id == wanted), None)
    if found is None:
        found = next((at for at, each in enumerate(rows) if each.is_unread), 0)
    return found


def item_list(rows: Sequence[Queued], at: int, versions: Versions | None) -> None:
    """Draw one page of the list, that of the open item; a click anywhere on a row opens it."""
    tokens, first = THEMES[current_theme()], at // SIZE * SIZE
    shown = rows[first : first + SIZE]
    frame = pd.DataFrame([_row(each, versions) for each in shown])
    colours = [_state_colour(each, tokens) for each in shown]
    open_row, colour = at - first, f"background-color: {tokens.sequential[1]}"

    def styled(row: pd.Series) -> list[str]:
        opened = row.name == open_row
        return [colours[int(str(row.name))], *[colour if opened else ""] * (len(row) - 1)]

    n_versions = 0 if versions is None else len(versions.names)
    st.dataframe(
        frame.style.apply(styled, axis=1),
        hide_index=True,
        key=KEY,
        on_select=lambda: _open_selected(shown),
        selection_mode="single-cell",
        row_height=ROW_HEIGHT,
        height=min(ROW_HEIGHT * (len(shown) + 1) + 2, LIST_HEIGHT),
        column_config={
            "State": st.column_config.TextColumn(width=84),
            "Versions": st.column_config.ImageColumn(
                f"V1–V{n_versions}" if n_versions > 1 else "V1",
                width=20 + 15 * n_versions,
                help=_versions_help(versions),
            ),
            "Question": st.column_config.TextColumn(),
        },
        alt=f"Questions that the filters keep, {len(rows):,} in all",
    )
    if len(rows) > SIZE:
        _pager(rows, first // SIZE + 1)
    facts("Most marks first, then by id.", _rejects_note(rows))


def _row(each: Queued, versions: Versions | None) -> dict[str, object]:
    word = WORDS[each.state]
    if each.state in ("to read", "filtered") and each.marks:
        word = f"! {count(len(each.marks), 'mark')}"
    cells: dict[str, object] = {"State": word}
    if versions is not None:
        cells["Versions"] = pass_boxes(versions.passed(each.item.question_id), current_theme())
    return {**cells, "Question": shorten(each.item.question, 110)}


def _state_colour(each: Queued, tokens: Tokens) -> str:
    state = None
    if each.state in KEPT:
        state = tokens.good
    elif each.state == "rejected":
        state = tokens.bad
    elif each.marks or each.state in ("disputed", "stale"):
        state = tokens.unclear
    return f"background-color: {state.tint}; color: {state.text}" if state else ""


def _versions_help(versions: Versions | None) -> str:
    if versions is None:
        return ""
    named = (versions.names[row] for row in versions.by_age)
    names = ", ".join(f"V{at} {markdown_text(name)}" for at, name in enumerate(named, start=1))
    return f"Which runs of the project pass it: {names}. Filled: pass; hollow: fail; dashed: not measured."


def _rejects_note(rows: Sequence[Queued]) -> str:
    n = sum(bool(each.item.rejected_by) for each in rows)
    return f"{count(n, 'question')} of the filters' rejects among them, to see what they lose." if n else ""


def _open_selected(shown: Sequence[Queued]) -> None:
    cells = st.session_state[KEY]["selection"]["cells"]
    st.session_state[KEY] = {"selection": {"rows": [], "columns": [], "cells": []}}
    if cells and cells[0][0] < len(shown):
        keep(item=shown[cells[0][0]].item.question_id)


def _pager(rows: Sequence[Queued], page: int) -> None:
    pages = -(-len(rows) // SIZE)
    key = f"items_{page}_{pages}"

    def turn() -> None:
        keep(item=rows[(st.session_state[key] - 1) * SIZE].item.question_id)

    st.pagination(pages, default=page, max_visible_pages=5, key=key, on_change=turn)
