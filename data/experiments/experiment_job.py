"""An experiment as a job: recorded while it runs, so that a page can show how far it is and stop it."""

from __future__ import annotations

from collections.abc import Callable

from ragtriage.data.experiments.plan import PlannedExperiment
from ragtriage.data.experiments.run_experiment import ExperimentOutcome, run_experiment
from ragtriage.data.jobs import Job, jobs_of, recorded_job
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
    kind, progress = _KIND + experiment.experiment_id, {"total": 0, "done": 0}
    with recorded_job(store.ledger, kind, spec, experiment.project, progress) as job:

        def follow(step: AskProgress) -> None:
            job.progress.update(total=step.total, done=step.done, failed=step.failed)
            watch(step)

        def stops() -> bool:
            return job.heartbeat.stop_asked or stopped()

        outcome = run_experiment(store, planned, system, limits, follow, stops)
        if outcome.stopped:
            job.stopped(outcome.stopped)
    return outcome


def experiment_jobs(ledger: Ledger) -> list[Job]:
    """List the jobs of experiments of a workspace, newest first."""
    return jobs_of(ledger, kind=_KIND)
