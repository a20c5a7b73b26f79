"""Grids that run beside each other: one plan in two projects, and a page that sees each of them end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.sections.chunking import grid_search
from dashboard.sections.chunking.grid_search import GridJob, dismiss, jobs

PLACE: Any = SimpleNamespace(workspace=SimpleNamespace(root="/w"))


@pytest.fixture(autouse=True)
def _no_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_search, "_JOBS", {})


def _put(project: str, **more: Any) -> GridJob:
    job = GridJob("abc", "corpus", project, **more)
    grid_search._JOBS["/w", job.name] = job
    return job


def _page() -> None:
    from types import SimpleNamespace

    from dashboard.sections.chunking import grid_search

    grid_search.grid_progress(SimpleNamespace(workspace=SimpleNamespace(root="/w")))  # type: ignore[arg-type] # its root is all that is read


def test_one_plan_in_two_projects_can_be_dismissed_one_by_one() -> None:
    _put("one", done=True)
    _put("two", done=True)
    app = AppTest.from_function(_page).run()
    assert not app.exception
    assert len(app.success) == 2
    app.button(key="dismiss_one/abc").click().run()
    assert not app.exception
    assert [job.project for job in jobs(PLACE)] == ["two"]


def test_a_grid_that_runs_is_not_forgotten() -> None:
    job = _put("one")
    dismiss(PLACE, job)
    assert jobs(PLACE) == [job]


@pytest.mark.parametrize(
    ("shown", "now", "again"),
    [
        (set(), {"one": False, "two": False}, False),
        (set(), {"one": True, "two": False}, True),
        ({"one/abc"}, {"one": True, "two": False}, False),
        ({"one/abc"}, {"one": True, "two": True}, True),
        ({"gone/abc"}, {"two": True}, True),
    ],
)
def test_the_page_is_drawn_anew_when_any_grid_ends(
    monkeypatch: pytest.MonkeyPatch, shown: set[str], now: dict[str, bool], again: bool
) -> None:
    drawn: list[bool] = []
    monkeypatch.setattr("streamlit.rerun", lambda: drawn.append(True))
    for project, done in now.items():
        _put(project, done=done)
    grid_search._watch(PLACE, frozenset(shown))
    assert drawn == ([True] if again else [])
