"""The rank of the gold, what each step could gain, and retrieval metrics over k."""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from ragtriage.dashboard.charts.cutoff_curves import GoldRow, gold_figure, k_curves
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.headlines.retrieval import ENOUGH, TopGold, needed_text
from ragtriage.dashboard.present.page_html.blocks import Strip, Tile
from ragtriage.dashboard.present.page_html.pictures import bar_image
from ragtriage.dashboard.shell.components import (
    clicked,
    current_theme,
    draw,
    draw_tiles,
    facts,
    how_measured,
    show_table,
)
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.tables.cutoffs import curve_table
from ragtriage.dashboard.wording.escaping import capital, markdown_text, shorten
from ragtriage.data.analysis.gold_reach import (
    GoldReach,
    Step,
    gold_reach,
    hop_ranks,
    misranked,
    nowhere,
    reach_curve,
)
from ragtriage.data.analysis.retrieval_curves import (
    HOPS,
    LONGEST_K,
    Curve,
    curves,
    first_ranks,
    hop_curves,
    list_lengths,
    longest_list,
)
from ragtriage.data.scoring.ranked_lists import RankedLists, ranked_lists
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, number, percent
from ragtriage.metrics.statistics.intervals import METHODS, Interval

DEEPEST = 10  # ranks that have a bar of their own
MOST_HOPS = 3  # rows of hops
STEP_WIDTH = 180  # pixels of a full bar
TILED = ("recall", "ndcg", "mrr")
TILED_SPANS = ("span_recall", "span_precision", "span_mrr")


@kept
def _reach(scored: ScoredRun) -> GoldReach | None:
    lists = ranked_lists(scored)
    return None if lists is None else gold_reach(lists)


@kept
def _top_gold(scored: ScoredRun, k: int) -> TopGold | None:
    lists, reach = ranked_lists(scored), _reach(scored)
    if lists is None or reach is None:
        return None
    hops = [
        (hop, int((rank <= k).sum()), int((~np.isnan(rank)).sum()))
        for hop, (rank, _) in hop_ranks(lists).items()
    ]
    return TopGold(
        k,
        reach.need,
        reach.hops,
        reach.share(scored, k),
        reach.longest,
        int(np.isfinite(reach.rank).sum()),
        int(reach.asked.sum()),
        tuple(hops[:MOST_HOPS]),
        reach.has_candidates,
        int((reach.asked & reach.reachable).sum()),
    )


def top_gold(view: View, k: int) -> TopGold:
    """Return what the top k of a run with gold hold."""
    top = _top_gold(view.scored(view.run), k)
    assert top is not None  # noqa: S101 -- the page has stopped where the run names no gold
    return top


@kept
def _shares(scored: ScoredRun, k: int) -> list[tuple[str, Curve]]:
    """Return the titled curves of the hero; the share of questions with all that is needed comes last."""
    lists, reach = ranked_lists(scored), _reach(scored)
    if lists is None or reach is None:
        return []
    shown = [
        (curve.metric, curve) for curve in hop_curves(scored, lists, k)[:MOST_HOPS] if curve.metric != HOPS
    ]
    if not shown:
        shown = [
            ("MRR" if curve.metric == "mrr" else title_of(f"{curve.metric}@5").removesuffix("@5"), curve)
            for curve in run_curves(scored, k)
            if curve.metric in ("recall", "ndcg", "span_recall")
        ]
    return [*shown, (needed_text(reach.need, reach.hops), reach_curve(scored, reach, k))]


@kept
def _rows(scored: ScoredRun) -> list[GoldRow]:
    lists, reach = ranked_lists(scored), _reach(scored)
    if lists is None or reach is None:
        return []
    depth = max(1, min(DEEPEST, reach.longest))
    hops = list(hop_ranks(lists).items())[:MOST_HOPS]
    if not hops:
        return [_first_gold_row(lists, reach, depth)]
    rows = []
    for hop, (rank, n_gold) in hops:
        lacking = np.isinf(rank)
        keys = [*range(1, depth + 1), f"below-{depth}", "candidates", "nowhere"]
        rows.append(
            GoldRow(
                f"hop {hop}, by its rank",
                tuple(int((rank == at).sum()) for at in range(1, depth + 1)),
                int((np.isfinite(rank) & (rank > depth)).sum()),
                int((lacking & n_gold).sum()) if reach.has_candidates else None,
                int((lacking & ~n_gold).sum()),
                tuple(f"hop_at:{hop}:{place}" for place in keys),
            )
        )
    return rows


