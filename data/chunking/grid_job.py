"""A grid search as a job: recorded in the ledger, stopped on request, continued from its finished runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePath
from typing import Any

from ragtriage.data.chunking.chunkers import Strategy, Unit
from ragtriage.data.chunking.grid_plan import DEPTH, GridPlan, GridStep, GridWatch
from ragtriage.data.chunking.grid_search import run_grid
from ragtriage.data.errors import DataError
from ragtriage.data.jobs import Heartbeat, Job, JobState, begin_job, end_job, jobs_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.stored_file import replace_file
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.metrics.schema.scores import MetricsError

HEADINGS = {"no": (False,), "yes": (True,), "both": (False, True)}
STOPPED = "stopped on request; the finished configurations are kept"
_KIND = "grid:"  # followed by the key of the grid
_OPTIONS = (
    "questions",
    "sizes",
    "overlaps",
    "unit",
    "strategies",
    "headings",
    "depth",
    "retriever",
    "project",
)


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
    job_id = begin_job(store.ledger, _KIND + plan.key, "", spec, project)
    progress: dict[str, Any] = {"total": len(plan.chunkings), "done": 0}
    heartbeat = Heartbeat(store.ledger, job_id, progress.copy)

    def follow(step: GridStep) -> None:
        progress.update(asdict(step))
        if watch is not None:
            watch(step)
        if heartbeat.stop_asked and step.done < step.total:
            raise GridStoppedError(STOPPED)

    state: JobState = "failed"
    message = ""
    try:
        with heartbeat:
            runs = run_grid(store, plan, project, follow)
        state = "done"
    except (GridStoppedError, KeyboardInterrupt):
        state, message = "stopped", STOPPED
        raise
    except BaseException as error:
        message = (
            str(error) if isinstance(error, DataError | MetricsError) else f"{type(error).__name__}: {error}"
        )
        raise
    finally:
        end_job(store.ledger, job_id, state, message, progress)
    return runs


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
