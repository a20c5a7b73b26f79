"""Pages without content: the picture of the example is true, opens it, and a form begins; the navigation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from page_text import headline, page_text
from places import APP
from reading_systems import write_questions
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.experiments.registry import experiment_headline
from ragtriage.dashboard.shell.empty_pages import EXAMPLES, pages_without_content
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.suites.headline import checks_headline
from ragtriage.data.api import add_run
from ragtriage.data.chunking.grids import grids_of, rank_trials
from ragtriage.data.experiments.experiment import experiments
from ragtriage.data.experiments.registry import experiment_summary
from ragtriage.data.experiments.run_experiment import experiment_jobs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.suites.check_table import suite_summaries
from ragtriage.metrics.statistics.intervals import Interval


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, page: str) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=90)
    app.session_state["selection"] = Selection(project="p")
    return app.switch_page(f"{page}/{page}.py").run()


def _one_run(store: RunStore) -> None:
    add_run([{"question": "why?", "answer": "so", "contexts": ["so"]}], "one", "p", str(store.workspace.root))


def _is_drawn(page: str, name: str, interval: Interval) -> None:
    row = next(row for row in EXAMPLES[page].rows if row.name == name)
    assert (row.mean, row.low, row.high) == pytest.approx(
        (interval.mean, interval.low, interval.high), abs=6e-4
    )


def test_the_picture_of_checks_is_the_bundled_run(demo: RunStore) -> None:
    (run,) = demo.runs(EXAMPLES["checks"].project)
    summaries = suite_summaries(demo.scored(run))
    assert checks_headline(run.name, summaries).statement == EXAMPLES["checks"].statement
    for row, summary in zip(EXAMPLES["checks"].rows, summaries, strict=True):
        assert row.value == f"{summary.n_passed} of {summary.n_decided}"
        _is_drawn("checks", summary.title, summary.rate)


def test_the_picture_of_experiments_is_the_bundled_one(demo: RunStore) -> None:
    entry = next(entry for entry in experiments(demo.workspace) if entry.kind == "position")
    summary = experiment_summary(demo, entry)
    assert experiment_headline(summary).statement == EXAMPLES["experiments"].statement
    arms = {result.arm.key: result.quality for result in summary.arms}
    for name, key in (("Gold first", "rank-1"), ("Gold at rank 8", "rank-8"), ("Gold last", "rank-10")):
        _is_drawn("experiments", name, arms[key])


def test_the_picture_of_chunking_is_the_bundled_grid(demo: RunStore) -> None:
    (grid,) = grids_of(demo.runs(EXAMPLES["chunking"].project))
    ranked = rank_trials(grid, [demo.scored(trial.run) for trial in grid.trials], "span_recall@5")
    found = {entry.trial.run.name: entry for entry in ranked.values}
    for row, outcome in zip(EXAMPLES["chunking"].rows, ("best", "same", "worse"), strict=True):
        entry = found[row.name]
        assert entry.outcome == outcome
        assert entry.value is not None
        _is_drawn("chunking", row.name, entry.value)


@pytest.mark.parametrize("page", ["checks", "experiments", "judge", "chunking"])
def test_an_empty_page_shows_its_example_and_a_form(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    _one_run(workspace)
    app = _open(workspace, monkeypatch, page)
    assert not app.exception
    assert EXAMPLES[page].statement in page_text(app)
    assert app.button(key=f"example_{EXAMPLES[page].project}").label == "Open the example"
    assert any(label in page_text(app) for label in ("Start", "Let Claude evaluate"))


def test_the_example_is_loaded_and_opened(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _one_run(workspace)
    app = _open(workspace, monkeypatch, "checks")
    app.button(key="example_tau-bench").click().run()
    assert headline(app) == EXAMPLES["checks"].statement
    assert [run.project for run in workspace.runs()].count("tau-bench") == 1


def test_a_table_of_checks_becomes_a_run(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _one_run(workspace)
    app = _open(workspace, monkeypatch, "checks")
    rows = [
        {"question": f"{at}?", "answer": "a", "expected_route": "x", "actual_route": "x" if at else "y"}
        for at in range(4)
    ]
    content = "\n".join(json.dumps(row) for row in rows).encode()
    app.file_uploader(key="checks_file").upload("routes.jsonl", content, "application/json")
    next(button for button in app.button if button.label == "Import and check").click().run()
    assert not app.exception
    assert headline(app) == "routes: 1 of 4 questions took the wrong route"


def test_an_experiment_begins_on_the_page(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _one_run(workspace)
    started: list[Any] = []
    monkeypatch.setattr(
        "ragtriage.dashboard.pages.experiments.begin.start_or_report", lambda _, words: started.append(words)
    )
    app = _open(workspace, monkeypatch, "experiments")
    content = write_questions(tmp_path / "codes.jsonl", 12).read_bytes()
    app.file_uploader(key="experiment_file").upload("codes.jsonl", content, "application/json")
    next(button for button in app.button if button.label == "Start").click().run()
    assert not app.exception
    ((*words,),) = started
    assert words[:4] == ["experiment", "position", "--system", "builtin"]
    assert Path(words[words.index("--questions") + 1]).read_bytes() == content


def test_without_questions_nothing_begins(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _one_run(workspace)
    app = _open(workspace, monkeypatch, "experiments")
    next(button for button in app.button if button.label == "Start").click().run()
    assert [error.value.replace("\\", "") for error in app.error] == [
        "questions: nothing given; accepted: a set, a run, or an uploaded file"
    ]
    assert experiment_jobs(workspace.ledger) == []


def test_the_picture_of_the_judge_is_the_bundled_run(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=90)
    app.session_state["selection"] = Selection(project=EXAMPLES["judge"].project)
    app.switch_page("judge/judge.py").run()
    assert headline(app) == EXAMPLES["judge"].statement
    assert "0.79 [0.59, 0.88]" in page_text(app)
    assert "0.12 [−0.10, 0.36]" in page_text(app)


def test_a_first_project_has_seven_pages(workspace: RunStore) -> None:
    _one_run(workspace)
    view = View.of(workspace, Selection(project="p"))
    assert pages_without_content(view) == {
        *("compare", "trend", "checks", "chunking", "experiments", "judge", "benchmarks")
    }


def test_pages_with_content_are_not_under_more(demo: RunStore) -> None:
    def there(project: str) -> frozenset[str]:
        return pages_without_content(View.of(demo, Selection(project=project)))

    assert "checks" not in there("tau-bench")
    assert there("handbook") == {"checks", "experiments", "benchmarks"}
    assert "judge" not in there("mtrag, judged")
    assert not {"experiments", "compare", "chunking"} & there("experiments")
    assert "benchmarks" not in there("clapnq")
