"""What CONTRIBUTING.md shows of adding things: each example, in a folder outside the tree, works."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from markdown_pages import blocks
from page_text import page_text
from places import APP, REPOSITORY
from reading_systems import ReadingSystem, even, write_questions
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard import cli
from ragtriage.dashboard.cli.main import COMMANDS
from ragtriage.dashboard.experiments.registry import VIEWS
from ragtriage.dashboard.pages.registry import PAGES
from ragtriage.dashboard.suites import registry as suite_registry
from ragtriage.data.api import add_run
from ragtriage.data.experiments.plan import plan_experiment
from ragtriage.data.experiments.questions import open_questions
from ragtriage.data.experiments.registry import KINDS
from ragtriage.data.experiments.run_experiment import run_experiment
from ragtriage.data.importers import registry as importer_registry
from ragtriage.data.importers import tools
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.suites.registry import SUITES
from ragtriage.data.systems.system import SystemLimits


def _example(name: str) -> str:
    """Return the example whose docstring begins with this word."""
    return _block(f'"""{name}')


def _block(begin: str) -> str:
    shown = blocks(REPOSITORY / "CONTRIBUTING.md")
    return next(block.text for block in shown if block.text.startswith(begin))


def test_a_new_page_opens(tmp_path: Path, demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    folder = tmp_path / "pages"
    folder.mkdir()
    for path in APP.parent.iterdir():
        (folder / path.name).symlink_to(path)
    (tmp_path / "static").symlink_to(APP.parent.parent / "static")
    (folder / "hello").mkdir()
    (folder / "hello" / "hello.py").write_text(_example("Hello"), encoding="utf-8")
    monkeypatch.setitem(PAGES, "Try", [("hello", "waving_hand")])
    page = AppTest.from_file(str(folder / APP.name), default_timeout=60).switch_page("hello/hello.py").run()
    assert not page.exception
    assert "Hello, " in page_text(page)


def _example_names(tmp_path: Path, name: str) -> dict[str, Any]:
    path = tmp_path / "example.py"
    path.write_text(_example(name), encoding="utf-8")
    return runpy.run_path(str(path))


def test_a_new_suite_is_shown(
    tmp_path: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = _example_names(tmp_path, "The suite tone")
    monkeypatch.setitem(SUITES, "tone", example["TONE_SUITE"])
    monkeypatch.setitem(suite_registry.VIEWS, "tone", example["VIEW"])
    samples = [
        {
            "question_id": f"q{at}",
            "question": "?",
            "answer": "Wait, please." if at else "Wait.",
            "checks": [{"name": "t", "kind": "tone"}],
        }
        for at in range(4)
    ]
    add_run(samples, "run", "p", str(workspace.workspace.root))
    answer = run(capsys, workspace.workspace.root, "checks", "run", "--suite", "tone")
    assert "3 of 4 answers are polite." in answer.out
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    page = AppTest.from_file(str(APP), default_timeout=60).switch_page("checks/checks.py").run()
    assert "3 of 4 answers are polite." in page_text(page)


def test_a_new_experiment_is_run_and_shown(
    tmp_path: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = _example_names(tmp_path, "Capitals")
    monkeypatch.setitem(KINDS, "capitals", example["CAPITALS"])
    monkeypatch.setitem(VIEWS, "capitals", example["VIEW"])
    questions = open_questions(workspace, str(write_questions(tmp_path / "codes.jsonl", 4)))
    system = ReadingSystem(even)
    planned = plan_experiment(example["CAPITALS"], questions, {}, system)
    made = run_experiment(workspace, planned, system, SystemLimits()).experiment
    shown = run(capsys, workspace.workspace.root, "experiment", "show", made.experiment_id).out
    assert shown.startswith("Capitals: 0 points.")
    assert "in capitals" in shown
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    page = AppTest.from_file(str(APP), default_timeout=60).switch_page("experiments/experiments.py").run()
    assert "Capitals: 0 points" in page_text(page)


def test_a_new_command_answers(
    tmp_path: Path, demo: RunStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hello.py").write_text(_example("The hello command"), encoding="utf-8")
    monkeypatch.setattr(cli, "__path__", [*cli.__path__, str(tmp_path)])
    monkeypatch.setitem(COMMANDS, "hello", "hello")
    asked = demo.find("V4 rerank")
    assert run(capsys, demo.workspace.root, "hello", "V4 rerank", "--json").json == {
        "run": asked.run_id,
        "n": asked.n,
    }


def test_a_new_importer_reads_a_file(
    tmp_path: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "acme.py").write_text(_example("Acme Search"), encoding="utf-8")
    added = importer_registry.Format(**json.loads(_block('{"module": "tools.acme"')))
    monkeypatch.setattr(tools, "__path__", [*tools.__path__, str(tmp_path)])
    monkeypatch.setattr(importer_registry, "TOOLS", (added, *importer_registry.TOOLS))
    calls = [
        {"query": f"Who is {name}?", "reply": name, "hits": [{"doc": "d1", "text": name}], "grounded": at / 2}
        for at, name in enumerate(("Ann", "Bob", "Cleo"))
    ]
    file = tmp_path / "calls.jsonl"
    file.write_text("\n".join(map(json.dumps, calls)), encoding="utf-8")
    (imported,) = run(capsys, workspace.workspace.root, "import", str(file), "--json").json["runs"]
    stored = workspace.find(imported["run_id"])
    assert (stored.origin["format"], stored.n) == ("acme", 3)
