"""The page Checks: the worst suite in a sentence, a suite from the link, failing checks with their cases."""

from __future__ import annotations

from typing import Any

import pytest
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.suites.headline import checks_headline
from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.suites.check_table import suite_summaries

HOSTILE = "<img src=x onerror=alert(1)> ![a](http://x.test)"


def _check(name: str, kind: str, expected: Any, actual: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, "expected": expected, "actual": actual}


def _filled(store: RunStore, leaks: int = 1) -> None:
    """Forty questions: a quarter wrongly routed, one that leaks, half of a hostile kind not measured."""
    records = []
    for at in range(40):
        leak = {"name": "leak", "kind": "isolation", "passed": at >= leaks}
        hostile = _check(HOSTILE, HOSTILE, HOSTILE, None if at % 2 else HOSTILE)
        route = _check("route", "router", "offline", "online" if at % 4 == 0 else "offline")
        records.append(
            {"question_id": f"q{at}", "question": f"Question {at}?", "checks": [route, leak, hostile]}
        )
    add_run(records, "run", "p", str(store.workspace.root))


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p", **chosen)
    return app.switch_page("checks/checks.py").run()


def test_the_headline_states_the_worst_suite(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _filled(workspace)
    app = _open(workspace, monkeypatch)
    assert not app.exception
    assert headline(app) == "run: 1 of 40 cases shows another account’s data"
    assert "20 of 120 checks not measured" in page_text(app)
    assert "Critical: one failure is too many" in page_text(app)
    assert page_text(app).index("39 of 40") < page_text(app).index("30 of 40")  # the worst first
    suites = [str(button.key) for button in app.button if str(button.key).startswith("suite_")]
    assert suites[:2] == ["suite_isolation", "suite_router"]


def test_what_changed_since_the_baseline_is_in_headline_row_and_tab(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, wrong in (("before", set(range(6))), ("after", {7})):
        samples = [
            {
                "question_id": f"q{at}",
                "question": f"{at}?",
                "checks": [_check("route", "router", "a", "b" if at in wrong else "a")],
            }
            for at in range(8)
        ]
        run = add_run(samples, name, "p", str(workspace.workspace.root))
        if name == "before":
            workspace.ledger.set_baseline("p", run.run_id, "ann")
    app = _open(workspace, monkeypatch, run=run.run_id)
    text = page_text(app)
    assert "No difference from before is shown: of 8 questions 6 newly pass, 1 newly fail." in text
    assert "+62 points vs before" in text  # 7 of 8 against 2 of 8
    app.session_state["checks_tabs"] = "7 changed since before"
    app.run()
    flips = next(frame.value for frame in app.dataframe if "Now" in frame.value)
    assert flips.iloc[0].tolist() == ["q7", "passed", "fails"]  # what fails now comes first


def test_a_click_on_a_suite_chooses_it(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _filled(workspace)
    app = _open(workspace, monkeypatch, reason="an old one", check_page=3)
    app.button(key="suite_router").click().run()
    chosen = app.session_state["selection"]
    assert (chosen.suite, chosen.reason, chosen.check_page) == ("router", "", 1)
    assert "75 % of 40 questions take the right route" in page_text(app)


def test_a_link_chooses_suite_and_verdict(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _filled(workspace)
    app = _open(workspace, monkeypatch, suite="router")
    frames = [frame.value for frame in app.dataframe]
    listed = next(frame for frame in frames if "Case" in frame)
    assert listed["Case"].tolist() == [f"q{at}" for at in range(0, 32, 4)]  # eight a page
    assert set(listed["Actual"]) == {'"online"'}
    unmeasured = _open(workspace, monkeypatch, suite="router", verdict="unmeasured")
    assert "No check of this suite is without a verdict." in page_text(unmeasured)


def test_a_button_opens_every_failing_case_of_the_suite(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _filled(workspace)
    app = _open(workspace, monkeypatch, suite="router")
    button = app.button(key="follow_1")
    assert button.label == "10 failing cases"
    button.click().run()
    assert app.session_state["selection"].cohort == "suite:router"
    assert headline(app) == "run: 10 of 40 cases shown, all bad"


def test_weights_of_wrong_routes_stand_in_the_link(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _filled(workspace)
    app = _open(workspace, monkeypatch, suite="router", route_weights={"added": "3"})
    app.session_state["checks_tabs"] = "What wrong routes cost"
    app.run()
    assert app.number_input(key="weight_added").value == 3.0
    assert "a decision of this router costs 0.750" in page_text(app)  # 10 of 40 missed “offline”
    app.number_input(key="weight_added").set_value(2.0).run()
    assert app.session_state["selection"].route_weights == {"added": "2"}
    assert "a decision of this router costs 0.500" in page_text(app)


def test_hostile_names_are_text(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _filled(workspace)
    key = next(
        one.key
        for one in suite_summaries(workspace.scored(workspace.runs()[0]))
        if one.key not in ("router", "isolation")
    )
    app = _open(workspace, monkeypatch, suite=key, verdict="all")
    assert not app.exception
    assert all("<img" not in str(part.value) for part in [*app.markdown, *app.caption])
    assert not any("<img" in button.label or "![" in button.label for button in app.button)


def test_a_run_without_checks_says_how_to_record_them(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_run([{"question": "?", "answer": "a"}], "run", "p", str(workspace.workspace.root))
    app = _open(workspace, monkeypatch)
    assert headline(app) == "run records no checks"
    assert "expected_X and actual_X" in page_text(app)


def test_no_failure_says_what_it_still_allows(workspace: RunStore) -> None:
    _filled(workspace, leaks=0)
    summaries = [
        one for one in suite_summaries(workspace.scored(workspace.runs()[0])) if one.key == "isolation"
    ]
    said = checks_headline("run", summaries)
    assert (said.state, said.statement) == ("good", "run passes all 40 checks of “Isolation”")
    assert "still allows up to 7.2 % to fail" in said.detail  # 1 - 0.05 ** (1 / 40)
