"""The workspace: runs appear whole or not at all, whoever writes them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from places import REPOSITORY

from ragtriage.data.api import add_run
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace, clear_abandoned

IMPORT = """
import sys
from ragtriage.data.api import add_run
add_run([{"question": f"q{i}?"} for i in range(3000)], "same", workspace=sys.argv[1])
"""
SLOW = """
import sys, time
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.store.write_run import store_run
from ragtriage.data.store.workspace import Workspace

def records():
    yield 1, {"question": "a?"}
    open(sys.argv[2], "w").close()
    time.sleep(60)

store_run(Workspace(sys.argv[1]), ParsedRun("slow", records(), "f", "native"), "p", ValidationErrors("f"))
"""


def _start(code: str, *words: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen([sys.executable, "-c", code, *words], env=environment)


def _names(store: RunStore) -> list[str]:
    return [entry.name for entry in store.workspace.runs_folder.iterdir()]


def test_two_processes_bring_the_same_content_in_once(workspace: RunStore) -> None:
    both = [_start(IMPORT, str(workspace.workspace.root)) for _ in range(2)]
    assert [process.wait(120) for process in both] == [0, 0]
    assert len(workspace.runs()) == 1
    assert _names(workspace) == [workspace.runs()[0].run_id]


def test_a_killed_import_leaves_nothing_and_is_cleared_up(workspace: RunStore, tmp_path: Path) -> None:
    flag = tmp_path / "started"
    process = _start(SLOW, str(workspace.workspace.root), str(flag))
    for _ in range(400):
        if flag.exists():
            break
        time.sleep(0.05)
    assert flag.exists()
    assert len(_names(workspace)) == 1, "a staging folder is there"
    assert workspace.runs() == []
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    add_run([{"question": "b?"}], "next", workspace=str(workspace.workspace.root))
    assert _names(workspace) == [workspace.runs()[0].run_id]


def test_temporary_folders_stay_while_their_owner_lives(tmp_path: Path) -> None:
    import socket

    staging = tmp_path / f".staging-{socket.gethostname()}-4711-abcd"
    elsewhere = tmp_path / ".staging-another-host-4711-abcd"
    staging.mkdir()
    elsewhere.mkdir()
    clear_abandoned(tmp_path, alive=lambda pid: True)
    assert staging.exists()
    clear_abandoned(tmp_path, alive=lambda pid: False)
    assert not staging.exists()
    assert elsewhere.exists(), "nobody here can say whether a process on another host lives"


def test_a_run_of_another_process_appears_without_a_restart(workspace: RunStore) -> None:
    assert workspace.runs() == []
    assert _start(IMPORT, str(workspace.workspace.root)).wait(120) == 0
    (run,) = workspace.runs()
    workspace.workspace.delete_run(run.run_id)
    assert workspace.runs() == []


def test_labels_outlive_their_run(workspace: RunStore) -> None:
    root = str(workspace.workspace.root)
    run = add_run([{"question_id": "a", "question": "a?"}], "one", workspace=root)
    workspace.ledger.add_label((run.run_id, "a", 0), "Ann", "fail")
    workspace.workspace.delete_run(run.run_id)
    again = add_run([{"question_id": "a", "question": "a?"}], "one", workspace=root)
    assert again.run_id == run.run_id
    assert [label.annotator for label in workspace.ledger.labels(again.run_id)] == ["Ann"]


def test_what_is_derived_can_be_thrown_away(workspace: RunStore) -> None:
    run = add_run(
        [{"question": "a?", "scores": {"faithfulness": 0.5}}], "one", workspace=str(workspace.workspace.root)
    )
    shutil.rmtree(workspace.workspace.scores_folder)
    workspace.workspace.index_path.write_bytes(b"this is not a database")
    fresh = RunStore(Workspace(workspace.workspace.root))
    assert [run.run_id for run in fresh.runs()] == [run.run_id]
    assert fresh.summary(run)["faithfulness"].mean == 0.5


def test_a_run_in_a_newer_format_is_left_alone(workspace: RunStore) -> None:
    run = add_run([{"question": "a?"}], "one", workspace=str(workspace.workspace.root))
    path = workspace.workspace.runs_folder / run.run_id / "run.json"
    path.write_text(
        json.dumps({**json.loads(path.read_text(encoding="utf-8")), "format_version": 99}), encoding="utf-8"
    )
    workspace.workspace.index_path.unlink(missing_ok=True)
    assert RunStore(workspace.workspace).runs() == []
    assert path.exists()


def test_a_list_of_plain_ids_meets_the_gold_that_names_them(workspace: RunStore) -> None:
    record = {"question": "q?", "retrieved": ["d7", "d3", "some text"], "relevant": ["d3"]}
    run = add_run([record], "ids", workspace=str(workspace.workspace.root))
    assert workspace.summary(run)["mrr@5"].mean == 0.5


def test_an_unknown_run_is_answered_by_the_closest_ones(workspace: RunStore) -> None:
    record = {"question_id": "q", "question": "Why?", "answer": "So.", "scores": {"faithfulness": 0.5}}
    for name in ("reranker on", "first try", "2.4.0", "2.4.1", "larger chunks", "no overlap"):
        add_run([record | {"answer": name}], name, "p", str(workspace.workspace.root))
    with pytest.raises(WorkspaceError) as raised:
        RunStore(workspace.workspace).find("Re-ranker on")
    said = str(raised.value)
    assert said.startswith("no run 'Re-ranker on'; accepted: the id or name of a run: ")
    assert "(p: reranker on)" in said.split(";")[1]
    assert said.count("(p: ") == 4
    assert said.endswith("(the closest of 6 runs, which `ragtriage runs` lists)")
