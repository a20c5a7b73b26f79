"""Watching a folder: result files are imported, scored and gated as they appear."""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.gates.config import GateConfig
from ragtriage.data.gates.hook import HOOK_SECONDS, run_hook
from ragtriage.data.gates.report import GateReport, gate_run
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import load_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import must_write
from ragtriage.data.store.stored_file import replace_file
from ragtriage.data.store.workspace import Run
from ragtriage.data.store.write_run import ImportedRun
from ragtriage.metrics.schema.scores import MetricsError

UNFINISHED = (
    *(".tmp", ".temp", ".part", ".partial", ".filepart", ".crdownload", ".download", ".inprogress"),
    *(".swp", ".swx", ".lock", ".bak", "~"),
)


@dataclass(frozen=True)
class FileState:
    """Size and time of a file; it is complete when they no longer change."""

    size: int  # in bytes
    changed: int  # when its content was last written, in nanoseconds


def files_in(folder: Path, leave_out: Path) -> dict[str, FileState]:
    """List the files of a folder and the folders in it, by their path within it.

    Hidden, temporary and unfinished files are left out by their names, and so is what is not a regular file.
    A link to a file counts as that file; links to folders are not followed. The folder to leave out is the
    workspace.
    """
    states = {}
    for path in _paths(folder, leave_out):
        try:
            info = path.stat()
        except OSError:
            continue  # gone meanwhile, or a link to nothing
        if stat.S_ISREG(info.st_mode):
            states[str(path.relative_to(folder))] = FileState(info.st_size, info.st_mtime_ns)
    return states


def _paths(folder: Path, leave_out: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        current = Path(root)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and current / name != leave_out
        )
        yield from (
            current / name
            for name in sorted(files)
            if not name.startswith((".", "~", "#")) and not name.lower().endswith(UNFINISHED)
        )


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file's content; "" where it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


