"""Every page runs on every bundled project, on an empty workspace, and says what it should."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.selection import Selection
from data.catalogue import Catalogue
from data.workspace import Workspace

APP = Path(__file__).parent.parent / "dashboard" / "app.py"
PAGES = ("triage", "diagnosis", "cases", "compare", "runs")


def _open(root: Path, page: str, selection: Selection, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = selection
    app.run()
    if page != "triage":
        app.switch_page(f"views/{page}.py").run()
    return app


def _texts(app: AppTest) -> str:
    parts = [*app.title, *app.subheader, *app.markdown, *app.caption, *app.info, *app.warning, *app.error]
    return "\n".join(str(part.value) for part in parts)


@pytest.mark.parametrize("project", ["clapnq", "iris", "mtrag", "ragchecker"])
@pytest.mark.parametrize("page", PAGES)
def test_every_page_shows_every_project(
    demo: Catalogue, page: str, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(demo.workspace.root, page, Selection(project=project), monkeypatch)
    assert not app.exception
    assert not app.error
    assert len(app.title) == 1
    assert "nan" not in _texts(app).lower().split()


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_workspace_says_what_to_do(
    tmp_path: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Workspace(tmp_path / "empty").create().root
    app = _open(root, page, Selection(), monkeypatch)
    assert not app.exception
    assert "ragtriage demo" in _texts(app) + "".join(str(part.value) for part in app.markdown)


def test_a_selection_of_what_is_gone_falls_back(demo: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Selection(
        project="nowhere", run="000000000000", case="nobody~0", signal="no_metric", versions=("x",)
    )
    for page in PAGES:
        assert not _open(demo.workspace.root, page, gone, monkeypatch).exception


def test_filters_that_leave_nothing_say_so(demo: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(demo.workspace.root, "cases", Selection(project="iris", text="no such words"), monkeypatch)
    assert not app.exception
    assert "No case meets all of these filters" in _texts(app)


def test_the_convention_changes_what_is_undefined(demo: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(
        demo.workspace.root, "triage", Selection(project="ragchecker", convention="ragchecker"), monkeypatch
    )
    assert not app.exception
