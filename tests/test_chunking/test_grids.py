"""Grids among runs: found here and from outside, the best cell, ties, holes, margins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragtriage.data.api import add_run
from ragtriage.data.chunking.grids import Grid, GridRanking, grids_of, rank_trials
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run


def _run(store: RunStore, values: Sequence[float | None], config: dict[str, Any], first: int = 0) -> Run:
    records = [
        {"question_id": f"q{at}", "question": f"Question {at}?", "scores": {"faithfulness": value}}
        for at, value in enumerate(values, first)
        if value is not None
    ]
    return add_run(records, str(config), "p", str(store.workspace.root), config, "set")


def _cell(store: RunStore, size: int, overlap: int, values: Sequence[float | None], **more: Any) -> Run:
    return _run(store, values, {"chunk_size": size, "chunk_overlap": overlap, **more})


def _standings(store: RunStore, grid: Grid) -> GridRanking:
    return rank_trials(grid, [store.scored(cell.run) for cell in grid.trials], "faithfulness")


GOOD = [0.9, 0.8, 1.0, 0.9, 0.8, 1.0, 0.9, 0.8, 1.0, 0.9, 0.9, 1.0]
ALMOST = [0.9, 0.8, 1.0, 0.9, 0.8, 1.0, 0.9, 0.8, 1.0, 0.9, 0.9, 0.9]
POOR = [value - 0.5 for value in GOOD]


def test_the_best_cell_its_ties_and_the_worse(workspace: RunStore) -> None:
    for (size, overlap), values in {
        (128, 0): POOR,
        (128, 32): ALMOST,
        (256, 0): GOOD,
        (256, 32): POOR,
    }.items():
        _cell(workspace, size, overlap, list(values))
    (grid,) = grids_of(workspace.runs())
    assert (grid.sizes, grid.overlaps, grid.notes) == ([128, 256], [0, 32], ())
    found = _standings(workspace, grid)
    assert {(one.trial.size, one.trial.overlap): one.outcome for one in found.values} == {
        (128, 0): "worse",
        (128, 32): "same",
        (256, 0): "best",
        (256, 32): "worse",
    }
    best = found.best
    assert best is not None
    assert best.value is not None
    assert best.value.mean == pytest.approx(np.mean(GOOD))
    worse = found.at(128, 0)
    assert worse is not None
    assert worse.difference is not None
    assert worse.difference.difference == pytest.approx(-0.5)
    assert worse.difference.n_pairs == 12
    assert found.at(512, 0) is None


def test_margins_rest_on_what_every_point_has(workspace: RunStore) -> None:
    _cell(workspace, 128, 0, list(GOOD))
    _cell(workspace, 256, 0, list(POOR))
    _cell(workspace, 256, 128, list(GOOD))
    (grid,) = grids_of(workspace.runs())
    by_size, by_overlap = _standings(workspace, grid).marginal_effects
    assert (by_size.axis, by_size.over, by_size.left_out) == ("size", (0,), (128,))
    assert [(at, round(one.mean, 3)) for at, one in by_size.points] == [
        (128, round(float(np.mean(GOOD)), 3)),
        (256, round(float(np.mean(POOR)), 3)),
    ]
    assert (by_overlap.axis, by_overlap.over, by_overlap.left_out) == ("overlap", (256,), (128,))


def test_cells_are_compared_on_the_questions_they_share(workspace: RunStore) -> None:
    _cell(workspace, 128, 0, [1.0] * 10 + [0.0] * 2)
    _cell(workspace, 256, 0, [0.9] * 10 + [None, None])
    (grid,) = grids_of(workspace.runs())
    found = _standings(workspace, grid)
    assert (found.n_questions, found.n_left_out) == (10, 2)
    assert found.best is not None
    assert found.best.trial.size == 128


def test_nested_and_textual_settings_are_understood(workspace: RunStore) -> None:
    _run(workspace, list(GOOD), {"chunking": {"size": 128, "overlap": "16"}})
    _run(workspace, list(POOR), {"retrieval": {"chunkSize": "256", "chunk_overlap": 16.0}})
    (grid,) = grids_of(workspace.runs())
    assert [(cell.size, cell.overlap) for cell in grid.trials] == [(128, 16), (256, 16)]


def test_other_settings_make_grids_of_their_own_or_are_named(workspace: RunStore) -> None:
    for model in ("small", "large"):
        for size in (128, 256):
            _cell(workspace, size, 0, list(GOOD), embedding=model)
    assert len(grids_of(workspace.runs())) == 2
    _cell(workspace, 512, 0, list(GOOD), top_k=3)
    _cell(workspace, 640, 0, list(GOOD), top_k=4)
    found = grids_of(workspace.runs())
    assert len(found) == 3
    (note,) = found[-1].notes
    assert "differ in top_k too" in note


def test_a_newer_run_stands_for_its_cell(workspace: RunStore) -> None:
    _cell(workspace, 128, 0, list(GOOD))
    _cell(workspace, 256, 0, list(GOOD))
    newer = _cell(workspace, 256, 0, list(POOR))
    runs = [run for run in workspace.runs() if run.run_id != newer.run_id]
    (grid,) = grids_of([*runs, newer])
    assert len(grid.trials) == 2
    assert any("run again" in note for note in grid.notes)


@pytest.mark.parametrize("config", [{}, {"chunk_size": "large"}, {"chunk_size": True}, {"chunk_overlap": 3}])
def test_runs_without_a_chunk_size_are_no_grid(workspace: RunStore, config: dict[str, Any]) -> None:
    _run(workspace, list(GOOD), config)
    assert grids_of(workspace.runs()) == []


def test_what_no_cell_measured_has_no_best(workspace: RunStore, tmp_path: Path) -> None:
    _cell(workspace, 128, 0, list(GOOD))
    _cell(workspace, 256, 0, list(GOOD))
    (grid,) = grids_of(workspace.runs())
    found = rank_trials(grid, [workspace.scored(cell.run) for cell in grid.trials], "answer_relevancy")
    assert found.best is None
    assert {one.outcome for one in found.values} == {"not measured"}
    assert found.marginal_effects == ()


@pytest.mark.parametrize(
    "settings",
    [
        [
            {"chunking": {"strategy": strategy, "size": 256, "overlap": 0}}
            for strategy in ("recursive", "fixed")
        ],
        [{"chunker": strategy, "chunk_size": 256, "chunk_overlap": 0} for strategy in ("recursive", "Fixed")],
        [{"ingest": {"splitter": strategy, "chunk_size": 256}} for strategy in ("recursive", "fixed_size")],
        [{"chunk_strategy": "recursive", "chunk_size": 256}, {"chunk_size": 256}],
    ],
)
def test_another_strategy_is_another_cell(workspace: RunStore, settings: list[dict[str, Any]]) -> None:
    for one in settings:
        _run(workspace, list(GOOD), one)
    (grid,) = grids_of(workspace.runs())
    assert sorted(cell.strategy for cell in grid.trials) == ["fixed", "recursive"]
    assert grid.notes == ()


def test_a_splitter_that_all_share_makes_the_plane(workspace: RunStore) -> None:
    for size in (128, 256):
        _cell(workspace, size, 0, list(GOOD), splitter="sentences")
    _cell(workspace, 256, 0, list(GOOD), splitter="pages")
    (grid,) = grids_of(workspace.runs())
    assert (grid.heatmap_method, grid.sizes) == (("sentences", False), [128, 256])
    assert _standings(workspace, grid).at(256, 0) is not None


def test_what_is_not_read_as_chunking_keeps_runs_apart(workspace: RunStore) -> None:
    for unit in ("tokens", "characters"):
        for size in (128, 256):
            _cell(workspace, size, 0, list(GOOD), chunk_unit=unit, chunk_store="a")
    found = grids_of(workspace.runs())
    assert {grid.unit: grid.sizes for grid in found} == {"tokens": [128, 256], "characters": [128, 256]}
    assert [grid.notes for grid in found] == [(), ()]


def test_left_over_runs_are_all_there(workspace: RunStore) -> None:
    for model, size in (("a", 256), ("b", 256), ("c", 512)):
        _cell(workspace, size, 0, list(GOOD), embed=model)
    (grid,) = grids_of(workspace.runs())
    assert [cell.other_settings["embed"] for cell in grid.trials if cell.size == 256] == ["a", "b"]
    assert len(grid.heatmap_trials) == 2, "one trial for each place on the map"
    assert "differ in embed too" in grid.notes[0]
    assert "the same chunking" in grid.notes[1]
    assert not any("run again" in note for note in grid.notes)


def test_an_overlap_of_another_part_is_none_of_chunks(workspace: RunStore) -> None:
    for size, overlap in ((256, 7), (512, 7)):
        _run(workspace, list(GOOD), {"rerank": {"overlap": overlap}, "chunk_size": size})
    _run(workspace, list(GOOD), {"chunk_size": 256, "overlap": 16})
    _run(workspace, list(GOOD), {"chunk_size": 256, "overlap": 32})
    found = grids_of(workspace.runs())
    assert sorted([cell.overlap for cell in grid.trials] for grid in found if grid.heatmap_trials) == [
        [16, 32]
    ]
    assert [[cell.overlap for cell in grid.trials] for grid in found if not grid.heatmap_trials] == [
        [None, None]
    ]


def test_the_key_of_a_grid_from_outside_stays_its_own(workspace: RunStore) -> None:
    for size in (128, 256):
        _cell(workspace, size, 0, list(GOOD), embed="a")
    (before,) = grids_of(workspace.runs())
    for size in (128, 256):
        _cell(workspace, size, 0, list(POOR), embed="0")
    after = {grid.shared_settings["embed"]: grid.key for grid in grids_of(workspace.runs())}
    assert after["a"] == before.key
    assert len(set(after.values())) == 2
