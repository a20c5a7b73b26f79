"""Every page runs on every bundled project, on an empty workspace, and says what it should."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.demo import FIRST_PROJECT, FIRST_RUN
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace

PAGES = ("triage", "diagnosis", "cases", "checks", "compare", "runs")


def _open(root: Path, page: str, selection: Selection, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = selection
    if page != "triage":
        app.switch_page(f"{page}/{page}.py")
    return app.run()


def _texts(app: AppTest) -> str:
    parts = [*app.title, *app.subheader, *app.markdown, *app.caption, *app.info, *app.warning, *app.error]
    return "\n".join(str(part.value) for part in parts)


@pytest.mark.parametrize("project", ["handbook", "clapnq", "iris", "mtrag", "ragchecker"])
@pytest.mark.parametrize("page", PAGES)
def test_every_page_shows_every_project(
    demo: RunStore, page: str, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(demo.workspace.root, page, Selection(project=project), monkeypatch)
    assert not app.exception
    assert not app.error
    titles = [block for block in app.get("html") if "<h1>" in str(block.proto.body)]
    assert len(app.title) + len(titles) == 1
    assert "nan" not in _texts(app).lower().split()


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_workspace_says_what_to_do(
    tmp_path: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Workspace(tmp_path / "empty").create().root
    app = _open(root, page, Selection(), monkeypatch)
    assert not app.exception
    assert "ragtriage demo" in page_text(app)


def test_a_selection_of_what_is_gone_falls_back(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Selection(
        project="nowhere", run="000000000000", case="nobody~0", context_metric="no_metric", versions=("x",)
    )
    for page in PAGES:
        assert not _open(demo.workspace.root, page, gone, monkeypatch).exception


def test_a_bare_address_opens_the_newest_run(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(demo.workspace.root, "triage", Selection(), monkeypatch)
    (first,) = [run for run in demo.runs(FIRST_PROJECT) if run.name == FIRST_RUN]
    assert app.session_state["view"].run == first
    assert FIRST_RUN in headline(app)


def test_filters_that_leave_nothing_say_so(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(demo.workspace.root, "cases", Selection(project="iris", text="no such words"), monkeypatch)
    assert not app.exception
    assert headline(app).endswith(": no case matches the filters")


def test_the_convention_changes_what_is_undefined(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(
        demo.workspace.root, "triage", Selection(project="ragchecker", convention="ragchecker"), monkeypatch
    )
    assert not app.exception


def _read(app: AppTest) -> str:
    """What a reader sees: without the marks that keep outside text from being markup."""
    return _texts(app).replace("\\", "").replace("\u2060", "")


def _html(app: AppTest) -> str:
    """What a page draws as HTML, with what shows when the pointer rests on it."""
    return html.unescape(" ".join(str(block.proto.body) for block in app.get("html")))


def test_an_address_of_what_is_not_there_says_so_once(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = Selection(project="no [where](x)", run="000000000000", baseline="111111111111")
    app = _open(demo.workspace.root, "triage", gone, monkeypatch)
    (said,) = [
        str(one.value)
        for one in app.warning
        if "What opens without a link is shown instead" in str(one.value)
    ]
    assert "There is no project" in said
    assert "[where](x)" not in said, "what an address says is data"
    assert "There is no run '000000000000'" in _read(app)
    assert "There is no run '111111111111' to be the baseline" in _read(app)
    app.run()
    assert "What opens without a link is shown instead" not in _texts(app)


def test_a_run_of_another_project_is_named_as_such(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    other = next(run for run in demo.runs("mtrag") if run.name.startswith("GPT"))
    app = _open(demo.workspace.root, "triage", Selection(project="iris", run=other.run_id), monkeypatch)
    assert f"Run '{other.run_id}' belongs to 'mtrag', not to 'iris'" in _read(app)
    found = _open(demo.workspace.root, "triage", Selection(project="nowhere", run=other.run_id), monkeypatch)
    assert "There is no project 'nowhere'" in _read(found)
    assert "GPT" in headline(found), "the run that is there is shown"


def test_triage_says_what_its_pass_rate_and_its_priority_rest_on(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bm25,) = [one for one in demo.runs("musique") if one.name == "BM25"]
    chosen = Selection(project="musique", run=bm25.run_id)
    app = _open(demo.workspace.root, "triage", chosen, monkeypatch)
    assert "Pass rate, All-hops recall@10 alone" in page_text(app)
    assert "f what was measured: All-hops recall@10 alone; 47 of 68 cases fully measured" in _html(app)
    (colbert,) = [one for one in demo.runs("iris") if (one.name, one.n) == ("colbert", 30)]
    app = _open(demo.workspace.root, "triage", Selection(project="iris", run=colbert.run_id), monkeypatch)
    assert "First: check the retriever" in _html(app), "a stage is no step while its cases are doubted"
    assert "Doubted: every question got the same 10 documents" in page_text(app)
    app.session_state["triage_tabs"] = "Findings"
    assert "All 10 questions (30 cases) got the same 10 documents" in _read(app.run())
    app = _open(demo.workspace.root, "diagnosis", Selection(project="iris", run=colbert.run_id), monkeypatch)
    assert "every question got the same 10 documents" in page_text(app)
    assert "Wrongly refused (inferred) refusal · inferred · doubted" in page_text(app)
