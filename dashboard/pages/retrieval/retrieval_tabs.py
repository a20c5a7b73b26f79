"""The tabs of the Retrieval page: types of question, reranking, hops, quality of the context."""

from collections.abc import Sequence

import streamlit as st

from ragtriage.dashboard.charts.cutoff_curves import hop_bars, hop_lines, move_bars, type_lines
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.pages.retrieval.ranks import case_buttons, k_beyond
from ragtriage.dashboard.shell.components import choose_row, clicked, draw, facts, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, current_selection, keep, open_cases
from ragtriage.dashboard.shell.widgets import draw_folded, show_in
from ragtriage.dashboard.tables.cutoffs import (
    context_table,
    gain_table,
    reranking_table,
    type_table,
    without_k,
)
from ragtriage.dashboard.wording.comparisons import family_text
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.analysis.gold_reach import misranked, nowhere, reranking_effect
from ragtriage.data.analysis.retrieval_curves import (
    EVERY,
    HOPS,
    TypeCurve,
    hop_curves,
    hop_tallies,
    type_curves,
    types_named,
)
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.cases.context_cohorts import CONTEXT_COHORTS
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.grouping import MOST_SLICE_VALUES
from ragtriage.data.scoring.ranked_lists import RankedLists
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.analysis.retrieval import KINDS, LEAST_GAIN
from ragtriage.metrics.definitions.context_quality import LOCAL_MODEL_METRICS, METRICS
from ragtriage.metrics.number_text import count, percent

MOST_TYPES = 12
FEW = 10  # below this number of questions a suggested k is unreliable
SHOWN = tuple(
    metric.key
    for metric in (*METRICS, *LOCAL_MODEL_METRICS)
    if metric.component == "retrieval" and not metric.per_k
)
BY_MODEL = (
    "Estimated by comparing words. `ragtriage score RUN --embedding MODEL --nli MODEL` adds the same kind of "
    "metrics from an embedding and an NLI model. More diversity is not better by itself: noise raises it too."
)


_types, _reranking_effect, _hop_curves = kept(type_curves), kept(reranking_effect), kept(hop_curves)


def type_section(view: View, lists: RankedLists, k: int) -> None:
    """Show the question types with their primary metrics and a suggested k; their kinds can be changed."""
    scored = view.scored(view.run)
    kinds = {name: kind for name, kind in sorted(current_selection().kinds.items()) if kind in KINDS}
    all_types = _types(scored, lists, kinds, k_beyond(lists, k))
    types = all_types[:MOST_TYPES]
    notes, hint = _notes(types, len(all_types), types_named(scored))
    chosen = choose_row(type_table(types, k), "types", hint, *notes)
    type_name = "" if chosen is None else types[chosen].name
    sliced = next((group.labels for group in scored.slices if group.name == "query_type"), ())
    if type_name and type_name in sliced:
        open_cases(slices={"query_type": type_name})
    draw_folded("Curves over k; a ring marks the suggested k", "type_curves", lambda: _type_curves(types, k))
    gains, kinds_of_types = st.columns(2)
    with gains:
        draw_folded("Gain of each further document", "type_gains", lambda: _gain_tables(types))
    with kinds_of_types:
        draw_folded("Kind of each question type", "type_kinds", lambda: _kind_pickers(types))


def _type_curves(types: Sequence[TypeCurve], k: int) -> None:
    alt = "The primary metric of each type of question over k; the table above has the numbers"
    draw(plotly_figure(type_lines(types, k)), "type_lines", alt)


def _gain_tables(types: Sequence[TypeCurve]) -> None:
    for question_type in types:
        _gain_table(question_type)


def _kind_pickers(types: Sequence[TypeCurve]) -> None:
    for kind, (metric, reason) in KINDS.items():
        st.caption(f"**{kind}**: {without_k(metric)}; {reason}.")
    for question_type in types:
        name, key = question_type.name, f"kind_{question_type.name}"
        show_in(key, question_type.kind)
        st.selectbox(markdown_text(name), list(KINDS), key=key, on_change=_keep_kind, args=(name, key))


