"""The question sets of the workspace: a list, and the choice of one to join to a run that is loaded."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.shell.components import facts, show_table
from ragtriage.dashboard.shell.user import may_write
from ragtriage.dashboard.tables.runs import question_set_table
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.dashboard.wording.question_sets import set_argument
from ragtriage.data.store.question_sets import (
    LoadedSet,
    QuestionSet,
    find_set,
    load_set,
    question_sets,
    unreadable_sets,
)
from ragtriage.data.store.workspace import Workspace

NONE = ""


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
        format_func=lambda set_id: _title(sets[set_id]) if set_id else "none",
        key="upload_questions",
        width=320,
        help="Its gold and references are joined by question; what the file has itself stays.",
    )
    return load_set(workspace, find_set(workspace, chosen).set_id) if chosen else None


def _title(entry: QuestionSet) -> str:
    return f"{entry.name} ({entry.n:,})"


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
        [
            "questions with references and gold, and no answers",
            f"try chunkings: ragtriage grid CORPUS --questions {name}",
            f"join to a run: *Load runs*, or ragtriage import FILE --questions {name}" if may_write() else "",
        ]
    )
