"""Error analysis on the Judge page: what people read, the notes they took, and what comes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from dashboard.sections.judge.evaluators import evaluator_section
from dashboard.sections.judge.taxonomy import taxonomy_section
from dashboard.shell.components import facts
from dashboard.shell.session import View, open_cases
from dashboard.shell.user import attempt, current_user, may_write, name_box
from dashboard.wording.escaping import markdown_text, shorten
from dashboard.wording.formatting import count
from data.diagnosis.diagnosis import row_of
from data.labels.failure_taxonomy import gather, offered_labels, open_notes
from data.labels.reviewed_cases import ReviewedCases, reviewed_cases
from data.scoring.scored_run import ScoredRun
from data.store.ledger import Label

__all__ = ["error_analysis_section"]

READ_AT_LEAST, READ_BETTER = 50, 100  # cases that people read before a judge is worth trusting
NOTES_SHOWN, NOTES_IN_SIGHT = 100, 10
VERDICTS = {"pass": "✓ pass", "fail": "✗ fail", None: "–"}


def error_analysis_section(view: View) -> None:
    """Draw what people read and noted, the failure labels made of it, and the evaluators of these."""
    ids = [run.run_id for run in view.sampled]
    _read_section(view, ids)
    _note_section(view, ids)
    taxonomy_section(view, ids)
    evaluator_section(view)


def _read_section(view: View, ids: Sequence[str]) -> None:
    """Say how many cases people have read, and how many are advised."""
    ledger, run = view.store.ledger, view.run
    here, everywhere = reviewed_cases(ledger, [run.run_id]), reviewed_cases(ledger, ids)
    st.subheader("Read first: what people have seen with their own eyes")
    goal = min(READ_AT_LEAST, run.n)
    st.progress(min(here.cases / goal, 1.0), text=_progress_text(here, run.n, goal))
    facts(
        [
            ", ".join(f"{markdown_text(name)} {cases:,}" for name, cases in here.by_annotator.items()),
            f"{everywhere.cases:,} in all {len(ids):,} runs of the project" if len(ids) > 1 else "",
            "read: labelled, noted, or gone past with Next (J) on Cases under a name",
        ]
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if may_write():
            name_box(200)
        wanted: Literal["primary", "secondary"] = "primary" if here.cases < goal else "secondary"
        if st.button("Read cases nobody has labelled", key="read_cases", type=wanted):
            open_cases(label="none")


def _progress_text(here: ReviewedCases, n: int, goal: int) -> str:
    told = f"**{here.cases:,} of {count(n, 'case')}** read by people"
    if here.cases >= min(READ_BETTER, n):
        return f"{told}: enough to name what goes wrong."
    if here.cases >= goal:
        return f"{told}. {READ_BETTER} are better: go on until new cases bring no new kind of failure."
    advice = f"Read {READ_AT_LEAST} to {READ_BETTER}" if n >= READ_AT_LEAST else f"Read all {n:,}"
    return f"{told}. {advice} before you trust any number of a judge: {goal - here.cases:,} to go."


def _note_section(view: View, ids: Sequence[str]) -> None:
    """List the notes without a failure label, to be gathered into labels."""
    notes = open_notes(view.store.ledger, ids)
    mine = [one for one in notes if one.run_id == view.run.run_id]
    elsewhere = len(notes) - len(mine)
    st.subheader("Notes without a failure label")
    others = f"{count(elsewhere, 'such note')} in other runs of the project" if elsewhere else ""
    if not mine:
        st.caption(
            "None in this run. On Cases, write what is wrong in your own words and press N; the notes come "
            f"here to be gathered into failure labels. {others}"
        )
        return
    chosen = _note_table(view, mine[:NOTES_SHOWN])
    facts(
        [
            f"{len(mine[:NOTES_SHOWN]):,} of {count(len(mine), 'note')}, newest first",
            others,
            "select those that tell of the same failure",
        ]
    )
    _gather_bar(view, chosen)


def _note_table(view: View, notes: Sequence[Label]) -> list[Label]:
    """Draw the notes beside what was asked; give the selected ones."""
    questions = _questions(view.scored(view.run), notes)
    event = st.dataframe(
        [
            {
                "Note": shorten(one.note, 300),
                "Verdict": VERDICTS[one.verdict],
                "By": one.annotator,
                "Question": question,
            }
            for one, question in zip(notes, questions, strict=True)
        ],
        hide_index=True,
        key=f"open_notes_{notes[0].label_id}_{len(notes)}",
        on_select="rerun",
        selection_mode="multi-row",
        height="content" if len(notes) <= NOTES_IN_SIGHT else 38 + 35 * NOTES_IN_SIGHT,
        column_config={
            "Note": st.column_config.TextColumn(width="large"),
            "Verdict": st.column_config.TextColumn(width=80),
            "By": st.column_config.TextColumn(width=110),
        },
        alt="Notes that no failure label was gathered from",
    )
    return [notes[row] for row in event["selection"]["rows"] if row < len(notes)]


def _questions(scored: ScoredRun, notes: Sequence[Label]) -> list[str]:
    rows = [row_of(scored, one.question_id, one.repeat) for one in notes]
    known = [row for row in rows if row is not None]
    read = {one["row"]: one["question"] for one in scored.samples.read(known, ("row", "question"))}
    return ["" if row is None else shorten(read[row], 120) for row in rows]


def _gather_bar(view: View, chosen: Sequence[Label]) -> None:
    """Let a person give the selected notes a label, or open one of them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if may_write():
            _gather_form(view, chosen)
        opened = st.button("Open the case", key="open_note", disabled=len(chosen) != 1)
    if opened and chosen:
        open_cases(case=f"{chosen[0].question_id}~{chosen[0].repeat}")
    if not may_write():
        return
    facts(
        [
            "" if current_user() else "give your name above to gather notes",
            "the label stands under the name of who wrote the note, whose verdict stays as it was; "
            "U on Cases takes it back",
        ]
    )


def _gather_form(view: View, chosen: Sequence[Label]) -> None:
    st.selectbox(
        "Failure label",
        offered_labels(view.store.ledger, view.project),
        index=None,
        key="gather_label",
        accept_new_options=True,
        placeholder="choose one, or type a new one",
        width=300,
    )
    st.button(
        f"Give it to {count(len(chosen), 'note')}" if chosen else "Give it to the selected notes",
        key="gather",
        type="primary",
        disabled=not (chosen and current_user() and st.session_state.get("gather_label")),
        on_click=attempt,
        args=(lambda: _gather(view, chosen),),
    )


def _gather(view: View, chosen: Sequence[Label]) -> str:
    label = st.session_state["gather_label"] or ""
    given = gather(view.store.ledger, view.project, chosen, label, current_user())
    st.session_state["gather_label"] = None
    left = f"; {count(len(chosen) - given, 'note')} had changed meanwhile" if given < len(chosen) else ""
    return f"{count(given, 'note')} labelled **{markdown_text(label)}**{left}."
