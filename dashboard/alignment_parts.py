"""What a run's answers draw on: the pieces of the Alignment page below the versions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dashboard.alignment_charts import MOST_COUNTED, group_bars, k_lines, place_points, rank_bars
from dashboard.alignment_words import methods, narrowed, open_bar, span
from dashboard.controls import choose
from dashboard.drawing import clicked, facts
from dashboard.rounding import count, interval_text, number, percent, source_text
from dashboard.text import markdown_text
from data.alignments import (
    DEEPEST,
    SPLITS,
    Group,
    by_k,
    by_rank,
    gap_of,
    origins_of,
    quality_by_place,
    split,
)
from data.tables import RunTable
from data.use_tables import ORIGINS, UseOfRun, use_of
from metrics.catalogue import title_of
from metrics.statistics import Interval

__all__ = [
    "gap_section",
    "k_section",
    "origin_picker",
    "place_section",
    "rank_section",
    "split_section",
    "use_in",
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


@st.cache_resource(max_entries=32, show_spinner=False)
def _use(_table: RunTable, scores: str) -> UseOfRun | None:  # noqa: ARG001 -- cache key
    return use_of(_table)


@st.cache_resource(max_entries=64, show_spinner=False)
def _by_k(_table: RunTable, _found: UseOfRun, scores: str, origin: str, k: int) -> dict[str, list[Group]]:  # noqa: ARG001 -- cache key
    return by_k(_table, _found, origin, k)


@st.cache_resource(max_entries=64, show_spinner=False)
def _splits(_table: RunTable, _found: UseOfRun, scores: str, origin: str) -> dict[str, list[Group]]:  # noqa: ARG001 -- cache key
    made = {by: split(_table, _found, origin, by) for by in SPLITS}
    return {by: groups for by, groups in made.items() if groups}


@st.cache_resource(max_entries=64, show_spinner=False)
def _by_rank(_table: RunTable, _found: UseOfRun, scores: str, origin: str) -> list[Group]:  # noqa: ARG001 -- cache key
    return by_rank(_table, _found, origin)


@st.cache_resource(max_entries=64, show_spinner=False)
def _places(_table: RunTable, _found: UseOfRun, scores: str, metric: str) -> list[Group]:  # noqa: ARG001 -- cache key
    return quality_by_place(_table, _found, metric)


@st.cache_resource(max_entries=64, show_spinner=False)
def _gap(_table: RunTable, _found: UseOfRun, scores: str, origin: str) -> Interval:  # noqa: ARG001 -- cache key
    return gap_of(_table, _found, origin)


def use_in(table: RunTable) -> UseOfRun | None:
    """Give the use of documents in a run that has answers to speak of."""
    found = _use(table, table.scores_path.as_posix())
    return found if found is not None and origins_of(found) else None


def origin_picker(found: UseOfRun) -> str:
    """Let a person choose whose word on the used documents counts, where there are several."""
    origins = origins_of(found)
    if len(origins) < 2:
        return origins[0]
    return choose("Use of documents", "origin", origins, ORIGINS, {}, width=220)


def split_section(table: RunTable, found: UseOfRun, origin: str) -> None:
    """Divide the rate by what a person chooses; a bar opens its cases."""
    every = _splits(table, found, table.scores_path.as_posix(), origin)
    if not every:
        return
    st.subheader("Where first documents are passed over")
    offered = {by: SPLITS[by] for by in every}
    by = choose("Split by", "split", list(offered), offered, {}, width=330)
    groups, mark = every[by], SPLIT_MARKS[by]
    hit = clicked(group_bars(groups, mark, offered[by]), f"split_{by}", f"Rate by {offered[by]}")
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


def rank_section(table: RunTable, found: UseOfRun, origin: str) -> None:
    """Draw how often each rank is drawn on."""
    groups = _by_rank(table, found, table.scores_path.as_posix(), origin)
    st.subheader("Which ranks answers draw on")
    hit = clicked(rank_bars(groups), "by_rank", "Share of answers that draw on each rank")
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


def k_section(table: RunTable, found: UseOfRun, origin: str, k: int) -> None:
    """Draw what is wasted in the top k, and what a cut at k would lose; a point opens its cases."""
    st.subheader("What a cut at k wastes and loses")
    lines = _by_k(table, found, table.scores_path.as_posix(), origin, max(k, DEEPEST))
    hit = clicked(k_lines(lines, K_TITLES, k), "k_lines", "Wasted context and deep reliance over k")
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


def gap_section(table: RunTable, found: UseOfRun, origin: str) -> None:
    """Say how far the order of use is from the retriever's, where shares are known."""
    st.subheader("Does the order of use follow the ranking?")
    value = _gap(table, found, table.scores_path.as_posix(), origin)
    if not value.n_scored:
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


def place_section(table: RunTable, found: UseOfRun) -> None:
    """Draw the quality of answers by the rank of the gold: lost in the middle?"""
    st.subheader("Is gold lost in the middle?")
    known = [name for name in QUALITY if np.isfinite(table.values(name)).any()]
    if not known or np.isnan(found.gold_rank).all():
        lacking = "an answer metric" if not known else "gold documents or labels of the documents"
        st.caption(f"This curve needs {lacking}; the run has none.")
        return
    titles = {name: title_of(name) for name in known}
    metric = choose("Quality", "measure", known, titles, {}, width=260)
    groups = _places(table, found, table.scores_path.as_posix(), metric)
    if not groups:
        st.caption(f"No case has both {titles[metric]} and a known place of the gold.")
        return
    hit = clicked(
        place_points(groups, titles[metric]), "places", "Quality by rank of the first gold document"
    )
    column = table.column(metric)
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
