"""The random labelling queue on the Cases page: one drawn case after the other, without its scores.

What is labelled here carries the number of the queue; what is labelled while browsing carries none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dashboard.case_html.case import STYLE, CaseHighlights, answer_html, context_html, conversation_html
from dashboard.sections.cases.labelling import label_bar
from dashboard.sections.cases.open_case import case_name
from dashboard.shell.components import facts
from dashboard.shell.session import View, current_selection, keep
from dashboard.shell.user import attempt, current_user, may_write
from dashboard.wording.escaping import capital, markdown_text
from dashboard.wording.formatting import count
from data.cases.cases import read_case
from data.diagnosis.diagnosis import Diagnosis, row_of
from data.labels.ppi_estimate import ADVISED_LABELS
from data.labels.random_sample import QueueState, queue_of, queue_state, start_queue
from data.labels.rating_dimensions import PASS, RatingDimension, dimension_of, offered_dimensions, share_of
from data.labels.ratings import rate, undo
from data.labels.reviewed_cases import mark_reviewed
from data.scoring.scored_run import ScoredRun

__all__ = ["labelling_queue"]

_UNMARKED = CaseHighlights(frozenset(), "", None, frozenset(), {})
_HIDDEN = ("claims", "reference_claims", "used", "human")  # what others said, which would lead the eye


@dataclass(frozen=True)
class _Open:
    """The queue in use and where it stands.

    Attributes:
        view: of the page.
        scored: the run.
        state: how far the queue has come.
        dimension: what is rated.
    """

    view: View
    scored: ScoredRun
    state: QueueState
    dimension: RatingDimension

    @property
    def row(self) -> int | None:
        """The drawn row on display: the open one, the next where none is; None for one that was not drawn."""
        question, _, repeat = current_selection().case.rpartition("~")
        if not (question and repeat.isdecimal()):
            return self.state.remaining[0] if self.state.remaining else None
        row = row_of(self.scored, question, int(repeat))
        return row if row is not None and self.state.drawn(row) else None

    def name(self, row: int | None) -> str | None:
        """Name a row as the address does."""
        return None if row is None else case_name(self.scored, row)


def labelling_queue(view: View, diagnosis: Diagnosis) -> bool:
    """Draw the queue in use with its case, or the way into one.

    Returns:
        Whether a case of the queue is on display, so that the page has nothing to add.
    """
    if not may_write():
        return False
    found = _in_use(view, diagnosis.scored)
    if found is None:
        _start_form(view, diagnosis.scored)
        return False
    row = found.row if current_user() == found.state.queue.who else None
    _bar(found, row)
    if row is not None:
        _case(found, diagnosis, row)
    return row is not None


def _in_use(view: View, scored: ScoredRun) -> _Open | None:
    ledger = view.store.ledger
    queue = queue_of(ledger, current_selection().queue)
    if queue is None or queue.run_id != view.run.run_id:
        return None
    offered = {one.key: one for one in offered_dimensions(ledger, view.project)}
    dimension = offered.get(queue.dimension) or dimension_of(queue.dimension)
    return _Open(view, scored, queue_state(ledger, scored, queue), dimension)


def _start_form(view: View, scored: ScoredRun) -> None:
    offered = {one.key: one for one in offered_dimensions(view.store.ledger, view.project)}
    with st.popover("Label at random", help="Labels on cases drawn at random can correct a judge's mean"):
        st.caption(
            "Cases come in random order and without their scores, so that labels are a fair sample of the "
            f"{count(scored.n, 'case')}. {ADVISED_LABELS[0]} to {ADVISED_LABELS[1]} labels are advised."
        )
        if "queue_name" not in st.session_state:
            st.session_state["queue_name"] = current_user()
        st.text_input("Your name", key="queue_name", max_chars=60)
        st.selectbox(
            "What to label", [*offered], key="queue_quantity", format_func=lambda key: offered[key].title
        )
        st.button("Start or go on", key="queue_start", type="primary", on_click=_start, args=(view,))


def _start(view: View) -> None:
    def change() -> None:
        name = str(st.session_state.get("queue_name", "")).strip()
        ledger = view.store.ledger
        queue = start_queue(ledger, view.run.run_id, st.session_state["queue_quantity"], name)
        st.session_state["annotator_name"] = name
        keep(**vars(current_selection().unfiltered().with_(queue=queue.queue_id)))

    attempt(change)


def _bar(found: _Open, row: int | None) -> None:
    queue, done = found.state.queue, len(found.state.rated)
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f"**{done:,} of {found.state.total:,}** labelled at random for "
                f"**{markdown_text(found.dimension.title)}** by {markdown_text(queue.who)}"
            )
            if current_user() != queue.who:
                st.button(
                    f"Go on as {markdown_text(queue.who)}", key="queue_own", on_click=_own, args=(queue.who,)
                )
            elif row is None and found.state.remaining:
                st.button("Back to the queue", key="queue_back", on_click=keep, kwargs={"case": ""})
            st.button("Leave the queue", key="queue_leave", on_click=keep, kwargs={"queue": 0})
        st.progress(done / found.state.total)
        st.caption(_told(found, row))


def _told(found: _Open, row: int | None) -> str:
    if current_user() != found.state.queue.who:
        return "This queue goes by another name than yours: labels given now do not count as drawn by it."
    if row is not None:
        done = "you labelled this one before; " if row in found.state.rated else ""
        return f"Scores are hidden while you label; {done}the order is random."
    if not found.state.remaining:
        return "Every case is labelled. The Judge page holds the labels against the metrics."
    return "This case was not drawn by the queue: a label given here does not count as drawn at random."


def _own(who: str) -> None:
    st.session_state["annotator_name"] = who


def _case(found: _Open, diagnosis: Diagnosis, row: int) -> None:
    sample = read_case(found.scored, row)
    case = (found.view.run.run_id, str(sample["question_id"]), int(sample["repeat"]))
    _asked(found.dimension)
    after = found.name(found.state.after(row))
    if found.dimension.key == PASS:
        mine = [one for one in diagnosis.human_labels.labels.get(row, ()) if one.annotator == current_user()]
        label_bar(found.view, case, mine, after, found.state.queue.queue_id)
        _no_answer(found, case, after)
    else:
        _rating_bar(found, case, after)
    _blind(sample)


def _asked(dimension: RatingDimension) -> None:
    """Write the question, and under it what its answers mean."""
    question, mark, more = (dimension.question or dimension.title).partition("?")
    st.markdown(f"**{markdown_text(question + mark)}**")
    if more.strip():
        st.caption(markdown_text(more))


def _rating_bar(found: _Open, case: tuple[str, str, int], after: str | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", border=True):
        if not found.dimension.levels:
            _share_boxes(found, case, after)
        for number, (word, value) in enumerate(found.dimension.levels, start=1):
            st.button(
                capital(word), key=f"rate_{word}", shortcut=str(number),
                on_click=_rate, args=(found, case, value, after),
            )  # fmt: skip
        _no_answer(found, case, after)
        st.button("Undo", key="rate_undo", shortcut="U", on_click=_undo, args=(found,))


def _no_answer(found: _Open, case: tuple[str, str, int], after: str | None) -> None:
    st.button(
        "Cannot say", key="rate_none", shortcut="X", on_click=_rate, args=(found, case, None, after),
        help="It does not apply to this case, or cannot be said from what is there",
    )  # fmt: skip


def _share_boxes(found: _Open, case: tuple[str, str, int], after: str | None) -> None:
    name = f"{case[1]}~{case[2]}"
    claims = st.number_input("Claims in the answer", 1, 500, None, 1, key=f"claims_{name}", width=180)
    supported = st.number_input("Supported by a document", 0, 500, None, 1, key=f"held_{name}", width=200)
    st.button(
        "Rate", key="rate_share", type="primary", disabled=claims is None or supported is None,
        on_click=_rate_share, args=(found, case, (supported, claims), after),
    )  # fmt: skip


def _rate_share(
    found: _Open, case: tuple[str, str, int], counted: tuple[int | None, int | None], after: str | None
) -> None:
    supported, claims = counted
    if supported is not None and claims is not None:
        attempt(lambda: _kept(found, case, share_of(supported, claims), after))


def _rate(found: _Open, case: tuple[str, str, int], value: float | None, after: str | None) -> None:
    attempt(lambda: _kept(found, case, value, after))


def _kept(found: _Open, case: tuple[str, str, int], value: float | None, after: str | None) -> str:
    queue, ledger = found.state.queue, found.view.store.ledger
    rate(ledger, case, queue.who, queue.dimension, value, queue.queue_id)
    mark_reviewed(ledger, case, queue.who)
    keep(case=after or "")
    said = "Noted that it cannot be said" if value is None else f"Rated {value:.2f}"
    return f"{said}. U takes it back."


def _undo(found: _Open) -> None:
    def change() -> str:
        queue = found.state.queue
        taken = undo(found.view.store.ledger, queue.run_id, queue.who, queue.dimension)
        if taken is None:
            return "Nothing of yours to take back in this run."
        keep(case=f"{taken.question_id}~{taken.repeat}")
        return "Took the last rating back."

    attempt(change)


def _blind(sample: Mapping[str, Any]) -> None:
    """Write out a case without what a judge, another person or an estimate says of it."""
    plain = {**sample, **dict.fromkeys(_HIDDEN)}
    plain["retrieved"] = [{**one, "relevant": None} for one in sample["retrieved"] or ()]
    st.html(STYLE)
    st.html(conversation_html(plain))
    st.markdown("**Answer**")
    st.html(answer_html(plain, _UNMARKED))
    if sample["reference_answer"]:
        with st.expander("Reference answer", expanded=True):
            st.text(sample["reference_answer"])
    st.markdown(f"**Context, in rank order** :gray[{count(len(sample['retrieved'] or ()), 'document')}]")
    st.html(context_html(plain, _UNMARKED))
    facts([f"question id {markdown_text(str(sample['question_id']))}", f"repeat {sample['repeat']}"])
