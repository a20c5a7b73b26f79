"""The bundled samples: real exports, imported like any other file."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ragtriage.data.ab.ab_test import TestOptions
from ragtriage.data.ab.reading import read_test
from ragtriage.data.ab.stored_tests import keep_test, stored_tests
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.chunking.grid_plan import GridPlan, GridStep, plan_configurations
from ragtriage.data.chunking.grid_search import run_grid
from ragtriage.data.chunking.questions import read_questions
from ragtriage.data.datasets.dataset import create_dataset, datasets
from ragtriage.data.datasets.from_questions import read_items
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.experiments.experiment import Experiment
from ragtriage.data.experiments.languages import run_language_experiment
from ragtriage.data.experiments.parallel_questions import read_multilingual
from ragtriage.data.experiments.parsed_pages import ParsedPages
from ragtriage.data.experiments.parsing import run_parsing_experiment
from ragtriage.data.experiments.plan import plan_experiment
from ragtriage.data.experiments.questions import Questions, corpus_of_questions, open_questions
from ragtriage.data.experiments.registry import kind_of
from ragtriage.data.experiments.run_experiment import run_experiment
from ragtriage.data.gates.config import FILE_NAME, bundled_text
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import Step, Watch, import_parsed_runs, named_questions
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.jobs import lock_file
from ragtriage.data.judge.judge_run import RecordedLabels, publish_recorded, read_recorded
from ragtriage.data.live.demo_traffic import load_traffic
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.stored_file import replace_file
from ragtriage.data.store.versions import mark_release_once
from ragtriage.data.store.workspace import Run
from ragtriage.data.store.write_run import ImportedRun
from ragtriage.data.systems.builtin_pipeline import BuiltInSystem, PipelineSettings
from ragtriage.data.systems.builtin_readers import Extractive
from ragtriage.data.systems.system import SystemLimits

LABELLED_SETS = ("mtrag", "clapnq")  # projects of bundled samples that annotators labelled

FIRST_PROJECT, FIRST_RUN = "handbook", "V4 rerank"  # what the demo opens on: the version that may be shipped
WHO = "bundled samples"  # who set what the samples bring along


@dataclass(frozen=True)
class SampleStory:
    """A story that a bundled sample brings along."""

    title: str  # of the story
    run: Run  # the run it tells of
    baseline: Run  # what it compares that run with
    audience: str  # "stakeholder", "lead" or "engineer"
    note: str  # what the reader must know of the data


@cache
def _manifest() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads((_folder() / "manifest.json").read_text(encoding="utf-8")))


def sample_projects() -> frozenset[str]:
    """Return the projects of the bundled samples, with which a file of a user's own has nothing to do."""
    return frozenset(entry["project"] for entry in _manifest())


def _folder() -> Path:
    return Path(str(files("ragtriage.data"))) / "bundled"


def load_samples(
    store: RunStore, watch: Watch | None = None, project: str | None = None
) -> list[ImportedRun]:
    """Load the bundled samples that are missing, and what belongs to them: baselines, releases, gates.

    A sample with only some of its runs, because an earlier load was interrupted, is read again. What a user
    set stays: a baseline, a release that was renamed or taken away, a gates.toml in the workspace.

    Args:
        store: the runs of the workspace.
        watch: called with the progress.
        project: the one project to load, without its grid searches; all where None.

    Returns:
        The result for each run that was read; empty where nothing was missing.
    """
    with (store.workspace.root / "samples.lock").open("ab") as file:
        lock_file(file, wait=True)  # a second process finds what the first one loaded
        entries = _manifest()
        if project is not None:
            entries = tuple(it for it in entries if it["project"] == project and "grid" not in it)
        loaded = _load_missing(store, entries, watch)
        if project in (None, FIRST_PROJECT):
            _keep_live_tests(store)
        return loaded


def samples_are_missing(store: RunStore) -> bool:
    """Return whether a sample, or a run of one, is not in the workspace."""
    return bool(_missing(store, _manifest()))


