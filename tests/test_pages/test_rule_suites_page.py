"""The page Checks on suites whose rules count: each has its sentence and tables; hostile texts are texts."""

from __future__ import annotations

from typing import Any

import pytest
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore

HOSTILE = "<img src=x onerror=alert(1)>"
ITEMS = [{"id": "1", "name": HOSTILE, HOSTILE: "a"}, {"id": "2", "name": "Acorn", HOSTILE: "b"}]


def _record(at: int) -> dict[str, Any]:
    owner = "bob" if at == 0 else "ann"
    constraints = {HOSTILE: "a" if at % 2 else "c"}
    checks = [
        {
            "name": "found",
            "kind": "filter",
            "expected": {"items": ITEMS, "constraints": constraints},
            "actual": ["1"],
        },
        {"name": "read", "kind": "filter", "expected": {HOSTILE: "a"}, "actual": {HOSTILE: "b"}},
        {"name": "sorted", "kind": "order", "expected": ["a", "b", "c"], "actual": ["a", "c", "b"]},
        {"name": "short", "kind": "format", "expected": {"max_words": 3, "language": "same"}},
        {"name": "day", "kind": "memory", "expected": {"memory_id": f"d{at}", "days": at % 5}},
    ]
    return {
        "question_id": f"q{at}",
        "question": f"Which hotel is in the old city, number {at}?",
        "answer": "Это гостиница в старом городе.",
        "account_id": "ann",
        "retrieved": [{"id": f"d{at}", "text": "t", "account_id": owner}],
        "checks": checks,
    }


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, suite: str) -> AppTest:
    add_run([_record(at) for at in range(20)], "run", "p", str(store.workspace.root))
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p", suite=suite)
    return app.switch_page("checks/checks.py").run()


@pytest.mark.parametrize(
    ("suite", "told", "tab", "column"),
    [
        ("filter", "10 of 10 empty results were answered with an item", "Violations", "Constraint"),
        (
            "order",
            "0 of 20 lists are in the expected order",
            "First inversion",
            "First out of order at place",
        ),
        ("format", "Most often broken", "Wrong languages", "Found"),
        ("memory", "20 of 20 earlier turns were recalled", "", "Age"),
        (
            "isolation",
            "1 of 20 samples retrieve a document of another account",
            "By account",
            "With a leak",
        ),
    ],
)
def test_a_suite_tells_its_numbers(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, suite: str, told: str, tab: str, column: str
) -> None:
    app = _open(workspace, monkeypatch, suite)
    assert not app.exception
    assert headline(app) == "run: 1 of 20 cases shows another account’s data"
    assert told in page_text(app)
    if tab:
        app.session_state["checks_tabs"] = tab
        app.run()
    assert any(column in str(list(frame.value)) for frame in app.dataframe)
    assert f"<p>{HOSTILE}" not in page_text(app)
