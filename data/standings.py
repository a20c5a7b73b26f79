"""How the cells of a grid stand to the best of them, and what each axis does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from data.grids import Cell, Grid
from data.summaries import bounds_of, declared, ordered
from data.tables import RunTable
from metrics.comparison import PairedDifference, holm, paired
from metrics.statistics import Interval, interval, question_means
from metrics.values import FloatArray

__all__ = ["CellValue", "Margin", "Standings", "grid_metrics", "standings"]

Place = Literal["best", "same", "worse", "not measured"]
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class CellValue:
    """One cell under one metric.

    Attributes:
        cell: the cell.
        value: mean over the shared questions with its interval; None where the run has no value.
        difference: to the best cell, paired on question; None for the best and the not measured.
        adjusted_p: of that difference, after Holm's correction over the cells.
        place: "best", "same" where the test cannot tell it from the best, "worse", or "not measured".
    """

    cell: Cell
    value: Interval | None
    difference: PairedDifference | None
    adjusted_p: float
    place: Place


@dataclass(frozen=True)
class Margin:
    """The mean of a metric along one axis, the other axis averaged out.

    Attributes:
        axis: "size" or "overlap".
        points: (value on the axis, mean with interval), ascending.
        over: values of the other axis that every point has, over which the mean is taken.
        left_out: values of the other axis that some point lacks.
    """

    axis: str
    points: tuple[tuple[int, Interval], ...]
    over: tuple[int, ...]
    left_out: tuple[int, ...]


@dataclass(frozen=True)
class Standings:
    """All cells of a grid under one metric.

    Attributes:
        metric: full name.
        values: one entry a cell, in the order of the grid.
        n_questions: questions that all measured cells share.
        n_left_out: questions that some cell lacks.
        margins: over size and over overlap, where both axes have two values.
    """

    metric: str
    values: tuple[CellValue, ...]
    n_questions: int
    n_left_out: int
    margins: tuple[Margin, ...]

    @property
    def best(self) -> CellValue | None:
        """The best cell, if any is measured."""
        return next((one for one in self.values if one.place == "best"), None)

    def at(self, size: int, overlap: int) -> CellValue | None:
        """Find a cell of the plane; None where none was run."""
        for one in self.values:
            if one.cell.strategy == "fixed" and (one.cell.size, one.cell.overlap) == (size, overlap):
                return one
        return None


def grid_metrics(tables: Sequence[RunTable]) -> list[str]:
    """List the metrics of which some cell has a value, in the registry's order."""
    names = {name for table in tables for name in table.metrics if np.isfinite(table.values(name)).any()}
    return ordered(tuple(names))


def standings(grid: Grid, tables: Sequence[RunTable], metric: str) -> Standings:
    """Compare the cells of a grid with the best of them under a metric.

    The best is the fixed cell with the best mean, or the best of all where none of the plane is measured. It
    is chosen on the same questions that it is compared on, so its own mean is a little too good.

    Args:
        grid: the grid.
        tables: the scored run of each cell, in the grid's order.
        metric: full name.
    """
    measured = [at for at, table in enumerate(tables) if np.isfinite(table.values(metric)).any()]
    if not measured:
        empty = tuple(CellValue(cell, None, None, np.nan, "not measured") for cell in grid.cells)
        return Standings(metric, empty, 0, 0, ())
    values, clusters, left_out = _by_question([tables[at] for at in measured], metric)
    best = _best(grid, measured, values, metric)
    spans = [interval(column, clusters, len(column), bounds=bounds_of(metric)) for column in values.T]
    found = declared(metric)
    higher = None if found is None else found.higher_is_better
    tests = [
        None
        if column == best
        else paired(values[:, best], values[:, column], clusters, 0, higher, bounds_of(metric))
        for column in range(len(measured))
    ]
    adjusted = holm([np.nan if one is None else one.p for one in tests])
    places = {
        at: CellValue(
            grid.cells[at], spans[c], tests[c], float(adjusted[c]), _verdict(c == best, adjusted[c])
        )
        for c, at in enumerate(measured)
    }
    entries = tuple(
        places.get(at, CellValue(cell, None, None, np.nan, "not measured"))
        for at, cell in enumerate(grid.cells)
    )
    of_cell = {grid.cells[at].run.run_id: values[:, c] for c, at in enumerate(measured)}
    return Standings(metric, entries, len(values), left_out, _margins(grid, of_cell, clusters, metric))


def _verdict(best: bool, p: float) -> Place:
    if best:
        return "best"
    return "worse" if p < SIGNIFICANCE else "same"


def _by_question(tables: Sequence[RunTable], metric: str) -> tuple[FloatArray, Any, int]:
    """Give (q, cells) means of the questions that every cell has, their clusters, and the number left out."""
    per_table = []
    for table in tables:
        means, _ = question_means(table.values(metric), table.question)
        per_table.append(
            {str(name): at for at, name in enumerate(table.question_ids) if np.isfinite(means[at])}
        )
    shared = sorted(set(per_table[0]).intersection(*per_table[1:]))
    every = set(per_table[0]).union(*per_table[1:])
    columns = []
    for table, places in zip(tables, per_table, strict=True):
        means, _ = question_means(table.values(metric), table.question)
        columns.append(means[[places[name] for name in shared]])
    first = tables[0]
    clusters = first.clusters[[per_table[0][name] for name in shared]]
    return np.column_stack(columns), clusters, len(every) - len(shared)


def _best(grid: Grid, measured: Sequence[int], values: FloatArray, metric: str) -> int:
    found = declared(metric)
    sign = -1.0 if found is not None and found.higher_is_better is False else 1.0
    means = sign * values.mean(axis=0) if len(values) else np.zeros(len(measured))
    plane = np.array([grid.cells[at] in grid.fixed for at in measured])
    return int(np.argmax(np.where(plane | ~plane.any(), means, -np.inf)))


def _margins(grid: Grid, of_cell: Mapping[str, FloatArray], clusters: Any, metric: str) -> tuple[Margin, ...]:
    plane = {
        (cell.size, cell.overlap): of_cell[cell.run.run_id]
        for cell in grid.fixed
        if cell.run.run_id in of_cell and cell.overlap is not None
    }
    if len(grid.sizes) < 2 and len(grid.overlaps) < 2:
        return ()
    by_overlap = {(overlap, size): values for (size, overlap), values in plane.items()}
    margins = [
        _margin("size", grid.sizes, grid.overlaps, plane, clusters, metric),
        _margin("overlap", grid.overlaps, grid.sizes, by_overlap, clusters, metric),
    ]
    return tuple(one for one in margins if len(one.points) > 1)


def _margin(
    axis: str,
    along: Sequence[int],
    other: Sequence[int],
    plane: Mapping[tuple[int, int], FloatArray],
    clusters: Any,
    metric: str,
) -> Margin:
    """Average over those values of the other axis that every point of this one has."""
    over = tuple(one for one in other if all((at, one) in plane for at in along))
    points = []
    for at in along if over else ():
        values = np.mean([plane[at, one] for one in over], axis=0)
        points.append((at, interval(values, clusters, len(values), bounds=bounds_of(metric))))
    return Margin(axis, tuple(points), over, tuple(one for one in other if one not in over))