def _first_gold_row(lists: RankedLists, reach: GoldReach, depth: int) -> GoldRow:
    ranks = first_ranks(lists)
    unit = "relevant document" if lists.documents is not None else "chunk with gold text"
    missed = "nowhere" if reach.has_candidates else "gold_missed"
    return GoldRow(
        f"first {unit}, by its rank",
        tuple(int((ranks == at).sum()) for at in range(1, depth + 1)),
        int((np.isfinite(ranks) & (ranks > depth)).sum()),
        int(misranked(lists).sum()) if reach.has_candidates else None,
        int(nowhere(lists).sum()) if reach.has_candidates else int(np.isinf(ranks).sum()),
        (*(f"gold_at:{at}" for at in range(1, depth + 1)), f"gold_below:{depth}", "misranked", missed),
    )


def tile_section(view: View, k: int) -> None:
    """Draw four tiles: the share of questions with all they need, then recall, nDCG and MRR at k."""
    top = top_gold(view, k)
    base_share = None
    if view.baseline is not None and _reach(view.scored(view.baseline)) is not None:
        base_share = _shares(view.scored(view.baseline), k)[-1][1].at(k).mean
    state: State = "cannot tell"
    if top.need == "hops" and k < top.hops:
        state = "not measured"
    elif top.share.low >= ENOUGH or top.share.high < ENOUGH:
        state = "good" if top.share.low >= ENOUGH else "bad"
    word = {"good": "enough", "bad": f"below {percent(ENOUGH)}", "not measured": f"needs top {top.hops}"}
    title = f"{capital(needed_text(top.need, top.hops))} in the top {max(1, min(k, top.longest))}"
    tiles = [_tile(title, top.share, base_share, view, state, word.get(state, "cannot tell"), ENOUGH)]
    ours, (base, _) = run_curves(view.scored(view.run), k), baseline_curves(view, k)
    at_base: Mapping[str, float] = {curve.metric: curve.at(k).mean for curve in base}
    named = {curve.metric: curve for curve in ours}
    shown = [name for name in (*TILED, *TILED_SPANS) if name in named][:3]
    for name in shown:
        curve_title = title_of(f"{name}@{k}")
        tiles.append(_tile(capital(curve_title), named[name].at(k), at_base.get(name), view, "not measured"))
    draw_tiles(tiles)


def _tile(
    title: str,
    value: Interval,
    base: float | None,
    view: View,
    state: State,
    word: str = "",
    gate: float | None = None,
) -> Tile:
    base_name = "" if view.baseline is None else shorten(view.store.names()[view.baseline.run_id], 18)
    form = percent if gate is not None else number
    interval = f"95 % CI {form(value.low)} to {form(value.high)}"
    return Tile(
        title,
        form(value.mean),
        state,
        word,
        "" if base is None else f"{base_name} {form(base)}",
        f"{interval}, n = {value.n_scored:,}",
        Strip(
            value.mean if np.isfinite(value.mean) else None,
            value.low,
            value.high,
            gate,
            base,
            state,
            f"{title} {form(value.mean)}, {interval}",
            higher_is_better=None if gate is None else True,
        ),
        f"Computed from gold; {METHODS.get(value.method, value.method)}",
    )


def gold_section(view: View, lists: RankedLists, k: int) -> None:
    """Draw shares over k above the gold by its rank; a bar opens its cases."""
    scored, rows = view.scored(view.run), _rows(view.scored(view.run))
    base = None
    if view.baseline is not None and _reach(view.scored(view.baseline)) is not None:
        base = _shares(view.scored(view.baseline), k)[-1][1]
    figure = gold_figure(_shares(scored, k), base, rows, k, THEMES[current_theme()])
    alt = "Share of questions that have their gold in the top k, and cases by the rank of their gold"
    bar = clicked(figure, "gold_ranks", alt, theme=None)
    asked = int((~np.isnan(first_ranks(lists))).sum())
    dotted = f"dotted: {markdown_text(view.labels[view.baseline.run_id])}" if base and view.baseline else ""
    entries = []
    for row in rows:
        depth = len(row.counts)
        names = [*(f"rank {at}" for at in range(1, depth + 1)), f"below rank {depth}"]
        names += ["candidates only", "in no list"]
        counts = [*row.counts, row.deeper, row.candidates or 0, row.nowhere]
        lead = row.title.partition(",")[0]
        entries += [(f"{lead}: {name}", key, n) for name, key, n in zip(names, row.keys, counts, strict=True)]
    with st.container(horizontal=True, vertical_alignment="center"):
        case_buttons("gold_ranks", entries)
        how_measured("Computed from the gold", *map(capital, list_facts(lists, k)))
        facts(
            f"green: the top {k}",
            dotted,
            f"n = {count(asked, 'case')} with gold",
            "click a bar for its cases",
        )
    if bar is not None:
        open_cases(cohort=str(bar[0]))


