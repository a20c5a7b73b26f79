"""Import files into a workspace: read, store and score them with progress. A file is loaded whole or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from ragtriage.data.declarations import (
    Declaration,
    declaration_of,
    declarations_of,
    declare,
    use_declarations,
)
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.batches.early import EarlyScores
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.score_run import ensure_scored, options_of
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.question_sets import QuestionSet, keep_set, parsed_set
from ragtriage.data.store.workspace import Run
from ragtriage.data.store.write_run import ImportedRun, store_run
from ragtriage.data.suites.evaluate import check_problems


@dataclass(frozen=True)
class Step:
    """Progress of an import."""

    file: str  # the file being read
    run: str  # name of the run being read or scored
    doing: str  # "reading", "scoring" or "chunking"
    done: int  # samples so far
    total: int = 0  # samples in all; 0 while not known


Watch = Callable[[Step], None]


@dataclass(frozen=True)
class KeptSet:
    """A question set that an import kept."""

    facts: QuestionSet  # of the set as it is stored
    is_new: bool  # whether the workspace did not have it before


@dataclass(frozen=True)
class Loaded:
    """The runs of a file as imported, and its question sets, which are not runs."""

    runs: list[ImportedRun]
    question_sets: list[KeptSet]


def import_source(
    store: RunStore, source: InputFile, options: Options, project: str, watch: Watch | None = None
) -> list[ImportedRun]:
    """Import every run of a file as `load_source` does, and return the runs alone."""
    return load_source(store, source, options, project, watch).runs


def load_source(
    store: RunStore, source: InputFile, options: Options, project: str, watch: Watch | None = None
) -> Loaded:
    """Import every run of a file into the workspace and score it; question sets are kept as such.

    Raises:
        InputError: the file is not valid; nothing of it was loaded.
    """
    errors = ValidationErrors(source.name)
    use_declarations(store.workspace, project, options.metrics)  # a table of means takes declared ones alone
    parsed_runs = read_runs(source, options, errors)
    sets = [parsed_set(parsed, errors) for parsed in parsed_runs if parsed.questions]
    runs = [parsed for parsed in parsed_runs if not parsed.questions]
    size = source.size if len(runs) == 1 else 0
    imported = import_parsed_runs(store, runs, project, errors, watch, size) if runs else []
    if options.metrics:
        declare(store.workspace, project, options.metrics)
    return Loaded(imported, [KeptSet(*keep_set(store.workspace, loaded)) for loaded in sets])


def import_parsed_runs(
    store: RunStore,
    parsed_runs: Iterable[ParsedRun],
    project: str,
    errors: ValidationErrors,
    watch: Watch | None = None,
    size: int = 0,  # bytes of the file of a single run; 0 where that is not known
) -> list[ImportedRun]:
    """Store and score parsed runs; they appear in the workspace together once all are scored, or not at all.

    What a file declares of its metrics is kept where the project declares nothing of them yet.

    Raises:
        InputError: a run is not valid.
        WorkspaceError: the ledger is damaged.
    """

    def report(file: str, run: str, doing: str, total: int = 0) -> Callable[[int], None]:
        return lambda done: watch(Step(file, run, doing, done, total)) if watch is not None else None

    def scoring(run: Run) -> Callable[[int], None]:
        return report(run.origin["file"], run.name, "scoring", run.n)

    workspace = store.workspace
    store.ledger.check()  # what is read of it after the runs are published must not fail then
    with workspace.staged_import() as staged:
        imported: list[ImportedRun] = []
        counted = Counter[str]()  # rows left out of the runs before
        in_files: dict[str, Declaration] = {}
        for parsed in parsed_runs:
            reading = report(parsed.file, parsed.name, "reading")
            options = options_of(workspace, project, parsed.config)
            with EarlyScores(staged.root / "early", options, size) as early:
                entry = store_run(staged, parsed, project, errors, reading, check_problems, early.add)
                if entry.run.run_id in workspace.run_ids():
                    entry = replace(entry, run=workspace.read_run(entry.run.run_id), status="unchanged")
                else:
                    options = options_of(workspace, project, entry.run.config)
                    ensure_scored(staged, entry.run, options, scoring(entry.run), early)
            imported.append(replace(entry, left_out=errors.left_out - counted))
            counted = Counter(errors.left_out)
            for name, declared in parsed.metrics.items():
                in_files[name] = declaration_of(name, declared, parsed.file)
        new = workspace.publish_import(staged)
    known = declarations_of(workspace, project)
    undeclared = {name: entry for name, entry in in_files.items() if name not in known}
    if undeclared:
        declare(workspace, project, undeclared)
    for entry in imported:  # also with the results of a judge, which the workspace may have kept
        store.scored(entry.run, progress=scoring(entry.run))
    store.enter_in_index([entry.run for entry in imported if entry.run.run_id in new])
    return [entry if entry.run.run_id in new else replace(entry, status="unchanged") for entry in imported]
