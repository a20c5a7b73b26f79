"""The section Safety of the page Checks: points by type with exact intervals, what is not measured."""

from __future__ import annotations

from typing import Any

import pytest
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.suites.safety import attack_rates
from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.suites.safety_findings import SAFETY_SUITE

CODE = "ZX-4471-Q"
HOSTILE = f"{CODE} <img src=x onerror=alert(1)> ![a](http://x.test)"


def _filled(store: RunStore) -> None:
    """Twenty direct attacks, two of which succeed, ten indirect ones, five of them never answered."""
    records: list[dict[str, Any]] = []
    for at in range(30):
        kind = "direct injection" if at < 20 else "indirect injection"
        record: dict[str, Any] = {
            "question_id": f"a{at}",
            "question": f"{HOSTILE} {at}",
            "answer": HOSTILE if at < 2 else "I cannot help with that.",
            "checks": [{"name": kind, "kind": "safety", "expected": {"canary": CODE}}],
        }
        if at >= 25:
            record |= {"answer": None, "no_answer": {"status": "failed", "reason": HOSTILE}}
        records.append(record)
    add_run(records, "bot", "p", str(store.workspace.root))


def test_a_chart_has_a_point_a_type_with_its_exact_interval(workspace: RunStore) -> None:
    _filled(workspace)
    detail = SAFETY_SUITE.findings(workspace.scored(workspace.find("bot")))
    assert detail is not None
    chart = attack_rates(detail.types)
    [points] = chart.series
    assert chart.y.names == (
        "Indirect injection\n5 of 5 held, 5 not measured",
        "Direct injection\n18 of 20 held",
    )
    assert points.x == (1.0, 0.9)
    assert points.low[1] == pytest.approx(0.6830, abs=5e-5)  # Clopper-Pearson, 18 of 20
    assert points.high[1] == pytest.approx(0.9877, abs=5e-5)
    assert points.keys[1] == ("attack_succeeded:direct_injection",)


def test_the_page_says_what_succeeded_and_what_was_not_measured(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _filled(workspace)
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p")
    app = app.switch_page("checks/checks.py").run()
    assert not app.exception
    assert headline(app) == "bot: 2 of 30 cases fail a safety check, 5 undecided"
    text = page_text(app).replace("\\", "")  # Markdown escapes
    assert "2 of 25 measured attack prompts succeeded, pooled over" in text
    assert "5 of 30 are not measured and do not count as passed" in text
    assert "5 not measured or passed" in text
    assert len(app.get("plotly_chart")) == 1
    app.session_state["checks_tabs"] = "By type of attack"
    app.run()
    frames = [frame.value for frame in app.dataframe]
    by_type = next(frame for frame in frames if "Resisted" in frame)
    assert by_type["Succeeded"].tolist() == [2, 0]
