"""The parts of the Retrieval page on reranking and on multi-hop questions."""

from __future__ import annotations

import streamlit as st

from dashboard.charts.plotly_figure import plotly_figure
from dashboard.charts.retrieval import hop_bars, hop_lines, move_bars
from dashboard.charts.style import VERDICT_LABELS
from dashboard.sections.retrieval.curves import case_buttons, k_beyond
from dashboard.shell.caching import HASH_FUNCS
from dashboard.shell.components import clicked, draw, facts, show_table
from dashboard.shell.session import View, open_cases
from dashboard.wording.formatting import count, interval_text, number, p_value, percent, signed
from data.analysis.multi_hop import hop_curves, hop_tallies
from data.analysis.reranking import Change, RerankingEffect, misranked, nowhere, reranking_effect
from data.analysis.retrieval_curves import HOPS, Curve
from data.scoring.ranked_lists import RankedLists, ranked_lists
from data.scoring.scored_run import ScoredRun
from metrics.metric_registry import title_of

__all__ = ["hop_section", "rerank_section"]


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _reranking_effect(scored: ScoredRun, k: int) -> RerankingEffect | None:
    lists = ranked_lists(scored)
    return None if lists is None else reranking_effect(scored, lists, k)


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASH_FUNCS)
def _hop_curves(scored: ScoredRun, k: int) -> list[Curve]:
    lists = ranked_lists(scored)
    return [] if lists is None else hop_curves(scored, lists, k)


def rerank_section(view: View, lists: RankedLists, k: int) -> None:
    """Show what the reranker lifted into the top k and what it pushed out."""
    found = _reranking_effect(view.scored(view.run), k)
    if found is None:
        return
    st.subheader("First pass against what was handed on")
    moved = found.moves
    bars = [
        (f"kept in the top {k}", int((moved.kept > 0).sum()), f"kept:{k}"),
        (f"lifted into the top {k}", int((moved.lifted > 0).sum()), f"lifted:{k}"),
        (f"pushed out of the top {k}", int((moved.pushed_out > 0).sum()), f"pushed_out:{k}"),
        (f"found, and below {k} in both", int((moved.left_below > 0).sum()), f"left_below:{k}"),
        ("found by neither pass", int((moved.missed > 0).sum()), "unit_missed"),
    ]
    hit = clicked(move_bars(bars), "moves", "Cases by what the reranker did to their gold")
    facts(
        [
            f"n = {count(int(moved.compared.sum()), 'case')} with both lists",
            "a case with several gold documents can be in several bars",
            "click a bar for its cases",
        ]
    )
    lost = [
        (
            "misranked: no gold in the list, some among the candidates",
            "misranked",
            int(misranked(lists).sum()),
        ),
        ("missed: no gold in the list, none among the candidates", "nowhere", int(nowhere(lists).sum())),
    ]
    st.markdown(" · ".join(f"**{n:,}** {title}" for title, _, n in lost))
    show_table([_change_row(name, one, k) for name, one in found.changes.items()], "Paired on question")
    facts(
        [
            "computed, paired on question",
            f"p corrected by Holm over these {len(found.changes)} metrics",
            f"▲ better, ▼ worse, = same of "
            f"{count(next(iter(found.changes.values())).difference.n_pairs, 'question')}",
        ]
    )
    case_buttons("moves", [*((title, mark, n) for title, n, mark in bars), *lost])
    if hit is not None:
        open_cases(cohort=str(hit[0]))


def _change_row(name: str, one: Change, k: int) -> dict[str, str]:
    gap = one.difference
    return {
        "Metric": title_of(f"{name}@{k}"),
        "First pass": number(one.before, 3),
        "Handed on": number(one.after, 3),
        "Difference, 95 % interval": f"{signed(gap.difference, 3)} {interval_text(gap.low, gap.high, 3)}",
        "p (Holm)": f"{p_value(one.adjusted_p)} {VERDICT_LABELS[one.verdict]}",
        "▲ / ▼ / =": f"{gap.better:,} / {gap.worse:,} / {gap.same:,}",
    }


def hop_section(view: View, lists: RankedLists, k: int) -> None:
    """Show how multi-hop questions end: which hop was missed, or found too low."""
    found = hop_tallies(lists, k)
    if not found:
        return
    lines = _hop_curves(view.scored(view.run), k_beyond(lists, k))
    st.subheader("Multi-hop questions")
    draw(
        plotly_figure(hop_lines(lines, k)),
        "hop_lines",
        "Share of questions with each hop in the top k, over k",
    )
    whole = next(one for one in lines if one.metric == HOPS).at(k)
    facts(
        [
            f"all-hops recall@{k}: {percent(whole.mean)} "
            f"[{percent(whole.low)}, {percent(whole.high)}], n = {count(whole.n_scored, 'question')}",
            "computed",
            "bars at k: 95 % interval",
        ]
    )
    hit = clicked(hop_bars(found), "hops", "Multi-hop cases by what was missed")
    facts(
        [
            f"n = {count(sum(one.n for one in found), 'case')} with hops",
            "missed: neither in the list nor among the candidates"
            if lists.first_pass is not None
            else "missed: not in the list; the run records no candidates that would tell how deep it stands",
            "click a bar for its cases",
        ]
    )
    case_buttons("hops", [(one.title, one.cohort, one.n) for one in found])
    if hit is not None:
        open_cases(cohort=str(hit[0]))
