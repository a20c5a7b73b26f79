"""The suite Tools on the page Checks: its sentence, its tables; invented identifiers open their cases."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore

HOSTILE = "<img src=x onerror=alert(1)>12345"


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, page: str, chosen: Selection) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=90)
    app.session_state["selection"] = chosen
    return app.switch_page(f"{page}/{page}.py").run()


def _in_tab(app: AppTest, title: str) -> pd.DataFrame:
    """Return the table of a tab, which is the last on the page."""
    app.session_state["checks_tabs"] = title
    app.run()
    table: pd.DataFrame = app.dataframe[-1].value
    return table


def test_the_bundled_run_of_taubench_shows_what_is_wrong_with_its_calls(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = demo.runs("tau-bench")
    chosen = Selection(project="tau-bench", run=run.run_id, suite="tool")
    app = _open(demo, monkeypatch, "checks", chosen)
    assert not app.exception
    assert headline(app) == "gpt-4o, airline: 123 of 200 cases have a wrong tool call"
    text = page_text(app).replace("\\", "")
    assert "4 of 1,359 identifiers in arguments are invented" in text
    assert "calls are right in 77 cases, reward passes in 84, both in 74" in text
    assert "reward passes all 4 times in 20 % of 50 questions" in text
    chart = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    assert {bars["name"]: sum(bars["x"]) for bars in chart} == {"never made": 87, "not needed": 113}
    calls = _in_tab(app, "Calls")
    assert "Only calls of tools that write are compared" in page_text(app)
    assert calls.iloc[1].tolist() == [
        "Expected calls that were made",
        "61 % [49 % to 73 %], n = 30",
        "137 of 224",
    ]
    invented = _in_tab(app, "Invented identifiers")
    assert invented["Value"].tolist() == ["credit_card_7334", "credit_card_5634230"]
    repeats = _in_tab(app, "Repeats")
    assert repeats["All k pass"].tolist()[3] == "20 % [11 % to 33 %], n = 50"
    outcome = _in_tab(app, "Calls and outcome")
    assert outcome[["Calls right", "Outcome reached", "Both"]].to_numpy().tolist() == [[77, 84, 74]]


def test_the_cases_of_an_invented_identifier_say_what_is_invented(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = demo.runs("tau-bench")
    chosen = Selection(project="tau-bench", run=run.run_id, cohort="calls:invented", case="26~0")
    app = _open(demo, monkeypatch, "cases", chosen)
    assert not app.exception
    checks = next(frame.value for frame in app.dataframe if "Expected" in frame.value)
    row = checks.to_dict("records")[0]
    assert row["Result"] == "failed"
    assert row["Expected"].startswith("cancel_reservation(reservation_id: NQNU5R); get_reservation_details(")
    assert "invented: payment_id = credit_card_7334 in update_reservation_flights" in row["Reason"]


def test_hostile_calls_stay_text(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    call = {"name": HOSTILE, "arguments": {HOSTILE: HOSTILE, "user_id": HOSTILE}}
    check = {"name": HOSTILE, "kind": "tool", "expected": [{"name": "find"}], "actual": [call]}
    add_run([{"question": "?", "checks": [check]}], "run", "p", str(workspace.workspace.root))
    for page in ("checks", "cases"):
        app = _open(workspace, monkeypatch, page, Selection(project="p", suite="tool"))
        assert not app.exception
        assert not [html for html in app.get("html") if "<img src=x" in str(html.proto)]
