"""What answers use of their context, by rank and by version, and what they cite."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from ragtriage.dashboard.charts.context_use import (
    MOST_COUNTED,
    VersionRate,
    group_bars,
    k_lines,
    place_points,
    rank_bars,
    version_rates,
)
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.charts.use_grid import MOST_COLUMNS, use_columns, use_heat
from ragtriage.dashboard.shell.components import clicked, current_theme, facts, how_measured, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.shell.widgets import choose, draw_folded, k_picker
from ragtriage.dashboard.tables.run import citation_table
from ragtriage.dashboard.wording.citations import NOT_CITED, citation_facts, citations_sentence
from ragtriage.dashboard.wording.escaping import capital, markdown_text
from ragtriage.dashboard.wording.formatting import method_text, methods, source_text, span
from ragtriage.data.analysis.alignment import (
    ALERT,
    DEEPEST,
    GOLD_GROUPS,
    PUBLISHED,
    SPLITS,
    Group,
    Rate,
    by_k,
    by_rank,
    gap_of,
    outcome_by_gold_position,
    rate_of,
    sources_of_use,
    split,
    use_grid,
)
from ragtriage.data.analysis.citations import citations_of_run
from ragtriage.data.scoring.context_use import ORIGINS, RunContextUse, context_use_of
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, interval_text, number, percent
from ragtriage.metrics.result_table import Count, ResultTable, Row, Share, ShareEnds

OUTCOME_METRICS = (
    *CORRECTNESS,
    "answer_f1",
    "answer_recall",
    "faithfulness",
    "answer_relevancy",
    "answer_precision",
    "check_pass_rate",
    "answer_match",
)
K_TITLES = {"wasted_context": "wasted context", "deep_reliance": "deep reliance"}
K_COHORTS = {"wasted_context": "wasted", "deep_reliance": "deep"}
SPLIT_COHORTS = {"relevant": "ignored_relevant", "length": "ignored_length", "query_type": "ignored_top"}
_citations = kept(citations_of_run)
_by_k, _by_rank, _by_gold_rank = kept(by_k), kept(by_rank), kept(outcome_by_gold_position)
_gap, _grid = kept(gap_of), kept(use_grid)


@kept
def context_use_in(scored: ScoredRun) -> RunContextUse | None:
    """Return which documents the answers of a run use; None where that is not known."""
    context_use = context_use_of(scored)
    return context_use if context_use is not None and sources_of_use(context_use) else None


@kept
def _splits(scored: ScoredRun, context_use: RunContextUse, source: str) -> dict[str, list[Group]]:
    splits = {by: split(scored, context_use, source, by) for by in SPLITS}
    return {by: groups for by, groups in splits.items() if groups}


def by_relevance(scored: ScoredRun, context_use: RunContextUse, source: str) -> list[Group]:
    """Return the rate where the top-ranked document is relevant, and where it is not."""
    return _splits(scored, context_use, source).get("relevant", [])


def has_own_answers(scored: ScoredRun) -> bool:
    """Return whether a run has any answer that is not a refusal."""
    return "answer" in scored.run.fields and bool((scored.stage_features["refused"] != 1).any())


def source_picker(context_use: RunContextUse) -> str:
    """Return the chosen source of context use, with a select box where the run has several."""
    sources = sources_of_use(context_use)
    if len(sources) < 2:
        return sources[0]
    return choose("Source of context use", "source", sources, ORIGINS, {}, width=220)


def split_section(scored: ScoredRun, context_use: RunContextUse, source: str) -> None:
    """Draw the rate of ignored top-ranked documents by a property of the document or the question."""
    splits = _splits(scored, context_use, source)
    if not splits:
        return
    st.subheader("When the top-ranked document is ignored")
    titles = {by: SPLITS[by] for by in splits}
    by = choose("Split by", "split", list(titles), titles, {}, width=330)
    groups, cohort = splits[by], SPLIT_COHORTS[by]
    figure = plotly_figure(group_bars(groups, cohort, titles[by]))
    point = clicked(figure, f"split_{by}", f"Rate by {titles[by]}")
    facts(ORIGINS[source], _interval_methods(groups), "click a bar for the cases that ignore it")
    narrowed = cohort_source(context_use, source)
    entries = [(group.label, f"{cohort}:{group.key}") for group in groups]
    _case_buttons(f"split_{by}", "Open cases", entries, narrowed)
    if point is not None:
        _open_cohort(str(point[0]), narrowed)


def _interval_methods(groups: Sequence[Group]) -> str:
    return methods([group.value for group in groups])


def _case_buttons(
    key: str, label: str, entries: Sequence[tuple[str, str]], source: str = "", **order: object
) -> None:
    """Draw a button for each cohort of a chart, so that its cases can be opened by keyboard."""
    with st.popover(label):
        for title, cohort in entries:
            if st.button(markdown_text(title), key=f"{key}_{cohort}", width="stretch"):
                _open_cohort(cohort, source, **order)


def rank_section(scored: ScoredRun, context_use: RunContextUse, source: str) -> None:
    """Draw how often the document at each rank is used."""
    groups = _by_rank(scored, context_use, source)
    st.subheader("Which ranks the answers use")
    point = clicked(plotly_figure(rank_bars(groups)), "by_rank", "Share of answers that use each rank")
    sizes = ", ".join(f"{group.value.n_scored:,}" for group in groups)
    facts(
        "" if len(groups) <= MOST_COUNTED else f"n = {sizes}",
        "of the answers that were given a document at that rank",
        ORIGINS[source],
        _interval_methods(groups),
        "click a bar for the cases that use it",
    )
    narrowed = cohort_source(context_use, source)
    with st.container(horizontal=True):
        for key, label, cohort in (
            ("by_rank", "Open cases that use a rank", "used_rank"),
            ("not_by_rank", "Open cases that do not", "unused_rank"),
        ):
            entries = [(f"rank {group.label}", f"{cohort}:{group.key}") for group in groups]
            _case_buttons(key, label, entries, narrowed)
    if point is not None:
        _open_cohort(str(point[0]), narrowed)


def k_section(scored: ScoredRun, context_use: RunContextUse, source: str) -> None:
    """Draw wasted context and deep reliance over k; a point opens its cases."""
    k = k_picker(scored.run)
    st.subheader("Wasted context and deep reliance by k")
    by_metric = _by_k(scored, context_use, source, max(k, DEEPEST))
    figure = plotly_figure(k_lines(by_metric, K_TITLES, k))
    point = clicked(figure, "k_lines", "Wasted context and deep reliance over k")
    at_k = {name: groups[min(k, len(groups)) - 1].value for name, groups in by_metric.items() if groups}
    facts(
        *(
            f"{K_TITLES[name]}@{k}: {percent(rate.mean)} ({span(rate)}), n = {rate.n_scored:,}"
            for name, rate in at_k.items()
        ),
        "wasted: documents in the top k that the answer does not use",
        "deep: used documents below k",
        ORIGINS[source],
        methods([group.value for groups in by_metric.values() for group in groups]),
        "click a point for its cases",
    )
    narrowed = cohort_source(context_use, source)
    entries = [
        (f"leaves documents of the top {k} unused", f"wasted:{k}"),
        (f"uses documents below rank {k}", f"deep:{k}"),
    ]
    _case_buttons("k_lines", "Open cases", entries, narrowed)
    if point is not None:
        _open_cohort(f"{K_COHORTS[str(point[0])]}:{point[1]}", narrowed)


def gap_section(scored: ScoredRun, context_use: RunContextUse, source: str) -> None:
    """Show how far the order of use is from the retriever's ranking, where shares are known."""
    st.subheader("Does the order of use follow the ranking?")
    gap = _gap(scored, context_use, source)
    if not gap.n_scored:
        needed = "it needs the share of each answer that comes from each document"
        st.caption(f"Rank-use gap: not measured; {needed}.")
        return
    st.markdown(
        f"Rank-use gap **{number(gap.mean)}** {interval_text(gap.low, gap.high)}: 0 where answers rely most "
        "on the highest-ranked documents, 1 where they rely only on others."
    )
    n = count(gap.n_scored, "question")
    facts(f"n = {n} with an answer that uses a document", ORIGINS[source], methods([gap]))
    if st.button("Cases, the widest gap first", key="cases_gap"):
        _open_cohort("known_use", cohort_source(context_use, source), sort="rank_use_gap", descending=True)


