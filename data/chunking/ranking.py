"""The ranking of a grid's configurations against the best of them, and the marginal effect of each axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ragtriage.data.chunking.grids import Grid, GridTrial
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.metric_registry import bounds_of, declared, ordered
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import Interval, interval
from ragtriage.metrics.statistics.max_t import FamilyTest, cluster_sums, max_t
from ragtriage.metrics.statistics.paired import SIGNIFICANCE, PairedDifference, paired
from ragtriage.metrics.statistics.question_means import question_means

Outcome = Literal["best", "same", "worse", "equal", "no direction", "not measured"]


@dataclass(frozen=True)
class TrialValue:
    """One configuration under one metric."""

    trial: GridTrial  # the configuration
    value: Interval | None  # mean over the shared questions with its interval; None where there is none
    # to the best one, paired on question, with its interval by itself; None for the best, and where there is
    # no best
    difference: PairedDifference | None
    # of that difference, after step-down max-T over the configurations; None where there is none. The outcome
    # rests on its interval: 0 lies outside where the outcome is "worse"
    test: FamilyTest | None
    # "best", "same" where the test cannot tell it from the best, "worse", "equal" where all have the same
    # mean and none is the best, "no direction" where neither more nor less of the metric is better, or "not
    # measured"
    outcome: Outcome


@dataclass(frozen=True)
class MarginalEffect:
    """The mean of a metric along one axis, the other axis averaged out."""

    axis: str  # "size" or "overlap"
    points: tuple[tuple[int, Interval], ...]  # (value on the axis, mean with interval), ascending
    over: tuple[int, ...]  # values of the other axis that every point has, over which the mean is taken
    left_out: tuple[int, ...]  # values of the other axis that some point lacks


@dataclass(frozen=True)
class GridRanking:
    """All configurations of a grid under one metric."""

    metric: str  # full name
    values: tuple[TrialValue, ...]  # one entry per configuration, in the order of the grid
    n_questions: int  # questions that all configurations with a value share
    n_left_out: int  # questions that some of them lacks
    # of size and of overlap; each needs two values that share one of the other axis
    marginal_effects: tuple[MarginalEffect, ...]
    heatmap: frozenset[str]  # run ids of the configurations on the heatmap of size and overlap

    @property
    def best(self) -> TrialValue | None:
        """The best configuration, if they share a question, differ, and the metric has a direction."""
        return next((entry for entry in self.values if entry.outcome == "best"), None)

    def at(self, size: int, overlap: int) -> TrialValue | None:
        """Find a configuration on the heatmap; None where none was run."""
        for entry in self.values:
            trial = entry.trial
            if trial.run.run_id in self.heatmap and (trial.size, trial.overlap) == (size, overlap):
                return entry
        return None


def grid_metrics(scored_runs: Sequence[ScoredRun]) -> list[str]:
    """List the metrics of which some configuration has a value, in the registry's order."""
    names = {name for scored in scored_runs for name in scored.metrics if scored.has_values(name)}
    return ordered(tuple(names))


def rank_trials(grid: Grid, scored_runs: Sequence[ScoredRun], metric: str) -> GridRanking:
    """Compare the configurations of a grid with the best of them under a metric.

    The best has the best mean over the questions that all configurations with a value share. It is chosen on
    the same questions that it is compared on, so its own mean is a little too good. The scored runs are in
    the grid's order.
    """
    with_values = [place for place, scored in enumerate(scored_runs) if scored.has_values(metric)]
    on_heatmap = frozenset(trial.run.run_id for trial in grid.heatmap_trials)
    entries = [TrialValue(trial, None, None, None, "not measured") for trial in grid.trials]
    if not with_values:
        return GridRanking(metric, tuple(entries), 0, 0, (), on_heatmap)
    means, clusters, left_out = _by_question([scored_runs[place] for place in with_values], metric)
    if not len(means):
        return GridRanking(metric, tuple(entries), 0, left_out, (), on_heatmap)
    trials = [grid.trials[place] for place in with_values]
    for place, entry in zip(with_values, _entries(trials, means, clusters, metric), strict=True):
        entries[place] = entry
    means_of = {trial.run.run_id: means[:, column] for column, trial in enumerate(trials)}
    effects = _marginal_effects(grid, means_of, clusters, metric)
    return GridRanking(metric, tuple(entries), len(means), left_out, effects, on_heatmap)


def _by_question(scored_runs: Sequence[ScoredRun], metric: str) -> tuple[FloatArray, Any, int]:
    """Return (q, trials) means of the shared questions, their clusters, and how many are left out."""
    means = [_means(scored, metric) for scored in scored_runs]
    rows = [
        {str(name): row for row, name in enumerate(scored.question_ids) if np.isfinite(values[row])}
        for scored, values in zip(scored_runs, means, strict=True)
    ]
    shared = sorted(set(rows[0]).intersection(*rows[1:]))
    n_questions = len(set(rows[0]).union(*rows[1:]))
    columns = [values[[row_of[name] for name in shared]] for values, row_of in zip(means, rows, strict=True)]
    clusters = scored_runs[0].clusters[[rows[0][name] for name in shared]]
    return np.column_stack(columns), clusters, n_questions - len(shared)


