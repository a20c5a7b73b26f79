"""The state of a browser tab: the run that is read stays the run that is shown, and the URL says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from page_text import headline
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run


def _add(root: Path, name: str, level: float) -> Run:
    records = [
        {
            "question_id": f"q{at}",
            "question": f"{at}?",
            "answer": "a",
            "scores": {"faithfulness": level + at / 100},
        }
        for at in range(12)
    ]
    return add_run(records, name, "p", str(root))


@pytest.fixture
def root(workspace: RunStore) -> Path:
    """A workspace with two runs."""
    path = workspace.workspace.root
    _add(path, "first", 0.5)
    _add(path, "second", 0.6)
    return path


def _open(root: Path, page: str, monkeypatch: pytest.MonkeyPatch, **state: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    for key, value in state.items():
        app.session_state[key] = value
    return app.switch_page(f"{page}/{page}.py").run()


def test_the_url_names_the_run_and_the_baseline_that_are_shown(
    root: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = workspace.runs()
    app = _open(root, "diagnosis", monkeypatch)
    assert app.query_params["run"] == second.run_id
    assert app.query_params["before"] == f"{second.run_id}~{first.run_id}"
    assert app.session_state["selection"].baseline == ""  # another run has another default baseline
    third = _add(root, "third", 0.4)
    workspace.ledger.set_baseline("p", third.run_id, "Ann")
    app.run()
    link = {name: app.query_params[name] for name in ("run", "baseline")}
    assert link == {"run": second.run_id, "baseline": third.run_id}
    workspace.ledger.set_baseline("p", first.run_id, "Ann")
    fresh = _open(root, "diagnosis", monkeypatch)
    fresh.query_params.clear()
    fresh.query_params.update(link)
    fresh.run()
    assert fresh.session_state["view"].baseline == third  # as the link says, not as it is now


def test_a_run_that_somebody_else_loads_does_not_take_the_place_of_the_one_on_screen(
    root: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = workspace.runs()[-1]
    app = _open(root, "cases", monkeypatch, annotator_name="Ann")
    newest = _add(root, "third", 0.7)
    app.button(key="label_Fail").click().run()
    assert headline(app).startswith("second: ")
    app.button(key="label_Fail").click().run()
    assert workspace.ledger.labels(newest.run_id) == []
    assert len(workspace.ledger.labels(second.run_id)) == 2


def test_a_key_labels_no_other_run_than_the_one_that_was_read(
    root: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = workspace.runs()
    app = _open(root, "cases", monkeypatch, annotator_name="Ann")
    workspace.workspace.delete_run(second.run_id)
    app.button(key="label_Fail").click().run()
    assert workspace.ledger.labels(second.run_id) == []
    assert "There is no run" in app.warning[0].value
    assert [button.key for button in app.button] == ["leave_missing_run"]  # no key that labels another run
    app.run()  # whatever else draws the page again
    assert [button.key for button in app.button] == ["leave_missing_run"]
    app.button(key="leave_missing_run").click().run()
    assert headline(app).startswith("first: ")
    assert workspace.ledger.labels(first.run_id) == []


def test_labels_of_a_key_move_on_to_the_next_case(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(root, "cases", monkeypatch, annotator_name="Ann")
    before = [text.value for text in app.markdown if text.value.endswith(" of 12")]
    app.button(key="label_Fail").click().run()
    after = [text.value for text in app.markdown if text.value.endswith(" of 12")]
    assert (before, after) == (["1 of 12"], ["2 of 12"])


def test_a_quick_second_press_is_not_undone_by_the_url_of_before_the_first(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(root, "diagnosis", monkeypatch)
    stale = dict(app.query_params)
    app.slider(key="pick_context").set_value(0.55).run()
    app.query_params.clear()
    app.query_params.update(stale)  # the browser sent the second press before the new URL had reached it
    app.slider(key="pick_context").set_value(0.60).run()
    assert app.slider(key="pick_context").value == 0.60
    assert app.query_params["context"] == "0.6"
    app.query_params["context"] = "0.7"  # a URL that nobody's widget changed is followed: a link, or Back
    app.run()
    assert app.slider(key="pick_context").value == 0.70


def test_what_was_just_loaded_is_what_opens(
    root: Path, tmp_path: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fresh.jsonl"
    path.write_text(json.dumps({"question": "New?", "answer": "Yes."}), encoding="utf-8")
    app = _open(root, "runs", monkeypatch)
    app.button(key="open_loader").click().run()
    app.text_input(key="upload_path").set_value(str(path))
    app.button(
        key="open_loader"
    ).click().run()  # a run of AppTest closes the dialog, one of a browser does not
    app.button(key="load").click()
    app.button(key="open_loader").click().run()
    assert not app.exception
    shown = app.success[0].value.replace("\\", "")
    assert shown == "fresh: 1 sample from ragtriage, read 1 of 1 row"
    assert {run.name for run in workspace.runs()} == {"fresh", "second", "first"}
    fresh = next(run for run in workspace.runs() if run.name == "fresh")
    assert app.session_state["selection"].run == fresh.run_id
    assert app.query_params["run"] == fresh.run_id
    app.run()
    assert not app.success  # told once
