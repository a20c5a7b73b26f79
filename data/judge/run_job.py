"""A judge job: the workflows of its samples, run concurrently or in batches, until it ends."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from ragtriage.data.errors import DataError
from ragtriage.data.jobs import Heartbeat, JobState, begin_job, end_job
from ragtriage.data.judge.batches import BatchRound
from ragtriage.data.judge.call_cache import CachedCalls, CallCache
from ragtriage.data.judge.client import Claude, JudgeStoppedError, service_host
from ragtriage.data.judge.job_spec import JobSpec, Progress, affordable_in_batch, small_budget
from ragtriage.data.judge.requests import (
    ClientSettings,
    JudgeTask,
    ModelCall,
    Request,
    TaskSample,
    Workflow,
    again,
    request_key,
)
from ragtriage.data.store.judge_results import JudgeResult, TaskResult, publish
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run, Workspace

READ_AT_ONCE = 64
GOES_ON = "what is finished is kept, and the same command continues from there"
Watch = Callable[[Progress], None]
SampleKey = tuple[int, int]  # row, attempt
EndedBy = Literal["", "budget", "no result"]  # "" for anything else


class Session:
    """One job while it runs."""

    def __init__(
        self,
        workspace: Workspace,
        run: Run,
        task: JudgeTask,
        settings: ClientSettings,
        spec: JobSpec,
        job_id: int,
        watch: Watch | None,
    ) -> None:
        self.workspace, self.judged_run, self.task = workspace, run, task
        self.settings, self.spec = settings, spec
        self.ledger = Ledger(workspace.ledger_path)
        self.progress = Progress(len(spec.rows) * spec.repeats)
        self.results: dict[SampleKey, TaskResult] = {}
        self.began = time.monotonic()
        follow = None if watch is None else partial(watch, self.progress)
        self.heartbeat = Heartbeat(self.ledger, job_id, self._progress_now, follow)
        self.calls: CachedCalls | None = None
        self.sdk = ""
        self.ended_by: EndedBy = ""

    def run(self) -> tuple[JobState, str]:
        """Work until the end, a stop, or the budget; return state and message.

        The work has a thread of its own, because the caller's may have an event loop already, as in a
        notebook. Ctrl+C and SIGTERM ask for a stop; a second Ctrl+C does not wait for requests in flight.
        """
        ended: Future[None] = Future()
        with self.heartbeat:
            Thread(target=self._work, args=(ended,), daemon=True).start()
            try:
                ended.result()
            except KeyboardInterrupt:
                self.heartbeat.stop()
                ended.result()
        return self._ending()

    def _ending(self) -> tuple[JobState, str]:
        """Return the state and message of a job whose work has ended; without any result it has failed."""
        if self.calls is not None and self.calls.streak.reason:
            return "failed", f"{self.calls.streak.reason}; {GOES_ON}; --stop-after 0 continues regardless"
        if self.calls is not None and self.calls.too_dear is not None:
            return self._out_of_budget(self.calls.too_dear)
        if self.stop_asked:
            later = "; a batch continues at the service, and the same command collects it"
            return "stopped", f"stopped on request{later if self.spec.batch else ''}"
        if not self.progress.scored:
            self.ended_by = "no result"
            return "failed", f"no sample has a result: {_failures(self.results.values())}"
        left = self.progress.total - self.progress.done
        if left > 0:
            return "stopped", f"{left:,} samples are not finished; the same command asks for them again"
        return "done", ""

    def _out_of_budget(self, most: float) -> tuple[JobState, str]:
        """Return state and message where the budget did not allow a call that can cost `most` USD."""
        self.ended_by = "budget"
        budget, spent = self.spec.budget_usd or 0.0, self.progress.cost_usd or 0.0
        if most > budget:
            state: JobState = "stopped" if self.progress.calls else "failed"
            return state, small_budget(budget, most)
        rest = f"${budget - spent:.4f} of ${budget:.4f} is left, and the next call can cost ${most:.4f}"
        return "stopped", f"the budget is spent: {rest}; {GOES_ON}"

    def _work(self, ended: Future[None]) -> None:
        async def work(cache: CallCache) -> None:
            async with Claude(self.settings, lambda: self.stop_asked) as claude:
                self.sdk = claude.sdk
                self.calls = CachedCalls(claude, cache, self.spec, self.progress)
                await (self._in_batches if self.spec.batch else self._concurrently)(self.calls)

        try:
            with CallCache.open(self.ledger) as cache:
                asyncio.run(work(cache))
        except BaseException as error:  # noqa: BLE001 -- raised again in the thread that waits
            ended.set_exception(error)
        else:
            ended.set_result(None)

    @property
    def stop_asked(self) -> bool:
        """The job was asked to stop; requests in flight are waited for."""
        return self.heartbeat.stop_asked

    def _progress_now(self) -> dict[str, Any]:
        self.progress.seconds = time.monotonic() - self.began
        return self.progress.to_dict()

    def publish(self, ledger: Ledger) -> JudgeResult:
        """Store the results beside the run."""
        judge_result = JudgeResult(
            run_id=self.judged_run.run_id,
            kind=self.task.kind,
            model=self.settings.judge,
            prompt=self.task.prompt,
            sdk=self.sdk,
        )
        return publish(self.workspace, ledger, judge_result, self.results)

    def _samples(self) -> Iterator[TaskSample]:
        stored = StoredSamples(self.workspace.samples_path(self.judged_run.run_id))
        for start in range(0, len(self.spec.rows), READ_AT_ONCE):
            rows = [int(row) for row in self.spec.rows[start : start + READ_AT_ONCE]]
            for row, sample in zip(rows, stored.read(rows, self.task.columns), strict=True):
                yield from (TaskSample(row, attempt, sample) for attempt in range(self.spec.repeats))

    async def _concurrently(self, calls: CachedCalls) -> None:
        """Run the workflows sample by sample, by as many workers as keep the service busy."""
        samples = self._samples()
        workers = min(2 * self.settings.concurrency, max(self.progress.total, 1))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._worker(samples, calls))
        except* JudgeStoppedError as errors:
            raise errors.exceptions[0] from None

    async def _worker(self, samples: Iterator[TaskSample], calls: CachedCalls) -> None:
        for sample in samples:
            if self.stop_asked or calls.ended:
                return
            await asyncio.sleep(0)  # cached calls never wait, and the other workers must not starve
            result = await self._result(sample, calls)
            if result is None:
                return
            self.results[(sample.row, sample.attempt)] = result
            self.progress.count_result(result)

    async def _result(self, sample: TaskSample, calls: CachedCalls) -> TaskResult | None:
        """Run the workflow of a sample; return None where no further call is made."""
        workflow = self.task.workflow(sample)
        try:
            request = next(workflow)
            while True:
                call = await calls.answer(request)
                if call is None:
                    return None
                request = workflow.send(call)
        except StopIteration as end:
            result: TaskResult = end.value
            return result
        except (JudgeStoppedError, DataError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 -- one sample's failure does not end the job
            return TaskResult("error", f"reading the reply failed ({type(error).__name__})")

    async def _in_batches(self, calls: CachedCalls) -> None:
        """Run all workflows in step: one round of batches for the first requests, one for the second, ..."""

        async def keep(request: Request, call: ModelCall, batch: str) -> None:
            self.progress.count_call(call)
            await calls.keep(request, call, batch)

        batches = BatchRound(calls.claude, self.ledger, keep, lambda: self.stop_asked, self.spec.stop_after)
        waiting = {(sample.row, sample.attempt): self.task.workflow(sample) for sample in self._samples()}
        received: dict[SampleKey, ModelCall | None] = dict.fromkeys(waiting)
        # a batch takes up to a day: all samples go one step together, since single steps would each wait for
        # one
        while waiting and not self.stop_asked:
            requests = self._advance(waiting, received)
            keys = {sample: request_key(request, self.settings.judge) for sample, request in requests.items()}
            by_key = {keys[sample]: request for sample, request in requests.items()}
            stored = calls.cache.find(by_key)
            done = {key: call for key, call in stored.items() if calls.settles(call)}
            self.progress.cached += len(done)
            anew = {
                key: again(request, stored[key]) if key in stored else request
                for key, request in by_key.items()
                if key not in done
            }
            budget, spent = self.spec.budget_usd, self.progress.cost_usd or 0.0
            left = None if budget is None else budget - spent
            fresh, calls.too_dear = affordable_in_batch(anew, self.settings.model, left)
            done |= await batches.ask(fresh) if fresh else {}
            received = {sample: done[key] for sample, key in keys.items() if key in done}
            waiting = {sample: waiting[sample] for sample in received}

    def _advance(
        self, waiting: dict[SampleKey, Workflow], received: Mapping[SampleKey, ModelCall | None]
    ) -> dict[SampleKey, Request]:
        """Send each workflow its call and return its next request; results of finished ones are kept."""
        requests = {}
        for sample, workflow in waiting.items():
            call = received[sample]
            try:
                requests[sample] = next(workflow) if call is None else workflow.send(call)
            except StopIteration as end:
                self.results[sample] = end.value
                self.progress.count_result(end.value)
        return requests


def _failures(results: Collection[TaskResult]) -> str:
    """Count results by what went wrong, the most frequent first, each with its most frequent reason."""
    statuses = Counter(result.status for result in results)
    reasons = Counter((result.status, result.reason) for result in results)
    parts = []
    for status, count in statuses.most_common():
        reason = max((key for key in reasons if key[0] == status), key=lambda key: reasons[key])[1]
        parts.append(f"{count:,} {status.replace('_', ' ')} ({reason})")
    return ", ".join(parts) or "none was asked about"


@dataclass(frozen=True)
class JobResult:
    """How a job ended."""

    job_id: int
    state: JobState  # done, stopped or failed
    message: str  # why, "" where it is done
    progress: Progress  # how far it came
    judge_result: JudgeResult | None  # the current result of the run; None where no sample is finished
    results: Mapping[SampleKey, TaskResult]  # of this job, by row and attempt
    ended_by: EndedBy = ""


def run_task(
    workspace: Workspace,
    run: Run,
    task: JudgeTask,
    settings: ClientSettings,
    spec: JobSpec,
    watch: Watch | None = None,
) -> JobResult:
    """Do a task on samples of a run and store the results.

    `watch` is called every second.

    Raises:
        DataError: a budget is set and the model has no price, or such a job is running on the run.
    """
    if spec.budget_usd is not None and not settings.model.bands:
        raise DataError(
            f"budget: the price of {settings.model.name!r} is not known; accepted: a model of the price "
            "table, or a table of your own in model_prices.json of the workspace"
        )
    ledger = Ledger(workspace.ledger_path)
    job_id = begin_job(ledger, task.kind, run.run_id, _spec_record(task, settings, spec))
    session = Session(workspace, run, task, settings, spec, job_id, watch)
    state: JobState = "failed"
    # holds where anything else than what is caught below ends the job
    message = "the job ended unexpectedly"
    judge_result = None
    try:
        state, message = session.run()
    except JudgeStoppedError as error:
        message = str(error)
    except KeyboardInterrupt:
        state, message = "stopped", "stopped"
    finally:
        session.progress.seconds = time.monotonic() - session.began
        try:
            judge_result = session.publish(ledger) if session.results else None
        except (OSError, DataError) as error:
            state = "failed"
            message = f"the calls are kept, but the results cannot be stored beside the run ({error})"
        finally:
            end_job(ledger, job_id, state, message, session.progress.to_dict())
    return JobResult(
        job_id, state, message, session.progress, judge_result, session.results, session.ended_by
    )


def _spec_record(task: JudgeTask, settings: ClientSettings, spec: JobSpec) -> dict[str, Any]:
    """Return what the ledger records of a job; an address without user, password and query."""
    host = service_host(settings)  # first, as it checks the address
    address = settings.base_url
    if address is not None:
        parts = urlsplit(address)
        address = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    return {
        "model": settings.model.name,
        "prompt": task.prompt,
        "service": host,
        "concurrency": settings.concurrency,
        "effort": settings.effort,
        "prompts": spec.prompts,
        "reference": spec.reference,
        "shuffle": spec.shuffle or None,
        "samples": len(spec.rows),
        "repeats": spec.repeats,
        "budget_usd": spec.budget_usd,
        "batch": spec.batch,
        "limit": spec.limit,
        "sample": spec.sample,
        "again": ",".join(spec.again),
        "stop-after": spec.stop_after,
        "base_url": address,
    }
