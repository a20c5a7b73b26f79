"""A grid search over chunkings: each configuration chunks, indexes, retrieves, and becomes a run."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from ragtriage.data.chunking.configuration import chunking_config, run_configuration
from ragtriage.data.chunking.grid_plan import GridPlan, GridStep, GridWatch
from ragtriage.data.chunking.grid_workers import in_processes, processes_for
from ragtriage.data.chunking.prepared_corpus import PreparedCorpus
from ragtriage.data.chunking.retrievers import WORDS, open_retriever
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run

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
    runs are the same, and in the same order, for any number of processes.

    Args:
        store: of the workspace.
        plan: what to try.
        project: what the runs belong to.
        watch: called before each configuration and at the end; of several processes, when one is done.
        processes: that share the configurations; None for as many as the work is worth.

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
