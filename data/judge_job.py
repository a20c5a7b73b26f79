"""Running work over the samples of a run: many at once, within a budget, stoppable, resumable.

What a model said is in the ledger before the next question is asked, so a job that is killed loses at most
what was in flight; started again, it takes the rest from there.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from data.errors import DataError
from data.job_progress import JobSpec, Progress
from data.jobs import JobState, begin_job, end_job
from data.judge_calls import Work
from data.judge_client import ClientSettings, JudgeStoppedError, service_host
from data.judge_session import Session, Watch
from data.judgements import Judgement, Outcome
from data.ledger import Ledger
from data.workspace import Run, Workspace

__all__ = ["JobResult", "JobSpec", "run_work"]


@dataclass(frozen=True)
class JobResult:
    """How a job ended.

    Attributes:
        job_id: its number.
        state: done, stopped or failed.
        message: why, where that needs saying.
        progress: how far it came.
        judgement: what stands beside the run now; None where nothing has an outcome.
        outcomes: of this job, by row and attempt.
    """

    job_id: int
    state: JobState
    message: str
    progress: Progress
    judgement: Judgement | None
    outcomes: Mapping[tuple[int, int], Outcome]


def run_work(
    workspace: Workspace,
    run: Run,
    work: Work,
    settings: ClientSettings,
    spec: JobSpec,
    watch: Watch | None = None,
) -> JobResult:
    """Do work on samples of a run and publish what it came to.

    Args:
        workspace: where the run lies.
        run: the run.
        work: what to do.
        settings: whom to ask and how fast.
        spec: which samples, how often, for how much.
        watch: called every second with the progress.

    Raises:
        DataError: no model price where a budget is set, or another job of the kind lives on the run.
    """
    if spec.budget_usd is not None and not settings.model.bands:
        raise DataError(
            f"budget: the price of {settings.model.name!r} is not known; accepted: a model of the price "
            "table, or a table of your own in model_prices.json of the workspace"
        )
    ledger = Ledger(workspace.ledger_path)
    job_id = begin_job(ledger, work.kind, run.run_id, _facts(work, settings, spec))
    session = Session(workspace, run, work, settings, spec, job_id, watch)
    state: JobState = "failed"
    message = "the job ended unexpectedly"
    made = None
    try:
        state, message = session.run()
    except JudgeStoppedError as error:
        message = str(error)
    except KeyboardInterrupt:
        state, message = "stopped", "stopped"
    finally:
        session.progress.seconds = time.monotonic() - session.began
        try:
            made = session.publish(ledger) if session.outcomes else None
        except (OSError, DataError) as error:
            state, message = "failed", f"the verdicts are kept, but cannot be laid beside the run ({error})"
        finally:
            end_job(ledger, job_id, state, message, session.progress.to_dict())
    return JobResult(job_id, state, message, session.progress, made, session.outcomes)


def _facts(work: Work, settings: ClientSettings, spec: JobSpec) -> dict[str, Any]:
    return {
        "model": settings.model.name,
        "prompt": work.prompt,
        "service": service_host(settings),
        "concurrency": settings.concurrency,
        "effort": settings.effort,
        "prompts": spec.prompts,
        "samples": len(spec.rows),
        "repeats": spec.repeats,
        "budget_usd": spec.budget_usd,
        "batch": spec.batch,
        "limit": spec.limit,
        "sample": spec.sample,
        "base_url": _plain_address(settings.base_url),
    }


def _plain_address(given: str | None) -> str | None:
    """Give an address without user, password and query, which may hold secrets."""
    if given is None:
        return None
    parts = urlsplit(given)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
