"""Who may read a workspace: its owner, unless the owner opens the folder of runs to others."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from ragtriage.data.api import add_run
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.experiments.experiment import Experiment, keep_experiment
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import READ_ONLY
from ragtriage.data.store.workspace import Workspace


@pytest.fixture(autouse=True)
def usual_umask() -> object:
    before = os.umask(0o022)
    yield before
    os.umask(before)


def _readable_by_others(root: Path) -> list[str]:
    """List the files that others can get at: those whose folders all let them in."""
    return [
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and path.stat().st_mode & 0o044
        and all(folder.stat().st_mode & 0o011 for folder in path.parents if root in (folder, *folder.parents))
    ]  # fmt: skip


def test_what_is_new_is_for_the_owner_alone(tmp_path: Path) -> None:
    for root in (tmp_path / "new", tmp_path / "already there"):
        if root.name != "new":
            root.mkdir()
        store = RunStore(Workspace(root).create())
        run = add_run([{"question": "a?"}], "one", workspace=str(root))
        store.ledger.add_label((run.run_id, "a", 0), "Ann", "fail")
        store.runs()
        assert _readable_by_others(root) == []


def test_the_folder_of_experiments_is_for_the_owner_alone(tmp_path: Path) -> None:
    experiment = Experiment(
        "one", "stability", "p", "a system", "0", "questions", 1, {}, (), datetime(2026, 1, 1)
    )
    keep_experiment(Workspace(tmp_path / "new"), experiment)
    assert (tmp_path / "new" / "experiments").stat().st_mode & 0o777 == 0o700


def test_a_shared_folder_of_runs_stays_shared(tmp_path: Path) -> None:
    store = RunStore(Workspace(tmp_path / "team").create())
    store.workspace.runs_folder.chmod(0o775)
    run = add_run([{"question": "a?"}], "one", workspace=str(store.workspace.root))
    assert store.workspace.samples_path(run.run_id).stat().st_mode & 0o777 == 0o664
    store.ledger.add_label((run.run_id, "a", 0), "Ann", "fail")
    assert store.ledger.path.stat().st_mode & 0o044 == 0o044


def test_a_newer_ledger_is_refused_and_left_alone(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.ledger.set_baseline("p", "r", "Ann")
    with closing(sqlite3.connect(workspace.ledger.path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(WorkspaceError, match="version 99, from a newer ragtriage"):
        workspace.ledger.set_baseline("p", "s", "Ann")
    monkeypatch.setenv(READ_ONLY, "1")
    with pytest.raises(WorkspaceError, match="version 99, from a newer ragtriage"):
        workspace.ledger.baselines()
