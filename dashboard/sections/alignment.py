"""What a run's answers draw on: the pieces of the Alignment page below the versions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dashboard.charts.alignment import (
    MOST_COUNTED,
    VersionRate,
    group_bars,
    k_lines,
    place_points,
    rank_bars,
    version_rates,
)
from dashboard.charts.plotly_figure import plotly_figure
from dashboard.shell.caching import HASH_FUNCS
from dashboard.shell.components import clicked, facts, show_table
from dashboard.shell.session import View, open_cases
from dashboard.shell.widgets import choose
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import (
    METHODS,
    count,
    interval_text,
    methods,
    number,
    percent,
    source_text,
    span,
)
from data.analysis.alignment import (
    ALERT,
    DEEPEST,
    PUBLISHED,
    SPLITS,
    Group,
    Rate,
    by_k,
    by_rank,
    gap_of,
    outcome_by_gold_rank,
    rate_of,
    sources_of_use,
    split,
)
from data.scoring.context_use import ORIGINS, RunContextUse, context_use_of
from data.scoring.scored_run import ScoredRun
from data.store.workspace import Run
from metrics.metric_registry import title_of
from metrics.statistics.intervals import Interval

__all__ = [
    "advice",
    "gap_section",
    "gold_rank_section",
    "k_section",
    "rank_section",
    "rates_of",
    "source_picker",
    "split_section",
    "use_in",
    "version_section",
]

QUALITY = (
    "correctness",
    "answer_f1",
    "answer_recall",
    "faithfulness",
    "answer_relevancy",
    "answer_precision",
    "check_pass_rate",
)
K_TITLES = {"wasted_context": "wasted context", "deep_reliance": "deep reliance"}
K_MARKS = {"wasted_context": "wasted", "deep_reliance": "deep"}
SPLIT_MARKS = {"relevant": "ignored_relevant", "length": "ignored_length", "query_type": "ignored_top"}


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASH_FUNCS)
def use_in(scored: ScoredRun) -> RunContextUse | None:
    """Return how answers use their documents; None where nothing is known of it."""
    use = context_use_of(scored)
    return use if use is not None and sources_of_use(use) else None


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _by_k(scored: ScoredRun, source: str, k: int) -> dict[str, list[Group]]:
    use = use_in(scored)
    return {} if use is None else by_k(scored, use, source, k)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _splits(scored: ScoredRun, source: str) -> dict[str, list[Group]]:
    use = use_in(scored)
    splits = {} if use is None else {by: split(scored, use, source, by) for by in SPLITS}
    return {by: groups for by, groups in splits.items() if groups}


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _by_rank(scored: ScoredRun, source: str) -> list[Group]:
    use = use_in(scored)
    return [] if use is None else by_rank(scored, use, source)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _by_gold_rank(scored: ScoredRun, metric: str) -> list[Group]:
    use = use_in(scored)
    return [] if use is None else outcome_by_gold_rank(scored, use, metric)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _gap(scored: ScoredRun, source: str) -> Interval | None:
    use = use_in(scored)
    return None if use is None else gap_of(scored, use, source)


def source_picker(found: RunContextUse) -> str:
    """Let a person choose whose word on the used documents counts, where there are several."""
    origins = sources_of_use(found)
    if len(origins) < 2:
        return origins[0]
    return choose("Use of documents", "source", origins, ORIGINS, {}, width=220)


def split_section(scored: ScoredRun, found: RunContextUse, origin: str) -> None:
    """Divide the rate by what a person chooses; a bar opens its cases."""
    every = _splits(scored, origin)
    if not every:
        return
    st.subheader("Where first documents are passed over")
    offered = {by: SPLITS[by] for by in every}
    by = choose("Split by", "split", list(offered), offered, {}, width=330)
    groups, mark = every[by], SPLIT_MARKS[by]
    hit = clicked(
        plotly_figure(group_bars(groups, mark, offered[by])), f"split_{by}", f"Rate by {offered[by]}"
    )
    facts([ORIGINS[origin], _how(groups), "click a bar for the cases that pass over it"])
    narrow = narrowed(found, origin)
    _buttons(f"split_{by}", "Open cases", [(one.label, f"{mark}:{one.key}") for one in groups], narrow)
    if hit is not None:
        open_bar(str(hit[0]), narrow)


def _how(groups: Sequence[Group]) -> str:
    return methods([one.value for one in groups])


def _buttons(
    key: str, label: str, entries: Sequence[tuple[str, str]], origin: str = "", **order: object
) -> None:
    """Offer what bars lead to as buttons too, for those who do not point and click."""
    with st.popover(label):
        for title, mark in entries:
            if st.button(markdown_text(title), key=f"{key}_{mark}", width="stretch"):
                open_bar(mark, origin, **order)


def _ns(groups: Sequence[Group]) -> list[str]:
    return [f"{one.value.n_scored:,}" for one in groups]


def rank_section(scored: ScoredRun, found: RunContextUse, origin: str) -> None:
    """Draw how often each rank is drawn on."""
    groups = _by_rank(scored, origin)
    st.subheader("Which ranks answers draw on")
    hit = clicked(plotly_figure(rank_bars(groups)), "by_rank", "Share of answers that draw on each rank")
    facts(
        [
            "" if len(groups) <= MOST_COUNTED else f"n = {', '.join(_ns(groups))}",
            "of the answers that were given a document at that rank",
            ORIGINS[origin],
            _how(groups),
            "click a bar for the cases that draw on it",
        ]
    )
    narrow = narrowed(found, origin)
    with st.container(horizontal=True):
        for key, label, mark in (
            ("by_rank", "Open cases that draw on a rank", "used_rank"),
            ("not_by_rank", "that do not", "unused_rank"),
        ):
            _buttons(key, label, [(f"rank {one.label}", f"{mark}:{one.key}") for one in groups], narrow)
    if hit is not None:
        open_bar(str(hit[0]), narrow)


def k_section(scored: ScoredRun, found: RunContextUse, origin: str, k: int) -> None:
    """Draw what is wasted in the top k, and what a cut at k would lose; a point opens its cases."""
    st.subheader("What a cut at k wastes and loses")
    lines = _by_k(scored, origin, max(k, DEEPEST))
    hit = clicked(
        plotly_figure(k_lines(lines, K_TITLES, k)), "k_lines", "Wasted context and deep reliance over k"
    )
    at = {name: groups[min(k, len(groups)) - 1].value for name, groups in lines.items() if groups}
    facts(
        [
            *(
                f"{K_TITLES[name]}@{k}: {percent(one.mean)} ({span(one)}), n = {one.n_scored:,}"
                for name, one in at.items()
            ),
            "wasted: documents in the top k that the answer does not use",
            "deep: used documents below k",
            ORIGINS[origin],
            methods([one.value for groups in lines.values() for one in groups]),
            "click a point for its cases",
        ]
    )
    narrow = narrowed(found, origin)
    entries = [
        (f"leaves documents of the top {k} unused", f"wasted:{k}"),
        (f"draws on documents below rank {k}", f"deep:{k}"),
    ]
    _buttons("k_lines", "Open cases", entries, narrow)
    if hit is not None:
        open_bar(f"{K_MARKS[str(hit[0])]}:{hit[1]}", narrow)


def gap_section(scored: ScoredRun, found: RunContextUse, origin: str) -> None:
    """Say how far the order of use is from the retriever's, where shares are known."""
    st.subheader("Does the order of use follow the ranking?")
    value = _gap(scored, origin)
    if value is None or not value.n_scored:
        st.caption(
            "Rank-use gap: not measured; it needs the share of the answer that rests on each document."
        )
        return
    st.markdown(
        f"Rank-use gap **{number(value.mean)}** {interval_text(value.low, value.high)}: 0 where answers rely "
        "most on what was ranked highest, 1 where they rely on other documents alone."
    )
    facts(
        [
            f"n = {count(value.n_scored, 'question')} with an answer that draws on a document",
            ORIGINS[origin],
            methods([value]),
        ]
    )
    if st.button("Cases, the widest gap first", key="cases_gap"):
        open_bar("known_use", narrowed(found, origin), sort="rank_use_gap", descending=True)


