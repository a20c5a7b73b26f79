"""What the Chunking page shows of a grid: its ranking in sentences, heatmaps, marginal effects and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from dashboard.charts.chunking import OUTCOME_SYMBOLS, heatmap, marginal_effect_curve
from dashboard.charts.plotly_figure import plotly_figure
from dashboard.shell.caching import HASH_FUNCS
from dashboard.shell.components import clicked, draw, export_menu, facts
from dashboard.shell.session import current_selection, go_to_page, keep, open_cases
from dashboard.shell.widgets import choose, show_in
from dashboard.wording.escaping import capital, markdown_text, shorten
from dashboard.wording.formatting import count, interval_text, number, p_value, signed
from data.chunking.chunkers import STRATEGIES
from data.chunking.grids import Grid, GridTrial
from data.chunking.ranking import GridRanking, TrialValue, grid_metrics, rank_trials, same_chunks
from data.scoring.scored_run import ScoredRun
from metrics.definitions.spans import BUDGETS
from metrics.metric_registry import DEFAULT_KS, title_of

__all__ = [
    "cutoff_picker",
    "grid_picker",
    "grid_titles",
    "heatmaps",
    "legend",
    "marginal_effects",
    "metric_at_cutoff",
    "metric_names",
    "metric_picker",
    "other_strategies_title",
    "ranking_of",
    "ranking_sentences",
    "same_chunks_of",
    "same_chunks_text",
    "trial_table",
]

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
MOST_HEATMAPS = 4
OUTCOMES = {
    "best": "★ best",
    "same": "≈ not distinguishable",
    "worse": "worse",
    "equal": "= all equal",
    "no direction": "no direction",
    "not measured": "not measured",
}
_HASH_FUNCS = {**HASH_FUNCS, Grid: lambda grid: (grid.key, [trial.run.run_id for trial in grid.trials])}


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=_HASH_FUNCS)
def ranking_of(grid: Grid, scored_runs: Sequence[ScoredRun], metric: str) -> GridRanking:
    """Compare the configurations under a metric; kept until a run changes."""
    return rank_trials(grid, scored_runs, metric)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=_HASH_FUNCS)
def same_chunks_of(grid: Grid, scored_runs: Sequence[ScoredRun]) -> list[tuple[GridTrial, ...]]:
    """Find the strategies that produced the same chunks; kept until a run changes."""
    return same_chunks(grid, scored_runs)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=_HASH_FUNCS)
def _metrics(scored_runs: Sequence[ScoredRun]) -> list[str]:
    return grid_metrics(scored_runs)


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


def ranking_sentences(ranking: GridRanking, unfinished: tuple[int, int] | None = None) -> list[str]:
    """Write what the comparison shows: the best configuration, and those that a test cannot tell from it.

    Args:
        ranking: the configurations compared.
        unfinished: configurations done and planned by a grid search that is not finished; None for none.
    """
    caution = "" if unfinished is None else _unfinished_text(*unfinished)
    best = ranking.best
    outcomes = {entry.outcome for entry in ranking.values}
    if best is None or best.value is None:
        if ranking.n_left_out and not ranking.n_questions:
            return ["The configurations share no question that has a value, so they cannot be compared."]
        if "equal" in outcomes:
            return [_all_equal(ranking), *filter(None, [caution])]
        if "no direction" in outcomes:
            title = markdown_text(title_of(ranking.metric))
            return [f"{title} has no direction: no configuration is better than another."]
        return ["No configuration has a value for this metric."]
    value = f"{number(best.value.mean, 3)} {interval_text(best.value.low, best.value.high, 3)}"
    if sum(entry.value is not None for entry in ranking.values) == 1:
        only = f"{_name(best.trial)} alone has a value: {value}, n = {best.value.n_scored:,}."
        return [
            f"{only} There is nothing to compare it with{' yet' if caution else ''}.",
            *filter(None, [caution]),
        ]
    so_far = " so far" if caution else ""
    sentences = [f"{_name(best.trial)} has the best mean{so_far}: {value}, n = {best.value.n_scored:,}."]
    same = [entry for entry in ranking.values if entry.outcome == "same"]
    if same:
        names = ", ".join(markdown_text(entry.trial.run.name) for entry in same[:6])
        more = f" and {len(same) - 6} more" if len(same) > 6 else ""
        sentences.append(f"A paired test cannot tell it from {names}{more}.")
        smallest = min(same, key=_index_size)
        if _index_size(smallest) < _index_size(best):
            sentences.append(f"Of these, {_name(smallest.trial)} has the smallest index.")
    elif "worse" in outcomes:
        with_value = " that has a value" if "not measured" in outcomes else ""
        sentences.append(f"Every other configuration{with_value} is worse by a paired test.")
    else:
        sentences.append("No other configuration has a value for this metric.")
    return [*sentences, caution] if caution else sentences


def _all_equal(ranking: GridRanking) -> str:
    """Write that no configuration is better than another, and which has the smallest index."""
    equal = [entry for entry in ranking.values if entry.outcome == "equal"]
    smallest, *larger = sorted(equal, key=_index_size)
    chosen = (
        f"; {_name(smallest.trial)} has the smallest index"
        if _index_size(smallest) < _index_size(larger[0])
        else ""
    )
    mean = number(smallest.value.mean if smallest.value else None, 3)
    return (
        f"All {len(equal):,} configurations have the same mean, {mean}, "
        f"n = {ranking.n_questions:,}: none is the best{chosen}."
    )


def _unfinished_text(done: int, planned: int) -> str:
    return (
        f"The grid search has finished {done:,} of {count(planned, 'configuration')}; this may still change."
    )


def _index_size(entry: TrialValue) -> tuple[float, float]:
    """Return the tokens in the index, then its chunks; what was not recorded counts as large."""
    config = entry.trial.run.config
    tokens, chunks = (config.get(name) for name in ("index_tokens", "n_chunks"))
    return (
        float(tokens) if isinstance(tokens, int | float) else float("inf"),
        float(chunks) if isinstance(chunks, int | float) else float("inf"),
    )


def _name(trial: GridTrial) -> str:
    return f"**{markdown_text(trial.run.name)}**"


def same_chunks_text(trials: Sequence[GridTrial]) -> str:
    """Write that strategies gave the same chunks, and why where that is known."""
    *others, last = (_name(trial) for trial in trials)
    why = "; without headings in the corpus, heading splits as paragraph does"
    return (
        f"{', '.join(others)} and {last} gave the same chunks here: as many of them, and the same values for "
        f"every question{why if {trial.strategy for trial in trials} >= {'heading', 'paragraph'} else ''}."
    )


def legend(ranking: GridRanking) -> str:
    """Explain the symbols of the heatmaps; the best configuration may not be on them."""
    best, same = OUTCOME_SYMBOLS["best"], OUTCOME_SYMBOLS["same"]
    if any(entry.outcome == "equal" for entry in ranking.values):
        return f"{OUTCOME_SYMBOLS['equal']} all configurations have the same mean"
    if ranking.best is not None and ranking.best.trial.run.run_id not in ranking.heatmap:
        name = markdown_text(ranking.best.trial.run.name)
        return f"{same} not distinguishable from the best, {name}, which is not on this map"
    return f"{best} best mean, {same} not distinguishable from it (outlined too)"


def other_strategies_title(entries: Sequence[TrialValue]) -> str:
    """Return the heading of the configurations that are not on the heatmap."""
    content_aware = {entry.trial.strategy for entry in entries} <= set(STRATEGIES)
    return "Split along the text itself" if content_aware else "Split in other ways"


def grid_picker(grids: Sequence[Grid]) -> Grid:
    """Let the reader choose the grid, the newest first."""
    by_key = {grid.key: grid for grid in sorted(grids, key=lambda grid: grid.newest, reverse=True)}
    return by_key[choose("Grid", "grid", list(by_key), grid_titles(grids), {"shown_metric": ""})]


def metric_names(scored_runs: Sequence[ScoredRun]) -> list[str]:
    """List the metrics of the grid without k or token budget, those of chunking first."""
    bases = dict.fromkeys(name.partition("@")[0].removesuffix("_budget") for name in _metrics(scored_runs))
    usual = [base for base in USUAL_METRICS if base in bases]
    return [*usual, *(base for base in bases if base not in usual)]


def metric_picker(scored_runs: Sequence[ScoredRun]) -> str:
    """Let the reader choose the metric of the curves and tables; "" where there is none."""
    bases = metric_names(scored_runs)
    return choose("Metric", "shown_metric", bases, _base_title, {}) if bases else ""


def _base_title(base: str) -> str:
    return capital(title_of(f"{base}@5").removesuffix("@5"))


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


def heatmaps(grid: Grid, scored_runs: Sequence[ScoredRun], chosen: str) -> None:
    """Draw the usual metrics and the chosen one over size and overlap; a click opens the cases."""
    usual = [base for base in metric_names(scored_runs) if base in USUAL_METRICS][:MOST_HEATMAPS]
    shown = usual if chosen in usual else [chosen, *usual]
    for first in range(0, len(shown), 2):
        for column, base in zip(st.columns(2, gap="medium"), shown[first : first + 2], strict=False):
            ranking = ranking_of(grid, scored_runs, metric_at_cutoff(base, scored_runs))
            title = title_of(ranking.metric)
            alt = f"{title} by chunk size and overlap; the numbers are in the table of all configurations"
            with column:
                figure = plotly_figure(heatmap(grid, ranking, capital(title)))
                point = clicked(figure, f"heatmap_{base}", alt)
            if point is not None:
                open_cases(run=str(point[0]), case="")


def marginal_effects(grid: Grid, ranking: GridRanking) -> None:
    """Draw the effect of size and of overlap, each averaged over the other."""
    effects, title = ranking.marginal_effects, title_of(ranking.metric)
    if not effects:
        st.caption("Curves over size and overlap need two values of one that share a value of the other.")
        return
    bounds = [bound for effect in effects for _, mean in effect.points for bound in (mean.low, mean.high)]
    room = 0.12 * (max(bounds) - min(bounds) or 1.0)
    span = (min(bounds) - room, max(bounds) + room)
    for column, effect in zip(st.columns(2, gap="medium"), effects, strict=False):
        other = "overlap" if effect.axis == "size" else "size"
        left_out = ", ".join(map(str, effect.left_out))
        with column:
            figure = marginal_effect_curve(effect, grid.unit, title, span)
            draw(figure, f"margin_{effect.axis}", f"{title} by {effect.axis}, averaged over {other}")
            facts(
                [
                    f"mean over {other} {', '.join(map(str, effect.over))}",
                    f"left out, because not every point has it: {other} {left_out}" if left_out else "",
                    f"n = {ranking.n_questions:,}",
                ]
            )


def trial_table(ranking: GridRanking, entries: Sequence[TrialValue], key: str, unit: str) -> None:
    """List configurations with their numbers; a chosen one can be opened or compared with the best."""
    rows = [_row(entry) for entry in entries]
    title = title_of(ranking.metric)
    in_units = f", in {markdown_text(unit)}" if unit else ""
    event = st.dataframe(
        rows,
        hide_index=True,
        key=key,
        on_select="rerun",
        selection_mode="single-row",
        height="content",
        placeholder="–",
        alt=f"Configurations with {title}, differences to the best, and index sizes",
        column_config={
            "Size": st.column_config.NumberColumn(format="localized", help=f"largest chunk{in_units}"),
            "Overlap": st.column_config.NumberColumn(format="localized", help=f"of neighbours{in_units}"),
            "Mean": st.column_config.NumberColumn(format="%.3f"),
            "95 % interval": st.column_config.TextColumn(
                help="of the mean by itself; two may overlap although one configuration is worse"
            ),
            "its interval": st.column_config.TextColumn(
                help="of the difference to the best, which the outcome rests on"
            ),
            "Chunks": st.column_config.NumberColumn(format="localized"),
            "Tokens": st.column_config.NumberColumn(format="localized", help="tokens in the index"),
            "Seconds": st.column_config.NumberColumn(
                format="%.3f", help="chunking, indexing and retrieving, on the machine that ran it"
            ),
        },
    )
    export_menu(rows, f"Configurations by {title} {key}")
    chosen = event["selection"]["rows"]
    if chosen and chosen[0] < len(entries):
        _actions(ranking, entries[chosen[0]], key)


def _row(entry: TrialValue) -> dict[str, object]:
    trial, value, difference, test = entry.trial, entry.value, entry.difference, entry.test
    config, timings = trial.run.config, trial.run.measured
    steps = [timings[step] for step in ("chunking_s", "indexing_s", "retrieving_s") if step in timings]
    return {
        "Chunking": trial.run.name,
        "Strategy": f"{trial.strategy} + headings" if trial.headings else trial.strategy,
        "Size": trial.size,
        "Overlap": trial.overlap,
        "": OUTCOMES[entry.outcome],
        "Mean": None if value is None else value.mean,
        "95 % interval": "–" if value is None else interval_text(value.low, value.high, 3),
        "To the best": "–" if difference is None else signed(difference.difference, 3),
        "its n": None if difference is None else difference.n_pairs,
        "its interval": "–" if test is None else interval_text(test.low, test.high, 3),
        "by itself, 95 %": "–" if difference is None else interval_text(difference.low, difference.high, 3),
        "p (corrected)": "–" if test is None else p_value(test.p),
        "n": None if value is None else value.n_scored,
        "Chunks": config.get("n_chunks"),
        "Tokens": config.get("index_tokens"),
        "Seconds": sum(steps) if steps else None,
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
