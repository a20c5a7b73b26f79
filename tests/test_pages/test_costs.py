"""What a rerun of each page reads: few queries at first, hardly any again, and never a call of a model."""

from __future__ import annotations

import pytest
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.diagnosis.run_digest import read_digests
from ragtriage.data.read_costs import ReadCosts
from ragtriage.data.scoring.run_store import RunStore

PAGES = (
    "triage",
    "compare",
    "trend",
    "cases",
    "diagnosis",
    "checks",
    "retrieval",
    "chunking",
    "alignment",
    "experiments",
    "datasets",
    "judge",
    "benchmarks",
    "present",
    "runs",
)
MOST_AT_FIRST, MOST_AGAIN = 60, 40  # queries of a first view in a process, and of a rerun


@pytest.mark.parametrize("page", PAGES)
def test_a_page_reads_little(
    demo: RunStore, page: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    monkeypatch.setenv("RAGTRIAGE_COSTS", "1")
    read_digests(demo, demo.runs())  # each run is diagnosed for the list once, when it is new
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="handbook")
    app.run()
    if page != "triage":
        app.switch_page(f"{page}/{page}.py").run()
    first: ReadCosts = app.session_state["costs"]
    capfd.readouterr()
    app.run()
    again: ReadCosts = app.session_state["costs"]
    assert not app.exception
    assert first.queries <= MOST_AT_FIRST
    assert again.queries <= MOST_AGAIN
    assert again.made == 0
    assert first.model_calls == again.model_calls == 0
    assert f"{page}: {again.queries:,} queries, {again.rows:,} rows" in capfd.readouterr().err


def test_nothing_is_printed_unless_asked_for(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    monkeypatch.delenv("RAGTRIAGE_COSTS", raising=False)
    app = AppTest.from_file(str(APP), default_timeout=60).run()
    assert not app.exception
    assert "queries" not in capfd.readouterr().err