def gold_rank_section(scored: ScoredRun, context_use: RunContextUse) -> None:
    """Draw an answer metric by the relative place of the first gold document: lost in the middle?"""
    st.subheader("Is gold lost in the middle?")
    available = [name for name in OUTCOME_METRICS if np.isfinite(scored.values(name)).any()]
    if not available or np.isnan(context_use.gold_rank).all():
        missing = "an answer metric" if not available else "gold documents or labels of the documents"
        st.caption(f"This curve needs {missing}; the run has none.")
        return
    titles = {name: title_of(name) for name in available}
    metric = choose("Outcome metric", "shown_metric", available, titles, {}, width=260)
    groups = _by_gold_rank(scored, context_use, metric)
    if not groups:
        st.caption(f"No case has both {titles[metric]} and a known rank of the gold.")
        return
    alt = "Outcome metric by place of the first gold document in its context"
    point = clicked(place_points(groups, titles[metric]), "places", alt)
    column = scored.column(metric)
    facts(
        "place of the first gold document relative to the length of its list: first, the thirds between "
        "(early, middle, late), last; by ids, labels or gold text",
        f"{titles[metric]}: {source_text(None, None if column is None else column.sources)}",
        _interval_methods(groups),
        "observed, not set: questions whose gold ranks low are often harder, so a fall may be theirs; "
        "`ragtriage experiment position` places the gold itself",
        "click a point for its cases, lowest first",
    )
    titled = {group.key: f"gold: {group.key}" for group in groups} | {"none": "no gold in the context"}
    entries = [(titled[group.key], f"gold_position:{group.key}") for group in groups]
    _case_buttons("places", "Open cases", entries, sort=metric)
    if point is not None:
        _open_cohort(str(point[0]), sort=metric)


