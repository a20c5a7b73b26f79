"""The tabs of the Compare page: numbers, slices, leaderboard, flow of stages, factors, costs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from ragtriage.dashboard.charts.comparison import leaderboard_chart, leaderboard_height, stage_flow
from ragtriage.dashboard.charts.experiments import cost_map, effect_forest
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.pages.compare.compared import MOST_VERSIONS, Compared, version_names
from ragtriage.dashboard.shell.components import (
    choose_row,
    current_theme,
    draw,
    export_menu,
    facts,
    metric_title,
    show_table,
)
from ragtriage.dashboard.shell.kept_results import kept, kept_with_spinner
from ragtriage.dashboard.shell.session import View, keep, open_cases
from ragtriage.dashboard.shell.widgets import choose, draw_folded
from ragtriage.dashboard.tables.comparison import (
    cost_table,
    difference_table,
    effect_table,
    factor_table,
    leaderboard_table,
    slice_table,
    version_table,
)
from ragtriage.dashboard.wording.comparisons import (
    family_text,
    is_flipped,
    not_compared_text,
    on_share_scale,
    paired_method_text,
    slice_title,
    slices_text,
    tested_text,
    undirected_text,
)
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.comparison.ablation import Ablation, Effect, ablation
from ragtriage.data.comparison.compared_metrics import shared_metrics
from ragtriage.data.comparison.leaderboard import (
    COSTS,
    Leaderboard,
    LeaderboardRow,
    cost_points,
    leaderboard,
    measured_costs,
    rate_leaderboard,
)
from ragtriage.data.comparison.question_changes import FEWEST_PAIRS
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import declared
from ragtriage.metrics.number_text import count, number
from ragtriage.metrics.result_table import text_rows

MOST_SLICES = 20
PAGE = 25
_leaderboard = kept_with_spinner("Ranking all versions")(leaderboard)
MOST_PAIRS = 6  # pairs of runs offered for one effect


def draw_numbers(compared: Compared) -> None:
    """Draw all numbers of the version in detail, or all metrics of all versions where that is chosen."""
    everything = False
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run_id = _in_detail(compared)
        if len(compared.versions) > 1:
            everything = st.toggle("All versions", key="compare_all_versions")
    comparison = compared.comparisons[run_id]
    undirected = undirected_text(comparison)
    if undirected:
        st.info(markdown_text(undirected))
    if everything:
        _metrics_table(compared)
        return
    facts(tested_text(comparison))
    if any(row.difference.n_pairs for row in comparison.differences):
        show_table(difference_table(comparison.differences, compared.names[run_id]))
        method = next(row.difference.method for row in comparison.differences if row.difference.n_pairs)
        facts(paired_method_text(method), "paired on question, repeats averaged")


def _in_detail(compared: Compared) -> str:
    """Draw the choice of the version in detail; return its id."""
    return choose(
        "In detail",
        "other",
        list(compared.versions),
        compared.names,
        {"case": ""},
        shown=compared.other,
        width=320,
    )


def draw_flow(compared: Compared) -> None:
    """Draw how the questions moved between failure stages from the baseline to the version in detail."""
    run_id = _in_detail(compared)
    flow = compared.view.flow(compared.base, compared.versions[run_id])
    if not flow:
        st.info("The runs share no question.")
        return
    figure = stage_flow(flow, compared.base_name, compared.names[run_id], THEMES[current_theme()])
    draw(figure, "flow", "How questions moved between failure stages", theme=None)
    n = count(sum(flow.values()), "shared question")
    facts(f"n = {n}", "off the diagonal: moved", "a question counts for the stage of most of its repeats")


def _metrics_table(compared: Compared) -> None:
    """Draw the table of metrics by version: mean, difference to the baseline, and its outcome."""
    names, versions = compared.names, list(compared.versions)
    comparisons = list(compared.comparisons.values())
    table = version_table(compared.comparisons, names, compared.base_name)
    narrow = {  # right of their version; with its name they would be wider than their numbers
        f"{what}, {names[run_id]}": st.column_config.TextColumn(title, width=width)
        for run_id in versions
        for what, title, width in (("Interval of the verdict", "Interval", 118), ("n", "n", 55))
    }
    width = 135 if f"{compared.base_name} (baseline)" in table.rows[0] else 175
    named = {names[run_id]: st.column_config.TextColumn(width=width) for run_id in versions}
    show_table(table, {**narrow, **named})
    tested = next((each for each in comparisons if not not_compared_text(each)), comparisons[0])
    pairs = [len(comparison.matched.base) for comparison in comparisons]
    facts(
        "▲ better, ▼ worse, · cannot tell (interval includes 0), = no question changed, ? no direction",
        tested_text(tested),
        f"{min(pairs):,} to {max(pairs):,} shared questions"
        if min(pairs) != max(pairs)
        else count(pairs[0], "shared question"),
        "n: those of them with a value in both runs; both means and the difference are over these",
    )


def draw_slices(compared: Compared) -> None:
    """List the slices by how far the pass rate of the version moved, and open the cases of one."""
    subject = compared.versions[compared.subject]
    base_name, name = compared.names[compared.base.run_id], compared.names[subject.run_id]
    changes = compared.comparisons[compared.subject].slices
    if not changes:
        st.caption(
            f"No slice (query type, tag, length of the question) has {FEWEST_PAIRS} shared questions with a "
            "verdict in both runs. `query_type` and `tags` of a sample make slices."
        )
        return
    shown = changes[:MOST_SLICES]
    st.markdown(markdown_text(f"{name} against {base_name}: {slices_text(changes)}."))
    show_table(slice_table(shown, base_name, name))
    facts(
        "pass rate, paired on question",
        f"p of a sign-flip test, Holm's correction over {count(len(changes), 'slice')}; the interval is "
        "corrected for as many, and leaves 0 out where the verdict is better or worse",
        f"slices of {FEWEST_PAIRS} questions and more",
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = st.selectbox(
            "Slice", range(len(shown)), format_func=lambda at: slice_title(shown[at]), key="slice_at"
        )
        if st.button(f"Open its cases in {name}", key="open_slice_change"):
            open_cases(slices={shown[at].name: shown[at].value}, run=subject.run_id)


@kept_with_spinner("Ranking all versions")
def _rate_leaderboard(
    scored_runs: list[ScoredRun], base: Diagnosis, settings: DiagnosisSettings, ledger: Ledger
) -> Leaderboard:
    diagnoses = [diagnose(scored, settings, ledger.labels(scored.run.run_id)) for scored in scored_runs]
    return rate_leaderboard(diagnoses, base)


def draw_leaderboard(compared: Compared) -> None:
    """Draw all versions of the project under the metric on display, the best on top."""
    view, metric = compared.view, compared.metric
    board = _board(compared)
    names = version_names(view, view.sampled)
    st.markdown(f"**{markdown_text(_conclusion(board, names))}**")
    if not board.rows:
        return
    pages = -(-len(board.rows) // PAGE)
    page = min(pages, int(st.session_state.get(f"board_page_{metric}", 1)))
    rows = board.rows[(page - 1) * PAGE : page * PAGE]
    with st.container(height=leaderboard_height(len(rows)) + 24, border=False):
        _chart(compared, board, rows, names)
    if pages > 1:
        st.pagination(pages, default=page, key=f"board_page_{metric}")
    table = leaderboard_table(board, names)
    export_menu(text_rows(table), table.title)
    facts(
        "★ best, ● statistically tied with the best, ○ below the best, × shares no question",
        f"{count(len(board.rows), 'version')} tested together by step-down max-T over shared questions"
        f"{'; samples of calls unpaired, by Holm' if any(map(_is_unpaired, board.rows)) else ''}",
        "intervals: 95 %, of each version by itself; two that overlap can still differ",
        f"not measured in {count(len(board.unmeasured), 'version')}" if board.unmeasured else "",
        f"left out, as their pass rate rests on other metrics: {count(len(board.apart), 'version')}"
        if board.apart
        else "",
        "the best was chosen on these questions: its mean is slightly optimistic",
        "click a version to compare it",
    )


def _is_unpaired(row: LeaderboardRow) -> bool:
    return row.difference is not None and row.difference.unpaired is not None


def _board(compared: Compared) -> Leaderboard:
    view, metric = compared.view, compared.metric
    scored_runs = [view.scored(run) for run in view.sampled]
    if metric == GOOD_SHARE:
        base = view.diagnosis(compared.base)
        return _rate_leaderboard(scored_runs, base, view.selection.settings(), view.store.ledger)
    return _leaderboard(scored_runs, metric)


def _conclusion(board: Leaderboard, names: dict[str, str]) -> str:
    """Return which version is best, and how many are tied with it."""
    title, best = metric_title(board.metric), board.best
    if not board.rows:
        return f"{title}: not measured in any version"
    if best is None:
        return f"{title} has no direction: versions are listed by their mean"
    of_all = f"{names[best.run_id]} has the best {title[:1].lower()}{title[1:]}, {number(best.value.mean)}"
    alike, others = board.not_told_apart, len(board.rows) - 1
    if not others:
        return f"{of_all}; no other version has this metric"
    if not alike:
        return f"{of_all}; the other {'version is' if others == 1 else f'{others:,} versions are'} worse"
    are = "is" if alike == 1 else "are"
    return f"{of_all}; {alike:,} of {count(others, 'other version')} {are} statistically tied with it"


def _chart(
    compared: Compared, board: Leaderboard, rows: tuple[LeaderboardRow, ...], names: dict[str, str]
) -> None:
    marked = {compared.base.run_id: "compared with"}
    if compared.view.run != compared.base:
        marked[compared.view.run.run_id] = "shown"

    def compare(point: list[Any]) -> None:
        """Take the clicked version among those compared, in detail."""
        run_id = str(point[0])
        if run_id and run_id != compared.base.run_id:
            versions = dict.fromkeys([run_id, *compared.versions])
            keep(versions=tuple(versions)[:MOST_VERSIONS], other=run_id, case="")

    draw(
        leaderboard_chart(rows, names, marked, _ends(board), THEMES[current_theme()]),
        "leaderboard",
        f"{metric_title(board.metric)} of every version with its interval; the table is in the export",
        theme=None,
        on_click=compare,
    )


def _ends(board: Leaderboard) -> tuple[float, float]:
    """Return the ends of the axis: of all intervals, within 0 and 1 on that scale, the better end right."""
    bounds = [bound for row in board.rows for bound in (row.value.low, row.value.mean, row.value.high)]
    known = [bound for bound in bounds if np.isfinite(bound)]
    low, high = min(known), max(known)
    padding = 0.04 * (high - low) or 0.05
    low, high = low - padding, high + padding
    if on_share_scale(board.metric):
        low, high = max(-0.01, low), min(1.01, high)
    return (high, low) if is_flipped(board.metric) else (low, high)


@kept
def _ablation(scored_runs: list[ScoredRun], metric: str) -> Ablation:
    return ablation([scored.run for scored in scored_runs], scored_runs, metric)


_cost_points = kept(cost_points)


def factor_section(view: View, runs: Sequence[Run], metrics: Sequence[str]) -> None:
    """Show in which settings the runs differ, and the effect of each on one metric."""
    if not metrics:
        st.caption("The chosen runs share no metric.")
        return
    metric = choose("Effect on", "shown_metric", list(metrics), metric_title, {}, width=320)
    result = _ablation([view.scored(run) for run in runs], metric)
    for run_id in result.without_config:
        st.caption(f"{markdown_text(view.labels[run_id])} records no configuration and is left out.")
    if result.left_out:
        names = ", ".join(markdown_text(name) for name in result.left_out)
        st.caption(
            f"Left out: {names}. These name or count a whole configuration rather than a setting; "
            "record the settings behind them to see the effect."
        )
    if not result.factors:
        st.caption(
            "The chosen runs do not differ in any recorded setting. `ragtriage import --config "
            "key=value` records settings."
        )
        return
    for confounded in result.confounded:
        others = ", ".join(markdown_text(name) for name in confounded.beside) or "other settings"
        st.warning(
            f"**{markdown_text(confounded.factor)}** changes, but in no pair of the chosen runs alone: its "
            f"effect is confounded with that of {others}. Add a run that differs only in it."
        )
    if result.effects:
        title = metric_title(metric)
        figure = effect_forest(result.effects, title, THEMES[current_theme()])
        draw(figure, "effects", f"Effects of single changes on {title}", theme=None)
        _effect_table(view, result.effects)

    def draw_runs() -> None:
        summaries = {run.run_id: view.summary(run) for run in runs}
        show_table(factor_table(result, view.labels, summaries, metrics))

    if result.effects:
        draw_folded("Runs by factor, with their metrics", "factor_runs", draw_runs)
    else:
        draw_runs()


def _effect_table(view: View, effects: Sequence[Effect]) -> None:
    chosen = choose_row(effect_table(effects), "effects_table")
    facts(
        "each from all pairs of the chosen runs that differ only in this factor",
        "differences of the pairs averaged for each question, then tested by sign flips",
        family_text(len(effects), "effect"),
        "choose a row to compare its pairs case by case",
    )
    if chosen is not None:
        effect = effects[chosen]
        with st.container(horizontal=True):
            for left, right in effect.pairs[:MOST_PAIRS]:
                title = f"{markdown_text(view.labels[left])} → {markdown_text(view.labels[right])}"
                st.button(title, key=f"pair_{left}_{right}", on_click=_open_pair, args=(left, right))
        if len(effect.pairs) > MOST_PAIRS:
            st.caption(f"The first {MOST_PAIRS} of {len(effect.pairs)} pairs; the effect is that of all.")


def _open_pair(left: str, right: str) -> None:
    keep(baseline=left, run=right, versions=(right,), other=right, case="")


def cost_section(view: View, runs: Sequence[Run]) -> None:
    """Plot an outcome metric against latency, tokens or cost."""
    scored_runs = [view.scored(run) for run in runs]
    metrics = [name for name in shared_metrics(scored_runs) if on_share_scale(name)]
    costs = measured_costs(scored_runs)
    outcome_metrics = [name for name in metrics if name not in COSTS]
    if not costs or not outcome_metrics:
        st.caption(
            "No chosen run records latency, tokens or cost: samples can carry `latency_ms`, `input_tokens`, "
            "`output_tokens`, `cost_usd` (tokens times the price of your model)."
        )
        return
    with st.container(horizontal=True):
        metric = choose("Outcome metric", "outcome", outcome_metrics, metric_title, {}, width=300)
        cost = choose("Cost", "cost", costs, COSTS, {}, width=260)
    declaration = declared(metric)
    higher_is_better = None if declaration is None else declaration.higher_is_better
    outcomes = [view.summary(run).get(metric) for run in runs]
    tokens = THEMES[current_theme()]
    points = _cost_points(scored_runs, outcomes, cost, higher_is_better)
    names = [view.labels[run.run_id] for run in runs]
    draw(
        cost_map(points, names, (COSTS[cost], metric_title(metric)), higher_is_better, tokens),
        "cost_map",
        f"{metric_title(metric)} against {COSTS[cost]}; the numbers are in the table below",
        theme=None,
    )
    front = [name for point, name in zip(points, names, strict=True) if point.front]
    missing = [
        name for point, name in zip(points, names, strict=True) if point.cost is None or point.quality is None
    ]
    facts(
        f"on the Pareto front: {markdown_text(', '.join(front)) or 'none'}",
        f"not measured: {markdown_text(', '.join(missing))}" if missing else "",
        "means over questions with 95 % intervals, percentiles over samples",
        "the front is that of the means, whatever their intervals",
    )
    show_table(cost_table(list(zip(names, scored_runs, points, strict=True)), cost, COSTS[cost]))