def step_section(run: Run, view: View, k: int) -> None:
    """Draw what each step could add: now, the whole list, the candidates, another search."""
    reach = _reach(view.scored(run))
    if reach is None:
        return
    steps = {step: int(cases.sum()) for step, cases in reach.step(k).items()}
    asked, tokens = int(reach.asked.sum()), THEMES[current_theme()]
    colours: dict[Step, str] = {
        "top": tokens.good_mark,
        "list": tokens.alive,
        "candidates": tokens.stages["reranking"],
        "nowhere": tokens.stages["retrieval"],
    }
    titles: dict[Step, str] = {
        "top": f"Now, top {k}",
        "list": f"Read all {reach.longest}",
        "candidates": "Rerank the candidates",
        "nowhere": "Search again",
    }
    st.markdown(f"### {capital(needed_text(reach.need, reach.hops))}: potential gain by step")
    parts: list[tuple[int, str]] = []
    held = 0
    for step, n in steps.items():
        if step == "list" and reach.longest <= k:
            continue
        if step == "candidates" and not reach.has_candidates:
            why = "the run records no candidates"
            if (view.scored(run).stage_features["has_candidates"] == 1).any():
                why = "not available: candidates have no text positions (Triage matches them by their text)"
            st.markdown(f"**{titles[step]}**  \n:gray[– {why}]")
            continue
        parts.append((n, colours[step]))
        held += n
        at_most = "" if step in ("top", "list") else "at most "
        more = "" if step == "top" else f", {n:,} more"
        image = bar_image([part for part in parts if part[0]], asked, current_theme(), STEP_WIDTH)
        with st.container(gap=None):
            st.markdown(f"**{titles[step]}** · {at_most}{held:,} of {count(asked, 'case')}{more}")
            label = f"![{n:,} cases]({image}) {percent(held / asked)}"
            if st.button(label, key=f"step_{step}", type="tertiary", disabled=n == 0):
                open_cases(cohort=f"reach:{step}:{k}")
    st.caption("“At most” is a ceiling, not a forecast. A bar opens the cases that its step adds.")


_curves = kept(curves)


def run_curves(scored: ScoredRun, k: int) -> list[Curve]:
    """Return the metrics of a run over k, at least up to k."""
    lists = ranked_lists(scored)
    return [] if lists is None else _curves(scored, lists, k=k_beyond(lists, k))


def lists_of(view: View, run: Run) -> RankedLists | None:
    """Return the ranked lists of a run; None where it names no gold."""
    return ranked_lists(view.scored(run))


def k_beyond(lists: RankedLists, k: int) -> int:
    """Return k where it exceeds the longest list, else 1: curves must then be computed up to k as well."""
    return k if k > longest_list(lists) else 1


def curve_section(view: View, lists: RankedLists, k: int) -> None:
    """Draw the metrics over k with those of the baseline, and a table of their values at k."""
    scored = view.scored(view.run)
    ours = _curves(scored, lists, k=k_beyond(lists, k))
    base, base_name = baseline_curves(view, k)
    lengths = list_lengths(lists)
    draw(
        plotly_figure(k_curves(ours, base, k, base_name, int(lengths.min(initial=LONGEST_K)))),
        "k_curves",
        "Retrieval metrics over the number of documents from the top; the table below has those at k",
    )
    facts(
        f"n = {ours[0].at(k).n_scored:,} of {count(view.run.n_questions, 'question')}",
        "computed from gold documents" if lists.documents is not None else "computed from gold text",
        *list_facts(lists, k),
        f"dashed: {markdown_text(base_name)}" if base else "",
        "bars at k: 95 % interval",
    )
    show_table(curve_table(ours, base, k))


def list_facts(lists: RankedLists, k: int) -> list[str]:
    """Return how long the lists are, and how many are shorter than k."""
    lengths = list_lengths(lists)
    short, low, high = int((lengths < k).sum()), int(np.min(lengths)), int(np.max(lengths))
    return [
        f"{'' if low == high else f'{low:,} to '}{count(high, 'document')} retrieved per question",
        f"{short:,} of {count(len(lengths), 'list')} shorter than {k}" if short else "",
    ]


def baseline_curves(view: View, k: int) -> tuple[list[Curve], str]:
    """Return the metrics of the baseline over k with its name; none where it has no gold."""
    lists = None if view.baseline is None else lists_of(view, view.baseline)
    if view.baseline is None or lists is None or not len(list_lengths(lists)):
        return [], ""
    measured = _curves(view.scored(view.baseline), lists, k=k_beyond(lists, k))
    return measured, view.labels[view.baseline.run_id]


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
