"""How a command ends: 1 only where a gate failed, and never with a traceback."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run
from places import FIXTURES, REPOSITORY

from ragtriage.data.api import add_run
from ragtriage.data.errors import ValidationError, WorkspaceError
from ragtriage.data.scoring.run_store import RunStore


def _break(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def broken(self: RunStore) -> None:
        raise error

    monkeypatch.setattr(RunStore, "names", broken)


@pytest.mark.parametrize("error", [ZeroDivisionError("division by zero"), KeyError("who"), MemoryError()])
def test_an_error_of_ours_is_one_sentence_with_the_details_in_a_file(
    workspace: RunStore, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add_run([{"question": "a?"}], "one", workspace=str(workspace.workspace.root))
    _break(monkeypatch, error)
    answer = run(capsys, workspace.workspace.root, "runs")
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1
    found = re.search(r"details are in (\S+\.txt)", answer.err)
    assert found is not None
    details = Path(found[1])
    assert "in broken" in details.read_text(encoding="utf-8")
    assert details.stat().st_mode & 0o077 == 0
    details.unlink()


def test_a_full_disk_and_an_interrupt_have_their_own_words(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _break(monkeypatch, OSError(errno.ENOSPC, "No space left on device", "/big/file"))
    full = run(capsys, workspace.workspace.root, "runs")
    assert full.code == 2
    assert full.err.startswith("error: /big/file: cannot be written (No space left on device); accepted:")
    _break(monkeypatch, KeyboardInterrupt())
    assert run(capsys, workspace.workspace.root, "runs").code == 130


def test_a_reader_that_goes_is_no_failed_gate(workspace: RunStore) -> None:
    root = str(workspace.workspace.root)
    records = [{"question": f"q{at}?", "answer": "long " * 500} for at in range(300)]
    add_run(records, "one", workspace=root)
    process = subprocess.Popen(
        [sys.executable, "-m", "ragtriage.dashboard.cli", "--workspace", root, "export", "one"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": ""},
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(60) == 141


@pytest.mark.parametrize("words", [("runs",), ("import", str(FIXTURES / "native/run.jsonl"))])
def test_a_workspace_that_is_a_file_is_told(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("kept", "utf-8")
    answer = run(capsys, tmp_path / "notes.txt", *words)
    assert answer.code == 2
    assert "notes.txt: is not a folder; accepted: a folder" in answer.err
    assert answer.out == ""


def test_values_at_the_limit_of_floats_have_no_band_and_no_warning(tmp_path: Path) -> None:
    rows = [
        f'{{"question": "{at}?", "answer": "x", "scores": {{"faithfulness": {value}}}}}'
        for at, value in enumerate(("1e308", "-1e308", "1e308") * 4)
    ]
    (tmp_path / "mixed.jsonl").write_text("\n".join(rows), "utf-8")
    (tmp_path / "big.jsonl").write_text(rows[0], "utf-8")
    files = [str(tmp_path / name) for name in ("mixed.jsonl", "big.jsonl")]
    for words in (["import", *files], ["metrics", "mixed"], ["metrics", "big"], ["metrics", "big", "--json"]):
        command = [sys.executable, "-m", "ragtriage.dashboard.cli", "-w", str(tmp_path / "ws"), *words]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "excellent" not in ended.stdout
        assert "needs work" not in ended.stdout


def test_a_name_with_a_newline_does_not_break_a_sentence(workspace: RunStore) -> None:
    add_run([{"question": "Who?", "answer": "Ada."}], "two\nlines", workspace=str(workspace.workspace.root))
    with pytest.raises(WorkspaceError) as caught:
        workspace.find("lost")
    assert "two lines" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "\n" not in str(ValidationError("a.json", 1, "", "run 'a\nb' is wrong", "one"))