def _notes(types: Sequence[TypeCurve], total: int, named: int) -> tuple[list[str], str]:
    """Return the notes on method of the table, and what is to know at a glance."""
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
    notes = [
        f"Suggested k: the smallest above which further documents add less than {LEAST_GAIN} each "
        "on average; a suggestion from these questions, not a test",
        "“or more”: still rising where the lists end" if any(curve.rising for curve in types) else "",
        f"Treated as broad coverage, because the name gives no hint: {markdown_text(guessed)}"
        if guessed
        else "",
        f"k is suggested by recall, because nDCG can fall with k: {markdown_text(by_recall)}"
        if by_recall
        else "",
        f"Recall is used instead, because the gold names no hops: {markdown_text(stands_in)}"
        if stands_in
        else "",
        f"Fewer than {FEW} questions, too few to choose k: {markdown_text(few)}" if few else "",
    ]
    shown = [
        "computed",
        not_split,
        f"the {len(types)} most frequent of {count(total, 'type')}" if total > len(types) else "",
        "click a row for its cases" if len(types) > 1 else "",
    ]
    return notes, " · ".join(filter(None, shown))


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


def rerank_section(view: View, lists: RankedLists, k: int) -> None:
    """Show which gold the reranker moved into the top k and which it pushed out."""
    effect = _reranking_effect(view.scored(view.run), lists, k)
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
        f"n = {count(int(moves.compared.sum()), 'case')} with both lists",
        "a case with several gold documents can be in several bars",
        "click a bar for its cases",
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
        "computed, paired on question",
        family_text(len(effect.changes), "metric"),
        f"▲ better, ▼ worse, = same of "
        f"{count(next(iter(effect.changes.values())).difference.n_pairs, 'question')}",
    )
    case_buttons("moves", [*((title, cohort, n) for title, n, cohort in bars), *lost])
    if point is not None:
        open_cases(cohort=str(point[0]))


def hop_section(view: View, lists: RankedLists, k: int) -> None:
    """Show which hop of the multi-hop questions was missed, or ranked too low."""
    tallies = hop_tallies(lists, k)
    if not tallies:
        st.caption("The gold names no hops (`relevant[].hop`), so multi-hop questions cannot be separated.")
        return
    curves = _hop_curves(view.scored(view.run), lists, k_beyond(lists, k))
    st.subheader("Multi-hop questions")
    draw(
        plotly_figure(hop_lines(curves, k)),
        "hop_lines",
        "Share of questions with each hop in the top k, over k",
    )
    all_hops = next(curve for curve in curves if curve.metric == HOPS).at(k)
    facts(
        f"all-hops recall@{k}: {percent(all_hops.mean)} "
        f"[{percent(all_hops.low)}, {percent(all_hops.high)}], "
        f"n = {count(all_hops.n_scored, 'question')}",
        "computed",
        "bars at k: 95 % interval",
    )
    point = clicked(hop_bars(tallies), "hops", "Multi-hop cases by what was missed")
    facts(
        f"n = {count(sum(tally.n for tally in tallies), 'case')} with hops",
        "missed: neither in the list nor among the candidates"
        if lists.first_pass is not None
        else "missed: not in the list; the run records no candidates that would show its rank",
        "click a bar for its cases",
    )
    case_buttons("hops", [(tally.title, tally.cohort, tally.n) for tally in tallies])
    if point is not None:
        open_cases(cohort=str(point[0]))


def has_context_quality(view: View) -> bool:
    """Return whether the run has any of these metrics."""
    return bool(_summaries(view))


def _summaries(view: View) -> dict[str, MetricSummary]:
    summary = view.summary(view.run)
    return {name: summary[name] for name in SHOWN if name in summary and summary[name].n_scored}


def context_section(view: View) -> None:
    """Draw the metrics of the context with the cases behind them."""
    summaries = _summaries(view)
    if not summaries:
        st.info("The quality of the context needs the texts of the retrieved documents; the run has none.")
        return
    show_table(context_table(summaries))
    scored = view.scored(view.run)
    entries = []
    for key in CONTEXT_COHORTS:
        try:
            entries.append((cohort_title(key), key, int(cohort_rows(scored, key).sum())))
        except DataError:  # the run has none of its metrics
            continue
    case_buttons("context_quality", entries)
    st.caption(BY_MODEL)
