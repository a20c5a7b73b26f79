"""Grids that run in the background of the server: one thread a grid, whose state any page can ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock, Thread

from data.catalogue import Catalogue
from data.chunking_grid import GridPlan, GridStep, run_grid
from data.errors import DataError
from data.reading_only import must_write
from metrics.values import MetricsError

__all__ = ["GridJob", "dismiss", "jobs", "start"]


@dataclass(frozen=True)
class GridJob:
    """A grid as it stands.

    Attributes:
        key: of its plan.
        title: of its plan.
        project: what its runs belong to.
        step: where it stands; None before the first cell.
        error: why it ended early; "" while it runs and when it is done.
        done: whether it has ended.
    """

    key: str
    title: str
    project: str
    step: GridStep | None = None
    error: str = ""
    done: bool = False

    @property
    def name(self) -> str:
        """What tells it from the others of a workspace: one plan may run in several projects."""
        return f"{self.project}/{self.key}"


_JOBS: dict[tuple[str, str], GridJob] = {}
_LOCK = Lock()


def jobs(catalogue: Catalogue) -> list[GridJob]:
    """List the grids of a workspace that run, or have ended and were not dismissed."""
    root = str(catalogue.workspace.root)
    with _LOCK:
        return [job for (where, _), job in _JOBS.items() if where == root]


def start(catalogue: Catalogue, plan: GridPlan, project: str) -> bool:
    """Begin a grid; False when that grid is running already.

    Raises:
        WorkspaceError: this process only reads.
    """
    must_write(f"workspace {catalogue.workspace.root}")
    job = GridJob(plan.key, plan.title or plan.corpus.name, project)
    place = (str(catalogue.workspace.root), job.name)
    with _LOCK:
        running = _JOBS.get(place)
        if running is not None and not running.done:
            return False
        _JOBS[place] = job
    Thread(target=_work, args=(place, catalogue, plan, project), daemon=True).start()
    return True


def dismiss(catalogue: Catalogue, job: GridJob) -> None:
    """Forget a grid that has ended; the same plan in another project stays."""
    place = (str(catalogue.workspace.root), job.name)
    with _LOCK:
        if place in _JOBS and _JOBS[place].done:
            del _JOBS[place]


def _work(place: tuple[str, str], catalogue: Catalogue, plan: GridPlan, project: str) -> None:
    error = ""
    try:
        run_grid(catalogue, plan, project, lambda step: _set(place, step=step))
    except (DataError, MetricsError) as problem:
        error = str(problem)
    except Exception as problem:  # noqa: BLE001 -- a thread has nobody else to tell
        error = f"{type(problem).__name__}: {problem}"
    _set(place, done=True, error=error)


def _set(place: tuple[str, str], **changes: object) -> None:
    with _LOCK:
        _JOBS[place] = replace(_JOBS[place], **changes)  # type: ignore[arg-type] # fields of GridJob