POSSIBLE_CAUSES = (
    ("Chunk size", "chunks that are too small or badly split rank first but contain too little"),
    ("Embedding model", "a model that matches the topic but not the question ranks the wrong document first"),
    ("Reranker calibration", "a reranker trained on other questions can push down what answers need"),
)
MOST_VERSIONS = 25


@kept
def rates_of(scored: ScoredRun) -> list[Rate]:
    """Return the rate of ignored top-ranked documents by each source of context use."""
    context_use = context_use_in(scored)
    if context_use is None:
        return []
    return [rate_of(scored, context_use, source) for source in sources_of_use(context_use)]


def version_section(view: View) -> None:
    """Draw the rate of the newest versions and of the run on display; a point or a button opens its cases."""
    runs = list(reversed(view.sampled))[:MOST_VERSIONS]
    if view.run not in runs:
        runs = [view.run, *runs[:-1]]
    rates = [
        VersionRate(view.labels[run.run_id], run.run_id, rate, run.run_id == view.run.run_id)
        for run in runs
        for rate in rates_of(view.scored(run))
    ]
    alt = "Rate of ignored first documents by version, with intervals, the alert line and the published range"
    point = clicked(version_rates(rates), "version_rates", alt)
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Open cases of a version"):
            for version in rates:
                source = version.rate.source
                title = f"{version.label} · {ORIGINS[source]} · {percent(version.rate.value.mean)}"
                if st.button(markdown_text(title), key=f"v_{version.run_id}_{source}", width="stretch"):
                    _open_version(rates, version.run_id, source)
        how_measured(
            f"Published {percent(PUBLISHED.low)} to {percent(PUBLISHED.high)} ({PUBLISHED.source}): "
            f"{PUBLISHED.caution}",
            capital(methods([version.rate.value for version in rates])),
        )
        facts(
            f"the alert line is at {percent(ALERT)}", "refusals are left out", "click a version for its cases"
        )
    draw_folded("The numbers", "version_rate_numbers", lambda: show_table(_rate_table(rates)))
    if point is not None:
        _open_version(rates, str(point[0]), str(point[3]))


def _open_version(rates: Sequence[VersionRate], run_id: str, source: str) -> None:
    n_rates = sum(version.run_id == run_id for version in rates)
    if n_rates:
        open_cases(run=run_id, cohort=with_source("ignored_top", source if n_rates > 1 else ""))


def _rate_table(rates: Sequence[VersionRate]) -> ResultTable:
    rows: list[Row] = [
        {
            "Version": version.label,
            "Rate": Share(value.mean),
            "95 % interval": ShareEnds(value.low, value.high),
            "Interval by": method_text(value.method, value.too_few),
            "n": Count(value.n_scored),
            "Used nothing": Count(version.rate.used_nothing),
            "Source": ORIGINS[version.rate.source],
        }
        for version in rates
        for value in (version.rate.value,)
    ]
    return ResultTable("Rates by version with intervals", tuple(rows))


