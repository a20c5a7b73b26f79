"""The pieces of the Alignment page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dashboard.alignment_charts import (
    ORIGIN_TITLES,
    VersionRate,
    group_bars,
    k_lines,
    place_points,
    rank_bars,
    version_rates,
)
from dashboard.controls import choose
from dashboard.drawing import clicked, draw, facts, show_table
from dashboard.rounding import count, interval_text, number, percent
from dashboard.session import View, current_selection, open_cases
from dashboard.text import markdown_text
from data.alignments import (
    ALERT,
    PUBLISHED,
    SPLITS,
    Group,
    Rate,
    by_k,
    by_rank,
    origins_of,
    quality_by_place,
    rate_of,
    split,
)
from data.summaries import title_of
from data.tables import RunTable
from data.use_tables import UseOfRun, use_of
from data.workspace import Run

__all__ = [
    "advice",
    "gap_section",
    "k_section",
    "origin_picker",
    "place_section",
    "rank_section",
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
)
K_TITLES = {"wasted_context": "wasted context", "deep_reliance": "deep reliance"}
SPLIT_MARKS = {"relevant": "ignored_relevant", "length": "ignored_length", "query_type": "ignored_top"}
LOOK_INTO = (
    ("Chunk size", "chunks that are too small or cut in the wrong place rank first and say too little"),
    ("Embedding model", "one that matches the topic and not the question puts the wrong document first"),
    ("Reranker calibration", "a reranker trained on other questions can lower what answers need"),
)
MOST_VERSIONS = 25


@st.cache_resource(max_entries=32, show_spinner=False)
def _use(_table: RunTable, scores: str) -> UseOfRun | None:  # noqa: ARG001 -- cache key
    return use_of(_table)


@st.cache_resource(max_entries=128, show_spinner=False)
def _rates(_table: RunTable, scores: str) -> list[Rate]:  # noqa: ARG001 -- cache key
    found = use_of(_table)
    return [] if found is None else [rate_of(_table, found, origin) for origin in origins_of(found)]


@st.cache_resource(max_entries=64, show_spinner=False)
def _by_k(_table: RunTable, _found: UseOfRun, scores: str, origin: str) -> dict[str, list[Group]]:  # noqa: ARG001 -- cache key
    return by_k(_table, _found, origin)


@st.cache_resource(max_entries=64, show_spinner=False)
def _by_rank(_table: RunTable, _found: UseOfRun, scores: str, origin: str) -> list[Group]:  # noqa: ARG001 -- cache key
    return by_rank(_table, _found, origin)


def use_in(table: RunTable) -> UseOfRun | None:
    """Give the use of documents in a run that has answers to speak of."""
    found = _use(table, table.scores_path.as_posix())
    return found if found is not None and origins_of(found) else None


def rates_of(table: RunTable) -> list[Rate]:
    """Give the rate of a run under each origin."""
    return _rates(table, table.scores_path.as_posix())


def origin_picker(found: UseOfRun) -> str:
    """Let a person choose whose word on the used documents counts, where there are several."""
    origins = origins_of(found)
    if len(origins) < 2:
        return origins[0]
    return choose("Use of documents", "origin", origins, ORIGIN_TITLES, {}, width=220)


def version_section(view: View) -> None:
    """Draw the rate of every version of the project; a mark opens its cases."""
    rates = [
        VersionRate(view.labels[run.run_id], run.run_id, rate, run.run_id == view.run.run_id)
        for run in _shown(view)
        for rate in rates_of(view.table(run))
    ]
    alt = "Rate of ignored first documents by version, with intervals, the alert line and the published range"
    hit = clicked(version_rates(rates), "version_rates", alt)
    facts(
        [
            f"the alert line is at {percent(ALERT)}",
            f"published {percent(PUBLISHED.low)} to {percent(PUBLISHED.high)} ({PUBLISHED.source}): "
            f"{PUBLISHED.caution}",
            "refusals are left out",
            "click a version for its cases",
        ]
    )
    with st.expander("The numbers"):
        show_table([_rate_row(one) for one in rates], "Rates by version with intervals")
    if hit is not None:
        open_cases(run=str(hit[0]), mark="ignored_top")


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
        "Interval by": value.method,
        "n": f"{value.n_scored:,}",
        "Drew on nothing": f"{one.rate.used_nothing:,}",
        "Use": ORIGIN_TITLES[one.rate.origin],
    }


def advice(rate: Rate) -> None:
    """Say how this run stands to the alert line, and what to look into above it."""
    value = rate.value
    span = f"{percent(value.low)} to {percent(value.high)}"
    told = (
        f"**{percent(value.mean)}** of the answers pass over the first document ({span}, "
        f"n = {count(value.n_scored, 'question')}, {ORIGIN_TITLES[rate.origin]})."
    )
    if value.mean <= ALERT:
        st.markdown(f"{told} That is not above the alert line of {percent(ALERT)}.")
        return
    sure = (
        "the interval lies above it"
        if value.low > ALERT
        else "the interval includes it, so it is not certain"
    )
    st.warning(
        f"{told} That is above the alert line of {percent(ALERT)}; {sure}. What to look into:\n"
        + "\n".join(f"- **{what}**: {why}." for what, why in LOOK_INTO)
    )


def split_section(table: RunTable, found: UseOfRun, origin: str) -> None:
    """Divide the rate by what a person chooses; a bar opens its cases."""
    offered = {by: title for by, title in SPLITS.items() if len(split(table, found, origin, by)) > 0}
    if not offered:
        return
    st.subheader("Where first documents are passed over")
    by = choose("Split by", "split", list(offered), offered, {}, width=330)
    groups = split(table, found, origin, by)
    mark = SPLIT_MARKS[by]
    hit = clicked(group_bars(groups, mark, offered[by]), f"split_{by}", f"Rate by {offered[by]}")
    facts([_ns(groups), ORIGIN_TITLES[origin], "click a bar for its cases"])
    _buttons(f"split_{by}", [(one.label, f"{mark}:{one.key}") for one in groups])
    if hit is not None:
        _open(str(hit[0]))


def _open(text: str) -> None:
    """Open the cases of a bar; a type of question is a slice beside the mark."""
    mark, _, key = text.partition(":")
    if mark == "ignored_top" and key:
        open_cases(mark=mark, slices={"query_type": key})
    open_cases(mark=text)


def _buttons(key: str, entries: Sequence[tuple[str, str]]) -> None:
    """Offer what bars lead to as buttons too, for those who do not point and click."""
    with st.popover("Open cases"):
        for title, mark in entries:
            if st.button(markdown_text(title), key=f"{key}_{mark}", width="stretch"):
                _open(mark)


def _ns(groups: Sequence[Group]) -> str:
    return "n = " + ", ".join(f"{one.value.n_scored:,}" for one in groups)


def rank_section(table: RunTable, found: UseOfRun, origin: str) -> None:
    """Draw how often each rank is drawn on."""
    groups = _by_rank(table, found, table.scores_path.as_posix(), origin)
    st.subheader("Which ranks answers draw on")
    hit = clicked(rank_bars(groups), "by_rank", "Share of answers that draw on each rank")
    facts([_ns(groups), "of the answers that were given a document at that rank", ORIGIN_TITLES[origin]])
    _buttons("by_rank", [(f"rank {one.label}", f"used_rank:{one.key}") for one in groups])
    if hit is not None:
        _open(str(hit[0]))


def k_section(table: RunTable, found: UseOfRun, origin: str, k: int) -> None:
    """Draw what is wasted in the top k, and what a cut at k would lose."""
    st.subheader("What a cut at k wastes and loses")
    lines = _by_k(table, found, table.scores_path.as_posix(), origin)
    draw(k_lines(lines, K_TITLES, k), "k_lines", "Wasted context and deep reliance over k")
    at = {name: groups[min(k, len(groups)) - 1].value for name, groups in lines.items() if groups}
    facts(
        [
            *(f"{K_TITLES[name]}@{k}: {percent(one.mean)} {interval_text(one.low, one.high)}, n = "
              f"{one.n_scored:,}" for name, one in at.items()),
            "wasted: documents in the top k that the answer does not use",
            "deep: used documents below k",
            ORIGIN_TITLES[origin],
        ]
    )  # fmt: skip


def gap_section(view: View) -> None:
    """Say how far the order of use is from the retriever's, where shares are known."""
    one = view.summary(view.run).get("rank_use_gap")
    if one is None or one.mean is None:
        st.caption(
            "Rank-use gap: not measured; it needs the share of the answer that rests on each document."
        )
        return
    st.caption(
        f"Rank-use gap: {number(one.mean)} {interval_text(one.low, one.high)}, n = "
        f"{one.n_scored:,} of {count(one.n_applicable, 'question')}, {one.source}. 0 means that answers rely "
        "most on what was ranked highest."
    )


def place_section(table: RunTable, found: UseOfRun) -> None:
    """Draw the quality of answers by the rank of the gold: lost in the middle?"""
    st.subheader("Is gold lost in the middle?")
    known = [name for name in QUALITY if np.isfinite(table.values(name)).any()]
    if not known or np.isnan(found.gold_rank).all():
        lacking = "an answer metric" if not known else "gold documents or labels of the documents"
        st.caption(f"This curve needs {lacking}; the run has none.")
        return
    titles = {name: title_of(name) for name in known}
    metric = choose("Quality", "measure", known, titles, {}, shown=_usual(known), width=260)
    groups = quality_by_place(table, found, metric)
    hit = clicked(
        place_points(groups, titles[metric]), "places", "Quality by rank of the first gold document"
    )
    facts([_ns(groups), "rank of the first gold document in the context", "click a point for its cases"])
    _buttons("places", [(one.label, f"gold_place:{one.key}") for one in groups])
    if hit is not None:
        _open(str(hit[0]))


def _usual(known: Sequence[str]) -> str:
    return current_selection().measure if current_selection().measure in known else known[0]
