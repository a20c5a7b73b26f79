"""What the Chunking page shows of a grid: its ranking in sentences, heatmaps, marginal effects and tables."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from ragtriage.dashboard.charts.grid_maps import MOST_INTERVALS, OUTCOME_SYMBOLS, grid_map, others_of
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.chunking import cheapest, chunking_headline
from ragtriage.dashboard.shell.components import (
    clicked,
    current_theme,
    draw,
    export_menu,
    facts,
    how_measured,
    open_page,
    show_table,
)
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.selection import HIGHEST_PRICE, price_of
from ragtriage.dashboard.shell.session import View, current_selection, go_to_page, keep, open_cases
from ragtriage.dashboard.shell.widgets import choose, chosen_of, show_in
from ragtriage.dashboard.tables.comparison import trial_cost_table, trial_table
from ragtriage.dashboard.wording.escaping import capital, markdown_text, shorten
from ragtriage.data.chunking.grid_plan import NO_COST, TrialCost, trial_cost
from ragtriage.data.chunking.grids import (
    Grid,
    GridRanking,
    GridTrial,
    TrialValue,
    grid_metrics,
    rank_means,
    rank_trials,
    same_chunks,
)
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.definitions.spans import BUDGETS
from ragtriage.metrics.metric_registry import DEFAULT_KS, bounds_of, declared, ordered, title_of
from ragtriage.metrics.number_text import count
from ragtriage.metrics.result_table import ResultTable, plain_rows

SPAN_METRICS = ("span_recall", "span_precision", "span_iou", "span_ndcg")
USUAL_METRICS = (
    *SPAN_METRICS,
    "recall",
    "ndcg",
    "context_recall",
    "faithfulness",
    "answer_relevancy",
    "context_precision",
    "answer_f1",
)
PRECISION = "span_precision"
AT_EVERY_K = "top 1 to 10"
ranking_of = kept(rank_trials)
same_chunks_of = kept(same_chunks)
_trial_cost = kept(trial_cost)
_metrics = kept(grid_metrics)


def grid_titles(grids: Sequence[Grid]) -> dict[str, str]:
    """Title grids by key; those of one title also by the settings in which they differ, or by their key."""
    titles: dict[str, str] = {}
    for grid in grids:
        namesakes = [other for other in grids if other.title == grid.title]
        differing = [
            f"{key} {value}"
            for key, value in grid.shared_settings.items()
            if any(other.shared_settings.get(key) != value for other in namesakes)
        ]
        parts = [grid.title, *differing, count(len(grid.trials), "configuration")]
        titles[grid.key] = " · ".join(shorten(part, 60) for part in parts)
    uses = Counter(titles.values())
    return {
        key: f"{title} · {key.removeprefix('outside-')[:6]}" if uses[title] > 1 else title
        for key, title in titles.items()
    }


def same_chunks_text(trials: Sequence[GridTrial]) -> str:
    """Write that strategies gave the same chunks, and why where that is known."""
    *others, last = (f"**{markdown_text(trial.run.name)}**" for trial in trials)
    why = "; without headings in the corpus, heading splits as paragraph does"
    return (
        f"{', '.join(others)} and {last} gave the same chunks here: as many of them, and the same values for "
        f"every question{why if {trial.strategy for trial in trials} >= {'heading', 'paragraph'} else ''}."
    )


def legend(ranking: GridRanking) -> str:
    """Explain the symbols of the map."""
    best, same = OUTCOME_SYMBOLS["best"], OUTCOME_SYMBOLS["same"]
    if any(entry.outcome == "equal" for entry in ranking.values):
        return f"{OUTCOME_SYMBOLS['equal']} all configurations have the same mean"
    beside = " · beside the map: split in another way" if others_of(ranking) else ""
    return f"{best} best mean · {same} statistically tied with the best · ◆ cheapest of these{beside}"


def unfinished_text(done: int, planned: int) -> str:
    """Return that a grid search is not finished."""
    return (
        f"the grid search has finished {done:,} of {count(planned, 'configuration')}; this may still change"
    )


def curves_over_k(view: View, grid: Grid, base: str) -> dict[str, list[float]]:
    """Return the mean of a metric at every k by run id; empty where the metric has no k."""
    curves = {}
    for trial in grid.trials:
        summaries = view.summary(trial.run)
        means = [
            summary.mean
            for k in DEFAULT_KS
            if (summary := summaries.get(f"{base}@{k}")) is not None and summary.mean is not None
        ]
        if len(means) > 1:
            curves[trial.run.run_id] = means
    return curves


def means_elsewhere(view: View, ranking: GridRanking, base: str) -> tuple[int, dict[str, float]]:
    """Return the k furthest from the shown one, and run id -> mean at it; (0, {}) for a metric without k."""
    _, _, shown = ranking.metric.partition("@")
    if not shown.isdigit() or f"{base}@{shown}" != ranking.metric:
        return 0, {}
    k = max(DEFAULT_KS, key=lambda k: abs(k - int(shown)))
    summaries = {
        entry.trial.run.run_id: view.summary(entry.trial.run).get(f"{base}@{k}")
        for entry in best_first(ranking)
    }
    return k, {
        run_id: each.mean for run_id, each in summaries.items() if each is not None and each.mean is not None
    }


def newest_first(grids: Sequence[Grid]) -> list[Grid]:
    """Return the grids, the newest first."""
    return sorted(grids, key=lambda grid: grid.newest, reverse=True)


def grid_picker(grids: Sequence[Grid]) -> None:
    """Let the reader choose the grid, the first of them by default."""
    keys = [grid.key for grid in grids]
    choose("Grid", "grid", keys, grid_titles(grids), {"shown_metric": ""}, width="stretch")


def chosen_grid(grids: Sequence[Grid]) -> Grid:
    """Return the grid on display."""
    by_key = {grid.key: grid for grid in grids}
    return by_key[chosen_of("grid", list(by_key))]


def metric_names(scored_runs: Sequence[ScoredRun]) -> list[str]:
    """List the metrics of the grid without k or token budget, those of chunking first."""
    bases = dict.fromkeys(name.partition("@")[0].removesuffix("_budget") for name in _metrics(scored_runs))
    usual = [base for base in USUAL_METRICS if base in bases]
    return [*usual, *(base for base in bases if base not in usual)]


def metric_picker(bases: Sequence[str]) -> None:
    """Let the reader choose the metric of the map and the table."""
    titles = {base: capital(title_of(f"{base}@5").removesuffix("@5")) for base in bases}
    choose("Metric", "shown_metric", bases, titles.__getitem__, {}, width=170)


def cutoff_picker(bases: Sequence[str]) -> None:
    """Let the reader compare at the same number of chunks, or at the same number of tokens."""
    cutoffs = [f"k:{k}" for k in DEFAULT_KS]
    if any(name in SPAN_METRICS for name in bases):
        cutoffs += [f"tokens:{budget}" for budget in BUDGETS]
    selection = current_selection()
    now = f"tokens:{selection.budget}" if selection.budget in BUDGETS else f"k:{selection.k}"
    show_in("pick_cut", now if now in cutoffs else "k:5")
    st.selectbox(
        "Compare at",
        cutoffs,
        format_func=_cutoff_title,
        key="pick_cut",
        on_change=_keep_cutoff,
        width=160,
        help="The same number of chunks, or the same number of tokens handed to the generator: "
        "at equal k, larger chunks hand over more text.",
    )


def _cutoff_title(cutoff: str) -> str:
    kind, _, size = cutoff.partition(":")
    return f"{int(size):,} tokens of context" if kind == "tokens" else f"top {size} chunks"


def _keep_cutoff() -> None:
    kind, _, size = st.session_state["pick_cut"].partition(":")
    keep(**({"budget": int(size)} if kind == "tokens" else {"budget": 0, "k": int(size)}))


def metric_at_cutoff(base: str, scored_runs: Sequence[ScoredRun]) -> str:
    """Return the full name of a metric at the chosen k or token budget; one that has neither as it is."""
    selection = current_selection()
    k = selection.k if selection.k in DEFAULT_KS else 5
    candidates = [f"{base}_budget@{selection.budget}"] if selection.budget in BUDGETS else []
    candidates += [base, f"{base}@{k}"]
    names = _metrics(scored_runs)
    return next((name for name in candidates if name in names), base)


def size_and_overlap(grid: Grid, scored_runs: Sequence[ScoredRun], chosen: str, ranking: GridRanking) -> None:
    """Draw the chosen metric over size and overlap, and beside it the costs; a click opens the cases."""
    tokens = THEMES[current_theme()]
    left, right = st.columns([5, 3], gap="medium")
    with left:
        st.markdown(f"##### {markdown_text(capital(title_of(ranking.metric)))}")
        pick = cheapest(ranking, precision_of(grid, scored_runs))
        figure = grid_map(grid, ranking, pick.trial.run.run_id if pick else "", tokens)
        point = clicked(figure, f"heatmap_{chosen}", _map_alt(ranking), theme=None)
        facts(
            legend(ranking),
            "small: 95 % interval, each mean by itself" if len(grid.sizes) <= MOST_INTERVALS else "",
            f"n = {count(ranking.n_questions, 'question')} that all configurations share",
            f"{ranking.n_left_out:,} left out" if ranking.n_left_out else "",
            *(
                f"the means by {effect.axis} leave out "
                f"{'overlap' if effect.axis == 'size' else 'size'} "
                f"{', '.join(map(str, effect.left_out))}, which not every point has"
                for effect in ranking.marginal_effects
                if effect.left_out
            ),
            "blank: not run",
            "click a cell for its cases",
        )
    with right:
        st.markdown("##### What it costs")
        k = current_selection().k if current_selection().k in DEFAULT_KS else 5
        by_run = {scored.run.run_id: scored for scored in scored_runs}
        runs = [entry.trial.run for entry in best_first(ranking)]
        costs = [(run.name, _trial_cost(by_run[run.run_id], k)) for run in runs]
        if all(cost == NO_COST for _, cost in costs):
            facts("no tokens, milliseconds or money are recorded")
        elif any(cost.usd is not None or cost.tokens is None for _, cost in costs):
            show_table(trial_cost_table(costs, k))
        else:
            _priced_table(costs, k)
    if point is not None:
        open_cases(run=str(point[0]), case="")


def _priced_table(costs: Sequence[tuple[str, TrialCost]], k: int) -> None:
    """Draw the costs, with the money that tokens cost at a price that the user enters."""
    price = current_selection().price
    with st.container():
        if price:
            costs = [(name, cost.at_price(price_of(price))) for name, cost in costs]
        show_table(trial_cost_table(costs, k, bool(price)))
    show_in("pick_price", price_of(price) if price else None)

    def entered() -> None:
        value = st.session_state["pick_price"]
        keep(price="" if value is None else f"{value:g}")

    st.number_input(
        "For USD: your model's price of a million input tokens",
        0.0,
        HIGHEST_PRICE,
        key="pick_price",
        on_change=entered,
        placeholder="USD, from its price list",
        format="%g",
        width=330,
    )


def means_page(grid: Grid, grids: Sequence[Grid]) -> None:
    """Draw a grid that is known by its means, as a printed table has them: a map and a table, no test."""
    names = ordered(tuple({name for trial in grid.trials for name in trial.run.means}))
    metric = chosen_of("shown_metric", names)
    ranking = rank_means(grid, metric)
    open_page(
        chunking_headline(ranking, None, grid.unit, grid.notes),
        [count(len(grid.trials), "configuration"), grid.title, "known by means alone"],
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        grid_picker(grids)
        metric_picker(names)
    if len(grid.heatmap_trials) > 1:
        st.markdown(f"##### {markdown_text(capital(title_of(metric)))}")
        figure = grid_map(grid, ranking, "", THEMES[current_theme()])
        draw(figure, f"heatmap_{metric}", _map_alt(ranking), theme=None)
        facts("means as the file states them: no samples, so no intervals and no test", "blank: not run")
    table = trial_table(metric, best_first(ranking))
    names_kept = ("Chunking", "Mean", "n", "Strategy", "Size", "Overlap")
    rows = tuple({name: row[name] for name in names_kept} for row in table.rows)
    show_table(ResultTable(f"Configurations with their {title_of(metric)}", rows))


def _map_alt(ranking: GridRanking) -> str:
    return f"{title_of(ranking.metric)} by chunk size and overlap; the numbers are in the table below"


def precision_of(grid: Grid, scored_runs: Sequence[ScoredRun]) -> GridRanking | None:
    """Compare the configurations by how much of the text that they hand on is gold; None where not known."""
    metric = metric_at_cutoff(PRECISION, scored_runs)
    return ranking_of(grid, scored_runs, metric) if metric in _metrics(scored_runs) else None


def best_first(ranking: GridRanking) -> list[TrialValue]:
    """Return the configurations from the best mean to the worst, then those without a value."""
    declaration = declared(ranking.metric)
    sign = 1.0 if declaration is not None and declaration.higher_is_better is False else -1.0
    return sorted(
        ranking.values,
        key=lambda entry: (entry.value is None, sign * entry.value.mean if entry.value else 0.0),
    )


def show_trials(
    ranking: GridRanking,
    entries: Sequence[TrialValue],
    key: str,
    unit: str,
    curves: Mapping[str, list[float]],
    notes: Sequence[str],
) -> None:
    """List configurations with their numbers; a chosen one can be opened or compared with the best.

    Args:
        ranking: the configurations under the metric on display.
        entries: those to list, in their order.
        key: how the keys of its widgets begin.
        unit: what sizes count.
        curves: run id -> the metric at every k; empty where it has none.
        notes: on method, as Markdown.
    """
    table = trial_table(ranking.metric, entries)
    rows = plain_rows(table)
    shown = [
        {**row, **({AT_EVERY_K: curves.get(entry.trial.run.run_id)} if curves else {})}
        for row, entry in zip(rows, entries, strict=True)
    ]
    first = ("Chunking", "", "Mean", "95 % interval", *([AT_EVERY_K] if curves else []))
    names = [*first, *(name for row in rows[:1] for name in row if name not in first)]
    event = st.dataframe(
        shown,
        hide_index=True,
        column_order=names,
        key=key,
        on_select="rerun",
        selection_mode="single-row",
        height="content",
        placeholder="–",
        alt=table.title,
        column_config=_columns(ranking.metric, unit),
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        export_menu(rows, f"Configurations by {title_of(ranking.metric)} {key}")
        how_measured(*notes)
        facts(
            f"n = {count(ranking.n_questions, 'question')} that all configurations share",
            "choose a row to open or compare it",
        )
    chosen = event["selection"]["rows"]
    if chosen and chosen[0] < len(entries):
        _actions(ranking, entries[chosen[0]], key)


def _columns(metric: str, unit: str) -> dict[str, Any]:
    """Return what the columns of a list of configurations hold; `unit` is what sizes count."""
    bar = (
        st.column_config.ProgressColumn(format="%.3f", min_value=0.0, max_value=1.0)
        if bounds_of(metric) == (0.0, 1.0)
        else st.column_config.NumberColumn(format="%.3f")
    )
    in_units = f", in {markdown_text(unit)}" if unit else ""
    return {
        "Chunking": st.column_config.TextColumn(width=290),
        "Size": st.column_config.NumberColumn(format="localized", help=f"largest chunk{in_units}"),
        "Overlap": st.column_config.NumberColumn(format="localized", help=f"of neighbours{in_units}"),
        "Mean": bar,
        AT_EVERY_K: st.column_config.LineChartColumn(
            help=f"mean over the run's own questions at k = {', '.join(map(str, DEFAULT_KS))}"
        ),
        "95 % interval": st.column_config.TextColumn(
            help="of the mean by itself; two may overlap although one configuration is worse"
        ),
        "Corrected interval": st.column_config.TextColumn(
            help="of the difference to the best, which the outcome rests on"
        ),
        "Chunks": st.column_config.NumberColumn(format="localized"),
        "Tokens": st.column_config.NumberColumn(format="localized", help="tokens in the index"),
        "Seconds": st.column_config.NumberColumn(
            format="%.3f", help="chunking, indexing and retrieving, on the machine that ran it"
        ),
    }


def _actions(ranking: GridRanking, entry: TrialValue, key: str) -> None:
    run, best = entry.trial.run, ranking.best
    with st.container(horizontal=True):
        if st.button(f"Cases of {markdown_text(run.name)}", key=f"{key}_cases"):
            open_cases(run=run.run_id, case="")
        if best is not None and best is not entry:
            label = f"Compare with {markdown_text(best.trial.run.name)}, case by case"
            if st.button(label, key=f"{key}_compare"):
                keep(
                    baseline=best.trial.run.run_id,
                    run=run.run_id,
                    versions=(run.run_id,),
                    other=run.run_id,
                    case="",
                    metric=ranking.metric,
                )
                go_to_page("compare")
