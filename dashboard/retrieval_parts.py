"""The pieces of the Retrieval page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard.controls import show_in
from dashboard.drawing import clicked, draw, facts, show_table
from dashboard.retrieval_charts import first_gold_bars, hop_bars, k_curves, move_bars
from dashboard.rounding import count, interval_text, number, p_value, signed
from dashboard.session import View, current_selection, keep, open_cases
from dashboard.text import markdown_text
from data.ranked_tables import RankedLists, ranked_lists
from data.retrieval_curves import (
    KINDS,
    LONGEST_K,
    Curve,
    Reranked,
    TypeCurve,
    curves,
    first_gold,
    hop_tallies,
    reranked,
    type_curves,
)
from data.summaries import title_of
from data.tables import RunTable
from data.workspace import Run
from metrics.curves import LEAST_GAIN

__all__ = [
    "curve_section",
    "first_gold_section",
    "hop_section",
    "k_picker",
    "lists_of",
    "rerank_section",
    "type_section",
]

MOST_TYPES = 12
USUAL_K = 5


@st.cache_resource(max_entries=16, show_spinner=False)
def _lists(_table: RunTable, scores: str) -> RankedLists | None:  # noqa: ARG001 -- cache key
    return ranked_lists(_table)


@st.cache_resource(max_entries=32, show_spinner=False)
def _curves(_table: RunTable, _lists: RankedLists, scores: str) -> list[Curve]:  # noqa: ARG001 -- cache key
    return curves(_table, _lists)


@st.cache_resource(max_entries=32, show_spinner=False)
def _types(
    _table: RunTable,
    _lists: RankedLists,
    scores: str,  # noqa: ARG001 -- part of the cache key
    kinds: tuple[tuple[str, str], ...],
) -> list[TypeCurve]:
    return type_curves(_table, _lists, dict(kinds))


@st.cache_resource(max_entries=64, show_spinner=False)
def _reranked(_table: RunTable, _lists: RankedLists, scores: str, k: int) -> Reranked | None:  # noqa: ARG001 -- cache key
    return reranked(_table, _lists, k)


def lists_of(view: View, run: Run) -> RankedLists | None:
    """Give the ranked lists of a run, kept while it is in use; None where it names no gold."""
    table = view.table(run)
    return _lists(table, table.scores_path.as_posix())


def k_picker(run: Run) -> int:
    """Let a person move the k in use; at first the run's own top_k where its configuration has one."""
    recorded = run.config.get("top_k")
    usual = recorded if isinstance(recorded, int) and not isinstance(recorded, bool) else USUAL_K
    show_in("pick_k", min(max(1, current_selection().k or usual), LONGEST_K))
    st.number_input(
        "k in use",
        1,
        LONGEST_K,
        key="pick_k",
        on_change=lambda: keep(k=st.session_state["pick_k"]),
        width=140,
        help="How many documents from the top reach the generator.",
    )
    return int(st.session_state["pick_k"])


def curve_section(view: View, lists: RankedLists, k: int) -> None:
    """Draw the metrics over k with the baseline beside, and their values at the k in use."""
    table = view.table(view.run)
    ours = _curves(table, lists, table.scores_path.as_posix())
    base, base_name = _baseline_curves(view)
    draw(
        k_curves(ours, base, k, base_name),
        "k_curves",
        "Retrieval metrics over the number of documents from the top; the table below has those at k",
    )
    longest = ours[0].ks[-1]
    facts(
        [
            f"n = {count(ours[0].points[0].n_scored, 'question')} with gold",
            "computed from gold documents" if lists.documents is not None else "computed from gold text",
            f"dashed: {markdown_text(base_name)}" if base else "",
            f"lists end at {longest}" if longest < LONGEST_K else "",
        ]
    )
    show_table(
        [
            {
                "Metric": title_of(f"{curve.metric}@{k}"),
                "Value": number(curve.at(k).mean, 3),
                "95 % interval": interval_text(curve.at(k).low, curve.at(k).high, 3),
                "n": f"{curve.at(k).n_scored:,}",
                "Baseline": _base_value(base, curve.metric, k),
            }
            for curve in ours
        ],
        f"Metrics at k = {k} with intervals",
    )


def _baseline_curves(view: View) -> tuple[list[Curve], str]:
    if view.baseline is None:
        return [], ""
    lists = lists_of(view, view.baseline)
    if lists is None:
        return [], ""
    table = view.table(view.baseline)
    return _curves(table, lists, table.scores_path.as_posix()), view.labels[view.baseline.run_id]


def _base_value(base: Sequence[Curve], metric: str, k: int) -> str:
    found = next((curve for curve in base if curve.metric == metric), None)
    return "–" if found is None else number(found.at(k).mean, 3)


def first_gold_section(lists: RankedLists) -> None:
    """Draw where the first gold document stands; a bar opens its cases."""
    found = first_gold(lists)
    if not found:
        return
    st.subheader("Where the first gold document stands")
    hit = clicked(first_gold_bars(found), "first_gold", "Cases by the rank of their first gold document")
    facts([f"n = {count(sum(found.values()), 'case')} with gold", "computed", "click a bar for its cases"])
    _buttons(
        "first_gold",
        [("Cases without any gold document", "gold_missed", found["not found"])],
    )
    if hit is not None:
        open_cases(mark=str(hit[0]))


