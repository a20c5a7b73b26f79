"""What CONTRIBUTING.md shows of adding things: each example, in a folder outside the tree, works."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run
from markdown_pages import blocks
from page_text import page_text
from places import APP, REPOSITORY
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard import cli
from ragtriage.dashboard.cli.main import COMMANDS
from ragtriage.dashboard.pages.registry import PAGES
from ragtriage.data.scoring.run_store import RunStore


def _example(name: str) -> str:
    """Return the example whose docstring begins with this word."""
    shown = blocks(REPOSITORY / "CONTRIBUTING.md")
    return next(block.text for block in shown if block.text.startswith(f'"""{name}'))


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


def test_a_new_command_answers(
    tmp_path: Path, demo: RunStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hello.py").write_text(_example("The hello command"), encoding="utf-8")
    monkeypatch.setattr(cli, "__path__", [*cli.__path__, str(tmp_path)])
    monkeypatch.setitem(COMMANDS, "hello", ("hello", "Say how many cases a run has."))
    asked = demo.find("V4 rerank")
    assert run(capsys, demo.workspace.root, "hello", "V4 rerank", "--json").json == {
        "run": asked.run_id,
        "n": asked.n,
    }
