"""Bringing files into a workspace: read, stored, scored, with progress; all of a file or nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from data.errors import ValidationErrors
from data.importers.detect import read_runs
from data.importers.parsing.options import Options
from data.importers.parsing.source import Source
from data.scoring.run_store import RunStore
from data.store.parsed_run import ParsedRun
from data.store.write_run import ImportedRun, store_run

__all__ = ["Step", "Watch", "import_parsed_runs", "import_source"]


@dataclass(frozen=True)
class Step:
    """Where an import stands.

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
    store: RunStore, source: Source, options: Options, project: str, watch: Watch | None = None
) -> list[ImportedRun]:
    """Bring every run of one file into the workspace and score it.

    Args:
        store: of the workspace.
        source: the file.
        options: how to read it.
        project: what its runs belong to.
        watch: called as it goes.

    Raises:
        InputError: the file has problems; nothing of it was loaded.
    """
    problems = ValidationErrors(source.name)
    return import_parsed_runs(store, read_runs(source, options, problems), project, problems, watch)


def import_parsed_runs(
    store: RunStore,
    drafts: Iterable[ParsedRun],
    project: str,
    problems: ValidationErrors,
    watch: Watch | None = None,
) -> list[ImportedRun]:
    """Store and score drafts; when one of them cannot be stored, those before it are taken out again."""
    stored: list[ImportedRun] = []
    try:
        stored.extend(
            store_run(store.workspace, draft, project, problems, _reading(draft, watch)) for draft in drafts
        )
        for one in stored:
            store.scored(one.run, progress=_scoring(one, watch))
    except BaseException:
        for one in stored:
            if one.status == "imported":
                store.workspace.delete_run(one.run.run_id)
        raise
    return stored


def _reading(draft: ParsedRun, watch: Watch | None) -> Callable[[int], None]:
    def tell(done: int) -> None:
        if watch is not None:
            watch(Step(draft.file, draft.name, "reading", done))

    return tell


def _scoring(one: ImportedRun, watch: Watch | None) -> Callable[[int], None]:
    def tell(done: int) -> None:
        if watch is not None:
            watch(Step(one.run.origin["file"], one.run.name, "scoring", done, one.run.n))

    return tell
