"""Retrieval metrics over k, and the rank of the first gold: sections of the Retrieval page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.retrieval import k_curves
from ragtriage.dashboard.shell.components import draw, facts, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.tables.retrieval import curve_table
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.analysis.retrieval_curves import LONGEST_K, Curve, curves, list_lengths, longest_list
from ragtriage.data.scoring.ranked_lists import RankedLists, ranked_lists
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.number_text import count
from ragtriage.metrics.schema.scores import IntArray


@kept
def _curves(scored: ScoredRun, k: int) -> list[Curve]:
    lists = ranked_lists(scored)
    return [] if lists is None else curves(scored, lists, k=k)


def run_curves(scored: ScoredRun, k: int) -> list[Curve]:
    """Return the metrics of a run over k, at least up to k."""
    lists = ranked_lists(scored)
    return [] if lists is None else _curves(scored, k_beyond(lists, k))


def lists_of(view: View, run: Run) -> RankedLists | None:
    """Return the ranked lists of a run; None where it names no gold."""
    return ranked_lists(view.scored(run))


def k_beyond(lists: RankedLists, k: int) -> int:
    """Return k where it exceeds the longest list, else 1: curves must then be computed up to k as well."""
    return k if k > longest_list(lists) else 1


def curve_section(view: View, lists: RankedLists, k: int) -> None:
    """Draw the metrics over k with those of the baseline, and a table of their values at k."""
    scored = view.scored(view.run)
    ours = _curves(scored, k_beyond(lists, k))
    base, base_name = baseline_curves(view, k)
    lengths = list_lengths(lists)
    draw(
        plotly_figure(k_curves(ours, base, k, base_name, int(lengths.min(initial=LONGEST_K)))),
        "k_curves",
        "Retrieval metrics over the number of documents from the top; the table below has those at k",
    )
    facts(
        [
            f"n = {ours[0].at(k).n_scored:,} of {count(view.run.n_questions, 'question')}",
            "computed from gold documents" if lists.documents is not None else "computed from gold text",
            *list_facts(lists, k),
            f"dashed: {markdown_text(base_name)}" if base else "",
            "bars at k: 95 % interval",
        ]
    )
    show_table(curve_table(ours, base, k))


def list_facts(lists: RankedLists, k: int) -> list[str]:
    """Return how long the lists are, and how many are shorter than k."""
    lengths = list_lengths(lists)
    short = int((lengths < k).sum())
    return [
        f"lists have {_length_range(lengths)}",
        f"{short:,} of {count(len(lengths), 'list')} shorter than {k}" if short else "",
    ]


def _length_range(lengths: IntArray) -> str:
    low, high = int(np.min(lengths)), int(np.max(lengths))
    return count(low, "document") if low == high else f"{low:,} to {count(high, 'document')}"


def baseline_curves(view: View, k: int) -> tuple[list[Curve], str]:
    """Return the metrics of the baseline over k with its name; none where it has no gold."""
    lists = None if view.baseline is None else lists_of(view, view.baseline)
    if view.baseline is None or lists is None or not len(list_lengths(lists)):
        return [], ""
    return _curves(view.scored(view.baseline), k_beyond(lists, k)), view.labels[view.baseline.run_id]


def case_buttons(key: str, entries: Sequence[tuple[str, str, int]]) -> None:
    """Draw a button for each bar of a chart, so that its cases can be opened by keyboard.

    Args:
        key: prefix of the widgets' keys.
        entries: title, cohort key and number of cases of each bar.
    """
    with st.popover("Open cases", key=f"{key}_open"):
        for title, cohort, n in entries:
            label = f"{markdown_text(title[:1].upper() + title[1:])} ({n:,})"
            if st.button(label, key=f"{key}_{cohort}", width="stretch", disabled=n == 0):
                open_cases(cohort=cohort)
