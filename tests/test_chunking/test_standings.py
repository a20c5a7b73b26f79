"""Who is best among the cells of a grid: any strategy may be, none without shared questions or direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ragtriage.dashboard.charts.grid_maps import grid_map, heatmap, shares_of
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.tokens import DARK, LIGHT, Tokens
from ragtriage.dashboard.cli.asking.grid import _as_text
from ragtriage.dashboard.headlines.chunking import cheapest, chunking_headline
from ragtriage.dashboard.pages.chunking.grid_results import (
    best_first,
    grid_titles,
    legend,
    same_chunks_text,
    unfinished_text,
)
from ragtriage.dashboard.tables.comparison import trial_table
from ragtriage.data.api import add_run
from ragtriage.data.chunking.grids import Grid, GridRanking, grids_of, rank_trials, same_chunks
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.number_text import interval_text
from ragtriage.metrics.result_table import plain_rows

FIXED = [0.30, 0.35, 0.40, 0.45, 0.50] * 8
BETTER = [value + 0.4 for value in FIXED]
METRIC = "span_recall@5"
Values = Sequence[float | None]


def _cell(
    store: RunStore,
    name: str,
    values: Values,
    first: int = 0,
    metric: str = METRIC,
    **config: Any,
) -> None:
    records = [
        {"question_id": f"q{at:03}", "question": f"{at}?", "scores": {metric: value, "bleu": 0.5}}
        for at, value in enumerate(values, first)
    ]
    settings = {"grid": "g", "chunking": "fixed", "chunk_size": 256, "chunk_overlap": 0, **config}
    add_run(records, name, "p", str(store.workspace.root), settings, "set")


def _found(store: RunStore, metric: str = METRIC) -> tuple[Grid, GridRanking]:
    (grid,) = grids_of(store.runs())
    return grid, rank_trials(grid, [store.scored(cell.run) for cell in grid.trials], metric)


def _places(found: GridRanking) -> dict[str, str]:
    return {one.trial.run.name: one.outcome for one in found.values}


def test_a_strategy_that_is_better_than_every_fixed_cell_is_the_best(workspace: RunStore) -> None:
    _cell(workspace, "256 / 0", FIXED)
    _cell(workspace, "512 / 0", FIXED, chunk_size=512)
    _cell(workspace, "paragraph", BETTER, chunking="paragraph")
    grid, found = _found(workspace)
    assert _places(found) == {"256 / 0": "worse", "512 / 0": "worse", "paragraph": "best"}
    fixed = found.at(256, 0)
    assert fixed is not None
    assert fixed.difference is not None
    assert fixed.difference.difference == pytest.approx(-0.4)
    head = chunking_headline(found)
    assert (head.state, head.statement) == ("good", "paragraph beats every other chunking")
    assert "span recall@5 0.800 [0.738, 0.826], n = 40" in head.detail
    assert "beside the map: split in another way" in legend(found)
    figure = grid_map(grid, found, "", LIGHT)
    assert list(figure.layout.xaxis.ticktext) == ["256", "512", "paragraph"]
    assert [shape.line.width for shape in figure.layout.shapes] == [0, 4], "its cell, outlined as the best"
    assert figure.data[1].text[-1].startswith("<b>★ 0.800")
    assert figure.data[1].x[-1] + 0.5 < figure.layout.xaxis.range[1] + 0.01, "all of it is in view"
    heat = plotly_figure(heatmap(grid, found, "Recall")).data[0]
    assert not any("★" in text for row in heat.text for text in row)


def test_the_interval_of_a_mean_is_that_of_the_runs_own_metric(workspace: RunStore) -> None:
    _cell(workspace, "hits", [1.0] * 9 + [0.0] * 3)
    _cell(workspace, "shares", FIXED[:12], chunk_size=512)
    _, found = _found(workspace)
    for entry in found.values:
        summary = workspace.summary(entry.trial.run)[METRIC]
        assert entry.value is not None
        assert (entry.value.low, entry.value.high) == pytest.approx((summary.low, summary.high))
        assert entry.value.method == summary.method


def test_of_equal_configurations_none_is_the_best(workspace: RunStore) -> None:
    for size, n_chunks in ((256, 20), (512, 10)):
        _cell(workspace, f"size {size}", FIXED, chunk_size=size, n_chunks=n_chunks, index_tokens=100)
    grid, found = _found(workspace)
    assert found.best is None
    assert set(_places(found).values()) == {"equal"}
    head = chunking_headline(found)
    assert (head.state, head.statement) == ("good", "All 2 chunkings do equally well")
    for fact in ("0.400", "n = 40", "Pick size 512, which has the smallest index"):
        assert fact in head.detail
    printed = _as_text(workspace, grid)
    assert "All configurations are equal by span_recall@5, so none is the best." in printed
    assert "★" not in legend(found)


def test_interval_and_outcome_agree(workspace: RunStore) -> None:
    """Every difference to the best is beyond chance by itself; only the large one is beside the others."""
    _cell(workspace, "best", [0.8] * 40)
    for size, loss in enumerate((0.1, 0.035, 0.035, 0.035), 1):
        noise = np.random.default_rng(size).normal(size=40)
        values = 0.8 - loss + 0.1 * (noise - noise.mean()) / noise.std()
        _cell(workspace, f"{loss} of {size}", values.clip(0, 1).tolist(), chunk_size=size)
    grid, found = _found(workspace)
    others = [one for one in found.values if one.outcome != "best"]
    assert [one.outcome for one in others] == ["worse", "same", "same", "same"]
    for one in others:
        assert one.difference is not None
        assert one.test is not None
        assert one.difference.p < 0.05, "by itself"
        assert (one.test.high < 0) == (one.test.p < 0.05) == (one.outcome == "worse")
        (shown,) = plain_rows(trial_table(found.metric, [one]))
        assert shown["Corrected interval"] == interval_text(one.test.low, one.test.high, 3)
        assert one.test.low <= one.difference.low, "the wider of the two is shown"
        assert one.test.high >= one.difference.high
        assert shown["Paired n"] == 40
    hover = "".join(heatmap(grid, found, "Recall").details[0])
    assert "worse: −0.1" in hover
    assert "to the best" in hover


def test_lower_is_better_where_the_metric_says_so(workspace: RunStore) -> None:
    _cell(workspace, "low", FIXED, metric="hallucination")
    _cell(workspace, "high", BETTER, metric="hallucination", chunk_size=512)
    assert _places(_found(workspace, "hallucination")[1]) == {"low": "best", "high": "worse"}


def test_a_metric_without_a_direction_has_no_best(workspace: RunStore) -> None:
    _cell(workspace, "low", FIXED, metric="self_knowledge")
    _cell(workspace, "high", BETTER, metric="self_knowledge", chunk_size=512)
    _, found = _found(workspace, "self_knowledge")
    assert set(_places(found).values()) == {"no direction"}
    assert [one.difference for one in found.values] == [None, None]
    assert found.values[0].value is not None
    head = chunking_headline(found)
    assert head.state == "cannot tell"
    assert head.statement.startswith("Self-knowledge has no direction")


def test_one_question_ranks_no_chunking(workspace: RunStore) -> None:
    _cell(workspace, "a", FIXED[:1])
    _cell(workspace, "b", BETTER[:1], chunk_size=512)
    head = chunking_headline(_found(workspace)[1])
    assert (head.state, head.statement) == ("cannot tell", "1 question cannot show which chunking is best")


def test_one_measured_cell_is_held_against_nothing(workspace: RunStore) -> None:
    _cell(workspace, "a", FIXED)
    _cell(workspace, "b", [None] * 40, chunk_size=512)
    _, found = _found(workspace)
    assert _places(found) == {"a": "best", "b": "not measured"}
    head = chunking_headline(found)
    assert (head.state, head.statement) == ("cannot tell", "Only a has a value")
    assert "nothing to compare it with" in head.detail
    unfinished = chunking_headline(found, doubts=[unfinished_text(1, 9)])
    assert "best" not in unfinished.statement
    assert "1 of 9 configurations" in unfinished.doubt
    _cell(workspace, "c", BETTER, chunk_size=128)
    head = chunking_headline(_found(workspace)[1])
    assert "measured configuration is worse" in head.detail


def test_cells_that_share_no_question_are_not_measured(workspace: RunStore) -> None:
    _cell(workspace, "a", FIXED)
    _cell(workspace, "b", BETTER, first=100, chunk_size=512)
    _, found = _found(workspace)
    assert set(_places(found).values()) == {"not measured"}
    assert [one.value for one in found.values] == [None, None]
    assert (found.n_questions, found.n_left_out, found.marginal_effects, found.best) == (0, 80, (), None)
    head = chunking_headline(found)
    assert head.state == "not measured"
    assert "share no" in head.statement


def test_a_size_without_values_does_not_take_the_curves_away(workspace: RunStore) -> None:
    for size, values in ((128, FIXED), (256, BETTER), (512, [None] * 40)):
        for overlap in (0, 32):
            _cell(workspace, f"{size} / {overlap}", values, chunk_size=size, chunk_overlap=overlap)
    _, found = _found(workspace)
    assert {one.axis: [at for at, _ in one.points] for one in found.marginal_effects} == {
        "size": [128, 256],
        "overlap": [0, 32],
    }


def test_strategies_that_gave_the_same_chunks_are_named(workspace: RunStore) -> None:
    _cell(workspace, "fixed", FIXED, n_chunks=9)
    _cell(workspace, "heading", BETTER, chunking="heading", n_chunks=7)
    _cell(workspace, "paragraph", BETTER, chunking="paragraph", n_chunks=7)
    _cell(workspace, "recursive", BETTER, chunking="recursive", n_chunks=8)
    _cell(workspace, "other", [*BETTER[1:], 0.1], chunking="heading", n_chunks=7, chunk_size=512)
    (grid,) = grids_of(workspace.runs())
    found = same_chunks(grid, [workspace.scored(cell.run) for cell in grid.trials])
    assert [[cell.run.name for cell in group] for group in found] == [["heading", "paragraph"]]
    sentence = same_chunks_text(found[0])
    assert sentence.startswith("**heading** and **paragraph** gave the same chunks")
    assert "without headings in the corpus" in sentence


def test_the_table_begins_with_the_best_and_ends_with_what_was_not_measured(workspace: RunStore) -> None:
    _cell(workspace, "none", [None] * 40)
    _cell(workspace, "low", FIXED, chunk_size=512)
    _cell(workspace, "high", BETTER, chunk_size=1024)
    assert [entry.trial.run.name for entry in best_first(_found(workspace)[1])] == ["high", "low", "none"]


def test_the_cheapest_of_the_good_hands_on_the_least_that_is_not_gold(workspace: RunStore) -> None:
    noise = np.random.default_rng(1).normal(size=40) / 10
    for size, loss, precision in ((128, 0.3, 0.2), (256, 0.0, 0.1), (512, -0.01, 0.05)):
        records = [
            {
                "question_id": f"q{at:03}",
                "question": f"{at}?",
                "scores": {METRIC: float(np.clip(0.7 - loss + noise[at] * size / 512, 0, 1))}
                | {"span_precision@5": precision},
            }
            for at in range(40)
        ]
        settings = {"grid": "g", "chunking": "fixed", "chunk_size": size, "chunk_overlap": 0}
        add_run(records, f"size {size}", "p", str(workspace.workspace.root), settings, "set")
    _, found = _found(workspace)
    _, costs = _found(workspace, "span_precision@5")
    assert _places(found) == {"size 128": "worse", "size 256": "same", "size 512": "best"}
    pick = cheapest(found, costs)
    assert pick is not None
    assert pick.trial.run.name == "size 256"
    head = chunking_headline(found, costs, "tokens")
    assert (head.state, head.statement) == (
        "good",
        "size 256 is tied with size 512, and cheaper",
    )
    assert "128-token chunks recall less" in head.detail
    assert "Pick size 256: tied with the best, 2.0 times its precision" in head.detail


def test_grids_of_one_title_are_told_apart(workspace: RunStore) -> None:
    for grid, depth, title in (
        ("a1", 10, "speech"),
        ("b2", 20, "speech"),
        ("c3", 20, "speech"),
        ("d4", 5, "alone"),
    ):
        _cell(workspace, grid, FIXED, grid=grid, grid_title=title, retriever="bm25", depth=depth)
    titles = grid_titles(grids_of(workspace.runs()))
    assert titles == {
        "a1": "speech · depth 10 · 1 configuration",
        "b2": "speech · depth 20 · 1 configuration · b2",
        "c3": "speech · depth 20 · 1 configuration · c3",
        "d4": "alone · 1 configuration",
    }


def test_units_from_outside_are_no_markup_in_charts(workspace: RunStore) -> None:
    unit = '<a href="https://evil.example">click</a>'
    for size in (128, 256):
        _cell(workspace, f"{size}", FIXED, chunk_size=size, chunk_unit=unit)
    grid, found = _found(workspace)
    figure = plotly_figure(heatmap(grid, found, "Recall"))
    drawn = grid_map(grid, found, "", LIGHT)
    for axis in (figure.layout.xaxis, figure.layout.yaxis, drawn.layout.xaxis, drawn.layout.yaxis):
        assert "<a" not in axis.title.text
        assert "&lt;a" in axis.title.text


def _contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_every_number_can_be_read_on_its_cell(workspace: RunStore, tokens: Tokens) -> None:
    for size in range(10):
        _cell(workspace, f"{size}", [size / 10] * 10, chunk_size=100 + size)
    grid, found = _found(workspace)
    heat, cells = grid_map(grid, found, "", tokens).data[:2]
    steps = [heat.z[row][column] for column, row in zip(cells.x, cells.y, strict=True)]
    assert sorted(steps) == list(range(10)), "each of the ten shades occurs"
    for step, colour in zip(steps, cells.textfont.color, strict=True):
        assert _contrast(colour, tokens.sequential[step]) >= 4.5


def test_shades_of_values_of_any_size() -> None:
    assert shares_of([-1e308, 0.0, 1e308]) == [0.0, 0.5, 1.0]
    assert shares_of([2.0, 2.0]) == [0.5, 0.5]
    assert shares_of([float("nan"), 1.0, 3.0]) == [0.5, 0.0, 1.0]
    assert shares_of([]) == []


def test_the_map_marks_the_best_the_cheapest_and_what_the_test_cannot_tell(workspace: RunStore) -> None:
    noise = np.random.default_rng(2).normal(size=40) / 20
    for size, loss in ((128, 0.3), (256, 0.01), (512, 0.0)):
        _cell(workspace, f"{size}", (0.6 - loss + noise * size / 256).clip(0, 1).tolist(), chunk_size=size)
    grid, found = _found(workspace)
    same = next(entry for entry in found.values if entry.outcome == "same")
    figure = grid_map(grid, found, same.trial.run.run_id, LIGHT)
    texts = [text.partition("</b>")[0] for text in figure.data[1].text]
    assert [("★" in text, "◆" in text, "≈" in text) for text in texts] == [
        (False, False, False),
        (False, True, True),
        (True, False, False),
    ]
    assert [one[0] for one in figure.data[1].customdata] == [one.trial.run.run_id for one in found.values]
    assert len(figure.layout.shapes) == 1, "the best is outlined"
    assert list(figure.layout.xaxis.ticktext) == ["128", "256", "512"]
