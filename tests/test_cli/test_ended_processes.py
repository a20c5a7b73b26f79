"""A command that is ended from outside: by SIGTERM, by a kill, or with its output closed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from ragtriage.data.store.stored_file import replace_file

COMMAND = [sys.executable, "-m", "ragtriage.dashboard.cli"]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def _workers(root: Path) -> list[int]:
    """Processes whose command line or parents' names this test's folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes()
            environment = (entry.parent / "environ").read_bytes()
        except OSError:
            continue
        if str(root).encode() in words + environment:
            found.append(int(entry.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_sigterm_leaves_neither_a_staging_folder_nor_a_worker(tmp_path: Path) -> None:
    words = "turtles live eighty years at least, as every sailor knows who has met one "
    record = {"answer": words * 9, "reference_answer": words * 3}
    retrieved = [{"id": f"d{at}", "text": words * 20} for at in range(5)]
    source, root = tmp_path / "large.jsonl", tmp_path / "workspace"
    with source.open("w", encoding="utf-8") as file:
        for at in range(20_000):
            row = {"question_id": f"q{at}", "question": f"How long {at}?", **record, "retrieved": retrieved}
            file.write(json.dumps(row) + "\n")
    environment = {**os.environ, "RAGTRIAGE_WORKSPACE": str(root)}
    process = subprocess.Popen([*COMMAND, "import", str(source)], env=environment, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not [*root.rglob(".staging-*")] and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert b"Traceback" not in said
    assert [*root.rglob(".staging-*")] == []
    end = time.monotonic() + 10
    while _workers(root) and time.monotonic() < end:
        time.sleep(0.1)
    assert _workers(root) == []


def test_sigterm_ends_a_command_also_while_a_compiled_module_loads(tmp_path: Path) -> None:
    loading = """
        import os, signal, time
        try:  # as Cython's registering of a class does, which drops every error
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
        except BaseException:
            pass
    """
    (tmp_path / "loading.py").write_text(dedent(loading), encoding="utf-8")
    command = """
        import time
        from ragtriage.dashboard.cli.main import _ended_by_sigterm
        with _ended_by_sigterm():
            import loading
            time.sleep(30)
    """
    ended = subprocess.run([sys.executable, "-c", dedent(command)], cwd=tmp_path, check=False, timeout=60)
    assert ended.returncode == 143


@pytest.mark.parametrize("words", ["runs", "metrics --help", "doctor"])
def test_a_closed_output_is_silence_and_no_error(words: str, tmp_path: Path) -> None:
    line = f'exec "$0" -m ragtriage.dashboard.cli --workspace {tmp_path} {words} >&-'
    result = subprocess.run(
        ["/bin/sh", "-c", line, sys.executable], stderr=subprocess.PIPE, check=False, timeout=120
    )
    assert b"internal error" not in result.stderr
    assert b"Traceback" not in result.stderr


def test_a_file_that_a_killed_export_had_begun_goes_with_the_next_one(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    host = socket.gethostname()
    left = tmp_path / f".ragtriage-{host}-{ended.pid}-0123abcd.part"
    others = [
        tmp_path / f".ragtriage-{host}-{os.getpid()}-0123abcd.part",
        tmp_path / f".ragtriage-elsewhere-{ended.pid}-0123abcd.part",
    ]
    for path in (left, *others):
        path.write_bytes(b"half")
    replace_file(tmp_path / "report.html", b"whole")
    assert sorted(tmp_path.iterdir()) == sorted([*others, tmp_path / "report.html"])
