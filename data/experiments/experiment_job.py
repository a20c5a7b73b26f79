"""An experiment as a job: recorded while it runs, so that a page can show how far it is and stop it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.plan import PlannedExperiment
from ragtriage.data.experiments.run_experiment import ExperimentOutcome, run_experiment
from ragtriage.data.jobs import Heartbeat, Job, JobState, begin_job, end_job, jobs_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.systems.runner import AskProgress
from ragtriage.data.systems.system import System, SystemLimits

_KIND = "experiment:"  # followed by the id of the experiment


def run_experiment_job(
    store: RunStore,
    planned: PlannedExperiment,
    system: System,
    limits: SystemLimits,
    watch: Callable[[AskProgress], None],
    stopped: Callable[[], bool],
) -> ExperimentOutcome:
    """Run an experiment as a job of this process, as `run_experiment` does.

    Raises:
        DataError: this experiment is running already, or the workspace cannot be written.
    """
    experiment = planned.experiment
    spec = {"title": planned.kind.title, "questions": experiment.questions, "system": experiment.system}
    kind = _KIND + experiment.experiment_id
    job_id = begin_job(store.ledger, kind, "", spec, experiment.project)
    progress: dict[str, Any] = {"total": 0, "done": 0}
    heartbeat = Heartbeat(store.ledger, job_id, progress.copy)

    def follow(step: AskProgress) -> None:
        progress.update(total=step.total, done=step.done, failed=step.failed)
        watch(step)

    state: JobState = "failed"
    message = ""
    try:
        with heartbeat:
            outcome = run_experiment(
                store, planned, system, limits, follow, lambda: heartbeat.stop_asked or stopped()
            )
        state, message = ("stopped", outcome.stopped) if outcome.stopped else ("done", "")
    # also what is not an Exception: the job would else look as if it still ran
    except BaseException as error:
        message = str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
        raise
    finally:
        end_job(store.ledger, job_id, state, message, progress)
    return outcome


def experiment_jobs(ledger: Ledger) -> list[Job]:
    """List the jobs of experiments of a workspace, newest first."""
    return jobs_of(ledger, kind=_KIND)
