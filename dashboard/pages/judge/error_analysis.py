"""Error analysis: reviewed cases, notes, and the failure labels made from them."""

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from ragtriage.dashboard.charts.agreement import MOST_BARS, label_bars
from ragtriage.dashboard.pages.judge.evaluators import evaluator_section
from ragtriage.dashboard.shell.components import clicked, facts, show_table
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.shell.user import attempt, current_user, may_write, name_box, only_reads
from ragtriage.dashboard.tables.judged import taxonomy_table
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.diagnosis.diagnosis import row_of
from ragtriage.data.labels.failure_taxonomy import (
    LabelCount,
    ReviewedCases,
    define_label,
    gather,
    label_counts,
    merge_labels,
    offered_labels,
    open_notes,
    remove_label,
    rename_label,
    reviewed_cases,
)
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Label
from ragtriage.metrics.number_text import count

READ_AT_LEAST, READ_BETTER = 50, 100  # cases to review before a judge is trusted
NOTES_SHOWN, NOTES_IN_SIGHT = 100, 10
VERDICTS = {"pass": "✓ pass", "fail": "✗ fail", None: "–"}
LONGEST_DEFINITION = 600
BUTTONS = 30
WIDTHS = {
    name: st.column_config.Column(width=width)
    for name, width in {
        "Failure label": 230,
        "Definition": 400,
        "Cases, this run": 110,
        "Cases, project": 110,
        "Defined by": 170,
    }.items()
}


def error_analysis_section(view: View) -> None:
    """Draw reviewed cases, open notes, the failure labels, and their evaluators."""
    ids = [run.run_id for run in view.sampled]
    _review_section(view, ids)
    _note_section(view, ids)
    taxonomy_section(view, ids)
    evaluator_section(view)