@dataclass
class Memory:
    """What a watch has processed, kept in a small file of the workspace."""

    path: Path  # of that file
    # path within the folder -> (size, time, digest) when it was processed
    files: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    # digests of what was imported, whatever the file was called
    contents: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, root: Path, folder: Path, project: str) -> Self:
        """Read the memory of a folder watched for a project; it is empty where the file cannot be read."""
        key = hashlib.sha256(f"{folder}\0{project}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
        path = root / "watch" / f"{key}.json"
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            files = {
                str(name): (int(size), int(time), str(digest))
                for name, (size, time, digest) in stored["files"].items()
            }
            return cls(path, files, {str(digest) for digest in stored["contents"]})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(path)

    def knows(self, name: str, state: FileState) -> bool:
        """Return whether a file was processed in this state; one that could not be opened is tried again."""
        size, changed, digest = self.files.get(name, (-1, -1, ""))
        return bool(digest) and (size, changed) == (state.size, state.changed)

    def reported(self, name: str, state: FileState, digest: str) -> bool:
        """Return whether this file was reported with the same content, or the same failure to open it."""
        size, changed, earlier_digest = self.files.get(name, (-1, -1, ""))
        if digest:
            return earlier_digest == digest
        return (size, changed, earlier_digest) == (state.size, state.changed, "")

    def note(self, name: str, state: FileState, digest: str, imported: bool) -> None:
        """Remember that a file was processed, and whether its content was imported."""
        entry = (state.size, state.changed, digest)
        if self.files.get(name) == entry and not imported:
            return
        self.files[name] = entry
        if imported and digest:
            self.contents.add(digest)
        self._save()

    def keep_only(self, present: Mapping[str, FileState]) -> None:
        """Forget files that are gone, but not their contents."""
        for name in self.files.keys() - present.keys():
            del self.files[name]

    def _save(self) -> None:
        text = json.dumps({"files": self.files, "contents": sorted(self.contents)})
        with suppress(OSError):  # the watch goes on; after a restart it reads the files again
            self.path.parent.mkdir(exist_ok=True)
            replace_file(self.path, text.encode())


@dataclass(frozen=True)
class WatchOptions:
    """Which folder is watched, and how its runs are judged."""

    folder: Path  # where result files appear
    project: str  # what their runs belong to
    config: GateConfig
    baseline: str = ""  # run that all are compared with; "" for the project's own at that moment


@dataclass(frozen=True)
class Watched:
    """What became of a file, or of one run in it."""

    file: str  # path within the folder
    # "imported", "unchanged" where the workspace had it already, "kept" for a question set, or "refused"
    status: Literal["imported", "unchanged", "kept", "refused"]
    run: Run | None = None  # the run; None where the file was refused
    report: GateReport | None = None  # of the gates; None where the run could not be judged
    problem: str = ""  # why the file was refused or the run was not gated, which set was kept; "" otherwise


class Watcher:
    """Scans a folder repeatedly; a file is taken when it has not changed between two scans."""

    def __init__(self, store: RunStore, options: WatchOptions) -> None:
        """Begin a watch.

        Raises:
            DataError: this process may not write, the named baseline is not there, or no gate blocks.
        """
        must_write(f"workspace {store.workspace.root}")
        options.config.gates_for(options.project)
        if options.baseline:
            store.find(options.baseline)
        self.store = store
        self.options = options
        self.memory = Memory.of(store.workspace.root, options.folder, options.project)
        self._states: dict[str, FileState] = {}
        self._retried: dict[str, str] = {}  # file -> problem that is not its fault
        self.moving: list[str] = []

    def look(self) -> list[str]:
        """List the complete files that are new or changed, oldest first.

        `moving` then lists those that changed since the last scan, or were not there.
        """
        states = files_in(self.options.folder, self.store.workspace.root)
        fresh = [name for name, state in states.items() if not self.memory.knows(name, state)]
        ready = [name for name in fresh if self._states.get(name) == states[name]]
        self.moving = [name for name in fresh if name not in ready]
        self._states = states
        self.memory.keep_only(states)
        return sorted(ready, key=lambda name: (states[name].changed, name))

    def take(self, name: str) -> Iterator[Watched]:
        """Import, score and gate a file of look(); yield nothing where its content was processed before.

        A file that cannot be read is reported once, and again only when it changes.
        """
        path, state = self.options.folder / name, self._states[name]
        digest = digest_of(path)
        if digest in self.memory.contents or self.memory.reported(name, state, digest):
            self.memory.note(name, state, digest, imported=False)
            return
        try:
            source = InputFile(os.fsencode(path).decode("utf-8", "replace"), path=path)
            loaded = load_source(self.store, source, Options(), self.options.project)
        except Exception as error:  # noqa: BLE001 -- no file may end the watch
            if _state(path) == state:  # else it changed while it was read: the next scans decide
                yield from self._refused(name, state, digest, error)
            return
        for kept in loaded.question_sets:
            yield Watched(name, "kept", problem=f"question set {kept.facts.name} ({kept.facts.set_id})")
        for imported in loaded.runs:
            yield self._gated(name, imported)
        self.memory.note(
            name, state, digest, imported=True
        )  # last: after an interruption the file is taken again

    def _refused(self, name: str, state: FileState, digest: str, error: Exception) -> Iterator[Watched]:
        """Report why a file was not taken; one that is not at fault is tried again at every scan."""
        expected = isinstance(error, DataError | MetricsError)
        problem = str(error) if expected else f"{name}: {type(error).__name__}: {error}"
        if not isinstance(error, WorkspaceError | OSError | MemoryError):
            self.memory.note(name, state, digest, imported=False)
        elif self._retried.get(name) == problem:
            return
        self._retried[name] = problem
        yield Watched(name, "refused", problem=problem)

    def _gated(self, name: str, imported: ImportedRun) -> Watched:
        try:
            baseline = baseline_of(self.store, imported.run, self.options.baseline)
            report = gate_run(self.store, imported.run, baseline, self.options.config)
        except (DataError, MetricsError) as error:
            return Watched(name, imported.status, imported.run, problem=str(error))
        return Watched(name, imported.status, imported.run, report)


def _state(path: Path) -> FileState | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return FileState(info.st_size, info.st_mtime_ns)


def report_hook(
    words: Sequence[str], report: GateReport, strict: bool = False, seconds: float = HOOK_SECONDS
) -> str:
    """Run a command for a run that failed; return what went wrong, "" where nothing did.

    Its environment has RAGTRIAGE_RUN, RAGTRIAGE_VERDICT and RAGTRIAGE_PROJECT, its standard input the JSON of
    `ragtriage gate RUN --json`.
    """
    variables = {
        "RAGTRIAGE_RUN": report.run.run_id,
        "RAGTRIAGE_VERDICT": report.verdict_under(strict),
        "RAGTRIAGE_PROJECT": report.run.project,
    }
    answer = json.dumps(report.to_dict(strict), ensure_ascii=False, allow_nan=False)
    return run_hook(words, variables, answer, seconds)
