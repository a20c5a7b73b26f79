"""Import files into a workspace: read, store and score them with progress. A file is loaded whole or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from data.errors import ValidationErrors
from data.importers.detect import read_runs
from data.importers.parsing.input_file import InputFile
from data.importers.parsing.options import Options
from data.scoring.run_store import RunStore
from data.store.parsed_run import ParsedRun
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
    return import_parsed_runs(store, read_runs(source, options, errors), project, errors, watch)


def import_parsed_runs(
    store: RunStore,
    parsed_runs: Iterable[ParsedRun],
    project: str,
    errors: ValidationErrors,
    watch: Watch | None = None,
) -> list[ImportedRun]:
    """Store and score parsed runs; when one cannot be stored, those before it are deleted again."""

    def report(file: str, run: str, doing: str, total: int = 0) -> Callable[[int], None]:
        return lambda done: watch(Step(file, run, doing, done, total)) if watch is not None else None

    stored: list[ImportedRun] = []
    try:
        for parsed in parsed_runs:
            progress = report(parsed.file, parsed.name, "reading")
            stored.append(store_run(store.workspace, parsed, project, errors, progress))
        for imported in stored:
            run = imported.run
            store.scored(run, progress=report(run.origin["file"], run.name, "scoring", run.n))
    except BaseException:
        for imported in stored:
            if imported.status == "imported":
                store.workspace.delete_run(imported.run.run_id)
        raise
    return stored
