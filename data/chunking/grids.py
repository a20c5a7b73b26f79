"""The grids of a project, the ranking of their configurations, and the marginal effect of each axis."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run, flat_settings, setting_text
from ragtriage.metrics.metric_registry import bounds_of, declared, ordered
from ragtriage.metrics.schema.metric import whole_number
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import Interval, interval, question_means
from ragtriage.metrics.statistics.max_t import FamilyTest, cluster_sums, max_t
from ragtriage.metrics.statistics.paired import SIGNIFICANCE, PairedDifference, paired

T = TypeVar("T", int, str, bool)

SIZE_KEYS = ("chunk_size", "chunksize", "size_of_chunk", "chunk_length", "chunking.size", "chunk.size")
OVERLAP_KEYS = ("chunk_overlap", "chunkoverlap", "chunking.overlap", "chunk.overlap")
STRATEGY_KEYS = (
    "chunking",
    "chunking.strategy",
    "chunk_strategy",
    "chunking_strategy",
    "chunker",
    "splitter",
)
BARE_OVERLAP = "overlap"  # of chunks only at the top level; inside another section it is that section's own
HEADINGS = "chunk_headings"
FIXED = frozenset({"fixed", "fixed size", "fixed_size", "fixed-size"})
BOOKKEEPING = frozenset(
    {
        *("grid", "grid_title", "n_chunks", "index_characters", "index_tokens", "pipeline", "name", "match"),
        *("known_by", "step", "n_questions", "source"),  # of a run that is known by its means
    }
)


@dataclass(frozen=True)
class GridTrial:
    """One configuration of a grid that was run."""

    run: Run
    strategy: str  # "fixed", or the content-aware one
    size: int  # chunk size in the grid's unit
    overlap: int | None  # overlap in the grid's unit; None where it was not recorded
    headings: bool = False  # whether title and headings were indexed with the text
    # the settings of the run that are not about its chunking, by path, as text
    other_settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int, int, bool]:
        """The chunking, which tells it from the other trials of a grid."""
        return self.strategy, self.size, -1 if self.overlap is None else self.overlap, self.headings

    @property
    def method(self) -> tuple[str, bool]:
        """How it splits, apart from size and overlap."""
        return self.strategy, self.headings


@dataclass(frozen=True)
class Grid:
    """Trials that differ in their chunking alone, as far as is known."""

    key: str  # identifies it in the address
    title: str  # shown to the reader
    unit: str  # what sizes count, "" where not recorded
    trials: tuple[GridTrial, ...]  # in the order of strategy, size and overlap
    notes: tuple[str, ...] = ()  # what the reader should know

    @property
    def cache_key(self) -> tuple[str, ...]:
        """The key of the grid and its trials."""
        return self.key, *(trial.run.run_id for trial in self.trials)

    @property
    def means_alone(self) -> bool:
        """Whether its runs are known by their means alone, as from a printed table."""
        return any(trial.run.means for trial in self.trials)

    @cached_property
    def heatmap_method(self) -> tuple[str, bool]:
        """The method on the heatmap of size and overlap: the one with most places, fixed chunks if equal."""
        places: dict[tuple[str, bool], set[tuple[int, int]]] = {trial.method: set() for trial in self.trials}
        for trial in self.trials:
            if trial.overlap is not None:
                places[trial.method].add((trial.size, trial.overlap))
        return max(places, key=lambda method: (len(places[method]), method[0] == "fixed", not method[1]))

    @property
    def heatmap_trials(self) -> tuple[GridTrial, ...]:
        """The trials on the heatmap of size and overlap; of several at one place, the newest."""
        newest = {
            (trial.size, trial.overlap): trial.run.run_id
            for trial in sorted(self.trials, key=lambda trial: (trial.run.created_at, trial.run.imported_at))
            if trial.method == self.heatmap_method and trial.overlap is not None
        }
        return tuple(trial for trial in self.trials if trial.run.run_id in newest.values())

    @property
    def newest(self) -> tuple[datetime, datetime]:
        """When the newest trial was made and imported."""
        return max((trial.run.created_at, trial.run.imported_at) for trial in self.trials)

    @property
    def shared_settings(self) -> dict[str, str]:
        """The settings besides the chunking that all trials share."""
        first, *others = (trial.other_settings for trial in self.trials)
        return {
            key: value for key, value in first.items() if all(other.get(key) == value for other in others)
        }

    @property
    def sizes(self) -> list[int]:
        """Sizes on the heatmap, ascending."""
        return sorted({trial.size for trial in self.heatmap_trials})

    @property
    def overlaps(self) -> list[int]:
        """Overlaps on the heatmap, ascending."""
        return sorted({trial.overlap for trial in self.heatmap_trials if trial.overlap is not None})


def grids_of(runs: Iterable[Run]) -> list[Grid]:
    """Find the grids among runs: those made here by their key, others by the sizes in their configuration.

    Imported runs belong together when the rest of their configuration is the same; what is left over is
    joined by data set, with a note of what else differs, unless a grid was made here. The newest run of a
    configuration counts.
    """
    runs = list(runs)
    if any(run.means for run in runs) and not all(run.means for run in runs):  # they share no question
        return [
            grid for alone in (False, True) for grid in grids_of(r for r in runs if bool(r.means) == alone)
        ]
    made_here: dict[str, list[GridTrial]] = defaultdict(list)
    imported: dict[tuple[str, str], list[GridTrial]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.created_at, run.imported_at)):
        trial = _trial(run)
        if trial is not None and run.config.get("grid"):
            made_here[str(run.config["grid"])].append(trial)
        elif trial is not None:
            imported[run.dataset, _text(trial.other_settings)].append(trial)
    grids = [
        _grid(key, str(trials[-1].run.config.get("grid_title") or key), trials)
        for key, trials in made_here.items()
    ]
    return grids + _imported_grids(imported, join_left_over=not grids)


def _imported_grids(groups: Mapping[tuple[str, str], list[GridTrial]], join_left_over: bool) -> list[Grid]:
    """Make a grid of each group with several chunkings, and maybe one per data set of the runs left over."""
    joined: dict[tuple[str, str], list[GridTrial]] = {}
    left_over = defaultdict[tuple[str, str], list[GridTrial]](list)
    for (dataset, other_settings), trials in groups.items():
        if len({trial.key for trial in trials}) > 1:
            joined[dataset, other_settings] = trials
        elif join_left_over:
            left_over[dataset, ""] += trials
    joined |= {
        shared: trials for shared, trials in left_over.items() if len({trial.key for trial in trials}) > 1
    }
    # a key made of what the trials share, so that a link keeps its meaning
    return [
        _grid(
            f"outside-{hashlib.sha256(json.dumps(shared).encode()).hexdigest()[:12]}",
            f"{shared[0] or trials[0].run.project} (imported)",
            trials,
        )
        for shared, trials in joined.items()
    ]


def _grid(key: str, title: str, trials: Sequence[GridTrial]) -> Grid:
    newest = {(*trial.key, _text(trial.other_settings)): trial for trial in trials}
    order = sorted(newest.values(), key=lambda trial: (trial.strategy != "fixed", *trial.key))
    names = sorted({name for trial in order for name in trial.other_settings})
    differing = [name for name in names if len({trial.other_settings.get(name) for trial in order}) > 1]
    notes = (
        f"older runs of configurations that were run again are left out: {len(trials) - len(newest)}"
        if len(newest) < len(trials)
        else "",
        f"the configurations differ in {', '.join(differing)} too, not in their chunking alone"
        if differing
        else "",
        "some configurations have the same chunking and differ in these settings alone: the map shows the "
        "newest of each"
        if len({trial.key for trial in order}) < len(order)
        else "",
    )
    unit = str(order[0].run.config.get("chunk_unit", ""))
    return Grid(key, title, unit, tuple(order), tuple(filter(None, notes)))


def _trial(run: Run) -> GridTrial | None:
    config = {path.lower(): value for path, value in flat_settings(run.config).items()}
    size, size_paths = _read(config, SIZE_KEYS, _whole_number)
    overlap, overlap_paths = _read(config, OVERLAP_KEYS, _whole_number, (BARE_OVERLAP,))
    strategy, strategy_paths = _read(config, STRATEGY_KEYS, _strategy)
    headings, headings_paths = _read(
        config, (), lambda value: value if isinstance(value, bool) else None, (HEADINGS,)
    )
    if size is None:
        return None
    left_out = BOOKKEEPING | size_paths | overlap_paths | strategy_paths | headings_paths
    others = {path: setting_text(value) for path, value in config.items() if path not in left_out}
    return GridTrial(run, strategy or "fixed", size, overlap, headings is True, others)


def _read(
    config: Mapping[str, Any],
    keys: Sequence[str],
    reader: Callable[[Any], T | None],
    bare: Sequence[str] = (),
) -> tuple[T | None, set[str]]:
    """Return the first value of a kind of setting, and the paths that have that value.

    Keys are how paths may end; `bare` are paths that count as a whole alone.
    """
    values = {
        path: reader(value)
        for path, value in config.items()
        if path in bare or any(path == key or path.endswith(f".{key}") for key in keys)
    }
    first = next((value for value in values.values() if value is not None), None)
    return first, {path for path, value in values.items() if value is not None and value == first}


def _whole_number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip().removesuffix(".0")
    return whole_number(text)


def _strategy(value: Any) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return None
    return "fixed" if value.strip().lower() in FIXED else value.strip()


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(settings: Mapping[str, str]) -> str:
    return json.dumps(settings, sort_keys=True)


Outcome = Literal["best", "same", "worse", "equal", "no direction", "mean alone", "not measured"]


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
    # mean and none is the best, "no direction" where neither more nor less of the metric is better, "mean
    # alone" where no samples say how sure it is, or "not measured"
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
    the same questions that it is compared on, so its own mean is slightly optimistic. The scored runs are in
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


def rank_means(grid: Grid, metric: str) -> GridRanking:
    """Return the configurations of a grid that is known by its means: no interval, and none is the best."""
    entries = []
    for trial in grid.trials:
        mean, n = trial.run.means.get(metric), trial.run.n_questions
        value = None if mean is None else Interval(mean, np.nan, np.nan, n, n, n, "none", True)
        entries.append(
            TrialValue(trial, value, None, None, "not measured" if value is None else "mean alone")
        )
    n_questions = min((trial.run.n_questions for trial in grid.trials), default=0)
    on_heatmap = frozenset(trial.run.run_id for trial in grid.heatmap_trials)
    return GridRanking(metric, tuple(entries), n_questions, 0, (), on_heatmap)


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
