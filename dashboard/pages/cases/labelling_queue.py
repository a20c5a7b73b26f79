"""The random labelling queue: cases drawn at random, one after the other, without their scores.

Labels given here carry the number of the queue; labels given while browsing carry none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from ragtriage.dashboard.headlines.cases import blind_headline
from ragtriage.dashboard.pages.cases.case_list import case_name
from ragtriage.dashboard.pages.cases.labelling import label_buttons, label_list, run_is_there
from ragtriage.dashboard.pages.cases.open_case import head_of
from ragtriage.dashboard.present.case_html.case import CaseHighlights, answer_html, context_html
from ragtriage.dashboard.present.page_html.blocks import case_head, case_reference, context_heading
from ragtriage.dashboard.shell.components import facts, open_page, run_facts
from ragtriage.dashboard.shell.session import View, current_selection, keep
from ragtriage.dashboard.shell.user import attempt, current_user, may_write
from ragtriage.dashboard.wording.escaping import capital, markdown_text
from ragtriage.data.cases.cases import read_case
from ragtriage.data.diagnosis.diagnosis import Diagnosis, row_of
from ragtriage.data.labels.corrected_means import advised_labels
from ragtriage.data.labels.failure_taxonomy import mark_reviewed
from ragtriage.data.labels.ratings import (
    PASS,
    QueueState,
    RatingDimension,
    dimension_of,
    offered_dimensions,
    queue_of,
    queue_state,
    rate,
    share_of,
    start_queue,
    undo,
)
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.text.shown_case import cuts_told, shown_case
from ragtriage.metrics.number_text import count
from ragtriage.metrics.schema.metric import whole_number

_NO_HIGHLIGHTS = CaseHighlights(frozenset(), "", None, frozenset(), {})
_HIDDEN_FIELDS = ("claims", "reference_claims", "used", "human")  # the judgement of others would bias a label


@dataclass(frozen=True)
class _QueueView:
    """The queue in use and its state."""

    view: View
    scored: ScoredRun
    state: QueueState  # which cases are rated and which are next
    dimension: RatingDimension  # what is rated

    @property
    def row(self) -> int | None:
        """The row on display: the open case, else the next one; None where the open case was not drawn."""
        question, _, repeat = current_selection().case.rpartition("~")
        number = whole_number(repeat)
        if not question or number is None:
            return self.state.remaining[0] if self.state.remaining else None
        row = row_of(self.scored, question, number)
        return row if row is not None and self.state.drawn(row) else None

    def name(self, row: int | None) -> str | None:
        """Return the name of a row in the URL."""
        return None if row is None else case_name(self.scored, row)


def labelling_queue(view: View, diagnosis: Diagnosis) -> bool:
    """Draw the queue in use with its case, below a headline that shows nothing of the diagnosis.

    Returns:
        Whether a case of the queue is on display, so that the page draws nothing else.
    """
    queue_view = _in_use(view, diagnosis.scored) if may_write() else None
    row = queue_view.row if queue_view and current_user() == queue_view.state.queue.who else None
    if queue_view is None or row is None:
        return False
    state = queue_view.state
    open_page(blind_headline(queue_view.dimension.title, state.total - len(state.rated)), run_facts(view))
    _queue_bar(queue_view, row)
    _drawn_case(queue_view, diagnosis, row)
    return True


def queue_reminder(view: View, diagnosis: Diagnosis) -> None:
    """Draw the way back to the queue in use while a case is open that it did not draw."""
    queue_view = _in_use(view, diagnosis.scored) if may_write() else None
    if queue_view is not None:
        _queue_bar(queue_view, None)


def queue_form(view: View, diagnosis: Diagnosis) -> None:
    """Draw the form that starts a queue, unless one is in use."""
    if may_write() and _in_use(view, diagnosis.scored) is None:
        _start_form(view, diagnosis.scored)


def _in_use(view: View, scored: ScoredRun) -> _QueueView | None:
    ledger = view.store.ledger
    queue = queue_of(ledger, current_selection().queue)
    if queue is None or queue.run_id != view.run.run_id:
        return None
    offered = {dimension.key: dimension for dimension in offered_dimensions(ledger, view.project)}
    dimension = offered.get(queue.dimension) or dimension_of(queue.dimension)
    return _QueueView(view, scored, queue_state(ledger, scored, queue), dimension)


def _start_form(view: View, scored: ScoredRun) -> None:
    offered = {dimension.key: dimension for dimension in offered_dimensions(view.store.ledger, view.project)}
    with st.popover(
        "Label at random",
        icon=":material/shuffle:",
        type="tertiary",
    ):
        st.caption(
            "Cases come in random order and without their scores, so labels are an unbiased sample of the "
            f"{count(scored.n, 'case')}, which can correct the mean of a judge. "
            f"Advised: {advised_labels(scored.n)}."
        )
        if "queue_name" not in st.session_state:
            st.session_state["queue_name"] = current_user()
        st.text_input("Your name", key="queue_name", max_chars=60)
        st.selectbox(
            "What to label", [*offered], key="queue_quantity", format_func=lambda key: offered[key].title
        )
        st.button("Start or continue", key="queue_start", on_click=_start, args=(view,))


def _start(view: View) -> None:
    def change() -> None:
        name = str(st.session_state.get("queue_name", "")).strip()
        ledger = view.store.ledger
        queue = start_queue(ledger, view.run.run_id, st.session_state["queue_quantity"], name)
        st.session_state["annotator_name"] = name
        keep(**vars(current_selection().unfiltered().with_(queue=queue.queue_id)))

    attempt(change)


def _queue_bar(queue_view: _QueueView, row: int | None) -> None:
    queue, done = queue_view.state.queue, len(queue_view.state.rated)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{done:,} of {queue_view.state.total:,}** labelled at random for "
            f"**{markdown_text(queue_view.dimension.title)}** by {markdown_text(queue.who)}"
        )
        st.space("stretch")
        if current_user() != queue.who:
            st.button(
                f"Continue as {markdown_text(queue.who)}",
                key="queue_own",
                on_click=_continue_as,
                args=(queue.who,),
            )
        elif row is None and queue_view.state.remaining:
            st.button("Back to the queue", key="queue_back", on_click=keep, kwargs={"case": ""})
        st.button("Leave the queue", key="queue_leave", on_click=keep, kwargs={"queue": 0})
    st.progress(done / queue_view.state.total)
    hint = _hint(queue_view, row)
    if hint:
        st.caption(hint)


def _hint(queue_view: _QueueView, row: int | None) -> str:
    if current_user() != queue_view.state.queue.who:
        return (
            "This queue belongs to another name than yours: labels given now do not count as drawn at random."
        )
    if row is not None:
        return "You labelled this case before." if row in queue_view.state.rated else ""
    if not queue_view.state.remaining:
        return "Every case is labelled. The Judge page compares the labels with the metrics."
    return "This case was not drawn by the queue: a label given here does not count as drawn at random."


def _continue_as(who: str) -> None:
    st.session_state["annotator_name"] = who


def _drawn_case(queue_view: _QueueView, diagnosis: Diagnosis, row: int) -> None:
    sample = read_case(queue_view.scored, row)
    case = (queue_view.view.run.run_id, str(sample["question_id"]), int(sample["repeat"]))
    # draw the question to answer, and below it what the answers mean
    question, mark, explanation = (queue_view.dimension.question or queue_view.dimension.title).partition("?")
    st.markdown(f"**{markdown_text(question + mark)}**")
    if explanation.strip():
        st.caption(markdown_text(explanation))
    after = queue_view.name(queue_view.state.after(row))
    if queue_view.dimension.key == PASS:
        labels = diagnosis.human_labels.labels.get(row, ())
        own_labels = [label for label in labels if label.annotator == current_user()]
        with st.container(horizontal=True, vertical_alignment="center"):
            label_buttons(queue_view.view, case, after, queue_view.state.queue.queue_id)
            _cannot_say_button(queue_view, case, after)
        label_list(own_labels)
    else:
        _rating_bar(queue_view, case, after)
    _case_without_scores(sample)


def _rating_bar(queue_view: _QueueView, case: tuple[str, str, int], after: str | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", border=True):
        if not queue_view.dimension.levels:
            name = f"{case[1]}~{case[2]}"
            claims = st.number_input("Claims in the answer", 1, 500, None, 1, key=f"claims_{name}", width=180)
            supported = st.number_input(
                "Supported by a document", 0, 500, None, 1, key=f"held_{name}", width=200
            )
            st.button(
                "Rate", key="rate_share", disabled=claims is None or supported is None,
                on_click=_rate_share, args=(queue_view, case, (supported, claims), after),
            )  # fmt: skip
        for number, (word, value) in enumerate(queue_view.dimension.levels, start=1):
            st.button(
                capital(word), key=f"rate_{word}", shortcut=str(number),
                on_click=_rate, args=(queue_view, case, value, after),
            )  # fmt: skip
        _cannot_say_button(queue_view, case, after)
        st.button("Undo", key="rate_undo", shortcut="U", on_click=_undo, args=(queue_view,))


def _cannot_say_button(queue_view: _QueueView, case: tuple[str, str, int], after: str | None) -> None:
    st.button(
        "Cannot say", key="rate_none", shortcut="X", on_click=_rate, args=(queue_view, case, None, after),
        help="It does not apply to this case, or the case does not show it",
    )  # fmt: skip


def _rate_share(
    queue_view: _QueueView,
    case: tuple[str, str, int],
    counted: tuple[int | None, int | None],
    after: str | None,
) -> None:
    supported, claims = counted
    if supported is not None and claims is not None and run_is_there(queue_view.view, case[0]):
        attempt(lambda: _save_rating(queue_view, case, share_of(supported, claims), after))


def _rate(queue_view: _QueueView, case: tuple[str, str, int], value: float | None, after: str | None) -> None:
    if run_is_there(queue_view.view, case[0]):
        attempt(lambda: _save_rating(queue_view, case, value, after))


def _save_rating(
    queue_view: _QueueView, case: tuple[str, str, int], value: float | None, after: str | None
) -> str:
    queue, ledger = queue_view.state.queue, queue_view.view.store.ledger
    rate(ledger, case, queue.who, queue.dimension, value, queue.queue_id)
    mark_reviewed(ledger, case, queue.who)
    keep(case=after or "")
    message = "Recorded as “cannot say”" if value is None else f"Rated {value:.2f}"
    return f"{message}. Press U to undo."


def _undo(queue_view: _QueueView) -> None:
    def change() -> str:
        queue = queue_view.state.queue
        undone = undo(queue_view.view.store.ledger, queue.run_id, queue.who, queue.dimension)
        if undone is None:
            return "You have nothing to undo in this run."
        keep(case=f"{undone.question_id}~{undone.repeat}")
        return "Your last rating was undone."

    attempt(change)


def _case_without_scores(sample: Mapping[str, Any]) -> None:
    """Draw a case without the judgement of a judge, of other people or of an estimate."""
    plain = shown_case({**sample, **dict.fromkeys(_HIDDEN_FIELDS)})
    plain["retrieved"] = [{**document, "relevant": None} for document in plain["retrieved"] or ()]
    documents = count(len(sample["retrieved"] or ()), "document")
    st.html(
        case_head(head_of(plain, []))
        + answer_html(plain, _NO_HIGHLIGHTS)
        + case_reference(plain["reference_answer"] or "", unfolded=True)
        + context_heading(f"Context in rank order: {documents}")
        + context_html(plain, _NO_HIGHLIGHTS)
    )
    if cuts := cuts_told(plain):
        facts(cuts)
    facts(f"question id {markdown_text(str(sample['question_id']))}", f"repeat {sample['repeat']}")
