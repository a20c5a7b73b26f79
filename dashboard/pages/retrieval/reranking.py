"""Reranking and multi-hop questions: sections of the Retrieval page."""

from __future__ import annotations

import streamlit as st

from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.retrieval import hop_bars, hop_lines, move_bars
from ragtriage.dashboard.pages.retrieval.curves import case_buttons, k_beyond
from ragtriage.dashboard.shell.components import clicked, draw, facts, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.tables.retrieval import reranking_table
from ragtriage.dashboard.wording.comparisons import family_text
from ragtriage.data.analysis.multi_hop import hop_curves, hop_tallies
from ragtriage.data.analysis.reranking import RerankingEffect, misranked, nowhere, reranking_effect
from ragtriage.data.analysis.retrieval_curves import HOPS, Curve
from ragtriage.data.scoring.ranked_lists import RankedLists, ranked_lists
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.number_text import count, percent


@kept
def _reranking_effect(scored: ScoredRun, k: int) -> RerankingEffect | None:
    lists = ranked_lists(scored)
    return None if lists is None else reranking_effect(scored, lists, k)


@kept
def _hop_curves(scored: ScoredRun, k: int) -> list[Curve]:
    lists = ranked_lists(scored)
    return [] if lists is None else hop_curves(scored, lists, k)


def rerank_section(view: View, lists: RankedLists, k: int) -> None:
    """Show which gold the reranker moved into the top k and which it pushed out."""
    effect = _reranking_effect(view.scored(view.run), k)
    if effect is None:
        st.caption(
            "No first pass with gold documents is recorded, so what reranking moved is not known: record the "
            "longer list before reranking as `candidates`, and the gold as `relevant`."
        )
        return
    st.subheader("First pass compared with the reranked list")
    moves = effect.moves
    bars = [
        (f"kept in the top {k}", int((moves.kept > 0).sum()), f"kept:{k}"),
        (f"lifted into the top {k}", int((moves.lifted > 0).sum()), f"lifted:{k}"),
        (f"pushed out of the top {k}", int((moves.pushed_out > 0).sum()), f"pushed_out:{k}"),
        (f"found below {k} in both", int((moves.left_below > 0).sum()), f"left_below:{k}"),
        ("found by neither pass", int((moves.missed > 0).sum()), "unit_missed"),
    ]
    point = clicked(move_bars(bars), "moves", "Cases by what the reranker did to their gold")
    facts(
        [
            f"n = {count(int(moves.compared.sum()), 'case')} with both lists",
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
    show_table(reranking_table(effect.changes, k))
    facts(
        [
            "computed, paired on question",
            family_text(len(effect.changes), "metric"),
            f"▲ better, ▼ worse, = same of "
            f"{count(next(iter(effect.changes.values())).difference.n_pairs, 'question')}",
        ]
    )
    case_buttons("moves", [*((title, cohort, n) for title, n, cohort in bars), *lost])
    if point is not None:
        open_cases(cohort=str(point[0]))


def hop_section(view: View, lists: RankedLists, k: int) -> None:
    """Show which hop of the multi-hop questions was missed, or ranked too low."""
    tallies = hop_tallies(lists, k)
    if not tallies:
        st.caption("The gold names no hops (`relevant[].hop`), so multi-hop questions are not told apart.")
        return
    curves = _hop_curves(view.scored(view.run), k_beyond(lists, k))
    st.subheader("Multi-hop questions")
    draw(
        plotly_figure(hop_lines(curves, k)),
        "hop_lines",
        "Share of questions with each hop in the top k, over k",
    )
    all_hops = next(curve for curve in curves if curve.metric == HOPS).at(k)
    facts(
        [
            f"all-hops recall@{k}: {percent(all_hops.mean)} "
            f"[{percent(all_hops.low)}, {percent(all_hops.high)}], "
            f"n = {count(all_hops.n_scored, 'question')}",
            "computed",
            "bars at k: 95 % interval",
        ]
    )
    point = clicked(hop_bars(tallies), "hops", "Multi-hop cases by what was missed")
    facts(
        [
            f"n = {count(sum(tally.n for tally in tallies), 'case')} with hops",
            "missed: neither in the list nor among the candidates"
            if lists.first_pass is not None
            else "missed: not in the list; the run records no candidates that would show its rank",
            "click a bar for its cases",
        ]
    )
    case_buttons("hops", [(tally.title, tally.cohort, tally.n) for tally in tallies])
    if point is not None:
        open_cases(cohort=str(point[0]))
