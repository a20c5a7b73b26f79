"""The part of the Retrieval page on types of questions: the metric each calls for, and a suggested k."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard.charts.plotly_figure import plotly_figure
from dashboard.charts.retrieval import type_lines
from dashboard.sections.retrieval.curves import k_beyond
from dashboard.shell.caching import HASH_FUNCS
from dashboard.shell.components import draw, export_menu, facts, show_table
from dashboard.shell.session import View, current_selection, keep, open_cases
from dashboard.shell.widgets import show_in
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import NOT_MEASURED, count, interval_text, number, signed
from data.analysis.question_types import EVERY, TypeCurve, type_curves, types_named
from data.scoring.ranked_lists import RankedLists, ranked_lists
from data.scoring.scored_run import MOST_SLICE_VALUES, ScoredRun
from metrics.analysis.cutoff_curves import LEAST_GAIN
from metrics.analysis.query_types import KINDS
from metrics.metric_registry import title_of

__all__ = ["type_section"]

MOST_TYPES = 12
FEW = 10  # questions below which a suggested k says next to nothing


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASH_FUNCS)
def _types(scored: ScoredRun, kinds: dict[str, str], k: int) -> list[TypeCurve]:
    lists = ranked_lists(scored)
    return [] if lists is None else type_curves(scored, lists, kinds, k)


def type_section(view: View, lists: RankedLists, k: int) -> None:
    """Show the query types with the metric each calls for and a suggested k; the kind can be changed."""
    scored = view.scored(view.run)
    kinds = {name: kind for name, kind in sorted(current_selection().kinds.items()) if kind in KINDS}
    every = _types(scored, kinds, k_beyond(lists, k))
    found = every[:MOST_TYPES]
    st.subheader("By type of question")
    draw(
        plotly_figure(type_lines(found, k)),
        "type_lines",
        "The primary metric of each type of question over k; the table below has the numbers",
    )
    _type_table(scored, found, k)
    facts(_notes(found, len(every), types_named(scored)))
    with st.expander("What each further document adds"):
        for one in found:
            _gain_table(one)
    with st.expander("What kind of question each type is"):
        for kind, (metric, why) in KINDS.items():
            st.caption(f"**{kind}**: {title_of(f'{metric}@5').removesuffix('@5')}; {why}.")
        for one in found:
            _kind_picker(one)


def _type_table(scored: ScoredRun, found: Sequence[TypeCurve], k: int) -> None:
    rows = [_type_row(one, k) for one in found]
    event = st.dataframe(
        rows,
        hide_index=True,
        key="types",
        height="content",
        on_select="rerun",
        selection_mode="single-row",
        placeholder=NOT_MEASURED,
        alt="Query types with their primary metric and a suggested k",
    )
    export_menu(rows, "Query types")
    chosen = event["selection"]["rows"]
    name = found[chosen[0]].name if chosen and chosen[0] < len(found) else ""
    if name and name in _labels(scored):
        open_cases(slices={"query_type": name})


def _labels(scored: ScoredRun) -> tuple[str, ...]:
    return next((one.labels for one in scored.slices if one.name == "query_type"), ())


def _type_row(one: TypeCurve, k: int) -> dict[str, object]:
    row: dict[str, object] = {"Type": one.name, "Kind": one.kind, "n": one.n}
    if one.curve is None or one.suggested is None:
        return row
    here, there = one.curve.at(k), one.curve.at(one.suggested)
    return {
        **row,
        "Calls for": title_of(f"{one.curve.metric}@5").removesuffix("@5"),
        f"at k = {k}": f"{number(here.mean, 3)} {interval_text(here.low, here.high, 3)}",
        "Suggested k": f"{one.suggested} or more" if one.rising else f"{one.suggested}",
        "there": f"{number(there.mean, 3)} {interval_text(there.low, there.high, 3)}",
    }


def _notes(found: Sequence[TypeCurve], every: int, named: int) -> list[str]:
    guessed = ", ".join(one.name for one in found if not one.declared and one.name != EVERY)
    stands_in = ", ".join(one.name for one in found if one.stands_in)
    few = ", ".join(one.name for one in found if one.n < FEW)
    by_recall = ", ".join(one.name for one in found if one.curve and one.curve.metric != one.suggested_by)
    return [
        "computed",
        "a ring stands at the suggested k",
        f"suggested k: the smallest behind which no longer list adds {LEAST_GAIN} a document on average; "
        "a suggestion from these questions, not a test",
        "“or more”: still rising where the lists end" if any(one.rising for one in found) else "",
        f"taken as broad coverage, because the name says nothing: {markdown_text(guessed)}"
        if guessed
        else "",
        f"k is suggested by recall, because nDCG can fall with k: {markdown_text(by_recall)}"
        if by_recall
        else "",
        _together(named) if found and found[0].name == EVERY else "",
        f"recall stands in, because the gold names no hops: {markdown_text(stands_in)}" if stands_in else "",
        f"fewer than {FEW} questions, so hardly a ground to choose k on: {markdown_text(few)}" if few else "",
        f"the {len(found)} most frequent of {count(every, 'type')}" if every > len(found) else "",
        "click a row for its cases" if len(found) > 1 else "",
    ]


def _together(named: int) -> str:
    """Say why all questions stand together."""
    if named > 1:
        most = MOST_SLICE_VALUES
        return f"the run names {named:,} types of question; more than {most} are not told apart"
    return "the run names no types of question (`query_type`)"


def _gain_table(one: TypeCurve) -> None:
    if not one.gains or one.curve is None:
        return
    metric = title_of(f"{one.curve.metric}@5").removesuffix("@5")
    st.caption(f"**{markdown_text(one.name)}**: {metric}, n = {count(one.n, 'question')}")
    show_table(
        [
            {
                "From k": gain.start,
                "to k": gain.end,
                "Gain a document": signed(gain.each.mean, 4),
                "95 % interval": f"{signed(gain.each.low, 4)} to {signed(gain.each.high, 4)}",
                f"Against {LEAST_GAIN}": _against(gain.each.low, gain.each.high),
            }
            for gain in one.gains
        ],
        "Gain of the metric for each document between two values of k, paired on question",
    )


def _against(low: float, high: float) -> str:
    if high < LEAST_GAIN:
        return "▼ less"
    return "▲ more" if low > LEAST_GAIN else "· cannot tell"


def _kind_picker(one: TypeCurve) -> None:
    key = f"kind_{one.name}"
    show_in(key, one.kind)
    st.selectbox(markdown_text(one.name), list(KINDS), key=key, on_change=_take_kind, args=(one.name, key))


def _take_kind(name: str, key: str) -> None:
    keep(kinds={**current_selection().kinds, name: st.session_state[key]})
