"""Imports that are killed, interrupted or overtaken: the runs of a file appear together or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from places import REPOSITORY

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_parsed_runs, import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store import stored_file
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.stored_file import COMMITTED, RUN_LIST, finish_commits
from ragtriage.data.store.workspace import Workspace

RUNS = 3
FORKS = """
import os, random, signal, sys, time
from pathlib import Path
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.importer import Options
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace

root, file, kind, first, last = Path(sys.argv[1]), sys.argv[2], sys.argv[3], *map(int, sys.argv[4:])

def load(folder):
    import_source(RunStore(Workspace(folder).create()), InputFile.from_path(file), Options(), "p")

def killed_at_rename(number):
    renamed = Path.rename
    count = 0
    def rename(self, target):
        nonlocal count
        count += 1
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return renamed(self, target)
    Path.rename = rename

def forked(at):
    child = os.fork()
    if not child:
        if kind == "rename":
            killed_at_rename(at)
        load(root / str(at))
        os._exit(0)
    return child

started = time.monotonic()
os.waitpid(forked(0), 0)
seconds = time.monotonic() - started
for at in range(first, last):
    child = forked(at)
    if kind == "random":
        time.sleep(random.Random(at).uniform(0.2, 1.1) * seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    print(at, status, flush=True)
"""


def _file(folder: Path, runs: int = RUNS) -> Path:
    """Write a file of several runs."""
    rows = [{"question": f"q{i}?", "answer": "a", "retrieved_contexts": ["c"]} for i in range(12)]
    pipelines = {f"v{n}": [{**row, "answer": f"a{n}"} for row in rows] for n in range(runs)}
    path = folder / "runs.json"
    path.write_text(json.dumps({"pipeline_results": pipelines}), encoding="utf-8")
    return path


def _started(code: str, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], env=environment, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(("kind", "last"), [("rename", 20), ("random", 7)])
def test_a_killed_import_shows_all_runs_of_its_file_or_none(
    tmp_path: Path, kind: str, last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = _started(FORKS, str(tmp_path), str(_file(tmp_path)), kind, "1", str(last)).communicate()[0]
    statuses = {int(at): int(status) for at, status in map(str.split, answers.splitlines())}
    assert len(statuses) == last - 1
    seen = set()
    for at, status in statuses.items():
        there = Workspace(tmp_path / str(at))
        monkeypatch.setenv("RAGTRIAGE_READ_ONLY", "1")
        before = there.run_ids()  # by a reader that cannot finish what the killed process began
        monkeypatch.delenv("RAGTRIAGE_READ_ONLY")
        found = RunStore(there).runs()
        assert len(before) in (0, RUNS), at
        assert len(found) in (0, RUNS), at
        assert status or len(found) == RUNS
        seen.add((bool(status), len(found)))
        import_source(RunStore(there), InputFile.from_path(tmp_path / "runs.json"), Options(), "p")
        assert len(there.run_ids()) == RUNS
        assert {path.name for path in there.runs_folder.iterdir()} == there.run_ids(), "nothing is left over"
    if kind == "rename":
        assert seen == {(True, 0), (True, RUNS), (False, RUNS)}, "killed before, while and after committing"


def test_two_imports_at_once_into_a_new_workspace_both_land(tmp_path: Path) -> None:
    command = "import sys; from ragtriage.dashboard.cli.main import main; main(sys.argv[1:])"
    started = []
    for name in ("one", "two"):
        file = tmp_path / f"{name}.jsonl"
        rows = ({"question": f"q{i}?", "answer": name, "scores": {"tone": 1}} for i in range(9))
        file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        words = ("-w", str(tmp_path / "ws"), "import", str(file), "--metric", "tone=higher")
        started.append(_started(command, *words))
    assert [process.wait(120) for process in started] == [0, 0]
    assert {run.name for run in RunStore(Workspace(tmp_path / "ws")).runs()} == {"one", "two"}
    assert not list((tmp_path / "ws" / "runs").glob(".*"))


def test_a_file_whose_second_run_is_invalid_leaves_nothing(workspace: RunStore) -> None:
    runs = [
        ParsedRun("good", [(1, {"question": "a?"})], "f", "native"),
        ParsedRun("bad", [(2, {"question": 7})], "f", "native"),
    ]
    with pytest.raises(InputError):
        import_parsed_runs(workspace, runs, "p", ValidationErrors("f"))
    assert workspace.runs() == []
    assert list(workspace.workspace.runs_folder.iterdir()) == []


INTERRUPTED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job of a shell would ignore
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.workspace import Workspace

def slow():
    yield 1, {"question": "b?"}
    print("first run read", flush=True)
    time.sleep(60)

runs = [ParsedRun("one", [(1, {"question": "a?"})], "f", "native"), ParsedRun("two", slow(), "f", "native")]
import_parsed_runs(RunStore(Workspace(sys.argv[1])), runs, "p", ValidationErrors("f"))
"""


def test_a_run_acknowledged_to_one_import_outlives_the_interruption_of_another(workspace: RunStore) -> None:
    import signal

    other = _started(INTERRUPTED, str(workspace.workspace.root))
    assert other.stdout is not None
    assert other.stdout.readline() == "first run read\n"
    run = ParsedRun("one", [(1, {"question": "a?"})], "f", "native")
    (imported,) = import_parsed_runs(workspace, [run], "p", ValidationErrors("f"))
    assert imported.status == "imported"
    other.send_signal(signal.SIGINT)
    assert other.wait(20) != 0
    time.sleep(0.1)
    assert [found.run_id for found in RunStore(workspace.workspace).runs()] == [imported.run.run_id]
    assert workspace.summary(imported.run) is not None


def test_an_import_that_another_process_finishes_has_succeeded(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = stored_file.sync

    def somebody_lists_the_runs(path: Path) -> None:
        sync(path)
        if any(path.glob(f"{COMMITTED}*")):
            monkeypatch.setattr(stored_file, "sync", sync)
            finish_commits(workspace.workspace.root, 0o700)

    monkeypatch.setattr(stored_file, "sync", somebody_lists_the_runs)
    run = ParsedRun("one", [(1, {"question": "a?"})], "f", "native")
    (imported,) = import_parsed_runs(workspace, [run], "p", ValidationErrors("f"))
    assert imported.status == "imported"
    assert workspace.workspace.run_ids() == {imported.run.run_id}


def test_a_committed_import_that_names_folders_elsewhere_moves_nothing_there(
    workspace: RunStore, tmp_path: Path
) -> None:
    crafted = workspace.workspace.runs_folder / f"{COMMITTED}crafted"
    (crafted / "runs" / "a").mkdir(parents=True)
    (crafted.parent / "x").mkdir()
    (crafted / RUN_LIST).write_text(json.dumps(["../../x", "..", "a"]), encoding="utf-8")
    assert workspace.workspace.run_ids() == {"a", "x"}
    assert not (tmp_path / "x").exists()
    for broken in ("[", "7", '{"a": [1]}', "[[1]]"):
        crafted.mkdir()
        (crafted / RUN_LIST).write_text(broken, encoding="utf-8")
        assert workspace.workspace.run_ids() == {"a", "x"}
        (crafted / RUN_LIST).unlink()
        crafted.rmdir()