def _review_section(view: View, ids: Sequence[str]) -> None:
    """Show how many cases have been reviewed, and how many are advised."""
    ledger, run = view.store.ledger, view.run
    here, everywhere = reviewed_cases(ledger, [run.run_id]), reviewed_cases(ledger, ids)
    st.subheader("Read cases first")
    goal = min(READ_AT_LEAST, run.n)
    st.progress(min(here.cases / goal, 1.0), text=_progress_text(here, run.n, goal))
    facts(
        ", ".join(f"{markdown_text(name)} {cases:,}" for name, cases in here.by_annotator.items()),
        f"{everywhere.cases:,} in all {len(ids):,} runs of the project" if len(ids) > 1 else "",
        "reviewed: labelled, noted, or passed with Next (J) on Cases under a name",
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if may_write():
            name_box(200)
        importance: Literal["primary", "secondary"] = "primary" if here.cases < goal else "secondary"
        if st.button("Read unlabelled cases", key="read_cases", type=importance):
            open_cases(label="none")


def _progress_text(here: ReviewedCases, n: int, goal: int) -> str:
    reviewed = f"**{here.cases:,} of {count(n, 'case')}** reviewed"
    if here.cases >= min(READ_BETTER, n):
        return f"{reviewed}: enough to name what goes wrong."
    if here.cases >= goal:
        return f"{reviewed}. {READ_BETTER} are better: continue until new cases bring no new kind of failure."
    advice = f"Read {READ_AT_LEAST} to {READ_BETTER}" if n >= READ_AT_LEAST else f"Read all {n:,}"
    return f"{reviewed}. {advice} before trusting a judge: {goal - here.cases:,} to go."


def _note_section(view: View, ids: Sequence[str]) -> None:
    """List the notes without a failure label, to be gathered into labels."""
    notes = open_notes(view.store.ledger, ids)
    own = [note for note in notes if note.run_id == view.run.run_id]
    elsewhere = len(notes) - len(own)
    st.subheader("Notes without a failure label")
    others = f"{count(elsewhere, 'such note')} in other runs of the project" if elsewhere else ""
    if not own:
        st.caption(
            "None in this run. On Cases, write what is wrong in your own words and press N; the notes appear "
            f"here to be given failure labels. {others}"
        )
        return
    chosen = _note_table(view, own[:NOTES_SHOWN])
    facts(
        f"{len(own[:NOTES_SHOWN]):,} of {count(len(own), 'note')}, newest first",
        others,
        "select those about the same failure",
    )
    _gather_bar(view, chosen)


def _note_table(view: View, notes: Sequence[Label]) -> list[Label]:
    """Draw the notes with their questions; return the selected ones."""
    questions = _questions(view.scored(view.run), notes)
    event = st.dataframe(
        [
            {
                "Note": shorten(note.note, 300),
                "Verdict": VERDICTS[note.verdict],
                "By": note.annotator,
                "Question": question,
            }
            for note, question in zip(notes, questions, strict=True)
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
        alt="Notes without a failure label",
    )
    return [notes[row] for row in event["selection"]["rows"] if row < len(notes)]


def _questions(scored: ScoredRun, notes: Sequence[Label]) -> list[str]:
    rows = [row_of(scored, note.question_id, note.repeat) for note in notes]
    stored = scored.samples.read([row for row in rows if row is not None], ("row", "question"))
    questions = {sample["row"]: sample["question"] for sample in stored}
    return ["" if row is None else shorten(questions[row], 120) for row in rows]


def _gather_bar(view: View, chosen: Sequence[Label]) -> None:
    """Draw the form that gives the selected notes a label, and the button that opens one of them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if may_write():
            _gather_form(view, chosen)
        opened = st.button("Open the case", key="open_note", disabled=len(chosen) != 1)
    if opened and chosen:
        open_cases(case=f"{chosen[0].question_id}~{chosen[0].repeat}")
    if not may_write():
        return
    facts(
        "" if current_user() else "give your name above to label notes",
        "the label is recorded in the name of who wrote the note, and the verdict stays; "
        "U on Cases undoes it",
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
    labelled = gather(view.store.ledger, view.project, chosen, label, current_user())
    st.session_state["gather_label"] = None
    changed = count(len(chosen) - labelled, "note")
    left = f"; {changed} had changed in the meantime" if labelled < len(chosen) else ""
    return f"{count(labelled, 'note')} labelled **{markdown_text(label)}**{left}."


def taxonomy_section(view: View, ids: Sequence[str]) -> None:
    """Draw the failure labels with their counts, and the editor of the taxonomy."""
    counts = label_counts(view.store.ledger, view.project, ids)
    st.subheader("Failure labels")
    if counts:
        _bars(view, counts)
        show_table(taxonomy_table(counts, view.run.run_id), WIDTHS)
    else:
        st.caption(
            "None yet. Make them from notes above, give one on Cases beside Fail, or define one here first."
        )
    if may_write():
        _editor(view, ids, counts)
    else:
        only_reads("Changes of the taxonomy")


def _bars(view: View, counts: Sequence[LabelCount]) -> None:
    """Draw the counts of the run on display; a bar opens its cases."""
    here = [label_count for label_count in counts if label_count.by_run.get(view.run.run_id)]
    if not here:
        st.caption("No case of this run has a failure label.")
        return
    hit = clicked(label_bars(here, view.run.run_id), "label_bars", "Cases by failure label")
    facts(
        "cases of this run that at least one annotator gave the label; a case may have several",
        f"the {MOST_BARS} most frequent of {len(here):,}" if len(here) > MOST_BARS else "",
        "counts over reviewed cases, not rates of the run: no interval",
        "click a bar for its cases",
    )
    with st.popover("Open cases of a label"):
        for at, label_count in enumerate(here[:BUTTONS]):
            title = (
                f"{markdown_text(shorten(label_count.label, 60))} ({label_count.by_run[view.run.run_id]:,})"
            )
            if st.button(title, key=f"open_label_{at}", width="stretch"):
                open_cases(failure=label_count.label)
    if hit is not None:
        open_cases(failure=str(hit[0]))


def _editor(view: View, ids: Sequence[str], counts: Sequence[LabelCount]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Define a label"):
            _define(view, counts)
        if counts:
            with st.popover("Rename or merge"):
                _rename(view, ids, counts)
        if any(label_count.defined for label_count in counts):
            with st.popover("Remove"):
                _remove(view, counts)
        if not current_user():
            st.caption("Enter your name above to edit the failure labels.")


def _define(view: View, counts: Sequence[LabelCount]) -> None:
    """Draw the form that adds a label to the taxonomy, or changes its definition."""
    definitions = {label_count.label: label_count.definition for label_count in counts}
    label = st.selectbox(
        "Failure label", list(definitions), index=None, key="define_label", accept_new_options=True,
        placeholder="choose one, or type a new one", width=340,
    )  # fmt: skip
    key = f"definition_{label}"
    text = st.text_area(
        "Definition: when does a case have it, and when not?",
        value=definitions.get(label or "", ""),
        key=key,
        max_chars=LONGEST_DEFINITION,
        placeholder="e.g. The answer names a date that no document states.",
    )

    def save() -> str:
        define_label(view.store.ledger, view.project, label or "", st.session_state[key], current_user())
        return f"Defined **{markdown_text(label or '')}**."

    ready = bool(label and current_user() and (text.strip() or label not in definitions))
    st.button("Save", key="define", type="primary", disabled=not ready, on_click=attempt, args=(save,))


def _rename(view: View, ids: Sequence[str], counts: Sequence[LabelCount]) -> None:
    """Draw the form that renames a label, or merges it into another."""
    cases = {label_count.label: label_count.cases for label_count in counts}
    old = st.selectbox("Failure label", list(cases), key="rename_from", width=340)
    new = st.selectbox(
        "New name, or the label to merge it into", [label for label in cases if label != old], index=None,
        key="rename_to", accept_new_options=True, placeholder="type a new one, or choose one", width=340,
    )  # fmt: skip
    change = merge_labels if new in cases else rename_label

    def save() -> str:
        changed = change(view.store.ledger, view.project, ids, old, new or "", current_user())
        st.session_state["rename_to"] = None
        action = "Merged" if new in cases else "Renamed"
        return f"{action} into **{markdown_text(new or '')}**: {count(changed, 'human label')}."

    st.caption(f"Changes the label of {count(cases[old], 'case')} over all runs of the project.")
    text = f"Merge into {markdown_text(shorten(new, 40))}" if new in cases and new else "Rename"
    ready = bool(new and new != old and current_user())
    st.button(text, key="rename", type="primary", disabled=not ready, on_click=attempt, args=(save,))


def _remove(view: View, counts: Sequence[LabelCount]) -> None:
    """Draw the form that removes a label from the taxonomy."""
    cases = {label_count.label: label_count.cases for label_count in counts if label_count.defined}
    label = st.selectbox("Failure label", list(cases), key="remove_label", width=340)

    def remove() -> str:
        remove_label(view.store.ledger, view.project, label)
        return f"Removed **{markdown_text(label)}** from the taxonomy."

    if cases[label]:
        st.caption(f"{count(cases[label], 'case')} keep the label; merge it to change them too.")
    st.button("Remove", key="remove", disabled=not current_user(), on_click=attempt, args=(remove,))
