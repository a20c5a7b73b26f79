"""The pieces of the Chunking page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from dashboard.charts.chunking import PLACE_MARKS, heatmap, marginal_effect_curve
from dashboard.charts.plotly_figure import plotly_figure
from dashboard.shell.components import clicked, draw, export_menu, facts
from dashboard.shell.session import View, current_selection, keep, open_cases
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
    "alike",
    "cell_table",
    "cut_picker",
    "full_name",
    "grid_picker",
    "grid_titles",
    "heatmaps",
    "legend",
    "marginal_effects",
    "measure_picker",
    "measures",
    "other_cuts",
    "reading",
    "standing_of",
    "tables_of",
    "twins",
]


def grid_titles(grids: Sequence[Grid]) -> dict[str, str]:
    """Name grids by key; those of one title also by the settings in which they differ, or by their key."""
    titles: dict[str, str] = {}
    for grid in grids:
        alike = [one for one in grids if one.title == grid.title]
        differing = [
            f"{key} {value}"
            for key, value in grid.settings.items()
            if any(one.settings.get(key) != value for one in alike)
        ]
        parts = [grid.title, *differing, count(len(grid.cells), "cell")]
        titles[grid.key] = " · ".join(shorten(part, 60) for part in parts)
    shown = Counter(titles.values())
    return {
        key: f"{title} · {key.removeprefix('outside-')[:6]}" if shown[title] > 1 else title
        for key, title in titles.items()
    }


def reading(found: GridRanking) -> list[str]:
    """Say in words what the comparison shows."""
    best = found.best
    if best is None or best.value is None:
        return [_no_best(found)]
    value = f"{number(best.value.mean, 3)} {interval_text(best.value.low, best.value.high, 3)}"
    head = f"{_cell_name(best.cell)} has the best mean: {value}, n = {best.value.n_scored:,}."
    like = [one for one in found.values if one.outcome == "same"]
    if not like:
        return [head, _no_like(found)]
    smallest = min(like, key=_index_size)
    names = ", ".join(markdown_text(one.cell.run.name) for one in like[:6])
    more = f" and {len(like) - 6} more" if len(like) > 6 else ""
    lines = [head, f"A paired test cannot tell it from {names}{more}."]
    if _index_size(smallest) < _index_size(best):
        lines.append(f"Of these, {_cell_name(smallest.cell)} has the smallest index.")
    return lines


def _no_best(found: GridRanking) -> str:
    if found.n_left_out and not found.n_questions:
        return "The cells share no question that has a value, so none can be held against another."
    if any(one.outcome == "no direction" for one in found.values):
        return f"{markdown_text(title_of(found.metric))} has no direction: no cell is better than another."
    return "No cell has a value for this metric."


def _no_like(found: GridRanking) -> str:
    places = {one.outcome for one in found.values}
    if "worse" not in places:
        return "No other cell has a value for this metric."
    which = "Every other cell that has a value" if "not measured" in places else "Every other cell"
    return f"{which} is worse by a paired test."


def _index_size(one: TrialValue) -> tuple[float, float]:
    """Tokens in the index, then chunks; what was not recorded counts as large."""
    config = one.cell.run.config
    tokens, chunks = (config.get(name) for name in ("index_tokens", "n_chunks"))
    return (
        float(tokens) if isinstance(tokens, int | float) else float("inf"),
        float(chunks) if isinstance(chunks, int | float) else float("inf"),
    )


def _cell_name(cell: GridTrial) -> str:
    return f"**{markdown_text(cell.run.name)}**"


def alike(cells: Sequence[GridTrial]) -> str:
    """Say that strategies gave the same chunks, and why where it is plain."""
    *most, last = (_cell_name(cell) for cell in cells)
    said = (
        f"{', '.join(most)} and {last} are the same here: as many chunks, the same values for every question"
    )
    cut_at = {cell.strategy for cell in cells}
    why = "; heading cuts as paragraph does where a corpus has no headings"
    return f"{said}{why if cut_at >= {'heading', 'paragraph'} else ''}."


def legend(found: GridRanking) -> str:
    """Explain the marks of the planes; the best cell may stand outside them."""
    if found.best is not None and found.best.cell.run.run_id not in found.heatmap:
        name = markdown_text(found.best.cell.run.name)
        return f"{PLACE_MARKS['same']} not distinguishable from the best, {name}, which is not on this map"
    return (
        f"{PLACE_MARKS['best']} best mean, {PLACE_MARKS['same']} not distinguishable from it (outlined too)"
    )


def other_cuts(cells: Sequence[TrialValue]) -> str:
    """Name the cells beside the plane of size and overlap."""
    known = {one.cell.strategy for one in cells} <= set(STRATEGIES)
    return "Cut along the text itself" if known else "Cut in other ways"


HEADLINES = ("span_recall", "span_precision", "span_iou", "span_ndcg")
OTHERS = (
    "recall",
    "ndcg",
    "context_recall",
    "faithfulness",
    "answer_relevancy",
    "context_precision",
    "answer_f1",
)
MOST_PLANES = 4
STANDING = {
    "best": "★ best",
    "same": "≈ cannot tell",
    "worse": "worse",
    "no direction": "no direction",
    "not measured": "not measured",
}


def _paths(scored_runs: Sequence[ScoredRun]) -> tuple[str, ...]:
    return tuple(scored.scores_path.as_posix() for scored in scored_runs)


@st.cache_resource(max_entries=256, show_spinner=False)
def _standings(
    _grid: Grid,
    _scored_runs: Sequence[ScoredRun],
    paths: tuple[str, ...],  # noqa: ARG001 -- cache key
    metric: str,
) -> GridRanking:
    return rank_trials(_grid, _scored_runs, metric)


def tables_of(view: View, grid: Grid) -> list[ScoredRun]:
    """Give the scored run of each cell."""
    return [view.scored(cell.run) for cell in grid.cells]


def standing_of(grid: Grid, scored_runs: Sequence[ScoredRun], metric: str) -> GridRanking:
    """Compare the cells under a metric; kept until a run changes."""
    return _standings(grid, scored_runs, _paths(scored_runs), metric)


@st.cache_resource(max_entries=64, show_spinner=False)
def _metrics(_scored_runs: Sequence[ScoredRun], paths: tuple[str, ...]) -> list[str]:  # noqa: ARG001 -- cache key
    return grid_metrics(_scored_runs)


def measures(scored_runs: Sequence[ScoredRun]) -> list[str]:
    """Name the metrics of the grid without their cut-offs, those of chunking first."""
    names = _metrics(scored_runs, _paths(scored_runs))
    bases = dict.fromkeys(name.partition("@")[0].removesuffix("_budget") for name in names)
    first = [one for one in (*HEADLINES, *OTHERS) if one in bases]
    return [*first, *(one for one in bases if one not in first)]


@st.cache_resource(max_entries=64, show_spinner=False)
def _twins(
    _grid: Grid,
    _scored_runs: Sequence[ScoredRun],
    paths: tuple[str, ...],  # noqa: ARG001 -- cache key
) -> list[tuple[GridTrial, ...]]:
    return same_chunks(_grid, _scored_runs)


def twins(grid: Grid, scored_runs: Sequence[ScoredRun]) -> list[str]:
    """Say which strategies gave the same chunks, so that nobody reads anything into their standing."""
    return [alike(cells) for cells in _twins(grid, scored_runs, _paths(scored_runs))]


def grid_picker(grids: Sequence[Grid]) -> Grid:
    """Let a person choose the grid, the newest first."""
    by_key = {grid.key: grid for grid in sorted(grids, key=lambda one: one.newest, reverse=True)}
    return by_key[choose("Grid", "grid", list(by_key), grid_titles(grids), {"shown_metric": ""})]


def measure_picker(scored_runs: Sequence[ScoredRun]) -> str:
    """Let a person choose what the curves and tables show."""
    found = measures(scored_runs)
    return choose("Metric", "shown_metric", found, _base_title, {}) if found else ""


def _base_title(base: str) -> str:
    title = title_of(f"{base}@5").removesuffix("@5")
    return capital(title)


def cut_picker(measured: Sequence[str]) -> None:
    """Let a person compare at the same number of chunks, or at the same number of tokens."""
    cuts = [f"k:{k}" for k in DEFAULT_KS]
    if any(name in HEADLINES for name in measured):
        cuts += [f"tokens:{budget}" for budget in BUDGETS]
    selection = current_selection()
    now = f"tokens:{selection.budget}" if selection.budget in BUDGETS else f"k:{selection.k}"
    show_in("pick_cut", now if now in cuts else "k:5")
    st.selectbox(
        "Compare at",
        cuts,
        format_func=_cut_title,
        key="pick_cut",
        on_change=_take_cut,
        help="The same number of chunks, or the same number of tokens handed to the generator: "
        "at equal k, larger chunks hand over more text.",
    )


def _cut_title(cut: str) -> str:
    kind, _, size = cut.partition(":")
    return f"{int(size):,} tokens of context" if kind == "tokens" else f"top {size} chunks"


def _take_cut() -> None:
    kind, _, size = st.session_state["pick_cut"].partition(":")
    keep(**({"budget": int(size)} if kind == "tokens" else {"budget": 0, "k": int(size)}))


def full_name(base: str, scored_runs: Sequence[ScoredRun]) -> str:
    """Give a metric with the cut-off that is chosen; one without cut-offs as it is."""
    selection = current_selection()
    names = _metrics(scored_runs, _paths(scored_runs))
    k = selection.k if selection.k in DEFAULT_KS else 5
    wanted = [f"{base}_budget@{selection.budget}"] if selection.budget in BUDGETS else []
    wanted += [base, f"{base}@{k}"]
    return next((name for name in wanted if name in names), base)


def heatmaps(grid: Grid, scored_runs: Sequence[ScoredRun], chosen: str) -> None:
    """Draw size and overlap for the metrics that matter and the chosen one; a click opens the cases."""
    usual = [base for base in measures(scored_runs) if base in (*HEADLINES, *OTHERS)][:MOST_PLANES]
    found = usual if chosen in usual else [chosen, *usual]
    for first in range(0, len(found), 2):
        for place, base in zip(st.columns(2, gap="medium"), found[first : first + 2], strict=False):
            with place:
                _plane(grid, standing_of(grid, scored_runs, full_name(base, scored_runs)), f"plane_{base}")


def _plane(grid: Grid, found: GridRanking, key: str) -> None:
    title = title_of(found.metric)
    alt = f"{title} by chunk size and overlap; the numbers are in the table of all cells"
    hit = clicked(plotly_figure(heatmap(grid, found, capital(title))), key, alt)
    if hit is not None:
        open_cases(run=str(hit[0]), case="")


def marginal_effects(grid: Grid, found: GridRanking) -> None:
    """Draw what size and overlap do by themselves."""
    if not found.marginal_effects:
        st.caption("Curves over size and overlap need two values of one that share a value of the other.")
        return
    ends = [
        end for margin in found.marginal_effects for _, one in margin.points for end in (one.low, one.high)
    ]
    room = 0.12 * (max(ends) - min(ends) or 1.0)
    span = (min(ends) - room, max(ends) + room)
    for place, margin in zip(st.columns(2, gap="medium"), found.marginal_effects, strict=False):
        with place:
            other = "overlap" if margin.axis == "size" else "size"
            alt = f"{title_of(found.metric)} by {margin.axis}, averaged over {other}"
            draw(
                marginal_effect_curve(margin, grid.unit, title_of(found.metric), span),
                f"margin_{margin.axis}",
                alt,
            )
            left = ", ".join(map(str, margin.left_out))
            facts(
                [
                    f"mean over {other} {', '.join(map(str, margin.over))}",
                    f"left out, because not every point has it: {other} {left}" if left else "",
                    f"n = {found.n_questions:,}",
                ]
            )


def cell_table(found: GridRanking, cells: Sequence[TrialValue], key: str, unit: str) -> None:
    """List cells with all their numbers; the chosen one can be opened or compared with the best."""
    rows = [_row(one) for one in cells]
    in_units = f", in {markdown_text(unit)}" if unit else ""
    event = st.dataframe(
        rows,
        hide_index=True,
        key=key,
        on_select="rerun",
        selection_mode="single-row",
        height="content",
        placeholder="–",
        alt=f"Cells with {title_of(found.metric)}, differences to the best, and index sizes",
        column_config={
            "Size": st.column_config.NumberColumn(format="localized", help=f"largest chunk{in_units}"),
            "Overlap": st.column_config.NumberColumn(format="localized", help=f"of neighbours{in_units}"),
            "Mean": st.column_config.NumberColumn(format="%.3f"),
            "Chunks": st.column_config.NumberColumn(format="localized"),
            "Tokens": st.column_config.NumberColumn(format="localized", help="tokens in the index"),
            "Seconds": st.column_config.NumberColumn(
                format="%.3f", help="chunking, indexing and retrieving, on the machine that ran the cell"
            ),
        },
    )
    export_menu(rows, f"Cells by {title_of(found.metric)} {key}")
    chosen = event["selection"]["rows"]
    if chosen and chosen[0] < len(cells):
        _actions(found, cells[chosen[0]], key)


def _row(one: TrialValue) -> dict[str, object]:
    value, gap = one.value, one.difference
    config, measured = one.cell.run.config, one.cell.run.measured
    steps = [measured[step] for step in ("chunking_s", "indexing_s", "retrieving_s") if step in measured]
    return {
        "Chunking": one.cell.run.name,
        "Cut": f"{one.cell.strategy} + headings" if one.cell.headings else one.cell.strategy,
        "Size": one.cell.size,
        "Overlap": one.cell.overlap,
        "": STANDING[one.outcome],
        "Mean": None if value is None else value.mean,
        "95 % interval": "–" if value is None else interval_text(value.low, value.high, 3),
        "To the best": "–" if gap is None else signed(gap.difference, 3),
        "its 95 % interval": "–" if gap is None else interval_text(gap.low, gap.high, 3),
        "p (Holm)": p_value(one.adjusted_p),
        "n": None if value is None else value.n_scored,
        "Chunks": config.get("n_chunks"),
        "Tokens": config.get("index_tokens"),
        "Seconds": sum(steps) if steps else None,
    }


def _actions(found: GridRanking, one: TrialValue, key: str) -> None:
    run, best = one.cell.run, found.best
    with st.container(horizontal=True):
        if st.button(f"Cases of {markdown_text(run.name)}", key=f"{key}_cases"):
            open_cases(run=run.run_id, case="")
        if best is not None and best is not one:
            against = {"baseline": best.cell.run.run_id, "run": run.run_id, "versions": (run.run_id,)}
            if st.button(
                f"Compare with {markdown_text(best.cell.run.name)}, case by case", key=f"{key}_compare"
            ):
                keep(**against, other=run.run_id, case="", metric=found.metric)
                st.switch_page("views/compare.py")
