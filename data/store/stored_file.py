"""Files that are stored: replaced whole, and named where they are missing or damaged; runs of one import.

The runs of an import are written to a workspace of their own beside the others. Renaming it to `.imported-*`
commits them; then each run is moved to its place. After a crash in between, whoever lists the runs next
finishes the moves, and a process that cannot write hides those that were moved already.
"""

import json
import os
import shutil
import socket
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ragtriage.data.errors import DataError, WorkspaceError

PART = "ragtriage"  # how the name of a file that is being written begins


def replace_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file beside its place and rename it there; a link stays a link, and a file keeps its mode.

    Content may come in pieces, so that it is never held whole; where a piece fails, nothing is replaced.
    Pipes and devices, and a file in a folder that takes no new ones, are written where they are.

    Raises:
        OSError: it cannot be written; the earlier file is unchanged.
    """
    pieces = (content,) if isinstance(content, bytes) else content
    if os.fspath(path).startswith("/dev/") or (path.exists() and not path.is_file()):
        with path.open("wb") as file:
            file.writelines(pieces)
        return
    final = Path(os.path.realpath(path))
    _clear_abandoned(final.parent)
    temporary = final.with_name(f".{PART}-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.part")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except PermissionError:
        if not final.exists():
            raise
        final.write_bytes(b"".join(pieces))
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):  # a new file has none to keep, and another's mode may not be changed
            temporary.chmod(final.stat().st_mode & 0o777)
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


def _clear_abandoned(folder: Path) -> None:
    """Remove what processes of this host that were killed had begun to write in a folder."""
    for path in folder.glob(f".{PART}-{socket.gethostname()}-*.part"):
        with suppress(OSError, ValueError):
            if not is_running(int(path.name.rsplit("-", 2)[1])):
                path.unlink()


def is_running(pid: int) -> bool:
    """Return whether a process of this host runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raise an error that names a stored Parquet file which turns out to be missing or damaged.

    Raises:
        WorkspaceError: it cannot be read.
    """
    import pyarrow as pa  # late: the server starts before it is loaded

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None and path.exists():
            raise  # no permission, for example
        raise damaged(path) from error


def damaged(path: Path) -> WorkspaceError:
    """Return the error to raise for a stored file that is missing or damaged."""
    accepted = "the file as it was written; where it is deleted, it is written again"
    if path.name == "samples.parquet":
        accepted = (
            "the file that the import wrote, "
            f"or `ragtriage delete {path.parent.name}` and a new import; labels are kept"
        )
    return WorkspaceError(f"{path}: is {'damaged' if path.exists() else 'missing'}; accepted: {accepted}")


def file_version(path: Path) -> tuple[int, ...]:
    """Return a value that changes when a SQLite file or its write-ahead log is written to.

    A log that is empty counts as none: it comes and goes as other processes open and close the database.
    """
    version: list[int] = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        try:
            facts = file.stat()
        except OSError:
            version += [0, 0]
        else:
            version += [facts.st_mtime_ns, facts.st_size] if facts.st_size else [0, 0]
    return tuple(version)


def write_file(path: str, content: bytes | Iterable[bytes], append: bool = False) -> None:
    """Write a file that the user named, whole or not at all; content may come in pieces.

    Raises:
        DataError: it cannot be written; an earlier file is unchanged.
    """
    if path == "-":
        raise DataError("output '-': is not a file here; accepted: the name of a file")
    try:
        if append:
            with Path(path).open("ab") as file:
                file.writelines((content,) if isinstance(content, bytes) else content)
        else:
            replace_file(Path(path), content)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); accepted: a file in a writable folder"
        ) from error


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
