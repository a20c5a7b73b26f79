"""Committing the runs of one import together, so that all of them appear or none.

The runs are written to a workspace of their own beside the others. Renaming it to `.imported-*` commits
them; then each run is moved to its place. After a crash in between, whoever lists the runs next finishes the
moves, and a process that cannot write hides those that were moved already.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import uuid
from contextlib import suppress
from pathlib import Path

COMMITTED = ".imported-"
RUN_LIST = "runs.json"


def commit(stage: Path, root: Path, run_ids: set[str], mode: int) -> None:
    """Publish the staged runs and their scores."""
    path = stage / RUN_LIST
    path.write_text(json.dumps(sorted(run_ids)), encoding="utf-8")
    path.chmod(mode & 0o666)
    sync(path)
    stage.chmod(mode)
    sync(stage)
    committed = stage.with_name(f"{COMMITTED}{uuid.uuid4().hex}")
    stage.rename(committed)
    sync(committed.parent)
    try:
        _finish(committed, root, mode)
    except FileNotFoundError:
        if committed.exists():
            raise  # else another process listed the runs meanwhile and finished the moves


def finish_commits(root: Path, mode: int) -> None:
    """Move the runs of committed imports to their places, as far as this process may."""
    for name in _names(root / "runs"):
        if name.startswith(COMMITTED):
            with suppress(OSError, ValueError, TypeError):
                _finish(root / "runs" / name, root, mode)


def listed_runs(runs_folder: Path) -> set[str]:
    """List the folders of runs without those of an import that is not finished."""
    names = _names(runs_folder)
    while True:
        hidden = {
            run_id for name in names if name.startswith(COMMITTED) for run_id in _half(runs_folder, name)
        }
        names_before, names = names, _names(runs_folder)
        if names == names_before:  # else an import was published meanwhile, and half of it may have been seen
            return {name for name in names if not name.startswith(".")} - hidden


def _names(runs_folder: Path) -> set[str]:
    """Return the names of the runs and of committed imports; files are neither."""
    try:
        with os.scandir(runs_folder) as entries:
            return {
                entry.name
                for entry in entries
                if entry.is_dir() and (not entry.name.startswith(".") or entry.name.startswith(COMMITTED))
            }
    except (FileNotFoundError, NotADirectoryError):
        return set()


def _half(runs_folder: Path, name: str) -> set[str]:
    """Return the runs of a committed import that were moved while others were not."""
    try:
        run_ids, staged = _contents(runs_folder / name)
    except (OSError, ValueError, TypeError):
        return set()
    waiting = any(not (runs_folder / run_id).exists() for run_id in staged)
    return run_ids - staged if waiting else set()


def _contents(committed: Path) -> tuple[set[str], set[str]]:
    """Return the runs of a committed import, and those that are still to be moved."""
    run_ids = set(json.loads((committed / RUN_LIST).read_text(encoding="utf-8")))
    return run_ids, {path.name for path in (committed / "runs").iterdir()} & run_ids


def _finish(committed: Path, root: Path, mode: int) -> None:
    """Move scores and runs to their places; several processes may do so at once."""
    _, staged = _contents(committed)
    for run_id in staged:
        scores = root / "scores" / run_id
        with suppress(OSError):  # scores are computed again where they are missing
            scores.mkdir(mode, parents=True, exist_ok=True)
            for folder in (committed / "scores" / run_id).iterdir():
                folder.rename(scores / folder.name)
    for run_id in staged:
        final = root / "runs" / run_id
        try:
            (committed / "runs" / run_id).rename(final)
        except OSError:
            if not final.is_dir():  # else another process moved it, or imported the same content
                raise
    sync(root / "runs")
    discarded = committed.with_name(f".deleted-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    with suppress(FileNotFoundError):
        committed.rename(discarded)
    shutil.rmtree(discarded, ignore_errors=True)


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    if os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
