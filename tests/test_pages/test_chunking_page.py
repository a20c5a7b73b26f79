"""The Chunking page: nothing, one cell, two, a whole grid; its charts; its form."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.grid_maps import grid_map, heatmap
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_file
from ragtriage.data.chunking.corpus import corpus_of
from ragtriage.data.chunking.grid_plan import GridPlan, plan_configurations
from ragtriage.data.chunking.grid_search import grid_jobs, run_grid
from ragtriage.data.chunking.grids import grids_of, rank_means, rank_trials
from ragtriage.data.chunking.questions import read_questions
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun

TEXT = "\n\n".join(
    f"Town number {at} lies on the river {'abcdefghij'[at % 10] * 3} and has {at} bridges."
    for at in range(40)
)


def _plan(sizes: tuple[int, ...], overlaps: tuple[int, ...], strategies: tuple[Any, ...] = ()) -> GridPlan:
    corpus = corpus_of([("towns.txt", InputFile.from_bytes("towns.txt", TEXT.encode()))], "towns")
    rows = []
    for at in range(12):
        gold = f"has {at} bridges"
        start = TEXT.index(gold)
        span = {"doc_id": "towns", "start": start, "end": start + len(gold)}
        rows.append({"question": f"How many bridges has town number {at}?", "relevant_spans": [span]})
    content = "\n".join(json.dumps(row) for row in rows).encode()
    questions = read_questions(InputFile.from_bytes("q.jsonl", content), corpus)
    return GridPlan(corpus, questions, plan_configurations(sizes, overlaps, "tokens", strategies)[0])


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="towns", **chosen)
    return app.switch_page("chunking/chunking.py").run()


def _words(app: AppTest) -> str:
    return "\n".join(str(one.value) for one in [*app.markdown, *app.caption, *app.info, *app.warning])


@pytest.mark.parametrize(
    ("sizes", "overlaps", "planes"), [((16,), (0,), 0), ((16, 32), (0,), 1), ((16, 32, 64), (0, 8, 16), 1)]
)
def test_one_cell_two_and_many(
    workspace: RunStore,
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, ...],
    overlaps: tuple[int, ...],
    planes: int,
) -> None:
    run_grid(workspace, _plan(sizes, overlaps, ("paragraph",)), "towns")
    app = _open(workspace, monkeypatch)
    assert not app.exception
    charts = [json.loads(one.proto.spec) for one in app.get("plotly_chart")]
    maps = [chart for chart in charts if chart["data"][0]["type"] == "heatmap"]
    assert len(maps) == planes
    assert "chunk" in headline(app)
    assert "best mean" in page_text(app)
    assert "n = 12" in page_text(app)
    tables = [one.value for one in app.dataframe]
    assert [len(table) for table in tables] == [len(workspace.runs())] * (1 + planes)
    if planes:
        costs = tables[0]
        assert list(costs) == ["Chunking", "Tokens, top 5", "ms"], "money is not recorded"
        app.number_input(key="pick_price").set_value(1000.0).run()
        priced = app.dataframe[0].value.iloc[0]
        assert float(priced["USD"]) == pytest.approx(float(priced["Tokens, top 5"]) / 1000, rel=0.02)
        assert app.query_params["price"] == "1000"


def test_without_a_grid_the_page_says_how_to_get_one(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="clapnq")
    app.switch_page("chunking/chunking.py").run()
    assert not app.exception
    assert headline(app) == "Run a grid of sizes and overlaps"
    assert app.button(key="example_state_of_the_union")
    assert "ragtriage grid" in _words(app)
    assert "chunk_overlap" in _words(app)


def test_cells_that_were_not_run_are_blank(workspace: RunStore) -> None:
    run_grid(workspace, _plan((16, 32), (0, 16)), "towns")
    (grid,) = grids_of(workspace.runs())
    found = rank_trials(grid, [workspace.scored(cell.run) for cell in grid.trials], "span_recall@1")
    figure = plotly_figure(heatmap(grid, found, "Recall <b>"))
    heat, points = figure.data
    assert heat.z[0][1] is None
    assert heat.text[0][1] == ""
    assert all(value is not None for value in (heat.z[0][0], heat.z[1][0], heat.z[1][1]))
    assert len(points.customdata) == 3
    assert {one[0] for one in points.customdata} == {cell.run.run_id for cell in grid.trials}
    assert sum("★" in text for row in heat.text for text in row) == 1
    framed = sum(one.outcome in ("best", "same") for one in found.values)
    assert len(figure.layout.shapes) == framed
    assert "&lt;b&gt;" in figure.layout.title.text


def test_a_margin_shows_every_point_with_its_interval(workspace: RunStore) -> None:
    run_grid(workspace, _plan((16, 32), (0, 8)), "towns")
    (grid,) = grids_of(workspace.runs())
    found = rank_trials(grid, [workspace.scored(cell.run) for cell in grid.trials], "span_recall@1")
    by_size, by_overlap = grid_map(grid, found, "", LIGHT).data[2:]
    assert (list(by_size.x), list(by_overlap.y)) == ([0, 1], [0, 1])
    assert (by_size.yaxis, by_overlap.xaxis) == ("y2", "x2")
    for curve, effect in zip((by_size, by_overlap), found.marginal_effects, strict=True):
        assert list(curve.text) == [f"{mean.mean:.3f}" for _, mean in effect.points]
        for text, (_, mean) in zip(curve.hovertext, effect.points, strict=True):
            assert f"[{mean.low:.3f}, {mean.high:.3f}], n = 12" in text


def test_the_address_chooses_metric_and_budget(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run_grid(workspace, _plan((16, 32), (0, 8)), "towns")
    app = _open(workspace, monkeypatch, shown_metric="span_precision", budget=250)
    assert not app.exception
    assert "##### Span precision in 250 tokens" in [one.value for one in app.markdown]
    chosen = {box.label: box.value for box in app.selectbox}
    assert chosen["Compare at"] == "tokens:250"
    assert chosen["Metric"] == "span_precision"


def test_strategies_that_cut_alike_are_told(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run_grid(workspace, _plan((16, 32), (0,), ("heading", "paragraph", "recursive")), "towns")
    app = _open(workspace, monkeypatch)
    assert not app.exception
    told = [str(one.value) for one in app.caption if "gave the same chunks" in str(one.value)]
    assert len(told) == 1
    assert (
        told[0]
        .replace("\\", "")
        .startswith("**by heading (max 32 tokens)**, **by paragraph (max 32 tokens)** and **recursive")
    )
    assert "without headings in the corpus" in told[0]
    table = app.dataframe[-1].value
    assert sorted(zip(table["Strategy"], table["Size"], table["Overlap"], strict=True)) == [
        ("fixed", 16, 0),
        ("fixed", 32, 0),
        ("heading", 32, 0),
        ("paragraph", 32, 0),
        ("recursive", 32, 0),
    ]


def _imported(store: RunStore, name: str, day: int, dataset: str, **config: Any) -> None:
    records = [
        (at, {"question_id": f"q{at}", "question": f"{at}?", "scores": {"span_recall@5": 0.1 * at}})
        for at in range(1, 9)
    ]
    draft = ParsedRun(
        name, records, "f", "native", config=config, dataset=dataset, created_at=datetime(2026, 1, day)
    )
    import_parsed_runs(store, [draft], "towns", ValidationErrors("f"))


def test_an_overlap_that_was_not_recorded_stays_with_its_like(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at, more in enumerate(({"chunk_overlap": 0}, {"chunk_overlap": 8}, {}), 1):
        _imported(workspace, f"run {at}", at, "set", chunk_size=100 * at, **more)
    app = _open(workspace, monkeypatch)
    assert not app.exception
    (table,) = (one.value for one in app.dataframe)
    assert list(table["Size"]) == [100, 200, 300]


def test_the_newest_grid_stands_first(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (100, 200):
        _imported(workspace, f"old {size}", 2, "old", chunk_size=size)
        _imported(workspace, f"made {size}", 9, "x", grid="g", grid_title="made", chunk_size=size)
        _imported(workspace, f"early {size}", 1, "early", chunk_size=size)
    app = _open(workspace, monkeypatch)
    (box,) = (one for one in app.selectbox if one.label == "Grid")
    assert box.options == [
        "made · 2 configurations",
        "old (imported) · 2 configurations",
        "early (imported) · 2 configurations",
    ]
    assert box.value == "g"


def _form(app: AppTest) -> AppTest:
    """Open the dialog with the form."""
    return app.button(key="grid_open").click().run()


def _fill(app: AppTest, **given: str) -> AppTest:
    for key, value in given.items():
        app.text_input(key=f"grid_{key}").set_value(value)
    return app.button(key="FormSubmitter:grid_form-Run the grid").click().run()


def test_the_form_runs_a_grid_and_shows_that_it_is_done(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_grid(workspace, _plan((16,), (0,)), "towns")
    (tmp_path / "towns.txt").write_text(TEXT)
    span = {"doc_id": "towns", "start": 0, "end": 12}
    (tmp_path / "q.jsonl").write_text(json.dumps({"question": "Which town?", "relevant_spans": [span]}))
    app = _form(_open(workspace, monkeypatch))
    given = {"corpus": str(tmp_path / "towns.txt"), "questions": str(tmp_path / "q.jsonl")}
    app = _fill(app, **given, sizes="20, 30", overlaps="0, 5", project="towns")
    assert not app.exception
    assert not app.error
    end = time.monotonic() + 60
    while grid_jobs(workspace.ledger)[0].state == "running" and time.monotonic() < end:
        time.sleep(0.1)
    (job,) = grid_jobs(workspace.ledger)
    assert (job.state, job.message, job.project) == ("done", "", "towns")
    assert len(RunStore(workspace.workspace).runs("towns")) == 5
    fresh = _open(workspace, monkeypatch)  # a server that did not start the grid shows it as well
    for page in (app.run(), fresh):
        assert ":green-badge[done]" in _words(page)
        assert "4 of 4 configurations" in _words(page)


def test_uploaded_files_are_searched_as_typed_paths_are(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_grid(workspace, _plan((16,), (0,)), "towns")
    span = {"doc_id": "towns", "start": 0, "end": 12}
    question = json.dumps({"question": "Which town?", "relevant_spans": [span]}).encode()
    started: list[list[str]] = []
    monkeypatch.setattr(
        "ragtriage.dashboard.shell.jobs.start_job", lambda _, words, __: started.append(words)
    )
    app = _form(_open(workspace, monkeypatch))
    app.file_uploader(key="grid_corpus_files").upload("towns.txt", TEXT.encode(), "text/plain")
    app.file_uploader(key="grid_questions_file").upload("q.jsonl", question, "application/json")
    app = _fill(app, sizes="20", overlaps="0")
    assert not app.exception
    assert not app.error
    (words,) = started
    corpus, asked = Path(words[-1]), Path(words[words.index("--questions") + 1])
    assert (corpus.name, corpus.read_bytes()) == ("towns.txt", TEXT.encode())
    assert (asked.name, asked.read_bytes()) == ("q.jsonl", question)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "corpus: nothing given"),
        ({"corpus": "/nowhere/at/all"}, "does not exist"),
        ({"corpus": "HERE"}, "questions: nothing given"),
        ({"corpus": "HERE", "questions": "Q", "sizes": "a lot"}, "Sizes: 'a lot'"),
        (
            {"corpus": "HERE", "questions": "Q", "sizes": "8", "overlaps": "8"},
            "overlap 8 is not smaller than size 8",
        ),
    ],
)
def test_the_form_says_what_is_wrong(
    workspace: RunStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, str],
    message: str,
) -> None:
    run_grid(workspace, _plan((16,), (0,)), "towns")
    (tmp_path / "towns.txt").write_text(TEXT)
    row = {"question": "q", "relevant_spans": [{"doc_id": "towns", "start": 0, "end": 5}]}
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    places = {"HERE": str(tmp_path / "towns.txt"), "Q": str(tmp_path / "q.jsonl")}
    app = _fill(
        _form(_open(workspace, monkeypatch)), **{key: places.get(text, text) for key, text in given.items()}
    )
    assert not app.exception
    assert any(
        message.replace("'", "") in str(one.value).replace("\\", "").replace("'", "") for one in app.error
    )
    assert grid_jobs(workspace.ledger) == []


PRINTED = """Chunk size;Overlap;Faithfulness;n
200;0;0,81;120
200;20;0,83;120
400;0;0,86;120
400;20;0,88;120
"""


def test_a_printed_grid_of_means_is_a_map_without_a_test(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "grid.csv"
    path.write_text(PRINTED, encoding="utf-8")
    add_file(str(path), workspace=str(workspace.workspace.root))
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60).switch_page("chunking/chunking.py").run()
    assert not app.exception
    assert headline(app) == "Best mean: chunk_size 400, overlap 20"
    assert "no intervals and no test" in _words(app)
    (grid,) = grids_of(workspace.runs())
    ranking = rank_means(grid, "faithfulness")
    assert {entry.outcome for entry in ranking.values} == {"mean alone"}
    drawn = str(grid_map(grid, ranking, "", LIGHT).to_json())
    assert "0.880" in drawn
    assert "★" not in drawn
