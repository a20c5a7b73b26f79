"""Full disks and folders that may not be written: one sentence, and what only reads still works."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

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


PROGRAM = """
import contextlib, io, json, sys
from ragtriage.dashboard.cli.main import main

answers = []
for words in json.loads(sys.argv[1]):
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as ended:
            code = ended.code or 0
    answers.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(answers))
"""


class Answer(NamedTuple):
    code: int
    out: str
    err: str


def _ragtriage(
    commands: Sequence[tuple[str, ...]], root: Path, full: Callable[[], None] | None
) -> list[Answer]:
    """Run commands in one process that may not write: as root, one without the right to pass over modes."""
    named = {"FILE": str(root.parent / "second.jsonl")}
    words = [
        ["--workspace", str(root / "workspace")]
        + [named.get(word, word).replace("OUT", str(root)) for word in command]
        for command in commands
    ]
    program = [sys.executable, "-c", PROGRAM, json.dumps(words)]
    if full is None and os.geteuid() == 0:
        program = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *program]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        program, preexec_fn=full, env=environment, capture_output=True, text=True, check=True
    )
    assert not done.stderr
    return [Answer(*answer) for answer in json.loads(done.stdout)]


def _one_sentence(answer: Answer) -> None:
    assert answer.code == 2, answer
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert "accepted: " in answer.err
    assert ".staging" not in answer.err
    assert "ragtriage itself" not in answer.err


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
    answers = _ragtriage((*CHANGES, *ANSWERS), place, full)
    for answer in answers[: len(CHANGES)]:
        _one_sentence(answer)
    for answer in answers[len(CHANGES) :]:
        assert (answer.code, answer.err) == (0, "")
    assert f"set by {'Bob' if log_left else 'Ann'}" in answers[-1].out
    after = {str(path.relative_to(place)) for path in place.rglob("*") if not path.name.startswith("ledger")}
    assert after == before
    assert (place / "answer.csv").read_text(encoding="utf-8") == "earlier"
    deleted, left = _ragtriage((("delete", "--yes", "one"), ("runs",)), place, full)
    if kind == "full":
        assert deleted.code == 0, "which makes room"
        assert "No runs yet" in left.out
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
