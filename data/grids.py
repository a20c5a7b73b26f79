"""Grids of chunkings among the runs of a project."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from data.workspace import Run

__all__ = ["Cell", "Grid", "grids_of"]

SIZE_KEYS = ("chunk_size", "chunksize", "size_of_chunk", "chunk_length", "chunking.size", "chunk.size")
OVERLAP_KEYS = ("chunk_overlap", "chunkoverlap", "overlap", "chunking.overlap", "chunk.overlap")
BOOKKEEPING = frozenset(
    {"grid", "grid_title", "n_chunks", "index_characters", "index_tokens", "pipeline", "name", "match"}
)


@dataclass(frozen=True)
class Cell:
    """One way of chunking that was tried.

    Attributes:
        run: its run.
        strategy: "fixed", or the content-aware one.
        size: chunk size in the grid's unit.
        overlap: overlap in the grid's unit; None where it was not recorded.
        headings: whether title and headings were indexed with the text.
    """

    run: Run
    strategy: str
    size: int
    overlap: int | None
    headings: bool = False


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
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    @property
    def fixed(self) -> tuple[Cell, ...]:
        """The cells of the plane of size and overlap."""
        return tuple(cell for cell in self.cells if cell.strategy == "fixed" and cell.overlap is not None)

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
    here: dict[str, list[Cell]] = defaultdict(list)
    outside: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.created_at, run.imported_at)):
        cell = _cell(run)
        if cell is not None and run.config.get("grid"):
            here[str(run.config["grid"])].append(cell)
        elif cell is not None:
            outside[run.dataset, _rest(run)].append(cell)
    found = [
        _grid(key, str(cells[-1].run.config.get("grid_title") or key), cells) for key, cells in here.items()
    ]
    return found + _outside_grids(outside)


def _outside_grids(groups: Mapping[tuple[str, str], list[Cell]]) -> list[Grid]:
    found: list[Grid] = []
    single = defaultdict[str, list[Cell]](list)
    for (dataset, _), cells in groups.items():
        if len({(cell.size, cell.overlap) for cell in cells}) > 1:
            title = _title(dataset, cells, len(found))
            found.append(_grid(f"outside-{len(found)}", title, cells))
        else:
            single[dataset] += cells
    for dataset, cells in single.items():
        if len({(cell.size, cell.overlap) for cell in cells}) > 1:
            grid = _grid(f"outside-{len(found)}", _title(dataset, cells, len(found)), cells)
            found.append(grid)
    return found


def _title(dataset: str, cells: Sequence[Cell], number: int) -> str:
    return f"{dataset or cells[0].run.project} (imported{f' {number + 1}' if number else ''})"


def _grid(key: str, title: str, cells: Sequence[Cell]) -> Grid:
    newest = {(one.strategy, one.size, one.overlap, one.headings): one for one in cells}
    order = sorted(newest.values(), key=lambda one: (one.strategy != "fixed", one.strategy, *_place(one)))
    notes = []
    if len(newest) < len(cells):
        notes.append(f"{len(cells) - len(newest)} older runs of cells that were run again are left out")
    differing = _differing(order)
    if differing:
        notes.append(f"the cells differ in {', '.join(differing)} too, not in their chunking alone")
    unit = str(order[0].run.config.get("chunk_unit", ""))
    return Grid(key, title, unit, tuple(order), tuple(notes))


def _place(cell: Cell) -> tuple[int, int, bool]:
    return cell.size, -1 if cell.overlap is None else cell.overlap, cell.headings


def _differing(cells: Sequence[Cell]) -> list[str]:
    """Name the settings beside the chunking in which the cells differ."""
    flat = [_other_settings(cell.run) for cell in cells]
    keys = sorted({key for one in flat for key in one})
    return [key for key in keys if len({one.get(key) for one in flat}) > 1]


def _cell(run: Run) -> Cell | None:
    config = _flat(run.config)
    size, overlap = _whole(config, SIZE_KEYS), _whole(config, OVERLAP_KEYS)
    if size is None:
        return None
    strategy = (
        str(run.config.get("chunking", "fixed")) if isinstance(run.config.get("chunking"), str) else "fixed"
    )
    return Cell(run, strategy, size, overlap, run.config.get("chunk_headings") is True)


def _flat(config: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Give nested settings by their path, in small letters."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        path = f"{above}{key}".lower()
        if isinstance(value, Mapping):
            found.update(_flat(value, f"{path}."))
        else:
            found[path] = value
    return found


def _whole(config: Mapping[str, Any], keys: Sequence[str]) -> int | None:
    for path, value in config.items():
        named = any(path == key or path.endswith(f".{key}") for key in keys)
        if named and isinstance(value, int | float | str) and not isinstance(value, bool):
            text = str(value).removesuffix(".0")
            if text.isdecimal():
                return int(text)
    return None


def _other_settings(run: Run) -> dict[str, str]:
    chunked = (*SIZE_KEYS, *OVERLAP_KEYS)
    return {
        path: json.dumps(value, default=str)
        for path, value in _flat(run.config).items()
        if path not in BOOKKEEPING
        and not path.startswith(("chunk", "reported_means"))
        and not any(path == key or path.endswith(f".{key}") for key in chunked)
    }


def _rest(run: Run) -> str:
    return json.dumps(_other_settings(run), sort_keys=True)
