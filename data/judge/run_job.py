"""One job while it runs: samples taken through their steps, many at once or in batches, until it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from data.errors import DataError
from data.jobs.heartbeat import Heartbeat
from data.jobs.record import JobState, begin_job, end_job
from data.judge.batches import BatchRound
from data.judge.call_cache import CachedCalls, CallCache
from data.judge.client import Claude, ClientSettings, JudgeStoppedError, service_host
from data.judge.limits import Budget, most_cost
from data.judge.progress import JobSpec, Progress
from data.judge.requests import FINAL, JudgeTask, ModelCall, Request, TaskSample, Workflow, request_key
from data.store.judge_results import JudgeResult, TaskResult, publish
from data.store.ledger import Ledger
from data.store.sample_reader import StoredSamples
from data.store.workspace import Run, Workspace

__all__ = [
    "JobResult",
    "JobSpec",
    "SampleKey",
    "Session",
    "Watch",
    "run_task",
]

READ_AT_ONCE = 64
OUT_OF_BUDGET = "the budget is spent; what is finished is kept, and the same command goes on from there"
Watch = Callable[[Progress], None]
SampleKey = tuple[int, int]  # row, attempt


class Session:
    """One job while it runs."""

    def __init__(
        self,
        workspace: Workspace,
        run: Run,
        work: JudgeTask,
        settings: ClientSettings,
        spec: JobSpec,
        job_id: int,
        watch: Watch | None,
    ) -> None:
        self.workspace, self.the_run, self.work = workspace, run, work
        self.settings, self.spec = settings, spec
        self.ledger = Ledger(workspace.ledger_path)
        self.progress = Progress(len(spec.rows) * spec.repeats)
        self.outcomes: dict[tuple[int, int], TaskResult] = {}
        self.began = time.monotonic()
        follow = None if watch is None else partial(watch, self.progress)
        self.heartbeat = Heartbeat(self.ledger, job_id, self._progress_now, follow)
        self.out_of_budget = False
        self.sdk = ""

    def run(self) -> tuple[JobState, str]:
        """Work until the end, a stop, or the budget: (state, message).

        The work has a thread of its own, because the caller's may have an event loop already, as in a
        notebook. Ctrl+C and SIGTERM ask for a stop; a second Ctrl+C does not wait for what is in flight.
        """
        ended: Future[None] = Future()
        with self.heartbeat:
            Thread(target=self._to_the_end, args=(ended,), daemon=True).start()
            self._wait(ended)
        if self.out_of_budget:
            return "stopped", OUT_OF_BUDGET
        if not self.stop_asked and self.progress.done < self.progress.total:
            left = self.progress.total - self.progress.done
            return "stopped", f"{left:,} samples came to no end; the same command asks for them again"
        if not self.stop_asked:
            return "done", ""
        later = "; a batch goes on at the service, and the same command collects it"
        return "stopped", f"stopped on request{later if self.spec.batch else ''}"

    def _to_the_end(self, ended: Future[None]) -> None:
        try:
            with CallCache.open(self.ledger) as verdicts:
                asyncio.run(self._all(verdicts))
        except BaseException as error:  # noqa: BLE001 -- raised again where somebody waits
            ended.set_exception(error)
        else:
            ended.set_result(None)

    def _wait(self, ended: Future[None]) -> None:
        try:
            ended.result()
        except KeyboardInterrupt:
            self.heartbeat.stop()
            ended.result()

    @property
    def stop_asked(self) -> bool:
        """Whether the job was asked to stop; what is in flight is waited for."""
        return self.heartbeat.stop_asked

    def _progress_now(self) -> dict[str, Any]:
        self.progress.seconds = time.monotonic() - self.began
        return self.progress.to_dict()

    def publish(self, ledger: Ledger) -> JudgeResult:
        """Make what came of it stand beside the run."""
        made = JudgeResult(
            self.the_run.run_id,
            self.work.kind,
            self.settings.judge,
            self.work.prompt,
            self.sdk,
            "",
            0,
            0,
            "",
        )
        return publish(self.workspace, ledger, made, self.outcomes)

    async def _all(self, verdicts: CallCache) -> None:
        async with Claude(self.settings, lambda: self.stop_asked) as claude:
            self.sdk = claude.sdk
            await (self._rounds if self.spec.batch else self._workers)(claude, verdicts)

    async def _workers(self, claude: Claude, verdicts: CallCache) -> None:
        todo = self._todo()
        asking = CachedCalls(claude, verdicts, Budget(self.spec.budget_usd), self.progress)
        workers = min(2 * self.settings.concurrency, max(self.progress.total, 1))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._worker(todo, asking))
        except* JudgeStoppedError as errors:
            raise errors.exceptions[0] from None

    async def _rounds(self, claude: Claude, verdicts: CallCache) -> None:
        """Take all samples through their steps together, a batch for each step that many of them take."""
        asking = CachedCalls(claude, verdicts, Budget(None), self.progress)

        async def keep(request: Request, call: ModelCall, batch: str) -> None:
            self.progress.pay(call)
            await asking.keep(request, call, batch)

        rounds = BatchRound(claude, self.ledger, keep, lambda: self.stop_asked)
        waiting = {(one.row, one.attempt): self.work.workflow(one) for one in self._todo()}
        sent: dict[SampleKey, ModelCall | None] = dict.fromkeys(waiting)
        while waiting and not self.stop_asked:
            asked = self._advance(waiting, sent)
            wanted = {request_key(one, self.settings.judge): one for one in asked.values()}
            known = {key: one for key, one in verdicts.find(wanted).items() if one.status in FINAL}
            self.progress.cached += len(known)
            fresh = self._affordable({key: one for key, one in wanted.items() if key not in known})
            known |= await rounds.ask(fresh) if fresh else {}
            keys = {place: request_key(one, self.settings.judge) for place, one in asked.items()}
            sent = {place: known[key] for place, key in keys.items() if key in known}
            waiting = {place: waiting[place] for place in sent}

    def _advance(
        self, waiting: dict[SampleKey, Workflow], sent: Mapping[SampleKey, ModelCall | None]
    ) -> dict[SampleKey, Request]:
        """Give each sample its call and take its next request; those that are finished are noted."""
        asked = {}
        for place, steps in waiting.items():
            call = sent[place]
            try:
                asked[place] = next(steps) if call is None else steps.send(call)
            except StopIteration as end:
                self.outcomes[place] = end.value
                self.progress.note(end.value)
        return asked

    def _affordable(self, fresh: dict[str, Request]) -> dict[str, Request]:
        """Keep the requests that the budget allows at the most they can cost."""
        if self.spec.budget_usd is None:
            return fresh
        model, kept = self.settings.model, {}
        left = self.spec.budget_usd - (self.progress.cost_usd or 0.0)
        for key, request in fresh.items():
            left -= most_cost(request, model) * model.batch_factor
            if left < 0:
                self.out_of_budget = True
                break
            kept[key] = request
        return kept

    def _todo(self) -> Iterator[TaskSample]:
        stored = StoredSamples(self.workspace.samples_path(self.the_run.run_id))
        for start in range(0, len(self.spec.rows), READ_AT_ONCE):
            rows = [int(row) for row in self.spec.rows[start : start + READ_AT_ONCE]]
            for row, sample in zip(rows, stored.read(rows, self.work.columns), strict=True):
                yield from (TaskSample(row, attempt, sample) for attempt in range(self.spec.repeats))

    async def _worker(self, todo: Iterator[TaskSample], asking: CachedCalls) -> None:
        for given in todo:
            if self.stop_asked or self.out_of_budget:
                return
            await asyncio.sleep(0)  # what is cached never waits, and the other workers must not starve
            outcome = await self._drive(given, asking)
            if outcome is None:
                self.out_of_budget = not self.stop_asked
                return
            self.outcomes[(given.row, given.attempt)] = outcome
            self.progress.note(outcome)

    async def _drive(self, given: TaskSample, asking: CachedCalls) -> TaskResult | None:
        """Take a sample through its steps; None where budget or a stop do not allow one."""
        steps = self.work.workflow(given)
        try:
            request = next(steps)
            while True:
                call = await asking.answer(request)
                if call is None:
                    return None
                request = steps.send(call)
        except StopIteration as end:
            found: TaskResult = end.value
            return found
        except (JudgeStoppedError, DataError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 -- one sample's trouble does not end the job
            return TaskResult("error", f"reading the reply failed ({type(error).__name__})")


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
    judgement: JudgeResult | None
    outcomes: Mapping[tuple[int, int], TaskResult]


def run_task(
    workspace: Workspace,
    run: Run,
    work: JudgeTask,
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


def _facts(work: JudgeTask, settings: ClientSettings, spec: JobSpec) -> dict[str, Any]:
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
