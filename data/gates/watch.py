"""Watching a folder: result files are imported, scored and gated as they appear."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from data.errors import DataError, WorkspaceError
from data.gates.baseline import baseline_of
from data.gates.config import GateConfig
from data.gates.report import GateReport, gate_run
from data.importers.load import import_source
from data.importers.parsing.options import Options
from data.importers.parsing.source import Source
from data.scoring.run_store import RunStore
from data.store.read_only import must_write
from data.store.workspace import Run
from data.store.write_run import ImportedRun
from metrics.schema.scores import MetricsError

__all__ = [
    "FileMark",
    "Memory",
    "WatchOptions",
    "Watched",
    "Watcher",
    "digest_of",
    "files_in",
]

UNFINISHED = (
    *(".tmp", ".temp", ".part", ".partial", ".filepart", ".crdownload", ".download", ".inprogress"),
    *(".swp", ".swx", ".lock", ".bak", "~"),
)


@dataclass(frozen=True)
class FileMark:
    """What a file looks like from outside; it stands still while this stays the same.

    Attributes:
        size: in bytes.
        changed: when its content was last written, in nanoseconds.
    """

    size: int
    changed: int


def files_in(folder: Path, leave_out: Path) -> dict[str, FileMark]:
    """List the files of a folder and the folders in it, by their path within it.

    Left out are hidden, temporary and unfinished files, by their names, and whatever is no regular file.
    A link to a file counts as that file; links to folders are not followed.

    Args:
        folder: where to look.
        leave_out: a folder that is not looked into: the workspace.
    """
    found = {}
    for path in _paths(folder, leave_out):
        try:
            seen = path.stat()
        except OSError:
            continue  # gone meanwhile, or a link to nothing
        if stat.S_ISREG(seen.st_mode):
            found[str(path.relative_to(folder))] = FileMark(seen.st_size, seen.st_mtime_ns)
    return found


def _paths(folder: Path, leave_out: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        here = Path(root)
        folders[:] = sorted(one for one in folders if not one.startswith(".") and here / one != leave_out)
        yield from (here / name for name in sorted(files) if not _unfinished(name))


def _unfinished(name: str) -> bool:
    return name.startswith((".", "~", "#")) or name.lower().endswith(UNFINISHED)


def digest_of(path: Path) -> str:
    """Give the SHA-256 of a file's content; "" where it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


