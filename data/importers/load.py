"""Import files into a workspace: read, store and score them with progress. A file is loaded whole or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from data.declarations import (
    Declaration,
    declaration_of,
    declarations_of,
    declare,
    use_declarations,
)
from data.errors import ValidationErrors
from data.importers.detect import read_runs
from data.importers.parsing.input_file import InputFile
from data.importers.parsing.options import Options
from data.scoring.run_store import RunStore
from data.scoring.score_run import ensure_scored
from data.store.parsed_run import ParsedRun
from data.store.workspace import Run
from data.store.write_run import ImportedRun, store_run

__all__ = ["Step", "Watch", "import_parsed_runs", "import_source"]


@dataclass(frozen=True)
class Step:
    """Progress of an import.

    Attributes:
        file: the file being read.
        run: name of the run being read or scored.
        doing: "reading", "scoring" or "chunking".
        done: samples so far.
        total: samples in all; 0 while not known.
    """

    file: str
    run: str
    doing: str
    done: int
    total: int = 0


Watch = Callable[[Step], None]


def import_source(
    store: RunStore, source: InputFile, options: Options, project: str, watch: Watch | None = None
) -> list[ImportedRun]:
    """Import every run of a file into the workspace and score it.

    Args:
        store: the run store of the workspace.
        source: the file.
        options: how to read it.
        project: project of its runs.
        watch: called with the progress.

    Raises:
        InputError: the file is not valid; nothing of it was loaded.
    """
    errors = ValidationErrors(source.name)
    use_declarations(
        store.workspace, project, options.metrics
    )  # a table of means takes declared metrics alone
    imported = import_parsed_runs(store, read_runs(source, options, errors), project, errors, watch)
    if options.metrics:
        declare(store.workspace, project, options.metrics)
    return imported


def import_parsed_runs(
    store: RunStore,
    parsed_runs: Iterable[ParsedRun],
    project: str,
    errors: ValidationErrors,
    watch: Watch | None = None,
) -> list[ImportedRun]:
    """Store and score parsed runs; they appear in the workspace together once all are scored, or not at all.

    What a file declares of its metrics is kept where the project declares nothing of them yet.

    Raises:
        InputError: a run is not valid.
    """

    def report(file: str, run: str, doing: str, total: int = 0) -> Callable[[int], None]:
        return lambda done: watch(Step(file, run, doing, done, total)) if watch is not None else None

    def scoring(run: Run) -> Callable[[int], None]:
        return report(run.origin["file"], run.name, "scoring", run.n)

    workspace = store.workspace
    with workspace.staged_import() as staged:
        stored: list[ImportedRun] = []
        in_files: dict[str, Declaration] = {}
        for parsed in parsed_runs:
            stored.append(
                store_run(staged, parsed, project, errors, report(parsed.file, parsed.name, "reading"))
            )
            in_files |= {
                name: declaration_of(name, entry, parsed.file) for name, entry in parsed.metrics.items()
            }
        there = workspace.run_ids()
        imported = [
            ImportedRun(workspace.read_run(entry.run.run_id), "unchanged")
            if entry.run.run_id in there
            else entry
            for entry in stored
        ]
        for entry in imported:
            if entry.run.run_id not in there:
                ensure_scored(staged, entry.run, progress=scoring(entry.run))
        new = workspace.publish_import(staged)
    known = declarations_of(workspace, project)
    undeclared = {name: entry for name, entry in in_files.items() if name not in known}
    if undeclared:
        declare(workspace, project, undeclared)
    for entry in imported:  # also with the results of a judge, which the workspace may have kept
        store.scored(entry.run, progress=scoring(entry.run))
    return [entry if entry.run.run_id in new else replace(entry, status="unchanged") for entry in imported]
