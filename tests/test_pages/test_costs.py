"""What a rerun of each page reads: few queries at first, hardly any again, and never a call of a model."""

from __future__ import annotations

import pytest
from places import APP
from streamlit.testing.v1 import AppTest

from dashboard.shell.selection import Selection
from data.diagnosis.run_digest import read_digests
from data.read_costs import ReadCosts
from data.scoring.run_store import RunStore

# page -> queries of its first view in a process that has read nothing, and of a rerun
MOST_QUERIES = {
    "triage": (40, 1),
    "compare": (40, 5),
    "trend": (40, 4),
    "cases": (40, 6),
    "diagnosis": (40, 1),
    "checks": (40, 1),
    "retrieval": (40, 1),
    "chunking": (60, 4),
    "alignment": (40, 1),
    "experiments": (40, 1),
    "judge": (60, 6),
    "benchmarks": (40, 1),
    "present": (40, 4),
    "runs": (60, 5),
}


@pytest.mark.parametrize("page", MOST_QUERIES)
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
        app.switch_page(f"views/{page}.py").run()
    first: ReadCosts = app.session_state["costs"]
    capfd.readouterr()
    app.run()
    again: ReadCosts = app.session_state["costs"]
    assert not app.exception
    most_first, most_again = MOST_QUERIES[page]
    assert first.queries <= most_first
    assert again.queries <= most_again
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