@dataclass
class Memory:
    """What a watch has dealt with; it outlives the process in a small file of the workspace.

    Attributes:
        path: of that file.
        files: path within the folder -> (size, time, digest) when it was dealt with.
        contents: digests of what was read, whatever the file was called.
    """

    path: Path
    files: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    contents: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, root: Path, folder: Path, project: str) -> Memory:
        """Read what is remembered of a folder watched for a project; nothing where that cannot be read."""
        place = hashlib.sha256(f"{folder}\0{project}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
        made = cls(root / "watch" / f"{place}.json")
        try:
            given = json.loads(made.path.read_text(encoding="utf-8"))
            made.files = {
                str(name): (int(size), int(time), str(digest))
                for name, (size, time, digest) in given["files"].items()
            }
            made.contents = {str(one) for one in given["contents"]}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(made.path)
        return made

    def knows(self, name: str, mark: FileMark) -> bool:
        """Whether a file was dealt with as it stands; one that could not be opened is tried again."""
        size, changed, digest = self.files.get(name, (-1, -1, ""))
        return bool(digest) and (size, changed) == (mark.size, mark.changed)

    def told(self, name: str, mark: FileMark, digest: str) -> bool:
        """Whether this was said of this file before: the same content, or the same failure to open it."""
        size, changed, before = self.files.get(name, (-1, -1, ""))
        return before == digest if digest else (size, changed, before) == (mark.size, mark.changed, "")

    def note(self, name: str, mark: FileMark, digest: str, read: bool) -> None:
        """Remember that a file was dealt with, and whether its content was read."""
        entry = (mark.size, mark.changed, digest)
        if self.files.get(name) == entry and not read:
            return
        self.files[name] = entry
        if read and digest:
            self.contents.add(digest)
        self._save()

    def keep_only(self, there: Mapping[str, FileMark]) -> None:
        """Forget files that are gone; what they held stays known."""
        for gone in self.files.keys() - there.keys():
            del self.files[gone]

    def _save(self) -> None:
        text = json.dumps({"files": self.files, "contents": sorted(self.contents)})
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(exist_ok=True)
            beside.write_text(text, encoding="utf-8")
            beside.replace(self.path)
        except OSError:
            beside.unlink(missing_ok=True)  # the watch goes on; after a restart it looks at the files again


@dataclass(frozen=True)
class WatchOptions:
    """What is watched, and how its runs are judged.

    Attributes:
        folder: where result files appear.
        project: what their runs belong to.
        config: the gates.
        baseline: run that all are held against; "" for the project's own at that moment.
    """

    folder: Path
    project: str
    config: GateConfig
    baseline: str = ""


@dataclass(frozen=True)
class Watched:
    """What became of a file, or of one run in it.

    Attributes:
        file: path within the folder.
        status: "imported", "unchanged" where the workspace had it already, or "refused".
        run: the run; None where the file was refused.
        report: of the gates; None where none could be held against the run.
        problem: why the file was refused or the run was not gated; "" otherwise.
    """

    file: str
    status: Literal["imported", "unchanged", "refused"]
    run: Run | None = None
    report: GateReport | None = None
    problem: str = ""


class Watcher:
    """Looks at a folder again and again; a file is taken when it has not moved between two looks."""

    def __init__(self, store: RunStore, options: WatchOptions) -> None:
        """Begin a watch.

        Raises:
            DataError: this process only reads, the baseline that is named is not there, or no gate blocks.
        """
        must_write(f"workspace {store.workspace.root}")
        options.config.gates_for(options.project)
        if options.baseline:
            store.find(options.baseline)
        self.store = store
        self.options = options
        self.memory = Memory.of(store.workspace.root, options.folder, options.project)
        self._seen: dict[str, FileMark] = {}
        self._passing: dict[str, str] = {}
        self.moving: list[str] = []

    def look(self) -> list[str]:
        """List the files that stand still and are new or changed, the oldest first.

        `moving` then holds those that still grow, or were not there at the look before.
        """
        there = files_in(self.options.folder, self.store.workspace.root)
        fresh = [name for name, mark in there.items() if not self.memory.knows(name, mark)]
        ready = [name for name in fresh if self._seen.get(name) == there[name]]
        self.moving = [name for name in fresh if name not in ready]
        self._seen = there
        self.memory.keep_only(there)
        return sorted(ready, key=lambda name: (there[name].changed, name))

    def take(self, name: str) -> Iterator[Watched]:
        """Import, score and gate a file that look() gave; nothing where its content is known already.

        A file that cannot be read is told once, and again only when it changes.
        """
        path, mark = self.options.folder / name, self._seen[name]
        digest = digest_of(path)
        if digest in self.memory.contents or self.memory.told(name, mark, digest):
            self.memory.note(name, mark, digest, read=False)
            return
        try:
            source = Source(_printable(path), path=path)
            found = import_source(self.store, source, Options(), self.options.project)
        except Exception as error:  # noqa: BLE001 -- a watch outlives a file that nobody foresaw
            if _mark(path) == mark:  # else it moved while it was read: the next looks decide
                yield from self._refused(name, mark, digest, error)
            return
        for one in found:
            yield self._gated(name, one)
        self.memory.note(name, mark, digest, read=True)  # last: what is cut short is told after a restart

    def _refused(self, name: str, mark: FileMark, digest: str, error: Exception) -> Iterator[Watched]:
        """Tell why a file was not taken; what is not the file's fault is tried again at every look."""
        known = isinstance(error, DataError | MetricsError)
        problem = str(error) if known else f"{name}: {type(error).__name__}: {error}"
        if not isinstance(error, WorkspaceError | OSError | MemoryError):
            self.memory.note(name, mark, digest, read=False)
        elif self._passing.get(name) == problem:
            return
        self._passing[name] = problem
        yield Watched(name, "refused", problem=problem)

    def _gated(self, name: str, one: ImportedRun) -> Watched:
        try:
            base = baseline_of(self.store, one.run, self.options.baseline)
            report = gate_run(self.store, one.run, base, self.options.config)
        except (DataError, MetricsError) as error:
            return Watched(name, one.status, one.run, problem=str(error))
        return Watched(name, one.status, one.run, report)


def _printable(path: Path) -> str:
    """Name a file by its path; bytes of it that are no text give way to a mark."""
    return os.fsencode(path).decode("utf-8", "replace")


def _mark(path: Path) -> FileMark | None:
    try:
        seen = path.stat()
    except OSError:
        return None
    return FileMark(seen.st_size, seen.st_mtime_ns)
