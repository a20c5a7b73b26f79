"""Retrieval metrics over k, and the rank of the first gold: sections of the Retrieval page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from dashboard.charts.plotly_figure import plotly_figure
from dashboard.charts.retrieval import first_gold_bars, k_curves
from dashboard.headlines.retrieval import TopGold
from dashboard.shell.caching import HASH_FUNCS
from dashboard.shell.components import clicked, draw, facts, show_table
from dashboard.shell.session import View, open_cases
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import NOT_MEASURED, count, interval_text, number
from data.analysis.gold_reach import gold_reach, hop_ranks
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
    "top_gold",
]

MOST_HOPS = 4  # that a headline lists


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASH_FUNCS)
def _curves(scored: ScoredRun, k: int) -> list[Curve]:
    lists = ranked_lists(scored)
    return [] if lists is None else curves(scored, lists, k=k)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASH_FUNCS)
def _top_gold(scored: ScoredRun, k: int) -> TopGold | None:
    lists = ranked_lists(scored)
    if lists is None:
        return None
    reach = gold_reach(lists)
    hops = hop_ranks(lists)
    return TopGold(
        k,
        reach.need,
        reach.hops,
        reach.share(scored, k),
        reach.longest,
        int(np.isfinite(reach.rank).sum()),
        int(reach.asked.sum()),
        tuple((hop, int((rank <= k).sum()), int((~np.isnan(rank)).sum())) for hop, (rank, _) in hops.items())[
            :MOST_HOPS
        ],
        reach.has_candidates,
        int((reach.asked & reach.reachable).sum()),
    )


def top_gold(view: View, k: int) -> TopGold:
    """Return what the top k of a run with gold hold."""
    top = _top_gold(view.scored(view.run), k)
    assert top is not None  # noqa: S101 -- the page has stopped where the run names no gold
    return top


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
            f"lists have {_length_range(lengths)}",
            f"{short:,} of {count(len(lengths), 'list')} shorter than {k}" if short else "",
            f"dashed: {markdown_text(base_name)}" if base else "",
            "bars at k: 95 % interval",
        ]
    )
    show_table([_row(curve, base, k) for curve in ours], f"Metrics at k = {k} with intervals")


def _length_range(lengths: IntArray) -> str:
    low, high = int(np.min(lengths)), int(np.max(lengths))
    return count(low, "document") if low == high else f"{low:,} to {count(high, 'document')}"


def _row(curve: Curve, base: Sequence[Curve], k: int) -> dict[str, str]:
    point = curve.at(k)
    baseline = next((other.at(k) for other in base if other.metric == curve.metric), None)
    return {
        "Metric": title_of(f"{curve.metric}@{k}"),
        "Value": number(point.mean, 3),
        "95 % interval": interval_text(point.low, point.high, 3),
        "Interval by": point.method,
        "n": f"{point.n_scored:,}",
        "Baseline": NOT_MEASURED if baseline is None else number(baseline.mean, 3),
        "its interval": NOT_MEASURED if baseline is None else interval_text(baseline.low, baseline.high, 3),
    }


def _baseline_curves(view: View, k: int) -> tuple[list[Curve], str]:
    lists = None if view.baseline is None else lists_of(view, view.baseline)
    if view.baseline is None or lists is None or not len(list_lengths(lists)):
        return [], ""
    return _curves(view.scored(view.baseline), k_beyond(lists, k)), view.labels[view.baseline.run_id]


def first_gold_section(lists: RankedLists) -> None:
    """Draw the ranks of the first gold document or chunk; a bar opens its cases."""
    counts = first_gold(lists, max(1, min(10, longest_list(lists))))
    unit = "gold document" if lists.documents is not None else "chunk with gold text"
    st.subheader(f"Rank of the first {unit}")
    point = clicked(first_gold_bars(counts), "first_gold", f"Cases by the rank of their first {unit}")
    facts([f"n = {count(sum(counts.values()), 'case')} with gold", "computed", "click a bar for its cases"])
    deepest = max(int(rank) for rank in counts if rank.isdecimal())
    entries = [(f"rank {rank}", f"gold_at:{rank}", n) for rank, n in counts.items() if rank.isdecimal()]
    entries += [(f"below rank {deepest}", f"gold_below:{deepest}", counts["deeper"])]
    case_buttons("first_gold", [*entries, ("not found", "gold_missed", counts["not found"])])
    if point is not None:
        open_cases(cohort=str(point[0]))


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
