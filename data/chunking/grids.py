"""Grids of chunkings among the runs of a project."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from data.store.run_config import flat_settings, setting_text
from data.store.workspace import Run

__all__ = ["BOOKKEEPING", "Grid", "GridTrial", "grids_of"]

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
BARE_OVERLAP = (
    "overlap"  # of chunks only where it stands by itself; inside another part it is that part's own
)
HEADINGS = "chunk_headings"
FIXED = frozenset({"fixed", "fixed size", "fixed_size", "fixed-size"})
BOOKKEEPING = frozenset(
    {"grid", "grid_title", "n_chunks", "index_characters", "index_tokens", "pipeline", "name", "match"}
)


@dataclass(frozen=True)
class GridTrial:
    """One way of chunking that was tried.

    Attributes:
        run: its run.
        strategy: "fixed", or the content-aware one.
        size: chunk size in the grid's unit.
        overlap: overlap in the grid's unit; None where it was not recorded.
        headings: whether title and headings were indexed with the text.
        rest: the settings of the run that say nothing of its chunking, by path, as text.
    """

    run: Run
    strategy: str
    size: int
    overlap: int | None
    headings: bool = False
    rest: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int, int, bool]:
        """What tells it from the other cells of a grid."""
        return self.strategy, self.size, -1 if self.overlap is None else self.overlap, self.headings

    @property
    def cut(self) -> tuple[str, bool]:
        """How it cuts, apart from size and overlap."""
        return self.strategy, self.headings


@dataclass(frozen=True)
class Grid:
    """Cells that differ in their chunking alone, as far as is known.

    Attributes:
        key: names it in the address.
        title: names it for people.
        unit: what sizes count, "" where not recorded.
        cells: in the order of strategy, size and overlap.
        notes: what the reader should know.
    """

    key: str
    title: str
    unit: str
    cells: tuple[GridTrial, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def plane_cut(self) -> tuple[str, bool]:
        """What the plane of size and overlap holds: fixed chunks, or else the commonest way to cut."""
        places: dict[tuple[str, bool], set[tuple[int, int]]] = {cell.cut: set() for cell in self.cells}
        for cell in self.cells:
            if cell.overlap is not None:
                places[cell.cut].add((cell.size, cell.overlap))
        return max(places, key=lambda cut: (len(places[cut]), cut[0] == "fixed", not cut[1]))

    @property
    def fixed(self) -> tuple[GridTrial, ...]:
        """The cells of the plane of size and overlap; where several stand at one place, the newest."""
        there = {
            (cell.size, cell.overlap): cell.run.run_id
            for cell in sorted(self.cells, key=lambda cell: (cell.run.created_at, cell.run.imported_at))
            if cell.cut == self.plane_cut and cell.overlap is not None
        }
        return tuple(cell for cell in self.cells if cell.run.run_id in there.values())

    @property
    def newest(self) -> tuple[datetime, datetime]:
        """When the newest cell was made and imported."""
        return max((cell.run.created_at, cell.run.imported_at) for cell in self.cells)

    @property
    def settings(self) -> dict[str, str]:
        """The settings beside the chunking that all cells share."""
        first, *others = (cell.rest for cell in self.cells)
        return {key: value for key, value in first.items() if all(one.get(key) == value for one in others)}

    @property
    def sizes(self) -> list[int]:
        """Sizes of the plane, ascending."""
        return sorted({cell.size for cell in self.fixed})

    @property
    def overlaps(self) -> list[int]:
        """Overlaps of the plane, ascending."""
        return sorted({cell.overlap for cell in self.fixed if cell.overlap is not None})


def grids_of(runs: Iterable[Run]) -> list[Grid]:
    """Find the grids among runs: those made here by their key, others by the sizes in their configuration.

    Runs from outside belong together when the rest of their configuration is the same; what is left over is
    joined by data set, with a note of what else differs. The newest run stands for a cell.
    """
    here: dict[str, list[GridTrial]] = defaultdict(list)
    outside: dict[tuple[str, str], list[GridTrial]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.created_at, run.imported_at)):
        cell = _cell(run)
        if cell is not None and run.config.get("grid"):
            here[str(run.config["grid"])].append(cell)
        elif cell is not None:
            outside[run.dataset, _text(cell.rest)].append(cell)
    found = [
        _grid(key, str(cells[-1].run.config.get("grid_title") or key), cells) for key, cells in here.items()
    ]
    return found + _outside_grids(outside)


def _outside_grids(groups: Mapping[tuple[str, str], list[GridTrial]]) -> list[Grid]:
    """Make grids of like runs, and one a data set of the runs that are like no other."""
    joined: dict[tuple[str, str], list[GridTrial]] = {}
    left = defaultdict[tuple[str, str], list[GridTrial]](list)
    for (dataset, rest), cells in groups.items():
        if len({cell.key for cell in cells}) > 1:
            joined[dataset, rest] = cells
        else:
            left[dataset, ""] += cells
    several = {place: cells for place, cells in left.items() if len({cell.key for cell in cells}) > 1}
    return [
        _grid(_key(place), f"{place[0] or cells[0].run.project} (imported)", cells)
        for place, cells in {**joined, **several}.items()
    ]


def _key(place: tuple[str, str]) -> str:
    """Name a grid from outside by what its cells share, so that a link goes on to mean it."""
    return f"outside-{hashlib.sha256(json.dumps(place).encode()).hexdigest()[:12]}"


def _grid(key: str, title: str, cells: Sequence[GridTrial]) -> Grid:
    newest = {(*one.key, _text(one.rest)): one for one in cells}
    order = sorted(newest.values(), key=lambda one: (one.strategy != "fixed", *one.key))
    differing = _differing(order)
    notes = (
        f"older runs of cells that were run again are left out: {len(cells) - len(newest)}"
        if len(newest) < len(cells)
        else "",
        f"the cells differ in {', '.join(differing)} too, not in their chunking alone" if differing else "",
        "some cells are cut alike and differ in these settings alone: the map shows the newest of each"
        if len({one.key for one in order}) < len(order)
        else "",
    )
    unit = str(order[0].run.config.get("chunk_unit", ""))
    return Grid(key, title, unit, tuple(order), tuple(filter(None, notes)))


def _differing(cells: Sequence[GridTrial]) -> list[str]:
    """Name the settings beside the chunking in which the cells differ."""
    keys = sorted({key for one in cells for key in one.rest})
    return [key for key in keys if len({one.rest.get(key) for one in cells}) > 1]


def _cell(run: Run) -> GridTrial | None:
    config = {path.lower(): value for path, value in flat_settings(run.config).items()}
    size, said_size = _read(config, SIZE_KEYS, _whole)
    overlap, said_overlap = _read(config, OVERLAP_KEYS, _whole, (BARE_OVERLAP,))
    strategy, said_strategy = _read(config, STRATEGY_KEYS, _strategy)
    headings, said_headings = _read(config, (), _flag, (HEADINGS,))
    if size is None:
        return None
    left_out = BOOKKEEPING | said_size | said_overlap | said_strategy | said_headings
    rest = {path: setting_text(value) for path, value in config.items() if path not in left_out}
    return GridTrial(run, strategy or "fixed", size, overlap, headings is True, rest)


def _read(
    config: Mapping[str, Any],
    keys: Sequence[str],
    reader: Callable[[Any], T | None],
    bare: Sequence[str] = (),
) -> tuple[T | None, set[str]]:
    """Read one kind of setting: its first value, and the paths that say so.

    Args:
        config: flat settings.
        keys: how their paths may end.
        reader: gives the value; None where there is none.
        bare: paths that count as a whole alone.
    """
    found = {
        path: reader(value)
        for path, value in config.items()
        if path in bare or any(path == key or path.endswith(f".{key}") for key in keys)
    }
    value = next((one for one in found.values() if one is not None), None)
    return value, {path for path, one in found.items() if one is not None and one == value}


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip().removesuffix(".0")
    return int(text) if text.isdecimal() else None


def _strategy(value: Any) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return None
    return "fixed" if value.strip().lower() in FIXED else value.strip()


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(settings: Mapping[str, str]) -> str:
    return json.dumps(settings, sort_keys=True)