def _means(scored: ScoredRun, metric: str) -> FloatArray:
    return question_means(scored.values(metric), scored.question)[0]


def _interval(means: FloatArray, clusters: Any, metric: str) -> Interval:
    """Return the mean over questions with its interval, by the method that the run's own summary takes."""
    binary = bool(np.isin(means, (0.0, 1.0)).all())
    return interval(means, clusters, len(means), binary, bounds=bounds_of(metric))


def _entries(trials: Sequence[GridTrial], means: FloatArray, clusters: Any, metric: str) -> list[TrialValue]:
    """Compare each trial with the best of them; (q, trials) means."""
    intervals = [_interval(column, clusters, metric) for column in means.T]
    definition = declared(metric)
    higher = None if definition is None else definition.higher_is_better
    if higher is None:
        return [
            TrialValue(trial, value, None, None, "no direction")
            for trial, value in zip(trials, intervals, strict=True)
        ]
    if len(trials) > 1 and np.allclose(means.mean(axis=0), means[:, 0].mean(), rtol=0, atol=1e-12):
        return [
            TrialValue(trial, value, None, None, "equal")
            for trial, value in zip(trials, intervals, strict=True)
        ]
    best = int(np.argmax(means.mean(axis=0) if higher else -means.mean(axis=0)))
    bounds = bounds_of(metric)
    differences = {
        place: paired(means[:, best], column, clusters, 0, higher, bounds)
        for place, column in enumerate(means.T)
        if place != best
    }
    family = [
        cluster_sums(means[:, place] - means[:, best], clusters, bounds, difference)
        for place, difference in differences.items()
    ]
    tests = dict(zip(differences, max_t(family), strict=True))
    # No trial has a better mean than the best, so a significant difference is a loss.
    outcomes: dict[int, Outcome] = {
        place: "worse" if test.p < SIGNIFICANCE else "same" for place, test in tests.items()
    }
    return [
        TrialValue(trial, value, differences.get(place), tests.get(place), outcomes.get(place, "best"))
        for place, (trial, value) in enumerate(zip(trials, intervals, strict=True))
    ]


def _marginal_effects(
    grid: Grid, means_of: Mapping[str, FloatArray], clusters: Any, metric: str
) -> tuple[MarginalEffect, ...]:
    by_size = {
        (trial.size, trial.overlap): means_of[trial.run.run_id]
        for trial in grid.heatmap_trials
        if trial.run.run_id in means_of and trial.overlap is not None
    }
    by_overlap = {(overlap, size): means for (size, overlap), means in by_size.items()}
    effects = [
        _marginal_effect("size", by_size, clusters, metric),
        _marginal_effect("overlap", by_overlap, clusters, metric),
    ]
    return tuple(effect for effect in effects if len(effect.points) > 1)


def _marginal_effect(
    axis: str, means_at: Mapping[tuple[int, int], FloatArray], clusters: Any, metric: str
) -> MarginalEffect:
    """Average over those values of the other axis that every value of this one has."""
    own, other = (sorted({place[side] for place in means_at}) for side in (0, 1))
    over = tuple(value for value in other if all((at, value) in means_at for at in own))
    points = []
    for at in own if over else ():
        means = np.mean([means_at[at, value] for value in over], axis=0)
        points.append((at, _interval(means, clusters, metric)))
    return MarginalEffect(axis, tuple(points), over, tuple(value for value in other if value not in over))


def same_chunks(grid: Grid, scored_runs: Sequence[ScoredRun]) -> list[tuple[GridTrial, ...]]:
    """Find trials of several strategies with the same chunks: as many, the same values for every question.

    The scored runs are in the grid's order.
    """
    groups: list[list[tuple[GridTrial, ScoredRun]]] = []
    for trial, scored in zip(grid.trials, scored_runs, strict=True):
        group = next((group for group in groups if _same_chunks(*group[0], trial, scored)), None)
        if group is None:
            groups.append([(trial, scored)])
        else:
            group.append((trial, scored))
    alike = [tuple(trial for trial, _ in group) for group in groups]
    return [trials for trials in alike if len({trial.strategy for trial in trials}) > 1]


def _same_chunks(trial: GridTrial, scored: ScoredRun, other: GridTrial, other_scored: ScoredRun) -> bool:
    n_chunks = trial.run.config.get("n_chunks")
    if trial.headings != other.headings or n_chunks is None or n_chunks != other.run.config.get("n_chunks"):
        return False
    if not np.array_equal(scored.question_ids, other_scored.question_ids):
        return False
    shares = [name for name in grid_metrics([scored, other_scored]) if bounds_of(name) == (0.0, 1.0)]
    return bool(shares) and all(
        np.array_equal(_means(scored, name), _means(other_scored, name), equal_nan=True) for name in shares
    )
