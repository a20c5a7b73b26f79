"""Loading a file on the page Runs: the way out where no column reads as the question."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.data.scoring.run_store import RunStore


def test_a_table_without_a_question_offers_its_columns(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.run()
    app.switch_page("runs/runs.py").run()
    path = tmp_path / "german.csv"
    path.write_text("Frage,answer,kurz\nWer?,Ann,x\nWann?,Mai,y\n", encoding="utf-8")
    app.text_input(key="upload_path").set_value(str(path)).run()
    assert "`--map question=COLUMN`" in app.error[0].value.replace("\\", "")
    (choice,) = (box for box in app.selectbox if box.label == "Column with the question")
    assert choice.options == ["Frage", "answer", "kurz"]
    choice.set_value("Frage").run()
    assert not app.error
    app.button(key="load").click().run()
    assert not app.exception
    (run,) = workspace.runs()
    assert run.n == 2
    assert set(run.fields) >= {"question", "answer"}