def gold_rank_section(scored: ScoredRun, found: RunContextUse) -> None:
    """Draw the quality of answers by the rank of the gold: lost in the middle?"""
    st.subheader("Is gold lost in the middle?")
    known = [name for name in QUALITY if np.isfinite(scored.values(name)).any()]
    if not known or np.isnan(found.gold_rank).all():
        lacking = "an answer metric" if not known else "gold documents or labels of the documents"
        st.caption(f"This curve needs {lacking}; the run has none.")
        return
    titles = {name: title_of(name) for name in known}
    metric = choose("Quality", "shown_metric", known, titles, {}, width=260)
    groups = _by_gold_rank(scored, metric)
    if not groups:
        st.caption(f"No case has both {titles[metric]} and a known place of the gold.")
        return
    hit = clicked(
        place_points(groups, titles[metric]), "places", "Quality by rank of the first gold document"
    )
    column = scored.column(metric)
    facts(
        [
            "rank of the first gold document in the context, by ids, labels or gold text",
            f"{titles[metric]}: {source_text(None, None if column is None else column.sources)}",
            _how(groups),
            "click a point for its cases, lowest first",
        ]
    )
    entries = [(_place_title(one.key), f"gold_place:{one.key}") for one in groups]
    _buttons("places", "Open cases", entries, sort=metric)
    if hit is not None:
        open_bar(str(hit[0]), sort=metric)


def _place_title(place: str) -> str:
    return "no gold in the context" if place == "none" else f"gold at rank {place}"


LOOK_INTO = (
    ("Chunk size", "chunks that are too small or cut in the wrong place rank first and say too little"),
    ("Embedding model", "one that matches the topic and not the question puts the wrong document first"),
    ("Reranker calibration", "a reranker trained on other questions can lower what answers need"),
)
MOST_VERSIONS = 25


