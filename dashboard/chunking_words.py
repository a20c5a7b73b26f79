"""What the Chunking page says in words: which cell is best, what the marks mean, which grid is which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dashboard.chunking_charts import PLACE_MARKS
from dashboard.rounding import count, interval_text, number
from dashboard.text import markdown_text, shorten
from data.chunking import STRATEGIES
from data.grids import Cell, Grid
from data.standings import CellValue, Standings
from metrics.catalogue import title_of

__all__ = ["alike", "grid_titles", "legend", "other_cuts", "reading"]


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


def reading(found: Standings) -> list[str]:
    """Say in words what the comparison shows."""
    best = found.best
    if best is None or best.value is None:
        return [_no_best(found)]
    value = f"{number(best.value.mean, 3)} {interval_text(best.value.low, best.value.high, 3)}"
    head = f"{_cell_name(best.cell)} has the best mean: {value}, n = {best.value.n_scored:,}."
    like = [one for one in found.values if one.place == "same"]
    if not like:
        return [head, _no_like(found)]
    smallest = min(like, key=_index_size)
    names = ", ".join(markdown_text(one.cell.run.name) for one in like[:6])
    more = f" and {len(like) - 6} more" if len(like) > 6 else ""
    lines = [head, f"A paired test cannot tell it from {names}{more}."]
    if _index_size(smallest) < _index_size(best):
        lines.append(f"Of these, {_cell_name(smallest.cell)} has the smallest index.")
    return lines


def _no_best(found: Standings) -> str:
    if found.n_left_out and not found.n_questions:
        return "The cells share no question that has a value, so none can be held against another."
    if any(one.place == "no direction" for one in found.values):
        return f"{markdown_text(title_of(found.metric))} has no direction: no cell is better than another."
    return "No cell has a value for this metric."


def _no_like(found: Standings) -> str:
    places = {one.place for one in found.values}
    if "worse" not in places:
        return "No other cell has a value for this metric."
    which = "Every other cell that has a value" if "not measured" in places else "Every other cell"
    return f"{which} is worse by a paired test."


def _index_size(one: CellValue) -> tuple[float, float]:
    """Tokens in the index, then chunks; what was not recorded counts as large."""
    config = one.cell.run.config
    tokens, chunks = (config.get(name) for name in ("index_tokens", "n_chunks"))
    return (
        float(tokens) if isinstance(tokens, int | float) else float("inf"),
        float(chunks) if isinstance(chunks, int | float) else float("inf"),
    )


def _cell_name(cell: Cell) -> str:
    return f"**{markdown_text(cell.run.name)}**"


def alike(cells: Sequence[Cell]) -> str:
    """Say that strategies gave the same chunks, and why where it is plain."""
    *most, last = (_cell_name(cell) for cell in cells)
    said = (
        f"{', '.join(most)} and {last} are the same here: as many chunks, the same values for every question"
    )
    cut_at = {cell.strategy for cell in cells}
    why = "; heading cuts as paragraph does where a corpus has no headings"
    return f"{said}{why if cut_at >= {'heading', 'paragraph'} else ''}."


def legend(found: Standings) -> str:
    """Explain the marks of the planes; the best cell may stand outside them."""
    if found.best is not None and found.best.cell.run.run_id not in found.plane:
        name = markdown_text(found.best.cell.run.name)
        return f"{PLACE_MARKS['same']} not distinguishable from the best, {name}, which is not on this map"
    return (
        f"{PLACE_MARKS['best']} best mean, {PLACE_MARKS['same']} not distinguishable from it (outlined too)"
    )


def other_cuts(cells: Sequence[CellValue]) -> str:
    """Name the cells beside the plane of size and overlap."""
    known = {one.cell.strategy for one in cells} <= set(STRATEGIES)
    return "Cut along the text itself" if known else "Cut in other ways"