def _buttons(key: str, entries: Sequence[tuple[str, str, int]]) -> None:
    """Offer what bars lead to as buttons too, for those who do not point and click."""
    with st.container(horizontal=True):
        for title, mark, n in entries:
            if n and st.button(f"{markdown_text(title)} ({n:,})", key=f"{key}_{mark}"):
                open_cases(mark=mark)


def type_section(view: View, lists: RankedLists) -> None:
    """List the query types with the metric each calls for and a suggested k; the kind can be changed."""
    table = view.table(view.run)
    kinds = tuple(sorted((key, value) for key, value in current_selection().kinds.items() if value in KINDS))
    found = _types(table, lists, table.scores_path.as_posix(), kinds)[:MOST_TYPES]
    st.subheader("By type of question")
    event = st.dataframe(
        [_type_row(one) for one in found],
        hide_index=True,
        key="types",
        height="content",
        on_select="rerun",
        selection_mode="single-row",
        alt="Query types with their primary metric and a suggested k",
    )
    chosen = event["selection"]["rows"]
    name = found[chosen[0]].name if chosen and chosen[0] < len(found) else ""
    if name in _labels(table) and st.button(f"Cases of type {markdown_text(name)}", key="type_cases"):
        open_cases(slices={"query_type": name})
    guessed = [one.name for one in found if not one.told]
    facts(
        [
            "computed",
            f"suggested k: the smallest one behind which no longer list adds {LEAST_GAIN} a document on "
            f"average; "
            "a suggestion from these questions, not a test",
            f"taken as broad coverage, because their names say nothing: {markdown_text(', '.join(guessed))}"
            if guessed
            else "",
        ]
    )
    with st.expander("What kind of question each type is"):
        for kind, (metric, why) in KINDS.items():
            st.caption(f"**{kind}**: {title_of(f'{metric}@5').removesuffix('@5')}; {why}.")
        for one in found:
            _kind_picker(one)


def _labels(table: RunTable) -> tuple[str, ...]:
    return next((one.labels for one in table.slices if one.name == "query_type"), ())


def _type_row(one: TypeCurve) -> dict[str, object]:
    if one.curve is None or one.suggested is None:
        return {"Type": one.name, "Kind": one.kind, "Questions": one.n, "Primary metric": "–"}
    at, end = one.curve.at(one.suggested), one.curve.points[-1]
    return {
        "Type": one.name,
        "Kind": one.kind,
        "Questions": one.n,
        "Primary metric": title_of(f"{one.curve.metric}@5").removesuffix("@5"),
        "Suggested k": one.suggested,
        "there": f"{number(at.mean, 3)} {interval_text(at.low, at.high, 3)}",
        f"at k = {one.curve.ks[-1]}": number(end.mean, 3),
    }


def _kind_picker(one: TypeCurve) -> None:
    key = f"kind_{one.name}"
    show_in(key, one.kind)
    st.selectbox(markdown_text(one.name), list(KINDS), key=key, on_change=_take_kind, args=(one.name, key))


def _take_kind(name: str, key: str) -> None:
    keep(kinds={**current_selection().kinds, name: st.session_state[key]})


def rerank_section(view: View, lists: RankedLists, k: int) -> None:
    """Show what the reranker lifted into the top k and what it pushed out."""
    table = view.table(view.run)
    found = _reranked(table, lists, table.scores_path.as_posix(), k)
    if found is None:
        return
    st.subheader("First pass against what was handed on")
    moved = found.moves
    bars = [
        (f"lifted into the top {k}", int((moved.lifted > 0).sum()), f"lifted:{k}"),
        (f"pushed out of the top {k}", int((moved.pushed_out > 0).sum()), f"pushed_out:{k}"),
        (f"found, and below {k} in both", int((moved.left_below > 0).sum()), f"left_below:{k}"),
    ]
    hit = clicked(move_bars([("kept in the top", int((moved.kept > 0).sum()), ""), *bars]), "moves",
                  "Cases by what the reranker did to their gold")  # fmt: skip
    show_table(
        [
            {
                "Metric": title_of(f"{name}@{k}"),
                "First pass": number(found.before[name], 3),
                "Handed on": number(found.after[name], 3),
                "Difference": signed(one.difference, 3),
                "95 % interval": interval_text(one.low, one.high, 3),
                "p": p_value(one.p),
                "Better / worse / same": f"{one.better:,} / {one.worse:,} / {one.same:,}",
            }
            for name, one in found.differences.items()
        ],
        "First pass against the final lists, paired on question",
    )
    facts(
        [
            f"n = {count(int(moved.compared.sum()), 'case')} with both lists",
            f"gold nowhere in either: {int((moved.missed > 0).sum()):,} cases",
            "a case can be in several bars",
            "computed, paired on question",
        ]
    )
    _buttons("moves", [(title, mark, n) for title, n, mark in bars])
    if hit is not None and hit[0]:
        open_cases(mark=str(hit[0]))


def hop_section(lists: RankedLists, k: int) -> None:
    """Show how multi-hop cases end: which hop was missed, or found too low."""
    found = hop_tallies(lists, k)
    if not found:
        return
    st.subheader("Multi-hop questions")
    hit = clicked(hop_bars(found), "hops", "Multi-hop cases by what was missed")
    n = sum(one.n for one in found)
    facts(
        [
            f"all hops in the top {k}: {found[0].n:,} of {count(n, 'case')}",
            "missed: in neither the list nor the first pass",
            "computed",
            "click a bar for its cases",
        ]
    )
    _buttons("hops", [(one.title, one.mark, one.n) for one in found])
    if hit is not None:
        open_cases(mark=str(hit[0]))
