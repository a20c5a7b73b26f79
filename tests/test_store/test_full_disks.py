"""Full disks and folders that may not be written: one sentence, and what only reads still works."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from places import REPOSITORY

from ragtriage.data.api import add_run
from ragtriage.data.errors import ValidationErrors, WorkspaceError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.store.write_run import store_run

CHANGES: tuple[tuple[str, ...], ...] = (
    ("import", "FILE", "--name", "second"),
    ("baseline", "one"),
    ("export", "one", "-o", "OUT/answer.csv"),
)
ANSWERS: tuple[tuple[str, ...], ...] = (("runs",), ("diagnose", "one"), ("baseline",))


def _full() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # every write to a file fails, as on a full disk


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a workspace of one run, labelled, and a file to import."""
    root = tmp_path / "place"
    store = RunStore(Workspace(root / "workspace").create())
    records = [
        {"question_id": f"q{i}", "question": f"q{i}?", "scores": {"faithfulness": 0.5}} for i in range(12)
    ]
    run = add_run(records, "one", workspace=str(store.workspace.root))
    store.runs()
    store.ledger.set_baseline("default", run.run_id, "Ann")
    store.summary(run)
    (tmp_path / "second.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return root


def _ragtriage(
    words: tuple[str, ...], root: Path, full: Callable[[], None] | None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that may not write: as root, one without the right to pass over modes."""
    named = {"FILE": str(root.parent / "second.jsonl")}
    command = [sys.executable, "-m", "ragtriage.dashboard.cli", "--workspace", str(root / "workspace")]
    command += [named.get(word, word).replace("OUT", str(root)) for word in words]
    if full is None and os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, preexec_fn=full, env=environment, capture_output=True, text=True, check=False
    )


def _one_sentence(answer: subprocess.CompletedProcess[str]) -> None:
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("\n") == 1
    assert "accepted: " in answer.stderr
    assert ".staging" not in answer.stderr
    assert "ragtriage itself" not in answer.stderr


def _write_protected(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


@pytest.mark.parametrize(
    ("kind", "log_left"), [("full", False), ("write-protected", False), ("write-protected", True)]
)
def test_a_place_without_room_ends_in_one_sentence_and_can_be_read(
    place: Path, kind: str, log_left: bool
) -> None:
    if kind == "write-protected" and os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root needs setpriv to be kept out by modes")
    ledger = place / "workspace" / "ledger.sqlite"
    if log_left:
        _leave_a_log(ledger)
    (place / "answer.csv").write_text("earlier", encoding="utf-8")
    before = {str(path.relative_to(place)) for path in place.rglob("*") if not path.name.startswith("ledger")}
    if kind == "write-protected":
        _write_protected(place)
    full = _full if kind == "full" else None
    for words in CHANGES:
        _one_sentence(_ragtriage(words, place, full))
    for words in ANSWERS:
        answer = _ragtriage(words, place, full)
        assert answer.returncode == 0, (words, answer.stderr)
        assert answer.stderr == ""
    who = "Bob" if log_left else "Ann"
    assert f"set by {who}" in _ragtriage(("baseline",), place, full).stdout
    after = {str(path.relative_to(place)) for path in place.rglob("*") if not path.name.startswith("ledger")}
    assert after == before
    assert (place / "answer.csv").read_text(encoding="utf-8") == "earlier"
    deleted = _ragtriage(("delete", "--yes", "one"), place, full)
    if kind == "full":
        assert deleted.returncode == 0, "which makes room"
        assert "No runs yet" in _ragtriage(("runs",), place, full).stdout
    else:
        _one_sentence(deleted)


def test_a_disk_that_is_full_for_what_is_scored_while_reading_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fails(*_: object) -> None:
        raise whole

    workspace = Workspace(tmp_path / "workspace").create()
    records = [(1, {"question": "q?"})]
    parsed = ParsedRun("one", records, "one.jsonl", "ragtriage")
    monkeypatch.setattr(pq.ParquetWriter, "close", fails)
    with pytest.raises(WorkspaceError, match="cannot be written"):
        store_run(workspace, parsed, "default", ValidationErrors("one.jsonl"), groups=fails)
    assert not list(workspace.runs_folder.iterdir())


def _leave_a_log(ledger: Path) -> None:
    """Change the baseline in a process that is killed, so that the change is in the write-ahead log alone."""
    code = (
        "import os, signal, sys; from ragtriage.data.store.ledger import Ledger; from pathlib import Path\n"
        "ledger = Ledger(Path(sys.argv[1]))\n"
        "with ledger.open() as kept:\n"
        "    ledger.set_baseline('default', dict(ledger.baselines())['default'], 'Bob')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    subprocess.run([sys.executable, "-c", code, str(ledger)], env=environment, check=False)
    assert ledger.with_name("ledger.sqlite-wal").stat().st_size
    ledger.with_name("ledger.sqlite-shm").unlink()
