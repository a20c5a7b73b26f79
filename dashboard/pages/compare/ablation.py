"""Effects of single settings, and quality against cost: sections of the Compare page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ragtriage.dashboard.charts.ablation import cost_map, effect_forest
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.shell.blocks import current_theme
from ragtriage.dashboard.shell.components import choose_row, draw, facts, metric_title, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, keep
from ragtriage.dashboard.shell.widgets import choose
from ragtriage.dashboard.tables.comparison import cost_table, effect_table, factor_table
from ragtriage.dashboard.wording.comparisons import family_text
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.comparison.ablation import Ablation, Effect, ablation
from ragtriage.data.comparison.leaderboard import (
    COSTS,
    CostPoint,
    cost_points,
    measured_costs,
)
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.metric_registry import declared

MOST_PAIRS = 6  # pairs of runs offered for one effect


@kept
def _ablation(scored_runs: list[ScoredRun], metric: str) -> Ablation:
    return ablation([scored.run for scored in scored_runs], scored_runs, metric)


@kept
def _cost_points(
    scored_runs: list[ScoredRun],
    outcomes: list[MetricSummary | None],
    cost: str,
    higher_is_better: bool | None,
) -> list[CostPoint]:
    return cost_points(scored_runs, outcomes, cost, higher_is_better)


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
            "record what they stand for to see the effect."
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
    with st.expander("Runs by factor, with their metrics", expanded=not result.effects):
        summaries = {run.run_id: view.summary(run) for run in runs}
        show_table(factor_table(result, view.labels, summaries, metrics))


def _effect_table(view: View, effects: Sequence[Effect]) -> None:
    chosen = choose_row(effect_table(effects), "effects_table")
    facts(
        [
            "each from all pairs of the chosen runs that differ only in this factor",
            "differences of the pairs averaged for each question, then tested by sign flips",
            family_text(len(effects), "effect"),
            "choose a row to compare its pairs case by case",
        ]
    )
    if chosen is not None:
        _pair_buttons(view, effects[chosen])


def _pair_buttons(view: View, effect: Effect) -> None:
    with st.container(horizontal=True):
        for left, right in effect.pairs[:MOST_PAIRS]:
            title = f"{markdown_text(view.labels[left])} → {markdown_text(view.labels[right])}"
            st.button(title, key=f"pair_{left}_{right}", on_click=_open_pair, args=(left, right))
    if len(effect.pairs) > MOST_PAIRS:
        st.caption(f"The first {MOST_PAIRS} of {len(effect.pairs)} pairs; the effect is that of all.")


def _open_pair(left: str, right: str) -> None:
    keep(baseline=left, run=right, versions=(right,), other=right, case="")


def cost_section(view: View, runs: Sequence[Run], metrics: Sequence[str]) -> None:
    """Plot an outcome metric against latency, tokens or cost."""
    scored_runs = [view.scored(run) for run in runs]
    costs = measured_costs(scored_runs)
    outcome_metrics = [name for name in metrics if name not in COSTS]
    if not costs or not outcome_metrics:
        st.caption(
            "No chosen run records latency, tokens or cost: samples can carry `latency_ms`, `input_tokens`, "
            "`output_tokens`, `cost_usd`."
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
        [
            f"on the Pareto front: {markdown_text(', '.join(front)) or 'none'}",
            f"not measured: {markdown_text(', '.join(missing))}" if missing else "",
            "means over questions with 95 % intervals, percentiles over samples",
            "the front is that of the means, whatever their intervals",
        ]
    )
    show_table(cost_table(list(zip(names, scored_runs, points, strict=True)), cost, COSTS[cost]))