def advice(context_use: RunContextUse, rate: Rate) -> None:
    """Show possible causes of a rate above the alert line, and links to its cases."""
    value = rate.value
    if value.mean > ALERT:
        causes = "; ".join(f"**{cause}**, {reason}" for cause, reason in POSSIBLE_CAUSES)
        st.caption(f"Possible causes: {causes}.")
    narrowed = cohort_source(context_use, rate.source)
    with st.container(horizontal=True):
        if value.mean > 0 and st.button("Cases that ignore it", key="cases_ignored"):
            _open_cohort("ignored_top", narrowed)
        nothing = f"Cases that use no document ({rate.used_nothing:,})"
        if rate.used_nothing and st.button(nothing, key="cases_nothing"):
            _open_cohort("used_nothing", narrowed)


def cohort_source(context_use: RunContextUse, source: str) -> str:
    """Return the source that cohort keys have to name: "" where the run has only one."""
    return source if len(sources_of_use(context_use)) > 1 else ""


def with_source(cohort: str, source: str) -> str:
    """Return the key of a cohort limited to one source of context use; "" for any source."""
    return f"{cohort}:{source}" if source else cohort


def _open_cohort(key: str, source: str = "", **order: object) -> None:
    """Open the cases of a cohort; a query type is a slice of the cohort."""
    name, _, value = key.partition(":")
    if name == "ignored_top" and value:
        open_cases(cohort=with_source(name, source), slices={"query_type": value}, **order)
    open_cases(cohort=with_source(key, source), **order)


def grid_section(scored: ScoredRun, context_use: RunContextUse, source: str) -> None:
    """Draw a column for each answer, or shares by group where they are many; a mark opens its case."""
    grid, ranks = _grid(scored, context_use, source), _by_rank(scored, context_use, source)
    narrowed, groups = cohort_source(context_use, source), list(GOLD_GROUPS)
    many = len(grid.rows) > MOST_COLUMNS
    names = [f"{scored.question_ids[scored.question[row]]}~{scored.repeats[row]}" for row in grid.rows]

    def of_answer(column: int, rank: int) -> list[str]:
        if column < 0:
            return [with_source(f"used_rank:{rank}", narrowed), ""]
        use = "used_rank" if grid.used[column, rank - 1] else "unused_rank"
        return [with_source(f"{use}:{rank}", narrowed), names[column]]

    def of_group(group: int, rank: int) -> list[str]:
        name = f"used_rank:{rank}" if group < 0 else f"used_by_gold:{groups[group]}:{rank}"
        return [with_source(name, narrowed), ""]

    tokens = THEMES[current_theme()]
    if many:
        figure = use_heat(grid, ranks, of_group, tokens)
    else:
        figure = use_columns(grid, ranks, names, of_answer, tokens)
    alt = "Which ranks the answers use, by where their gold is ranked; the tab “By rank” has the numbers"
    cell = clicked(figure, "use_grid", alt, theme=None)
    facts(
        "shade: share of the group that uses the rank" if many else LEGEND,
        f"{count(len(grid.rows), 'answer')}, refusals left out",
        ORIGINS[source],
        _interval_methods(ranks),
        "click a cell for its cases" if many else "click a mark for its case",
    )
    if cell is not None:
        open_cases(cohort=str(cell[0]), case=str(cell[1]))


LEGEND = (
    "green: used, gold · blue: used, not gold · green outline: gold, not used · dot: not used · "
    "✕: ignores the top document"
)


def citation_section(scored: ScoredRun) -> None:
    """Draw the shares of a run's citations with a button for the cases that fall short of each."""
    st.subheader("Do the citations support their sentences?")
    citations = _citations(scored)
    if citations is None:
        st.caption(NOT_CITED)
        return
    st.markdown(citations_sentence(citations))
    show_table(citation_table(citations))
    facts(*citation_facts(citations))
    with st.container(horizontal=True):
        for share in citations.shares:
            label = f"{capital(share.cohort_title)}: {count(share.n_cohort, 'case')}"
            if share.n_cohort and st.button(label, key=f"citations_{share.key}"):
                open_cases(cohort=share.cohort)
