"""Files that commands write: whole or not at all, and the earlier one stays until then."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import run

from ragtriage.data.api import add_run
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.stored_file import replace_file

WRITERS = (
    ("export", "RUN", "-o", "FILE.csv"),
    ("export", "RUN", "-o", "FILE.jsonl"),
    ("export", "RUN", "-o", "FILE.parquet"),
    ("report", "RUN", "-o", "FILE.html"),
    ("report", "RUN", "-o", "FILE.pptx"),
    ("gate", "RUN", "--junit", "FILE.xml"),
    ("gate", "RUN", "--markdown", "FILE.md"),
)


@pytest.mark.parametrize("words", WRITERS, ids=lambda words: f"{words[0]} {words[-1]}")
def test_a_file_that_cannot_be_finished_leaves_the_earlier_one(
    workspace: RunStore,
    tmp_path: Path,
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = workspace.workspace.root
    records = [{"question": f"q{i}?", "scores": {"faithfulness": 0.5}} for i in range(12)]
    run_id = add_run(records, "one", workspace=str(root)).run_id
    folder = tmp_path / "out"
    folder.mkdir()
    path = folder / words[-1].replace("FILE", "answer")
    path.write_text("earlier", encoding="utf-8")
    path.chmod(0o640)
    command = [str(path) if word.startswith("FILE") else word.replace("RUN", run_id) for word in words]
    with monkeypatch.context() as full:

        def no_space(handle: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        full.setattr("os.fsync", no_space)
        failed = run(capsys, root, *command)
    assert failed.code == 2
    assert failed.err.startswith(f"error: {path}: cannot be written (No space left on device); accepted: ")
    assert path.read_text(encoding="utf-8") == "earlier"
    assert run(capsys, root, *command).code in (0, 1)
    assert path.read_bytes() != b"earlier"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(folder.iterdir()) == [path], "nothing beside it"


def test_links_stay_links_and_pipes_are_written_through(
    workspace: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = workspace.workspace.root
    run_id = add_run([{"question": "q?"}], "one", workspace=str(root)).run_id
    link, target = tmp_path / "link.csv", tmp_path / "target.csv"
    link.symlink_to(target)
    assert run(capsys, root, "export", run_id, "-o", str(link)).code == 0
    assert link.is_symlink()
    assert "question_id" in target.read_text(encoding="utf-8")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert run(capsys, root, "export", run_id, "-o", str(pipe)).code == 0
    assert os.read(reader, 1 << 16).startswith(b"{")
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    missing = run(capsys, root, "export", run_id, "-o", str(tmp_path / "no folder" / "x.csv"))
    assert missing.code == 2
    assert "cannot be written (No such file or directory)" in missing.err


def test_content_in_pieces_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "answer.jsonl"
    path.write_bytes(b"earlier")

    def pieces(good: bool) -> Iterator[bytes]:
        yield b"one "
        if not good:
            raise DataError("no more")
        yield b"two"

    with pytest.raises(DataError, match="no more"):
        replace_file(path, pieces(good=False))
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path], "nothing beside it"
    replace_file(path, pieces(good=True))
    assert path.read_bytes() == b"one two"
