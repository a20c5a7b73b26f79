"""Judging the kept calls: the runs of windows, newest first, within what is left of the day's budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Literal

import orjson

from ragtriage.data.errors import DataError
from ragtriage.data.jobs import jobs_of
from ragtriage.data.judge.evaluators import evaluators, judge_task
from ragtriage.data.judge.job_spec import JobSpec, Progress
from ragtriage.data.judge.judge_run import JudgeOptions, judge_jobs
from ragtriage.data.judge.plan import JudgePlan
from ragtriage.data.judge.requests import ClientSettings, JudgeTask, read_prices
from ragtriage.data.judge.run_job import JobResult, run_task
from ragtriage.data.live.calls import Calls, Window, put_fact
from ragtriage.data.live.policy import JudgeBudget
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.metric_registry import declared

STATE = "judge"  # fact: what became of the judge last
JudgingState = Literal["done", "spent", "failed", "stopped"]
WindowState = JudgingState | Literal["no result"]  # of the job of a window


@dataclass(frozen=True)
class Judging:
    """How far the judge came on a day, UTC."""

    day: str  # as 2026-03-01
    state: JudgingState  # done: nothing waits; spent: what waits costs more than is left of the day
    spent_usd: float
    budget_usd: float
    waiting: int  # windows that are not judged yet
    message: str = ""  # why it failed or was stopped; "" otherwise

    @property
    def sentence(self) -> str:
        """What to say of it."""
        cost = f"${self.spent_usd:.4f} of ${self.budget_usd:.4f}"
        if self.state == "done":
            return f"judge: all windows are judged, {cost} spent on {self.day}"
        waits = f"{self.waiting} window{' waits' if self.waiting == 1 else 's wait'}"
        if self.state == "spent":
            return f"judge: today's budget is used up ({cost}); {waits} until 00:00 UTC"
        return f"judge: {self.state}, {self.message}; {waits}"


def judge_state(calls: Calls) -> Judging | None:
    """Return what became of the judge last; None where it was never asked."""
    written = calls.fact(STATE)
    return Judging(**orjson.loads(written)) if written else None


def judge_due(
    store: RunStore,
    calls: Calls,
    budget: JudgeBudget,
    now: float,
    stopped: Callable[[], bool] = lambda: False,
    base_url: str | None = None,
) -> Judging:
    """Judge the runs of windows that are not judged, newest first, and return how far that came.

    What a call was asked before is not asked again: its replies are in the cache of calls, also where its
    window is published anew. Each job may spend what is left of the day, which is noted every second, so that
    a process that ends does not spend it twice.

    Args:
        store: the runs of the workspace.
        calls: the live traffic, whose facts note what was spent.
        budget: metrics, model, and USD a day.
        now: seconds since 1970; its day counts, in UTC.
        stopped: whether to end before the next window.
        base_url: of the service; the usual one when left out.
    """
    day = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}"
    work = _Day(store, calls, budget, day, base_url)
    state: JudgingState = "done"
    ended: WindowState = "done"
    message, waiting = "", list[tuple[Run, str]]()
    failed: list[tuple[Run, str]] = []  # windows none of whose calls got a result, each with its message
    try:
        waiting = work.waiting()
        while waiting and state == "done":
            ended, message = ("stopped", "on request") if stopped() else work.judge(*waiting[0])
            if ended == "no result":  # others may get one
                failed.append((waiting[0][0], message))
            state = "done" if ended == "no result" else ended
            waiting = waiting[1:] if state == "done" else waiting
    except (DataError, OSError) as error:
        state, message = "failed", str(error)
    if failed and state == "done":
        state, message = "failed", failed[0][1]
    windows = len({run.run_id for run, _ in [*waiting, *failed]})
    judging = Judging(day, state, work.spent, budget.budget, windows, message)
    with calls.changing() as connection:
        put_fact(connection, STATE, orjson.dumps(asdict(judging)).decode())
    return judging


def check_metrics(ledger: Ledger, project: str, budget: JudgeBudget) -> None:
    """Check that what is to be judged exists.

    Raises:
        DataError: it is neither a metric nor an evaluator of the project.
    """
    unknown = [metric for metric in budget.metrics if declared(metric) is None]
    own = {evaluator.name for evaluator in evaluators(ledger, project)} if unknown else set()
    if wrong := [metric for metric in unknown if metric not in own]:
        raise DataError(
            f"judge.metrics: {wrong[0][:60]!r} is neither a metric nor an evaluator of {project}; "
            "accepted: metrics such as correctness and faithfulness, or names of evaluators"
        )


class _Day:
    """The judging of one day."""

    def __init__(
        self, store: RunStore, calls: Calls, budget: JudgeBudget, day: str, base_url: str | None
    ) -> None:
        self.store, self.calls, self.budget, self.base_url = store, calls, budget, base_url
        self._name = f"judge spent {day}"
        self.spent = float(calls.fact(self._name, "0"))
        self._model = read_prices(store.workspace.root).model(budget.model or None)

    def waiting(self) -> list[tuple[Run, str]]:
        """Return the runs of windows, each with an evaluator that is to be asked; "" for the evaluation."""
        asked = []
        for window in sorted(self.calls.windows(), key=lambda window: -window.last):
            run = None if window.release or window.stale else self._run(window)
            if run is not None:
                asked += [(run, name) for name in self._evaluators(run) if not self._is_judged(run, name)]
        return asked

    def _run(self, window: Window) -> Run | None:
        try:
            return self.store.workspace.read_run(window.run_id)
        except DataError:
            return None  # deleted, or published anew meanwhile

    def _evaluators(self, run: Run) -> list[str]:
        """Return the evaluators that the metrics name, and "" where one is of the evaluation."""
        own = {evaluator.name for evaluator in evaluators(self.store.ledger, run.project)}
        named = [metric for metric in self.budget.metrics if metric in own]
        check_metrics(self.store.ledger, run.project, self.budget)
        return [*([""] if len(named) < len(self.budget.metrics) else []), *named]

    def _is_judged(self, run: Run, evaluator: str) -> bool:
        task = judge_task(self.store.workspace, run.project, self._model, evaluator)
        jobs = [job for job in jobs_of(self.store.ledger, run.run_id, task.kind) if job.kind == task.kind]
        return bool(jobs) and jobs[0].state == "done"

    def judge(self, run: Run, evaluator: str) -> tuple[WindowState, str]:
        """Judge a run within what is left; return how that ended and why."""
        left = self.budget.budget - self.spent

        nothing = False

        def ask(
            plan: JudgePlan, task: JudgeTask, settings: ClientSettings, spec: JobSpec
        ) -> JobResult | None:
            nonlocal nothing
            nothing = plan.nothing == plan.samples
            if nothing or (plan.calls and (plan.most_call_usd or 0.0) > left):
                return None
            return run_task(self.store.workspace, run, task, settings, spec, self._note)

        options = JudgeOptions(
            model=self.budget.model or None,
            budget=max(left, 0.0),
            evaluator=evaluator or None,
            base_url=self.base_url,
        )
        before = self.spent
        for _, result in judge_jobs(self.store, run, options, ask):
            if result is None:
                return ("done" if nothing else "spent"), ""
            self.spent = before + (result.progress.cost_usd or 0.0)
            self._write()
            if result.ended_by == "no result":
                return "no result", result.message
            if result.state != "done":
                state: JudgingState = "failed" if result.state == "failed" else "stopped"
                return ("spent" if result.ended_by == "budget" else state), result.message
        return "done", ""

    def _note(self, progress: Progress) -> None:
        """Note what is spent while a job runs."""
        with self.calls.changing() as connection:
            put_fact(connection, self._name, str(self.spent + (progress.cost_usd or 0.0)))

    def _write(self) -> None:
        with self.calls.changing() as connection:
            put_fact(connection, self._name, str(self.spent))