def _missing(store: RunStore, entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    runs = Counter((run.project, run.origin["file"]) for run in store.runs())
    return [entry for entry in entries if runs[entry["project"], Path(entry["file"]).name] < entry["runs"]]


def _load_missing(
    store: RunStore, entries: Sequence[Mapping[str, Any]], watch: Watch | None
) -> list[ImportedRun]:
    missing = _missing(store, entries)
    loaded = []
    for entry in entries:
        if entry in missing:
            loaded += _load(store, entry, watch)
        if "replies" in entry:
            for run in store.runs(entry["project"]):
                if run.origin["file"] == Path(entry["file"]).name:
                    publish_recorded(store.workspace, run, _replies(entry))
    for entry in entries:
        _set_baseline(store, entry)
        if "release" in entry:
            _mark_release(store, entry)
        if "test_set" in entry:
            _keep_dataset(store, entry["test_set"])
    # the bundled gates and those of the samples, unless the workspace has gates of its own
    path = store.workspace.root / FILE_NAME
    if not path.exists():
        samples = [
            (_folder() / entry["gates"]).read_text(encoding="utf-8")
            for entry in _manifest()
            if "gates" in entry
        ]
        replace_file(path, "\n".join([bundled_text(), *samples]).encode())
    return loaded


def sample_stories(store: RunStore) -> list[SampleStory]:
    """List the stories of the samples whose runs are in the workspace."""
    stories = []
    for entry in _manifest():
        runs = {run.name: run for run in _runs_of(store, entry)} if "stories" in entry else {}
        for story in json.loads((_folder() / entry["stories"]).read_text(encoding="utf-8")) if runs else ():
            run, baseline = runs.get(story["run"]), runs.get(story["baseline"])
            if run is not None and baseline is not None:
                note = entry["notes"][0]
                stories.append(SampleStory(story["title"], run, baseline, story["audience"], note))
    return stories


def _runs_of(store: RunStore, entry: Mapping[str, Any]) -> list[Run]:
    """List the runs of an entry's project that came from bundled files, not those a user added."""
    bundled = {Path(other["file"]).name for other in _manifest() if other["project"] == entry["project"]}
    return [run for run in store.runs(entry["project"]) if run.origin["file"] in bundled]


def labelled_runs(store: RunStore, wanted: str) -> list[Run]:
    """Return the runs of one of LABELLED_SETS, loading what is missing, or the run of that name."""
    if wanted not in LABELLED_SETS:
        return [store.find(wanted)]
    return load_project(store, wanted)


def load_project(store: RunStore, project: str) -> list[Run]:
    """Return the runs of a bundled project, loading what is missing."""
    for entry in _manifest():
        if entry["project"] != project:
            continue
        loaded = [run for run in store.runs(project) if run.origin["file"] == Path(entry["file"]).name]
        if len(loaded) < entry["runs"]:
            _load(store, entry, None)
        if "replies" in entry:
            for run in _runs_of(store, entry):
                publish_recorded(store.workspace, run, _replies(entry))
        _set_baseline(store, entry)
    return store.runs(project)


def _load(store: RunStore, entry: Mapping[str, Any], watch: Watch | None) -> list[ImportedRun]:
    if "grid" in entry:
        return _run_grid(store, entry, watch)
    if "experiment" in entry:
        return _run_experiment(store, entry, watch)
    if "traffic" in entry:
        return [ImportedRun(run, "imported") for run in load_traffic(store, _folder(), entry)]
    name = Path(entry["file"]).name
    source = InputFile.from_bytes(name, (_folder() / entry["file"]).read_bytes())
    problems = ValidationErrors(name)
    left_out = entry.get("leave_out", ())  # gold answers that the file lists among its systems, and others
    drafts = [
        _described(draft, entry)
        for draft in read_runs(source, Options(), problems)
        if draft.name not in left_out
    ]
    if "replies" in entry:
        drafts = [_with_reply(draft, _replies(entry)) for draft in drafts]
    return import_parsed_runs(store, drafts, entry["project"], problems, watch)


def _keep_dataset(store: RunStore, test_set: Mapping[str, str]) -> None:
    """Keep the questions of a sample as a dataset with a first version, unless its name is taken."""
    if any(dataset.name == test_set["name"] for dataset in datasets(store.workspace)):
        return
    corpus = read_corpus([_folder() / test_set["corpus"]])
    loaded = named_questions(store.workspace, str(_folder() / test_set["questions"]))
    dataset = create_dataset(store.workspace, test_set["name"])
    facts = {"by": "model", "source": test_set["source"], "licence": test_set["licence"]}
    batch = dataset.add_batch(read_items(loaded, CorpusWindows(corpus)).items, corpus, facts)
    dataset.freeze(batch.items, 0, WHO)


def _keep_live_tests(store: RunStore) -> None:
    """Keep the bundled live tests, each arm with the run of its version, unless a name is taken."""
    folder = _folder() / "live_tests"
    taken = {test.name for test in stored_tests(store.workspace)[0]}
    for entry in json.loads((folder / "tests.json").read_text(encoding="utf-8")):
        if entry["name"] in taken:
            continue
        rows = read_test([folder / entry["file"]], **entry["columns"])
        options = TestOptions(**{**entry["options"], "shares": _shares(entry)})
        own = store.runs(entry["project"]) if entry["project"] else []
        ids = {run.name: run.run_id for run in own}
        runs = {arm: ids[name] for arm, name in entry["runs"].items() if name in ids}
        keep_test(store.workspace, rows, options, entry["name"], entry["file"], entry["note"], runs)


def _shares(entry: Mapping[str, Any]) -> tuple[float, ...] | None:
    shares = entry["options"].get("shares")
    return None if shares is None else tuple(shares)


def _replies(entry: Mapping[str, Any]) -> RecordedLabels:
    return read_recorded(_folder() / entry["replies"])


def _with_reply(draft: ParsedRun, recorded: RecordedLabels) -> ParsedRun:
    """Return a run of the samples alone that a judge's reply was recorded on."""
    records = (
        (line, record)
        for line, record in draft.records
        if isinstance(record, Mapping) and record["question_id"] in recorded.labels
    )
    return replace(draft, records=records)


def _run_grid(store: RunStore, entry: Mapping[str, Any], watch: Watch | None) -> list[ImportedRun]:
    """Run a bundled grid search; that takes about as long as importing its runs would."""
    grid = entry["grid"]
    corpus = read_corpus([_folder() / grid["corpus"]])
    questions = read_questions(InputFile.from_path(_folder() / grid["questions"]), corpus)
    headings = grid.get("headings", [False])
    cells, _ = plan_configurations(grid["sizes"], grid["overlaps"], "tokens", grid["strategies"], headings)

    def tell(step: GridStep) -> None:
        if watch is not None:
            watch(Step(entry["file"], step.configuration, "chunking", step.done, step.total))

    plan = GridPlan(corpus, questions, cells, title=entry["file"], created_at=_moment(grid))
    return [ImportedRun(run, "imported") for run in run_grid(store, plan, entry["project"], tell)]


def _run_experiment(store: RunStore, entry: Mapping[str, Any], watch: Watch | None) -> list[ImportedRun]:
    """Run a bundled experiment by the built-in system without a model, which takes seconds."""
    experiment = entry["experiment"]
    kind = kind_of(experiment["kind"])
    if kind.key in MEASURED:
        return _imported(store, MEASURED[kind.key](store, entry))
    questions = _questions(store, entry)
    corpus = corpus_of_questions(questions) if experiment.get("searches") else None
    system = BuiltInSystem(Extractive(), corpus, PipelineSettings(**experiment["settings"]))
    if watch is not None:
        watch(Step(entry["file"], kind.title, "scoring", 0))
    planned = plan_experiment(
        kind, questions, experiment["parameters"], system, entry["project"], _moment(entry)
    )
    return _imported(store, run_experiment(store, planned, system, SystemLimits()).experiment)


def _questions(store: RunStore, entry: Mapping[str, Any]) -> Questions:
    """Return the questions of a bundled experiment: of its file, or of a run of an experiment before it."""
    experiment = entry["experiment"]
    if "run" not in experiment:
        return open_questions(store, str(_folder() / experiment["questions"]))
    run = next(
        run
        for run in store.runs(entry["project"])
        if (run.name, run.origin["file"]) == (experiment["run"], experiment["run_of"])
    )
    return replace(open_questions(store, run.run_id), name=experiment["name"])


def _imported(store: RunStore, experiment: Experiment) -> list[ImportedRun]:
    return [ImportedRun(store.find(run_id), "imported") for run_id in experiment.run_ids]


def _retrieve_across_languages(store: RunStore, entry: Mapping[str, Any]) -> Experiment:
    experiment = entry["experiment"]
    asked = read_multilingual(*(str(_folder() / experiment[file]) for file in ("questions", "corpus")))
    asked = replace(asked, name=experiment["name"])
    return run_language_experiment(store, asked, entry["project"], created_at=_moment(entry))


def _score_parsers(store: RunStore, entry: Mapping[str, Any]) -> Experiment:
    experiment = entry["experiment"]
    lines = gzip.decompress((_folder() / experiment["questions"]).read_bytes()).splitlines()
    pages = {page["page"]: page for page in map(json.loads, lines)}
    gold = {name: page["gold"] for name, page in pages.items()}
    parsers = [
        ParsedPages(parser, {name: page["parsed"][parser] for name, page in pages.items()})
        for parser in next(iter(pages.values()))["parsed"]
    ]
    return run_parsing_experiment(store, parsers, gold, experiment["name"], entry["project"], _moment(entry))


MEASURED = {"languages": _retrieve_across_languages, "parsing": _score_parsers}  # ask no system


def _described(draft: ParsedRun, entry: Mapping[str, Any]) -> ParsedRun:
    name = entry.get("names", {}).get(draft.name, draft.name)
    return replace(
        draft,
        name=name,
        dataset=entry["dataset"],
        created_at=_moment(entry) or draft.created_at,
        config={**draft.config, **entry.get("config", {}), "pipeline": name},
        notes=(*draft.notes, *entry.get("notes", ())),
    )


def _moment(entry: Mapping[str, Any]) -> datetime | None:
    return datetime.fromisoformat(entry["created_at"]) if "created_at" in entry else None


def _set_baseline(store: RunStore, entry: Mapping[str, Any]) -> None:
    project, name = entry["project"], entry.get("baseline")
    if name is None or project in store.ledger.baselines():
        return
    for run in store.runs(project):
        if run.name == name and run.created_at == _moment(entry):
            store.ledger.set_baseline(project, run.run_id, WHO)


def _mark_release(store: RunStore, entry: Mapping[str, Any]) -> None:
    for run in store.runs(entry["project"]):
        if run.origin["file"] == Path(entry["file"]).name:
            mark_release_once(store.ledger, run.project, run.run_id, entry["release"], WHO)
