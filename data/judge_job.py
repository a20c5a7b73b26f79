"""Running work over the samples of a run: many at once, within a budget, stoppable, resumable.

What a model said is in the ledger before the next question is asked, so a job that is killed loses at most
what was in flight; started again, it takes the rest from there.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from data.errors import DataError
from data.job_progress import Progress
from data.jobs import JobState, begin_job, end_job, pulse
from data.judge_budget import Budget, most_cost
from data.judge_calls import FINAL, Call, Outcome, Request, Work, WorkSample, request_key
from data.judge_client import Claude, ClientSettings, JudgeStoppedError, service_host
from data.judgements import Judgement, publish
from data.ledger import Ledger
from data.stored import StoredSamples
from data.verdicts import Verdicts
from data.workspace import Run, Workspace

__all__ = ["JobResult", "JobSpec", "run_work"]

READ_AT_ONCE = 64
BEAT_SECONDS = 1.0
OUT_OF_BUDGET = "the budget is spent; what is finished is kept, and the same command goes on from there"


@dataclass(frozen=True)
class JobSpec:
    """What a job is asked to do.

    Attributes:
        rows: rows of the run, in the order of the work.
        repeats: how often each is done.
        budget_usd: limit that is not passed; None for none.
        batch: through message batches, at half the price.
    """

    rows: Sequence[int]
    repeats: int = 1
    budget_usd: float | None = None
    batch: bool = False


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


Watch = Callable[[Progress], None]


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
    session = _Session(workspace, run, work, settings, spec, job_id, watch)
    state: JobState = "failed"
    message = "the job ended unexpectedly"
    try:
        state, message = session.run()
    except JudgeStoppedError as error:
        message = str(error)
    except KeyboardInterrupt:
        state, message = "stopped", "stopped"
    finally:
        session.progress.seconds = time.monotonic() - session.began
        made = session.publish(ledger) if session.outcomes else None
        end_job(ledger, job_id, state, message, session.progress.to_dict())
    return JobResult(job_id, state, message, session.progress, made, session.outcomes)


def _facts(work: Work, settings: ClientSettings, spec: JobSpec) -> dict[str, Any]:
    return {
        "model": settings.model.name,
        "prompt": work.prompt,
        "service": service_host(settings),
        "concurrency": settings.concurrency,
        "samples": len(spec.rows),
        "repeats": spec.repeats,
        "budget_usd": spec.budget_usd,
        "batch": spec.batch,
    }


class _Session:
    """One job while it runs."""

    def __init__(
        self,
        workspace: Workspace,
        run: Run,
        work: Work,
        settings: ClientSettings,
        spec: JobSpec,
        job_id: int,
        watch: Watch | None,
    ) -> None:
        self.workspace, self.the_run, self.work = workspace, run, work
        self.settings, self.spec, self.job_id, self.watch = settings, spec, job_id, watch
        self.ledger = Ledger(workspace.ledger_path)
        self.progress = Progress(len(spec.rows) * spec.repeats)
        self.outcomes: dict[tuple[int, int], Outcome] = {}
        self.began = time.monotonic()
        self.stop_asked = False
        self.out_of_budget = False
        self.sdk = ""
        self._flying: dict[str, asyncio.Future[Call]] = {}

    def run(self) -> tuple[JobState, str]:
        """Work until the end, a stop, or the budget: (state, message)."""
        with Verdicts.open(self.ledger) as verdicts:
            asyncio.run(self._all(verdicts))
        if self.out_of_budget:
            return "stopped", OUT_OF_BUDGET
        return ("stopped", "stopped on request") if self.stop_asked else ("done", "")

    def publish(self, ledger: Ledger) -> Judgement:
        """Make what came of it stand beside the run."""
        made = Judgement(
            self.the_run.run_id,
            self.work.kind,
            self.settings.model.name,
            self.work.prompt,
            self.sdk,
            "",
            0,
            0,
            "",
        )
        return publish(self.workspace, ledger, made, self.outcomes)

    async def _all(self, verdicts: Verdicts) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError, ValueError):  # not the main thread, not here
                loop.add_signal_handler(number, self._stop)
        async with Claude(self.settings) as claude:
            self.sdk = claude.sdk
            beat = asyncio.create_task(self._beat())
            try:
                await self._workers(claude, verdicts)
            finally:
                beat.cancel()

    def _stop(self) -> None:
        self.stop_asked = True

    async def _workers(self, claude: Claude, verdicts: Verdicts) -> None:
        todo, budget = self._todo(), Budget(self.spec.budget_usd)
        workers = min(2 * self.settings.concurrency, max(self.progress.total, 1))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._worker(todo, _Asking(claude, verdicts, budget)))
        except* JudgeStoppedError as errors:
            raise errors.exceptions[0] from None

    def _todo(self) -> Iterator[WorkSample]:
        stored = StoredSamples(self.workspace.samples_path(self.the_run.run_id))
        for start in range(0, len(self.spec.rows), READ_AT_ONCE):
            rows = [int(row) for row in self.spec.rows[start : start + READ_AT_ONCE]]
            for row, sample in zip(rows, stored.read(rows, self.work.columns), strict=True):
                yield from (WorkSample(row, attempt, sample) for attempt in range(self.spec.repeats))

    async def _beat(self) -> None:
        while True:
            self.progress.seconds = time.monotonic() - self.began
            if pulse(self.ledger, self.job_id, self.progress.to_dict()):
                self.stop_asked = True
            if self.watch is not None:
                self.watch(self.progress)
            await asyncio.sleep(BEAT_SECONDS)

    async def _worker(self, todo: Iterator[WorkSample], asking: _Asking) -> None:
        for given in todo:
            if self.stop_asked or self.out_of_budget:
                return
            outcome = await self._drive(given, asking)
            if outcome is None:
                self.out_of_budget = True
                return
            self.outcomes[(given.row, given.attempt)] = outcome
            self.progress.note(outcome)

    async def _drive(self, given: WorkSample, asking: _Asking) -> Outcome | None:
        """Take a sample through its steps; None where the budget does not allow one."""
        steps = self.work.steps(given)
        try:
            request = next(steps)
            while True:
                call = await self._answer(request, asking)
                if call is None:
                    return None
                request = steps.send(call)
        except StopIteration as end:
            found: Outcome = end.value
            return found

    async def _answer(self, request: Request, asking: _Asking) -> Call | None:
        """Give the call of a request: from the ledger, from a like one in flight, or by asking."""
        key = request_key(request, self.settings.model.name)
        flying = self._flying.get(key)
        if flying is not None:
            self.progress.cached += 1
            return await flying
        known = asking.verdicts.find([key]).get(key)
        if known is not None and known.status in FINAL:
            self.progress.cached += 1
            return known
        amount = most_cost(request, self.settings.model)
        if not await asking.budget.reserve(amount):
            return None
        self._flying[key] = asyncio.get_running_loop().create_future()
        return await self._ask(request, key, amount, asking)

    async def _ask(self, request: Request, key: str, amount: float, asking: _Asking) -> Call:
        cost = 0.0
        future = self._flying[key]
        try:
            call = await asking.claude.ask(request)
            cost = call.cost_usd or 0.0
            origin = {"model": self.settings.model.name, "sdk": self.sdk, "batch": ""}
            asking.verdicts.keep(request, call, origin)
            self.progress.pay(call)
            future.set_result(call)
            return call
        finally:
            del self._flying[key]
            if not future.done():
                future.cancel()
            await asking.budget.settle(amount, cost)


@dataclass(frozen=True)
class _Asking:
    """What asking takes.

    Attributes:
        claude: the client.
        verdicts: the cache.
        budget: the limit.
    """

    claude: Claude
    verdicts: Verdicts
    budget: Budget
