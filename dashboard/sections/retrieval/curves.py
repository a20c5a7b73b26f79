"""The pieces of the Retrieval page: the k in use, the curves, and where the first gold stands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dashboard.charts.plotly_figure import plotly_figure
from dashboard.charts.retrieval import first_gold_bars, k_curves
from dashboard.shell.caching import HASH_FUNCS
from dashboard.shell.components import clicked, draw, facts, show_table
from dashboard.shell.session import View, open_cases
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import NOT_MEASURED, count, interval_text, number
from data.analysis.retrieval_curves import LONGEST_K, Curve, curves, first_gold, list_lengths, longest_list
from data.scoring.ranked_lists import RankedLists, ranked_lists
from data.scoring.scored_run import ScoredRun
from data.store.workspace import Run
from metrics.metric_registry import title_of
from metrics.schema.scores import IntArray

__all__ = [
    "case_buttons",
    "curve_section",
    "first_gold_section",
    "k_beyond",
    "lists_of",
]


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASH_FUNCS)
def _curves(scored: ScoredRun, k: int) -> list[Curve]:
    lists = ranked_lists(scored)
    return [] if lists is None else curves(scored, lists, k=k)


def lists_of(view: View, run: Run) -> RankedLists | None:
    """Give the ranked lists of a run, kept while it is in use; None where it names no gold."""
    return ranked_lists(view.scored(run))


def k_beyond(lists: RankedLists, k: int) -> int:
    """Return k where it is beyond the longest list, else 1: the k that curves must reach."""
    return k if k > longest_list(lists) else 1


def curve_section(view: View, lists: RankedLists, k: int) -> None:
    """Draw the metrics over k with the baseline beside, and their values at the k in use."""
    scored = view.scored(view.run)
    ours = _curves(scored, k_beyond(lists, k))
    base, base_name = _baseline_curves(view, k)
    lengths = list_lengths(lists)
    draw(
        plotly_figure(k_curves(ours, base, k, base_name, int(lengths.min(initial=LONGEST_K)))),
        "k_curves",
        "Retrieval metrics over the number of documents from the top; the table below has those at k",
    )
    short = int((lengths < k).sum())
    facts(
        [
            f"n = {ours[0].at(k).n_scored:,} of {count(view.run.n_questions, 'question')}",
            "computed from gold documents" if lists.documents is not None else "computed from gold text",
            f"lists hold {_between(lengths)}",
            f"{short:,} of {count(len(lengths), 'list')} shorter than {k}" if short else "",
            f"dashed: {markdown_text(base_name)}" if base else "",
            "bars at k: 95 % interval",
        ]
    )
    show_table([_row(curve, base, k) for curve in ours], f"Metrics at k = {k} with intervals")


def _between(lengths: IntArray) -> str:
    low, high = int(np.min(lengths)), int(np.max(lengths))
    return count(low, "document") if low == high else f"{low:,} to {count(high, 'document')}"


def _row(curve: Curve, base: Sequence[Curve], k: int) -> dict[str, str]:
    point = curve.at(k)
    before = next((one.at(k) for one in base if one.metric == curve.metric), None)
    return {
        "Metric": title_of(f"{curve.metric}@{k}"),
        "Value": number(point.mean, 3),
        "95 % interval": interval_text(point.low, point.high, 3),
        "Interval by": point.method,
        "n": f"{point.n_scored:,}",
        "Baseline": NOT_MEASURED if before is None else number(before.mean, 3),
        "its interval": NOT_MEASURED if before is None else interval_text(before.low, before.high, 3),
    }


def _baseline_curves(view: View, k: int) -> tuple[list[Curve], str]:
    lists = None if view.baseline is None else lists_of(view, view.baseline)
    if view.baseline is None or lists is None or not len(list_lengths(lists)):
        return [], ""
    scored = view.scored(view.baseline)
    found = _curves(scored, k_beyond(lists, k))
    return found, view.labels[view.baseline.run_id]


def first_gold_section(lists: RankedLists) -> None:
    """Draw where the first gold stands; a bar opens its cases."""
    found = first_gold(lists, max(1, min(10, longest_list(lists))))
    what = "gold document" if lists.documents is not None else "chunk with gold text"
    st.subheader(f"Where the first {what} stands")
    hit = clicked(first_gold_bars(found), "first_gold", f"Cases by the rank of their first {what}")
    facts([f"n = {count(sum(found.values()), 'case')} with gold", "computed", "click a bar for its cases"])
    deepest = max(int(rank) for rank in found if rank.isdecimal())
    entries = [(f"rank {rank}", f"gold_at:{rank}", n) for rank, n in found.items() if rank.isdecimal()]
    entries += [(f"below rank {deepest}", f"gold_below:{deepest}", found["deeper"])]
    case_buttons("first_gold", [*entries, ("not found", "gold_missed", found["not found"])])
    if hit is not None:
        open_cases(cohort=str(hit[0]))


def case_buttons(key: str, entries: Sequence[tuple[str, str, int]]) -> None:
    """Offer what bars lead to as buttons too, for those who do not point and click."""
    with st.popover("Open cases", key=f"{key}_open"):
        for title, mark, n in entries:
            label = f"{markdown_text(title[:1].upper() + title[1:])} ({n:,})"
            if st.button(label, key=f"{key}_{mark}", width="stretch", disabled=n == 0):
                open_cases(cohort=mark)
