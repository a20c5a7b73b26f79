"""The page Experiments: an experiment in a sentence, its view, links, hostile names, and the empty state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from page_text import headline, page_text
from places import APP
from reading_systems import ReadingSystem, forgets_the_middle, write_questions
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.experiments.registry import experiment_headline
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.experiments.experiment import Experiment, experiments
from ragtriage.data.experiments.plan import plan_experiment
from ragtriage.data.experiments.questions import open_questions
from ragtriage.data.experiments.registry import KINDS, experiment_summary, kind_of
from ragtriage.data.experiments.run_experiment import run_experiment
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.systems.system import SystemLimits

HOSTILE = "<img src=x onerror=alert(1)> ![a](http://x.test) [x](javascript:1)"


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(**chosen)
    return app.switch_page("experiments/experiments.py").run()


def _run(store: RunStore, path: Path, name: str, most: int | None = None) -> Experiment:
    system = ReadingSystem(forgets_the_middle, name)
    planned = plan_experiment(kind_of("position"), open_questions(store, str(path)), {}, system, "p")
    limits = SystemLimits(concurrency=1, most_requests=most)
    return run_experiment(store, planned, system, limits).experiment


def test_an_experiment_is_concluded_and_drawn(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = _run(workspace, write_questions(tmp_path / "codes.jsonl", 60), "my system")
    app = _open(workspace, monkeypatch, project="p")
    assert not app.exception
    assert headline(app) == "my system: answers get lost in the middle"
    text = page_text(app)
    assert "n = 60 questions measured at every place" in text
    assert "another data set and other models" in text
    assert app.button(key=f"experiment_{experiment.experiment_id}").label == "Lost in the middle"
    assert "points in the middle" in text
    turned = app.dataframe[-1].value
    assert turned[""].tolist() == ["✕"] * len(turned)  # wrong in the middle, right at rank 1
    app.session_state["experiment_tabs"] = "Arms"
    app.run()
    assert "Gold at rank 6 of 10" in page_text(app)


def test_hostile_names_are_text(workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _run(workspace, write_questions(tmp_path / "codes.jsonl", 12), HOSTILE)
    app = _open(workspace, monkeypatch, project="p")
    assert not app.exception
    bodies = " ".join(str(block.proto.body) for block in app.get("html"))
    assert "<img" not in bodies
    captions = " ".join(caption.value for caption in app.caption)
    assert "![a](" not in captions
    assert "[x](javascript" not in captions


def test_one_that_was_stopped_says_how_it_goes_on(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(workspace, write_questions(tmp_path / "codes.jsonl", 12), "s", most=20)
    add_run([{"question": "why?"}], "one", "p", str(workspace.workspace.root))
    app = _open(workspace, monkeypatch, project="p")
    assert not app.exception
    assert headline(app) == "Lost in the middle: 0 of 7 arms done"
    assert "nothing is asked twice" in page_text(app)


def test_without_an_experiment_one_can_be_begun(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    add_run([{"question": "why?"}], "one", "p", str(workspace.workspace.root))
    app = _open(workspace, monkeypatch, project="p")
    assert not app.exception
    assert headline(app) == "No experiment in this project yet"
    assert app.selectbox(key="experiment_kind").options[0].startswith("Lost in the middle")
    assert "ragtriage experiment --help" in page_text(app)


def test_the_bundled_experiments_have_their_views(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {entry.kind: entry for entry in experiments(demo.workspace) if entry.project == "experiments"}
    views = {
        "arms": "What each setting does",
        "noise": "Does it decline",
        "position": "Quality by the place",
        "sources": "What is lost without a source",
        "stability": "Questions whose verdict flips",
    }
    assert set(listed) == set(KINDS)
    for kind, said in views.items():
        app = _open(demo, monkeypatch, project="experiments", experiment=listed[kind].experiment_id)
        assert not app.exception
        assert said in page_text(app)
        assert "computed" in page_text(app)


def test_every_kind_has_a_headline_that_fits(demo: RunStore) -> None:
    for entry in experiments(demo.workspace):
        assert entry.kind in KINDS
        shown = experiment_headline(experiment_summary(demo, entry))
        assert len(shown.statement) <= 75
        assert not shown.statement.endswith(".")
