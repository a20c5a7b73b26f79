"""Question types with their primary metric and a suggested k: a section of the Retrieval page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.retrieval import type_lines
from ragtriage.dashboard.pages.retrieval.curves import k_beyond
from ragtriage.dashboard.shell.components import choose_row, draw, facts, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, current_selection, keep, open_cases
from ragtriage.dashboard.shell.widgets import show_in
from ragtriage.dashboard.tables.retrieval import gain_table, type_table, without_k
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.analysis.question_types import EVERY, TypeCurve, type_curves, types_named
from ragtriage.data.scoring.grouping import MOST_SLICE_VALUES
from ragtriage.data.scoring.ranked_lists import RankedLists, ranked_lists
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.cutoff_curves import LEAST_GAIN
from ragtriage.metrics.analysis.retrieval_breakdowns import KINDS
from ragtriage.metrics.number_text import count

MOST_TYPES = 12
FEW = 10  # below this number of questions a suggested k is unreliable


@kept
def _types(scored: ScoredRun, kinds: dict[str, str], k: int) -> list[TypeCurve]:
    lists = ranked_lists(scored)
    return [] if lists is None else type_curves(scored, lists, kinds, k)


def type_section(view: View, lists: RankedLists, k: int) -> None:
    """Show the question types with their primary metrics and a suggested k; their kinds can be changed."""
    scored = view.scored(view.run)
    kinds = {name: kind for name, kind in sorted(current_selection().kinds.items()) if kind in KINDS}
    all_types = _types(scored, kinds, k_beyond(lists, k))
    types = all_types[:MOST_TYPES]
    st.subheader("By type of question")
    draw(
        plotly_figure(type_lines(types, k)),
        "type_lines",
        "The primary metric of each type of question over k; the table below has the numbers",
    )
    _type_table(scored, types, k)
    facts(_notes(types, len(all_types), types_named(scored)))
    with st.expander("Gain of each further document"):
        for question_type in types:
            _gain_table(question_type)
    with st.expander("Kind of each question type"):
        for kind, (metric, reason) in KINDS.items():
            st.caption(f"**{kind}**: {without_k(metric)}; {reason}.")
        for question_type in types:
            name, key = question_type.name, f"kind_{question_type.name}"
            show_in(key, question_type.kind)
            st.selectbox(markdown_text(name), list(KINDS), key=key, on_change=_keep_kind, args=(name, key))


def _type_table(scored: ScoredRun, types: Sequence[TypeCurve], k: int) -> None:
    chosen = choose_row(type_table(types, k), "types")
    name = "" if chosen is None else types[chosen].name
    sliced = next((group.labels for group in scored.slices if group.name == "query_type"), ())
    if name and name in sliced:
        open_cases(slices={"query_type": name})


def _notes(types: Sequence[TypeCurve], total: int, named: int) -> list[str]:
    """List the notes below the table.

    Args:
        types: the types shown.
        total: number of types, shown or not.
        named: number of types that the run names.
    """
    guessed = ", ".join(curve.name for curve in types if not curve.declared and curve.name != EVERY)
    stands_in = ", ".join(curve.name for curve in types if curve.stands_in)
    few = ", ".join(curve.name for curve in types if curve.n < FEW)
    by_recall = ", ".join(
        curve.name for curve in types if curve.curve and curve.curve.metric != curve.suggested_by
    )
    not_split = ""
    if types and types[0].name == EVERY:
        not_split = "the run names no types of question (`query_type`)"
        if named > 1:
            not_split = (
                f"not split by type: the run names {named:,} types of question, and at most "
                f"{MOST_SLICE_VALUES} are shown apart"
            )
    return [
        "computed",
        "the ring marks the suggested k",
        f"suggested k: the smallest above which further documents add less than {LEAST_GAIN} each "
        "on average; a suggestion from these questions, not a test",
        "“or more”: still rising where the lists end" if any(curve.rising for curve in types) else "",
        f"treated as broad coverage, because the name gives no hint: {markdown_text(guessed)}"
        if guessed
        else "",
        f"k is suggested by recall, because nDCG can fall with k: {markdown_text(by_recall)}"
        if by_recall
        else "",
        not_split,
        f"recall is used instead, because the gold names no hops: {markdown_text(stands_in)}"
        if stands_in
        else "",
        f"fewer than {FEW} questions, too few to choose k: {markdown_text(few)}" if few else "",
        f"the {len(types)} most frequent of {count(total, 'type')}" if total > len(types) else "",
        "click a row for its cases" if len(types) > 1 else "",
    ]


def _gain_table(question_type: TypeCurve) -> None:
    if not question_type.gains or question_type.curve is None:
        return
    metric = without_k(question_type.curve.metric)
    n = count(question_type.n, "question")
    st.caption(
        f"**{markdown_text(question_type.name)}**: {metric}, n = {n}; each step by its own interval, not "
        f"corrected over {count(len(question_type.gains), 'step')}"
    )
    show_table(gain_table(question_type))


def _keep_kind(name: str, key: str) -> None:
    keep(kinds={**current_selection().kinds, name: st.session_state[key]})
