"""Import paths or uploads into a workspace: what belongs together joined, read, stored and scored.

A file is loaded whole or not.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragtriage.data.declarations import (
    Declaration,
    declaration_of,
    declarations_of,
    declare,
    use_declarations,
)
from ragtriage.data.errors import ValidationErrors, WorkspaceError
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.formats.beir import beir_inputs, is_beir
from ragtriage.data.importers.importer import Importer, Options, Peek
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.shapes import storable
from ragtriage.data.importers.registry import candidates, importer_of, importers
from ragtriage.data.scoring.batches.gathered import EarlyScores
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.score_run import ensure_scored, options_of
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.question_sets import (
    LoadedSet,
    QuestionSet,
    find_set,
    keep_set,
    load_set,
    parsed_set,
)
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.data.store.write_run import ImportedRun, store_run
from ragtriage.data.suites.registry import check_problems

Input = tuple[InputFile, Options]
OF_ANY_TOOL = ("trec", "scores_json", "table", "table_questions", "native", "native_questions")
MOST_FILES = 2_000


def inputs_of(path: str, options: Options) -> list[Input]:
    """Return what to import for a path: a file, a folder that an importer reads as such, or its files.

    Raises:
        InputError: a folder holds nothing that can be read, or more files than are read at once.
    """
    source = InputFile.from_path(path)
    if not source.is_folder:
        return [(source, options)]
    folder = Path(path)
    peek = Peek(source)
    readers = [importer for importer in candidates(peek) if importer.detect(peek)]
    if options.format != "auto" or any(not importer.shares_folder for importer in readers):
        return [(source, options)]
    files = _recognised(source, folder, options, readers)
    if readers:
        whole = [(source, replace(options, format=importer.key)) for importer in readers]
        return whole + [(file, options) for file, _ in files]
    if is_beir(folder) and not any(key not in OF_ANY_TOOL for _, key in files):
        return beir_inputs(source, folder, options)
    if not files:
        raise source.error(
            "is a folder with no file that can be read",
            "a file; the folder that a tool writes; or a folder in the BEIR layout with at least one run",
        )
    return [(file, options) for file, _ in files]


def joined(inputs: Sequence[Input]) -> list[Input]:
    """Return inputs where files that complete another one of the same tool are handed to it as companions.

    Raises:
        InputError: a file that means nothing alone has no file that it completes.
    """
    keys = [_key_of(source, options) for source, options in inputs]
    known = {key: importer_of(key) for key in keys}
    hosts: list[Input] = []
    for (source, options), key in zip(inputs, keys, strict=True):
        importer = known[key]
        completes = () if importer is None else importer.companion_of
        if importer is not None and completes and not set(completes) & set(keys) and not importer.alone:
            *others, last = (importers()[host].title for host in completes)
            titles = " or ".join(filter(None, (", ".join(others), last)))
            what = f"is {importer.title}, which holds no questions of its own"
            raise source.error(what, f"it together with {titles}")
        if not set(completes) & set(keys):
            companions = tuple(
                file
                for (file, _), other in zip(inputs, keys, strict=True)
                if (completing := known[other]) is not None and key in completing.companion_of
            )
            hosts.append((source, replace(options, companions=companions) if companions else options))
    return hosts


def _recognised(
    source: InputFile, folder: Path, options: Options, readers: Sequence[Importer]
) -> list[tuple[InputFile, str]]:
    """Return the files of a folder that some importer recognises, with the keys of their importers.

    Files that one of `readers` reads out of the folder are not among them.

    Raises:
        InputError: they are too many.
    """
    files: list[tuple[InputFile, str]] = []
    for path in sorted(folder.iterdir()):
        if (
            path.name.startswith(".") or not path.is_file()
        ):  # a pipe, a socket or a loop of links is not a file
            continue
        file = InputFile.from_path(str(path))
        key = _key_of(file, options)
        if not key or any(reader.key == key for reader in readers):
            continue
        if len(files) == MOST_FILES:
            what = f"holds more than {MOST_FILES:,} files that can be read"
            raise source.error(what, f"a folder of at most {MOST_FILES:,}, or some of its files by name")
        files.append((file, key))
    return files


def _key_of(source: InputFile, options: Options) -> str:
    """Return the key of the importer of a file; "" where none reads it, which its import will say."""
    if options.format != "auto":
        return options.format
    try:
        return detect(source, options.rows)
    except Exception:  # noqa: BLE001 -- a fault of one file must not take the others with it
        return ""


def named_questions(workspace: Workspace, wanted: str) -> LoadedSet:
    """Return the question set of a name or id, or that of a file or folder.

    A path that exists is read as one; a name that is also a path is the path.

    Raises:
        InputError: the file cannot be read as questions.
        WorkspaceError: there is no such set, and no such file.
    """
    if is_question_file(wanted):
        return read_question_file(*inputs_of(str(Path(wanted).expanduser()), Options())[0])
    try:
        return load_set(workspace, find_set(workspace, wanted).set_id)
    except WorkspaceError as error:
        if Path(wanted).suffix:
            raise WorkspaceError(f"{wanted}: does not exist, and {error}") from error
        raise


def is_question_file(wanted: str) -> bool:
    """Return whether the user means a file rather than a question set of the workspace."""
    return Path(wanted).expanduser().exists()


def read_question_file(source: InputFile, options: Options | None = None) -> LoadedSet:
    """Return the questions of a file in any format that is read; answers and what was retrieved are left out.

    Raises:
        InputError: it cannot be read, or holds several runs.
    """
    errors = ValidationErrors(source.name)
    runs = read_runs(source, replace(options or Options(), as_questions=True), errors)
    if len(runs) > 1:
        raise source.error(f"holds {len(runs)} runs", "a file with one list of questions")
    return parsed_set(runs[0], errors)


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

    workspace, project = store.workspace, storable(project)
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
