"""The pieces of the Chunking page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard.chunking_charts import margin_curve, plane_map
from dashboard.chunking_words import alike, grid_titles
from dashboard.controls import choose, show_in
from dashboard.drawing import clicked, draw, export_menu, facts
from dashboard.rounding import interval_text, p_value, signed
from dashboard.session import View, current_selection, keep, open_cases
from dashboard.text import capital, markdown_text
from data.grids import Cell, Grid
from data.standings import CellValue, Standings, grid_metrics, same_chunks, standings
from data.tables import RunTable
from metrics.budgets import BUDGETS
from metrics.catalogue import DEFAULT_KS, title_of

__all__ = [
    "cell_table",
    "cut_picker",
    "full_name",
    "grid_picker",
    "margins",
    "measure_picker",
    "measures",
    "planes",
    "standing_of",
    "tables_of",
    "twins",
]

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


def _paths(tables: Sequence[RunTable]) -> tuple[str, ...]:
    return tuple(table.scores_path.as_posix() for table in tables)


@st.cache_resource(max_entries=256, show_spinner=False)
def _standings(_grid: Grid, _tables: Sequence[RunTable], paths: tuple[str, ...], metric: str) -> Standings:  # noqa: ARG001 -- cache key
    return standings(_grid, _tables, metric)


def tables_of(view: View, grid: Grid) -> list[RunTable]:
    """Give the scored run of each cell."""
    return [view.table(cell.run) for cell in grid.cells]


def standing_of(grid: Grid, tables: Sequence[RunTable], metric: str) -> Standings:
    """Compare the cells under a metric; kept until a run changes."""
    return _standings(grid, tables, _paths(tables), metric)


@st.cache_resource(max_entries=64, show_spinner=False)
def _metrics(_tables: Sequence[RunTable], paths: tuple[str, ...]) -> list[str]:  # noqa: ARG001 -- cache key
    return grid_metrics(_tables)


def measures(tables: Sequence[RunTable]) -> list[str]:
    """Name the metrics of the grid without their cut-offs, those of chunking first."""
    names = _metrics(tables, _paths(tables))
    bases = dict.fromkeys(name.partition("@")[0].removesuffix("_budget") for name in names)
    first = [one for one in (*HEADLINES, *OTHERS) if one in bases]
    return [*first, *(one for one in bases if one not in first)]


@st.cache_resource(max_entries=64, show_spinner=False)
def _twins(_grid: Grid, _tables: Sequence[RunTable], paths: tuple[str, ...]) -> list[tuple[Cell, ...]]:  # noqa: ARG001 -- cache key
    return same_chunks(_grid, _tables)


def twins(grid: Grid, tables: Sequence[RunTable]) -> list[str]:
    """Say which strategies gave the same chunks, so that nobody reads anything into their standing."""
    return [alike(cells) for cells in _twins(grid, tables, _paths(tables))]


def grid_picker(grids: Sequence[Grid]) -> Grid:
    """Let a person choose the grid, the newest first."""
    by_key = {grid.key: grid for grid in sorted(grids, key=lambda one: one.newest, reverse=True)}
    return by_key[choose("Grid", "grid", list(by_key), grid_titles(grids), {"measure": ""})]


def measure_picker(tables: Sequence[RunTable]) -> str:
    """Let a person choose what the curves and tables show."""
    found = measures(tables)
    return choose("Metric", "measure", found, _base_title, {}) if found else ""


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


def full_name(base: str, tables: Sequence[RunTable]) -> str:
    """Give a metric with the cut-off that is chosen; one without cut-offs as it is."""
    selection = current_selection()
    names = _metrics(tables, _paths(tables))
    k = selection.k if selection.k in DEFAULT_KS else 5
    wanted = [f"{base}_budget@{selection.budget}"] if selection.budget in BUDGETS else []
    wanted += [base, f"{base}@{k}"]
    return next((name for name in wanted if name in names), base)


def planes(grid: Grid, tables: Sequence[RunTable], chosen: str) -> None:
    """Draw size and overlap for the metrics that matter and the chosen one; a click opens the cases."""
    usual = [base for base in measures(tables) if base in (*HEADLINES, *OTHERS)][:MOST_PLANES]
    found = usual if chosen in usual else [chosen, *usual]
    for first in range(0, len(found), 2):
        for place, base in zip(st.columns(2, gap="medium"), found[first : first + 2], strict=False):
            with place:
                _plane(grid, standing_of(grid, tables, full_name(base, tables)), f"plane_{base}")


def _plane(grid: Grid, found: Standings, key: str) -> None:
    title = title_of(found.metric)
    alt = f"{title} by chunk size and overlap; the numbers are in the table of all cells"
    hit = clicked(plane_map(grid, found, capital(title)), key, alt)
    if hit is not None:
        open_cases(run=str(hit[0]), case="")


def margins(grid: Grid, found: Standings) -> None:
    """Draw what size and overlap do by themselves."""
    if not found.margins:
        st.caption("Curves over size and overlap need two values of one that share a value of the other.")
        return
    ends = [end for margin in found.margins for _, one in margin.points for end in (one.low, one.high)]
    room = 0.12 * (max(ends) - min(ends) or 1.0)
    span = (min(ends) - room, max(ends) + room)
    for place, margin in zip(st.columns(2, gap="medium"), found.margins, strict=False):
        with place:
            other = "overlap" if margin.axis == "size" else "size"
            alt = f"{title_of(found.metric)} by {margin.axis}, averaged over {other}"
            draw(margin_curve(margin, grid.unit, title_of(found.metric), span), f"margin_{margin.axis}", alt)
            left = ", ".join(map(str, margin.left_out))
            facts(
                [
                    f"mean over {other} {', '.join(map(str, margin.over))}",
                    f"left out, because not every point has it: {other} {left}" if left else "",
                    f"n = {found.n_questions:,}",
                ]
            )


def cell_table(found: Standings, cells: Sequence[CellValue], key: str, unit: str) -> None:
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


def _row(one: CellValue) -> dict[str, object]:
    value, gap = one.value, one.difference
    config, measured = one.cell.run.config, one.cell.run.measured
    steps = [measured[step] for step in ("chunking_s", "indexing_s", "retrieving_s") if step in measured]
    return {
        "Chunking": one.cell.run.name,
        "Cut": f"{one.cell.strategy} + headings" if one.cell.headings else one.cell.strategy,
        "Size": one.cell.size,
        "Overlap": one.cell.overlap,
        "": STANDING[one.place],
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


def _actions(found: Standings, one: CellValue, key: str) -> None:
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
