"""A grid search over chunkings, each of which becomes a run, and the search as a job."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import groupby
from pathlib import Path, PurePath
from queue import SimpleQueue
from threading import Thread
from typing import Any

from ragtriage.data.chunking.chunkers import UNITS, Strategy, Unit
from ragtriage.data.chunking.corpus import PreparedCorpus, read_corpus
from ragtriage.data.chunking.grid_plan import (
    DEPTH,
    GridPlan,
    GridStep,
    GridWatch,
    chunking_config,
    plan_configurations,
    run_configuration,
)
from ragtriage.data.chunking.questions import open_questions, own_corpus
from ragtriage.data.chunking.retrievers import WORDS, open_retriever
from ragtriage.data.errors import DataError
from ragtriage.data.interpreter import python_module
from ragtriage.data.jobs import Job, jobs_of, recorded_job
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.stored_file import replace_file
from ragtriage.data.store.workspace import Run, Workspace

_IDENTITY = ("grid", "chunking", "chunk_size", "chunk_overlap", "chunk_unit", "chunk_headings")


def run_grid(
    store: RunStore,
    plan: GridPlan,
    project: str,
    watch: GridWatch | None = None,
    processes: int | None = None,
) -> list[Run]:
    """Run the configurations that are not in the project yet, and return the runs of all, as planned.

    Each is imported wholly or not at all, so that an interrupted grid goes on from the finished ones. The
    runs are the same, and in the same order, for any number of processes. `watch` is called before each
    configuration and at the end; of several processes, when one is done. Without `processes` there are as
    many as the work is worth.

    Raises:
        DataError: the retriever cannot be opened.
    """
    open_retriever(plan.retriever, [])  # a wrong name is refused before any work, and imports are not timed
    finished = {_identity(run.config): run for run in store.runs(project)}
    places = [finished.get(_identity(chunking_config(plan, chunking))) for chunking in plan.chunkings]
    missing = [at for at, run in enumerate(places) if run is None]
    if processes is None:
        processes = processes_for(plan, len(missing))
    cells = _Cells(store, plan, project)
    if processes > 1 and len(missing) > 1:
        return _shared(cells, places, processes, watch)
    return _one_by_one(cells, places, watch)


class _Cells:
    """The configurations of a plan."""

    def __init__(self, store: RunStore, plan: GridPlan, project: str) -> None:
        self.store, self.project = store, project
        self.plan = plan
        self._began = datetime.now(UTC).replace(tzinfo=None, microsecond=0)

    @cached_property
    def corpus(self) -> PreparedCorpus:
        """The corpus, tokenized."""
        return PreparedCorpus(self.plan.corpus, self.plan.retriever == WORDS)

    def dated(self, at: int) -> GridPlan:
        """Return the plan with the time of a configuration: runs of a grid sort as they were planned."""
        moment = self._began + timedelta(microseconds=at)
        return self.plan if self.plan.created_at else replace(self.plan, created_at=moment)

    def run(self, at: int) -> Run:
        """Run the configuration at a place of the plan in this process."""
        chunking, plan = self.plan.chunkings[at], self.dated(at)
        return run_configuration(self.store, plan, chunking, self.project, self.corpus)


def _one_by_one(cells: _Cells, places: Sequence[Run | None], watch: GridWatch | None) -> list[Run]:
    """Run what is missing in this process, in order."""
    missing, total = sum(run is None for run in places), len(places)
    if missing:
        _ = cells.corpus  # what all share is done before the first is timed
    began, n_new, runs = time.monotonic(), 0, list[Run]()
    for done, (chunking, run) in enumerate(zip(cells.plan.chunkings, places, strict=True)):
        left = (time.monotonic() - began) / n_new * (missing - n_new) if n_new else None
        if watch is not None:
            watch(GridStep(done, total, chunking.title, left))
        runs.append(cells.run(done) if run is None else run)
        n_new += run is None
    if watch is not None:
        watch(GridStep(total, total, "", 0.0))
    return runs


def _shared(
    cells: _Cells, places: Sequence[Run | None], processes: int, watch: GridWatch | None
) -> list[Run]:
    """Run what is missing in several processes; what none of them could run is run here, or fails here."""
    runs = {at: run for at, run in enumerate(places) if run is not None}
    missing = [at for at, run in enumerate(places) if run is None]
    began = time.monotonic()

    def tell() -> None:
        waiting = [at for at in missing if at not in runs]
        n_new = len(missing) - len(waiting)
        left = (time.monotonic() - began) / n_new * len(waiting) if n_new else None
        title = cells.plan.chunkings[waiting[0]].title if waiting else ""
        if watch is not None:
            watch(GridStep(len(runs), len(places), title, left if waiting else 0.0))

    tell()
    with closing(_results(cells, missing, processes)) as results:
        for at, run in results:
            runs[at] = run
            tell()
    return [runs[at] for at in range(len(places))]


def _results(cells: _Cells, missing: Sequence[int], processes: int) -> Generator[tuple[int, Run], None, None]:
    """Yield the runs of the missing configurations, as they are done."""
    workspace = cells.store.workspace
    with closing(in_processes(workspace, cells.dated, missing, cells.project, processes)) as done:
        for at, run_id in done:
            yield at, workspace.read_run(run_id) if run_id else cells.run(at)


def _identity(config: Mapping[str, Any]) -> str:
    return json.dumps([config.get(name) for name in _IDENTITY])


WORTH_PROCESSES = 20_000_000  # characters: some ten seconds of work, which starting processes is worth
QUESTION = 3_000  # characters of a corpus that cost as much as one question
MOST_CHARACTERS = 100_000_000  # of the corpora that all processes hold together, at some 20 bytes each
MOST_PROCESSES = 8
PATIENCE = 5  # seconds that a worker may take to end
Worker = subprocess.Popen[str]
Result = tuple[int, str]  # place in the plan, run id; "" where it was not run
Results = SimpleQueue[Result | None]


def processes_for(plan: GridPlan, missing: int) -> int:
    """Return how many processes should share the missing configurations of a plan; 1 means this one."""
    characters = max(plan.corpus.characters, 1)
    work = missing * (characters + QUESTION * len(plan.questions.records))
    if plan.retriever != WORDS or work < WORTH_PROCESSES:  # a model uses all processors by itself
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST_PROCESSES, missing, MOST_CHARACTERS // characters))


def in_processes(
    workspace: Workspace,
    dated: Callable[[int], GridPlan],
    places: Sequence[int],
    project: str,
    processes: int,
) -> Generator[Result, None, None]:
    """Run configurations of a plan in processes of their own, and yield their runs as they are done.

    `dated` returns the plan with the time of the configuration at a place.

    Yields:
        The place and the run id of each, "" where the worker failed or ended early.
    """
    # neighbours that index the same chunks are cut once
    plan = dated(places[0])
    same = groupby(places, lambda at: replace(plan.chunkings[at], headings=False))
    waiting, results = deque([list(group) for _, group in same]), Results()
    task = json.dumps([str(workspace.root), project, dated(places[0]).to_json()])
    with _running(min(processes, len(waiting))) as workers:
        for worker in workers:
            Thread(target=_serve, args=(worker, task, dated, waiting, results), daemon=True).start()
        working = len(workers)
        while working:
            result = results.get()
            if result is None:
                working -= 1
            else:
                yield result
    yield from ((at, "") for group in waiting for at in group)


def _serve(
    worker: Worker, task: str, dated: Callable[[int], GridPlan], waiting: deque[list[int]], results: Results
) -> None:
    """Hand a worker configurations for as long as there are any and it answers; close with None."""
    group: list[int] = []
    with suppress(OSError, ValueError):  # it ended, or was ended
        _tell(worker, task)
        while waiting:
            with suppress(IndexError):  # another worker was first
                group = waiting.popleft()
            while group:
                moment = dated(group[0]).created_at
                _tell(worker, json.dumps([group[0], moment.isoformat() if moment else None]))
                answer = worker.stdout.readline() if worker.stdout else ""
                results.put((group[0], str(json.loads(answer))))
                group.pop(0)
    for at in group:
        results.put((at, ""))
    results.put(None)


def _tell(worker: Worker, line: str) -> None:
    if worker.stdin is not None:
        worker.stdin.write(f"{line}\n")
        worker.stdin.flush()


@contextmanager
def _running(number: int) -> Iterator[list[Worker]]:
    """Start workers, as many as the system allows, and end all of them on leaving, whatever happens."""
    workers: list[Worker] = []
    try:
        with suppress(OSError):
            workers.extend(_start() for _ in range(number))
        yield workers
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            try:
                worker.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()


def _start() -> Worker:
    command, environment = python_module("ragtriage.data.chunking.grid_worker")
    return subprocess.Popen(  # noqa: S603 -- this interpreter on a module of this program
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        env=environment,
    )


HEADLINE_METRIC = "span_recall@5"  # that a grid is read by first
HEADINGS = {"no": (False,), "yes": (True,), "both": (False, True)}
STOPPED = "stopped on request; the finished configurations are kept"
_KIND = "grid:"  # followed by the key of the grid


class GridStoppedError(Exception):
    """The grid search was asked to stop before its last configuration."""


@dataclass(frozen=True)
class GridOptions:
    """The options of `ragtriage grid`."""

    corpus: Sequence[str]  # folders and files
    questions: str  # file of questions, or name of a question set
    sizes: Sequence[int]  # chunk sizes
    overlaps: Sequence[int]
    unit: Unit = "tokens"  # of both
    strategies: Sequence[Strategy] = ()  # content-aware ones besides the fixed grid
    headings: str = "both"  # "no", "yes" or "both"
    depth: int = DEPTH  # chunks retrieved
    retriever: str = "bm25"  # "bm25" or "embedding:PATH"
    project: str | None = None  # what the runs belong to; the name of the corpus when left out
    title: str = ""  # of the grid; the name of the corpus when left out


def plan_grid(store: RunStore, options: GridOptions) -> tuple[GridPlan, tuple[str, ...]]:
    """Return the plan of a grid, and why some of its configurations are not possible.

    Raises:
        DataError: an option, the corpus or the questions are not accepted.
    """
    accepted = {"unit": UNITS, "headings": tuple(HEADINGS)}
    for name, words in accepted.items():
        if getattr(options, name) not in words:
            raise DataError(f"{name} {getattr(options, name)!r}; accepted: {', '.join(words)}")
    if options.depth < 1:
        raise DataError(f"depth {options.depth}; accepted: a whole number of 1 or more")
    chunkings, refused = plan_configurations(
        options.sizes, options.overlaps, options.unit, options.strategies, HEADINGS[options.headings]
    )
    own = not options.corpus
    corpus = own_corpus(store.workspace, options.questions) if own else read_corpus(options.corpus)
    questions = open_questions(store.workspace, options.questions, corpus)
    title = options.title or corpus.name
    return GridPlan(corpus, questions, chunkings, options.retriever, options.depth, title), refused


def grid_answer(
    store: RunStore, plan: GridPlan, runs: Sequence[Run], refused: Sequence[str]
) -> dict[str, Any]:
    """Return what `ragtriage grid --json` prints."""
    names = store.names()
    return {
        "grid": plan.key,
        "left_out": list(refused),
        "runs": [
            {
                "run_id": run.run_id,
                "name": names[run.run_id],
                "project": run.project,
                "n": run.n,
                "config": run.config,
                "measured": run.measured,
                "metrics": {
                    name: {**summary.to_dict(), "source": summary.source}
                    for name, summary in store.summary(run).items()
                },
            }
            for run in runs
        ],
    }


def command_words(spec: Mapping[str, Any]) -> list[str]:
    """Return the words after `ragtriage` that start a grid, or go on with it."""
    words = ["grid"]
    for option in fields(GridOptions):
        value = None if option.name == "corpus" else spec.get(option.name)
        if isinstance(value, list | tuple):
            value = ",".join(map(str, value))
        if value not in (None, ""):
            words += [f"--{option.name}", str(value)]
    return [*words, "--", *map(str, spec.get("corpus") or ())]


def named_files(workspace: Workspace, spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that a recorded grid reads, by what they are for; none that was uploaded."""
    folder, uploads = Path(str(spec.get("folder") or ".")), workspace.root.resolve() / "uploads"
    files = {
        "the corpus": list(spec.get("corpus") or ()),
        "the questions": [spec.get("questions") or ""],
        "the model": [str(spec.get("retriever") or "").partition(":")[2]],
    }
    outside = {
        purpose: [
            path
            for name in names
            if name and not (path := (folder / str(name)).resolve()).is_relative_to(uploads)
        ]
        for purpose, names in files.items()
    }
    existing = {purpose: [str(path) for path in paths if path.exists()] for purpose, paths in outside.items()}
    return {purpose: ", ".join(paths) for purpose, paths in existing.items() if paths}


