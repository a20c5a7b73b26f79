"""Watching a folder: result files are imported, scored and gated as they appear."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from data.catalogue import Catalogue
from data.errors import DataError, WorkspaceError
from data.gate_baseline import baseline_of
from data.gate_config import GateConfig
from data.gating import GateReport, gate_run
from data.importers.options import Options
from data.importers.source import Source
from data.importing import import_source
from data.reading_only import must_write
from data.runs import ImportedRun
from data.watched_files import FileMark, Memory, digest_of, files_in
from data.workspace import Run
from metrics.values import MetricsError

__all__ = ["WatchOptions", "Watched", "Watcher"]


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

    def __init__(self, catalogue: Catalogue, options: WatchOptions) -> None:
        """Begin a watch.

        Raises:
            DataError: this process only reads, the baseline that is named is not there, or no gate blocks.
        """
        must_write(f"workspace {catalogue.workspace.root}")
        options.config.gates_for(options.project)
        if options.baseline:
            catalogue.find(options.baseline)
        self.catalogue = catalogue
        self.options = options
        self.memory = Memory.of(catalogue.workspace.root, options.folder, options.project)
        self._seen: dict[str, FileMark] = {}
        self._passing: dict[str, str] = {}
        self.moving: list[str] = []

    def look(self) -> list[str]:
        """List the files that stand still and are new or changed, the oldest first.

        `moving` then holds those that still grow, or were not there at the look before.
        """
        there = files_in(self.options.folder, self.catalogue.workspace.root)
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
            found = import_source(self.catalogue, source, Options(), self.options.project)
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
            base = baseline_of(self.catalogue, one.run, self.options.baseline)
            report = gate_run(self.catalogue, one.run, base, self.options.config)
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
