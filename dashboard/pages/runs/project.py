"""The project on the Runs page: means of its runs, imported scores, question sets, what to measure next."""

import streamlit as st

from ragtriage.dashboard.pages.runs.chosen_run import run_labels
from ragtriage.dashboard.shell.components import facts, show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.shell.user import attempt, may_write
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.tables.project import (
    deciding_table,
    declaration_table,
    held_text,
    plan_sentence,
    question_set_table,
    run_table,
    size_text,
    step_table,
)
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.dashboard.wording.formatting import metric_label
from ragtriage.dashboard.wording.imports import set_argument
from ragtriage.data.comparison.answered import answered_of
from ragtriage.data.declarations import FILE_NAME, declaration_of, declarations_of, declare
from ragtriage.data.store.question_sets import LoadedSet, find_set, load_set, question_sets, unreadable_sets
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.strategy.plan import USE_CASES, plan_of
from ragtriage.metrics.metric_registry import declared, imported_declarations
from ragtriage.metrics.number_text import count

HEADLINE = ("faithfulness", "answer_relevancy", "context_recall", "context_precision")
MOST_IMPORTED = 4  # declared scores that the table of runs has room for
WIDTHS = {"": 28, "Created": 122, "Questions": 72, "Samples": 80, "Format": 110, "Id": 110}  # pixels
DIRECTIONS = {"higher": "higher is better", "lower": "lower is better"}
USUAL = "production"
NONE = ""


def means_section(view: View) -> None:
    """List the runs of the project, newest first."""
    measured = {name for run in view.runs for name in view.summary(run)}
    imported = [name for name in imported_declarations() if name in measured][:MOST_IMPORTED]
    answered = answered_of([view.scored(run) for run in view.sampled])
    runs = list(reversed(view.runs))
    summaries = {run.run_id: view.summary(run) for run in runs}
    shown = (*HEADLINE, *imported)
    table = run_table(runs, view.run, view.labels, run_labels(view), summaries, answered, shown)
    titles = {"faithfulness": "Faithfulness", "answer_relevancy": "Relevancy", "context_recall": "Ctx recall"}
    titles |= {"context_precision": "Ctx precision"} | {name: metric_label(name) for name in imported}
    means = {name: st.column_config.TextColumn(titles.get(name), width=128) for name in shown}
    small = {name: st.column_config.TextColumn(width=width) for name, width in WIDTHS.items()}
    show_table(table, {**means, **small})
    facts("means over questions with 95 % intervals; n and source of each on Triage", "– not measured")


def declaration_section(view: View) -> None:
    """List the imported scores of the project's runs, and draw the form that declares one of them."""
    names = {name for run in view.runs for name, summary in view.summary(run).items() if summary.n_scored}
    imported = imported_declarations()
    undeclared = sorted(name for name in names if declared(name) is None)
    offered = [*undeclared, *sorted(names & imported.keys())]
    if not offered:
        return
    st.subheader("Imported scores")
    known = declarations_of(view.store.workspace, view.project)
    if undeclared:
        st.info(
            f"For {count(len(undeclared), 'score')} of the imported files nobody declared whether higher or "
            f"lower is better ({markdown_text(', '.join(undeclared[:8]))}). Until it is declared, no "
            "page calls a change in them better or worse."
        )
    if known:
        show_table(declaration_table(known))
    if may_write():
        _form(view, offered)


def _form(view: View, offered: list[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Score", offered, key="declared_score", width=220)
        direction = st.selectbox(
            "Direction",
            list(DIRECTIONS),
            format_func=DIRECTIONS.__getitem__,
            key="declared_direction",
            width=180,
        )
        low = st.number_input("Least value", value=None, key="declared_low", placeholder="none", width=130)
        high = st.number_input(
            "Greatest value", value=None, key="declared_high", placeholder="none", width=130
        )
        title = st.text_input("Title", key="declared_title", placeholder=name, width=200, max_chars=60)

        def change() -> str:
            table: dict[str, object] = {"direction": direction, "title": title}
            if low is not None or high is not None:
                table["range"] = [low, high]
            entry = declaration_of(name, table, "this page")
            declare(view.store.workspace, view.project, {name: entry})
            return f"{name}: {DIRECTIONS[direction]}, written to {FILE_NAME}."

        st.button("Declare", key="declare", on_click=attempt, args=(change,))


def plan_section(view: View) -> None:
    """Show what to measure next: from a use case, and from what the project holds."""
    titles = {key: case.title for key, case in USE_CASES.items()}
    options = sorted(USE_CASES, key=lambda key: key != USUAL)
    use_case = choose("Use case", "use_case", options, titles, width=260)
    plan = plan_of(view.store, view.project, use_case, view.usual_diagnosis)
    st.markdown(f"**{markdown_text(plan_sentence(plan))}**")
    st.caption(markdown_text(f"{held_text(plan)} {size_text(plan)}"))
    show_table(step_table(plan))
    st.markdown("#### What decides")
    show_table(deciding_table(plan))


def chosen_question_set(workspace: Workspace) -> LoadedSet | None:
    """Draw the choice of a question set to join to the runs that are loaded; None where there is none.

    Raises:
        WorkspaceError: the chosen set cannot be read.
    """
    sets = {entry.set_id: entry for entry in question_sets(workspace)}
    if not sets:
        return None
    chosen = st.selectbox(
        "Question set to join",
        [NONE, *sets],
        format_func=lambda set_id: f"{sets[set_id].name} ({sets[set_id].n:,})" if set_id else "none",
        key="upload_questions",
        width=320,
        help="Its gold and references are joined by question; what the file has itself stays.",
    )
    return load_set(workspace, find_set(workspace, chosen).set_id) if chosen else None


def question_set_list(workspace: Workspace) -> None:
    """List the question sets, newest first, and say what can be done with one."""
    for problem in unreadable_sets(workspace).values():
        st.warning(markdown_text(problem))
    sets = question_sets(workspace)
    if not sets:
        st.caption(
            "No question sets yet. A file of questions with references or gold and without answers, as a "
            "test set of Ragas or goldens of DeepEval, is kept as one when it is loaded."
        )
        return
    table = question_set_table(sets[::-1])
    show_table(table, {"Name": st.column_config.TextColumn(width="medium")})
    name = set_argument(sets[-1])
    facts(
        "questions with references and gold, and no answers",
        f"try chunkings: ragtriage grid CORPUS --questions {name}",
        f"join to a run: *Load runs*, or ragtriage import FILE --questions {name}" if may_write() else "",
    )