def run_grid_job(
    store: RunStore, options: GridOptions, plan: GridPlan, project: str, watch: GridWatch | None = None
) -> list[Run]:
    """Run a grid as a job of this process and return the runs of its configurations, as planned.

    The options that the plan was made from are recorded, so that the grid can go on.

    Raises:
        GridStoppedError: it was asked to stop; the finished runs are kept.
        DataError: this grid is running already, or its retriever cannot be opened.
    """
    spec = {**asdict(options), "project": project, "name": plan.title, "folder": str(Path.cwd())}
    progress: dict[str, Any] = {"total": len(plan.chunkings), "done": 0}
    with recorded_job(store.ledger, _KIND + plan.key, spec, project, progress) as job:

        def follow(step: GridStep) -> None:
            job.progress.update(asdict(step))
            if watch is not None:
                watch(step)
            # between configurations alone: one that has begun is worth its end
            if job.heartbeat.stop_asked and step.done < step.total:
                raise GridStoppedError(STOPPED)

        try:
            return run_grid(store, plan, project, follow)
        except (GridStoppedError, KeyboardInterrupt):
            job.stopped(STOPPED)
            raise


def grid_jobs(ledger: Ledger) -> list[Job]:
    """List the grid searches of a workspace, newest first."""
    return jobs_of(ledger, kind=_KIND)


def keep_upload(workspace: Workspace, name: str, content: bytes) -> str:
    """Store an uploaded file in the workspace, where another process can read it; return its path."""
    folder = workspace.root / "uploads" / hashlib.sha256(content).hexdigest()[:12]
    path = folder / PurePath(name.replace("\\", "/")).name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    except OSError as error:
        raise DataError(f"upload {name}: cannot be written to {folder} ({error.strerror})") from error
    return str(path)
