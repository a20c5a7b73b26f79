"""Imported scores of a project: which direction is better, declared on the Runs page."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.shell.components import show_table
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.shell.user import attempt, may_write
from ragtriage.dashboard.tables.runs import declaration_table
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.declarations import FILE_NAME, declaration_of, declarations_of, declare
from ragtriage.metrics.metric_registry import declared, imported_declarations
from ragtriage.metrics.number_text import count

DIRECTIONS = {"higher": "higher is better", "lower": "lower is better"}


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
            f"lower is better ({markdown_text(', '.join(undeclared[:8]))}). Until somebody does, they are "
            "neither better nor worse anywhere."
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
