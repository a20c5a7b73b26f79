"""Runs whose facts are broken, crafted or foreign: named, and never followed out of the workspace."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import run
from page_text import headline
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.data.api import add_run
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace


def _stored(store: RunStore) -> Path:
    """Add a run and return the path of its facts."""
    stored = add_run([{"question": "a?"}], "one", workspace=str(store.workspace.root))
    return store.workspace.runs_folder / stored.run_id / "run.json"


def _crafted(store: RunStore, **facts: object) -> str:
    """Add a run, change its facts, forget the index, and return the name of its folder."""
    path = _stored(store)
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **facts}), encoding="utf-8")
    store.workspace.index_path.unlink(missing_ok=True)
    return path.parent.name


@pytest.mark.parametrize("elsewhere", ["../../precious", "/precious", "..", "another"])
def test_facts_that_name_another_folder_are_refused_and_delete_nothing_elsewhere(
    workspace: RunStore, tmp_path: Path, elsewhere: str, capsys: pytest.CaptureFixture[str]
) -> None:
    precious = tmp_path / "precious" / "thesis.txt"
    precious.parent.mkdir()
    precious.write_text("years", encoding="utf-8")
    run_id = _crafted(workspace, run_id=elsewhere.replace("/precious", str(precious.parent), 1))
    root = workspace.workspace.root
    listed = run(capsys, root, "runs")
    assert "differs from the name of its folder" in listed.err
    assert run(capsys, root, "delete", "--yes", elsewhere).code == 2
    with pytest.raises(WorkspaceError, match="no run"):
        workspace.workspace.delete_run("../../precious")
    assert run(capsys, root, "delete", "--yes", run_id).code == 0
    assert precious.read_text(encoding="utf-8") == "years"
    assert not (workspace.workspace.runs_folder / run_id).exists()


def test_an_index_that_names_another_folder_is_not_believed(workspace: RunStore) -> None:
    path = _stored(workspace)
    run_id = path.parent.name
    facts = json.loads(path.read_text(encoding="utf-8"))
    workspace.index.write(run_id, "run", json.dumps({**facts, "run_id": "../../precious"}))
    assert [found.run_id for found in RunStore(workspace.workspace).runs()] == [run_id]


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"n": "many"}, "n: Input should be a valid integer"),
        ({"config": None}, "config: Input should be an object"),
        ({"created_at": "yesterday"}, "created_at"),
        ({"created_at": "2026-01-01T00:00:00+02:00"}, "time zone"),
        ({"format_version": 99}, "format_version: 99"),
        ({"content_hash": "0" * 64}, "content_hash '0000"),
        ({"means": {"faithfulness": float("nan")}}, "accepted: the run.json"),
        ({"config": {"top_k": float("nan")}}, "accepted: the run.json"),
        ({"measured": {"seconds": float("inf")}}, "accepted: the run.json"),
    ],
)
def test_facts_of_another_kind_are_named(workspace: RunStore, facts: dict[str, object], told: str) -> None:
    run_id = _crafted(workspace, **facts)
    fresh = RunStore(workspace.workspace)
    assert fresh.runs() == []
    assert told in fresh.unreadable()[run_id]
    assert "accepted" in fresh.unreadable()[run_id]


def test_a_broken_run_is_named_by_commands_and_page(
    workspace: RunStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _stored(workspace)
    path.write_text('{"run_id": ', encoding="utf-8")
    workspace.workspace.index_path.unlink(missing_ok=True)
    root = workspace.workspace.root
    listed = run(capsys, root, "runs")
    assert "No runs yet" not in listed.out
    assert f"{path}: cannot be read" in listed.err
    shown = run(capsys, root, "show", path.parent.name)
    assert shown.code == 2
    assert f"{path}: cannot be read" in shown.err
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(root))
    app = AppTest.from_file(str(APP), default_timeout=60).run()
    assert headline(app) == "No run can be read"
    assert "cannot be read" in app.warning[0].value


def test_stray_files_beside_the_runs_are_no_runs(workspace: RunStore) -> None:
    run_id = _stored(workspace).parent.name
    runs = workspace.workspace.runs_folder
    (runs / "notes.txt").write_text("mine", encoding="utf-8")
    (runs / ".staging-").mkdir()
    (runs / ".deleted-x").write_text("odd", encoding="utf-8")
    (runs / "empty").mkdir()
    shutil.copytree(runs / run_id, runs / f"copy of {run_id}")
    fresh = RunStore(Workspace(workspace.workspace.root))
    assert [found.run_id for found in fresh.runs()] == [run_id]
    assert set(fresh.unreadable()) == {"empty", f"copy of {run_id}"}
    again = add_run([{"question": "b?"}], "two", workspace=str(workspace.workspace.root))
    assert again.run_id in workspace.workspace.run_ids()
