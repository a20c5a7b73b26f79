"""How the cells of a grid stand to the best of them, and what each axis does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from data.chunking.grids import Grid, GridTrial
from data.scoring.scored_run import ScoredRun
from metrics.metric_registry import bounds_of, declared, ordered
from metrics.schema.scores import FloatArray
from metrics.statistics.intervals import Interval, interval, question_means
from metrics.statistics.paired import PairedDifference, holm, paired

__all__ = [
    "GridRanking",
    "MarginalEffect",
    "Outcome",
    "TrialValue",
    "grid_metrics",
    "rank_trials",
    "same_chunks",
]

Outcome = Literal["best", "same", "worse", "no direction", "not measured"]
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class TrialValue:
    """One cell under one metric.

    Attributes:
        cell: the cell.
        value: mean over the shared questions with its interval; None where there is none.
        difference: to the best cell, paired on question; None for the best, and where there is no best.
        adjusted_p: of that difference, after Holm's correction over the cells.
        place: "best", "same" where the test cannot tell it from the best, "worse", "no direction" where
            neither more nor less of the metric is better, or "not measured".
    """

    cell: GridTrial
    value: Interval | None
    difference: PairedDifference | None
    adjusted_p: float
    outcome: Outcome


@dataclass(frozen=True)
class MarginalEffect:
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
class GridRanking:
    """All cells of a grid under one metric.

    Attributes:
        metric: full name.
        values: one entry a cell, in the order of the grid.
        n_questions: questions that all measured cells share.
        n_left_out: questions that some cell lacks.
        margins: over size and over overlap; of each axis that has two values which share one of the other.
        plane: run ids of the cells of the plane of size and overlap.
    """

    metric: str
    values: tuple[TrialValue, ...]
    n_questions: int
    n_left_out: int
    marginal_effects: tuple[MarginalEffect, ...]
    heatmap: frozenset[str]

    @property
    def best(self) -> TrialValue | None:
        """The best cell, if the cells share a question and the metric has a direction."""
        return next((one for one in self.values if one.outcome == "best"), None)

    def at(self, size: int, overlap: int) -> TrialValue | None:
        """Find a cell of the plane; None where none was run."""
        for one in self.values:
            if one.cell.run.run_id in self.heatmap and (one.cell.size, one.cell.overlap) == (size, overlap):
                return one
        return None


def grid_metrics(scored_runs: Sequence[ScoredRun]) -> list[str]:
    """List the metrics of which some cell has a value, in the registry's order."""
    names = {
        name for scored in scored_runs for name in scored.metrics if np.isfinite(scored.values(name)).any()
    }
    return ordered(tuple(names))


def rank_trials(grid: Grid, scored_runs: Sequence[ScoredRun], metric: str) -> GridRanking:
    """Compare the cells of a grid with the best of them under a metric.

    The best is the cell with the best mean over the questions that all measured cells share. It is chosen on
    the same questions that it is compared on, so its own mean is a little too good.

    Args:
        grid: the grid.
        scored_runs: the scored run of each cell, in the grid's order.
        metric: full name.
    """
    measured = [at for at, scored in enumerate(scored_runs) if np.isfinite(scored.values(metric)).any()]
    plane = frozenset(cell.run.run_id for cell in grid.fixed)
    nothing = [TrialValue(cell, None, None, np.nan, "not measured") for cell in grid.cells]
    if not measured:
        return GridRanking(metric, tuple(nothing), 0, 0, (), plane)
    values, clusters, left_out = _by_question([scored_runs[at] for at in measured], metric)
    if not len(values):
        return GridRanking(metric, tuple(nothing), 0, left_out, (), plane)
    there = _entries([grid.cells[at] for at in measured], values, clusters, metric)
    placed = dict(zip(measured, there, strict=True))
    entries = tuple(placed.get(at, one) for at, one in enumerate(nothing))
    of_cell = {grid.cells[at].run.run_id: values[:, c] for c, at in enumerate(measured)}
    return GridRanking(
        metric, entries, len(values), left_out, _margins(grid, of_cell, clusters, metric), plane
    )


