"""The grids among the runs of a project: configurations that differ in their chunking."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from ragtriage.data.store.workspace import Run, flat_settings, setting_text
from ragtriage.metrics.schema.whole_number import whole_number

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
    {"grid", "grid_title", "n_chunks", "index_characters", "index_tokens", "pipeline", "name", "match"}
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
