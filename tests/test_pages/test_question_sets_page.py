"""Runs: question sets are loaded, listed with what they hold, and joined to a run at loading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.question_sets import question_sets

SET: list[dict[str, Any]] = [
    {"question_id": "q1", "question": "Which river?", "reference_answer": "The Rhine", "relevant": ["c1"]},
    {"question_id": "q2", "question": "<b>Who</b>?", "relevant": [{"text": "He did."}]},
]


def _open(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    return app.switch_page("runs/runs.py").run()


def _file(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def test_a_question_set_is_kept_listed_and_joined(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch)  # no runs yet: the loader is on the page
    app.text_input(key="upload_path").set_value(str(_file(tmp_path / "sotu.jsonl", SET))).run()
    assert any("kept as a question set, not as a run" in part.value for part in app.markdown)
    app.button(key="load").click().run()
    assert not app.exception
    assert "kept 2 questions as question set sotu" in app.success[0].value
    (facts,) = question_sets(workspace.workspace)
    table = next(part.value for part in app.dataframe if "References" in part.value.columns)
    assert table.iloc[0].to_dict() == {
        "Name": "sotu",
        "Questions": "2",
        "Gold": "2 (ids 1, texts 1)",
        "References": "1",
        "Two or more hops": "–",
        "From": "sotu.jsonl (native)",
        "Kept": f"{facts.created_at:%Y-%m-%d}",
        "Id": facts.set_id,
    }
    app.selectbox(key="upload_questions").set_value(facts.set_id)
    records = [{"question": "Which river?", "answer": "Rhine", "retrieved": [{"id": "c1", "text": "x"}]}]
    app.text_input(key="upload_path").set_value(str(_file(tmp_path / "run.jsonl", records))).run()
    app.button(key="load").click().run()
    assert not app.exception
    (run,) = workspace.runs()
    assert run.notes[0] == "question set sotu: joined 1 of 1 samples; 1 question of the set without a sample"
    assert {"relevant", "reference_answer"} <= set(run.fields)
    assert (run.dataset, run.dataset_version) == ("sotu", facts.set_id)


def test_the_tab_of_question_sets(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    add_run([{"question": "a?", "answer": "b"}], "first", "p", workspace=str(workspace.workspace.root))
    app = _open(workspace, monkeypatch)
    app.session_state["runs_tab"] = "Question sets"
    app.run()
    assert not app.exception
    assert any("No question sets yet" in part.value for part in app.caption)