def _entries(cells: Sequence[GridTrial], values: FloatArray, clusters: Any, metric: str) -> list[TrialValue]:
    """Hold each measured cell against the best of them; (q, cells) values."""
    spans = [interval(column, clusters, len(column), bounds=bounds_of(metric)) for column in values.T]
    found = declared(metric)
    higher = None if found is None else found.higher_is_better
    if higher is None:
        return [
            TrialValue(cell, span, None, np.nan, "no direction")
            for cell, span in zip(cells, spans, strict=True)
        ]
    best = int(np.argmax(values.mean(axis=0) if higher else -values.mean(axis=0)))
    tests = [
        None if at == best else paired(values[:, best], column, clusters, 0, higher, bounds_of(metric))
        for at, column in enumerate(values.T)
    ]
    adjusted = holm([np.nan if one is None else one.p for one in tests])
    return [
        TrialValue(cell, spans[at], tests[at], float(adjusted[at]), _place(at == best, adjusted[at]))
        for at, cell in enumerate(cells)
    ]


def _place(best: bool, p: float) -> Outcome:
    """Say where a cell stands; none has a better mean than the best, so that a sure difference is a loss."""
    if best:
        return "best"
    return "worse" if p < SIGNIFICANCE else "same"


def _by_question(scored_runs: Sequence[ScoredRun], metric: str) -> tuple[FloatArray, Any, int]:
    """Give (q, cells) means of the questions that every cell has, their clusters, and the number left out."""
    per_table = []
    for scored in scored_runs:
        means = _means(scored, metric)
        per_table.append(
            {str(name): at for at, name in enumerate(scored.question_ids) if np.isfinite(means[at])}
        )
    shared = sorted(set(per_table[0]).intersection(*per_table[1:]))
    every = set(per_table[0]).union(*per_table[1:])
    columns = []
    for scored, places in zip(scored_runs, per_table, strict=True):
        means = _means(scored, metric)
        columns.append(means[[places[name] for name in shared]])
    first = scored_runs[0]
    clusters = first.clusters[[per_table[0][name] for name in shared]]
    return np.column_stack(columns), clusters, len(every) - len(shared)


def _margins(
    grid: Grid, of_cell: Mapping[str, FloatArray], clusters: Any, metric: str
) -> tuple[MarginalEffect, ...]:
    plane = {
        (cell.size, cell.overlap): of_cell[cell.run.run_id]
        for cell in grid.fixed
        if cell.run.run_id in of_cell and cell.overlap is not None
    }
    sizes, overlaps = (sorted({place[axis] for place in plane}) for axis in (0, 1))
    by_overlap = {(overlap, size): values for (size, overlap), values in plane.items()}
    margins = [
        _margin("size", sizes, overlaps, plane, clusters, metric),
        _margin("overlap", overlaps, sizes, by_overlap, clusters, metric),
    ]
    return tuple(one for one in margins if len(one.points) > 1)


def _margin(
    axis: str,
    along: Sequence[int],
    other: Sequence[int],
    plane: Mapping[tuple[int, int], FloatArray],
    clusters: Any,
    metric: str,
) -> MarginalEffect:
    """Average over those values of the other axis that every point of this one has."""
    over = tuple(one for one in other if all((at, one) in plane for at in along))
    points = []
    for at in along if over else ():
        values = np.mean([plane[at, one] for one in over], axis=0)
        points.append((at, interval(values, clusters, len(values), bounds=bounds_of(metric))))
    return MarginalEffect(axis, tuple(points), over, tuple(one for one in other if one not in over))


def same_chunks(grid: Grid, scored_runs: Sequence[ScoredRun]) -> list[tuple[GridTrial, ...]]:
    """Find cells of several strategies that cut alike: as many chunks, the same values for every question.

    Args:
        grid: the grid.
        scored_runs: the scored run of each cell, in the grid's order.
    """
    groups: list[list[tuple[GridTrial, ScoredRun]]] = []
    for one in zip(grid.cells, scored_runs, strict=True):
        group = next((group for group in groups if _alike(*group[0], *one)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    cells = [tuple(cell for cell, _ in group) for group in groups]
    return [group for group in cells if len({cell.strategy for cell in group}) > 1]


def _alike(one: GridTrial, left: ScoredRun, other: GridTrial, right: ScoredRun) -> bool:
    chunks = one.run.config.get("n_chunks")
    if one.headings != other.headings or chunks is None or chunks != other.run.config.get("n_chunks"):
        return False
    if not np.array_equal(left.question_ids, right.question_ids):
        return False
    names = [name for name in grid_metrics([left, right]) if bounds_of(name) == (0.0, 1.0)]
    return bool(names) and all(
        np.array_equal(_means(left, name), _means(right, name), equal_nan=True) for name in names
    )


def _means(scored: ScoredRun, metric: str) -> FloatArray:
    return question_means(scored.values(metric), scored.question)[0]