@st.cache_resource(max_entries=128, show_spinner=False, hash_funcs=HASH_FUNCS)
def rates_of(scored: ScoredRun) -> list[Rate]:
    """Return the rate of a run by each source of what its answers use."""
    use = use_in(scored)
    return [] if use is None else [rate_of(scored, use, source) for source in sources_of_use(use)]


def version_section(view: View) -> None:
    """Draw the rate of every version of the project; a mark or a button opens its cases."""
    rates = [
        VersionRate(view.labels[run.run_id], run.run_id, rate, run.run_id == view.run.run_id)
        for run in _shown(view)
        for rate in rates_of(view.scored(run))
    ]
    alt = "Rate of ignored first documents by version, with intervals, the alert line and the published range"
    hit = clicked(version_rates(rates), "version_rates", alt)
    facts(
        [
            f"the alert line is at {percent(ALERT)}",
            f"published {percent(PUBLISHED.low)} to {percent(PUBLISHED.high)} ({PUBLISHED.source}): "
            f"{PUBLISHED.caution}",
            "refusals are left out",
            methods([one.rate.value for one in rates]),
            "click a version for its cases",
        ]
    )
    with st.container(horizontal=True):
        _version_buttons(rates)
    with st.expander("The numbers"):
        show_table([_rate_row(one) for one in rates], "Rates by version with intervals")
    if hit is not None:
        _open_version(view, str(hit[0]), str(hit[3]))


def _version_buttons(rates: Sequence[VersionRate]) -> None:
    with st.popover("Open cases of a version"):
        for one in rates:
            title = f"{one.label} · {ORIGINS[one.rate.source]} · {percent(one.rate.value.mean)}"
            if st.button(markdown_text(title), key=f"v_{one.run_id}_{one.rate.source}", width="stretch"):
                several = sum(other.run_id == one.run_id for other in rates) > 1
                open_cases(
                    run=one.run_id, cohort=with_origin("ignored_top", one.rate.source if several else "")
                )


def _open_version(view: View, run_id: str, origin: str) -> None:
    run = next((one for one in view.sampled if one.run_id == run_id), None)
    if run is not None:
        several = len(rates_of(view.scored(run))) > 1
        open_cases(run=run_id, cohort=with_origin("ignored_top", origin if several else ""))


def _shown(view: View) -> list[Run]:
    """Give the newest versions, the run on display among them."""
    newest = list(reversed(view.sampled))[:MOST_VERSIONS]
    return newest if view.run in newest else [view.run, *newest[:-1]]


def _rate_row(one: VersionRate) -> dict[str, str]:
    value = one.rate.value
    return {
        "Version": one.label,
        "Rate": percent(value.mean),
        "95 % interval": f"{percent(value.low)} to {percent(value.high)}",
        "Interval by": f"{value.method}, few questions" if value.too_few else value.method,
        "n": f"{value.n_scored:,}",
        "Drew on nothing": f"{one.rate.used_nothing:,}",
        "Use": ORIGINS[one.rate.source],
    }


def advice(found: RunContextUse, rate: Rate) -> None:
    """Say how this run stands to the alert line, what to look into above it, and lead to the cases."""
    value = rate.value
    few = "; few questions: take it as a hint" if value.too_few else ""
    told = (
        f"**{percent(value.mean)}** of the answers pass over the first document ({span(value)}, "
        f"n = {count(value.n_scored, 'question')}, {ORIGINS[rate.source]}, {METHODS[value.method]}{few})."
    )
    if value.mean <= ALERT:
        st.markdown(f"{told} That is not above the alert line of {percent(ALERT)}.")
    else:
        sure = (
            "the interval lies above it"
            if value.low > ALERT
            else "the interval includes it, so it is not certain"
        )
        st.warning(
            f"{told} That is above the alert line of {percent(ALERT)}; {sure}. What to look into:\n"
            + "\n".join(f"- **{what}**: {why}." for what, why in LOOK_INTO)
        )
    origin = narrowed(found, rate.source)
    with st.container(horizontal=True):
        if value.mean > 0 and st.button("Cases that pass over it", key="cases_ignored"):
            open_bar("ignored_top", origin)
        nothing = f"Cases that draw on no document ({rate.used_nothing:,})"
        if rate.used_nothing and st.button(nothing, key="cases_nothing"):
            open_bar("used_nothing", origin)


def narrowed(found: RunContextUse, origin: str) -> str:
    """Give the origin that marks have to name: none where the run has but one."""
    return origin if len(sources_of_use(found)) > 1 else ""


def with_origin(mark: str, origin: str) -> str:
    """Write the mark that keeps to an origin; "" for any."""
    return f"{mark}:{origin}" if origin else mark


def open_bar(text: str, origin: str = "", **order: object) -> None:
    """Open the cases of a bar; a type of question is a slice beside the mark."""
    mark, _, key = text.partition(":")
    if mark == "ignored_top" and key:
        open_cases(cohort=with_origin(mark, origin), slices={"query_type": key}, **order)
    open_cases(cohort=with_origin(text, origin), **order)
