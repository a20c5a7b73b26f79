"""A judge job: what it is asked to do, how far it is, and its limits of load, cost and equal faults."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from ragtriage.data.judge.requests import FINAL, Model, ModelCall, Request, Usage, reply_limit
from ragtriage.data.store.judge_results import CallStatus, TaskResult

AGAIN: tuple[CallStatus, ...] = ("invalid", "refused", "truncated", "context_exceeded")
STOP_AFTER = 20  # equal faults in a row that end a job


@dataclass(frozen=True)
class JobSpec:
    """The task of a judge job."""

    rows: Sequence[int]  # rows of the run, in the order of the work
    repeats: int = 1  # how often each is done
    budget_usd: float | None = None  # most that may be spent; None for no limit
    batch: bool = False  # through message batches, at half the price
    limit: int | None = None  # number of samples from the start, where the rows were chosen that way
    sample: int | None = None  # number drawn at random, where the rows were chosen that way
    prompts: str | None = None  # folder of the user's own prompts, if any
    again: tuple[CallStatus, ...] = ()  # of AGAIN, the failures of earlier jobs that are asked for anew
    stop_after: int = STOP_AFTER  # equal faults in a row that end the job; 0 for no such end
    reference: str = "apart"  # when an evaluation shows the reference answer, "apart" or "along"
    shuffle: float = 0.0  # share of the samples that are also judged with their documents in another order

    def settles(self, call: ModelCall, made_now: bool = False) -> bool:
        """Return whether a stored call is taken as it is, instead of being made again."""
        return call.status in FINAL and (made_now or call.status not in self.again)


@dataclass
class Progress:
    """How far a judge job is."""

    total: int  # samples and repetitions to work on
    done: int = 0  # of them, those that have a result
    scored: int = 0  # of them, those that were scored
    not_applicable: int = 0  # of them, those with nothing to judge
    failed: dict[str, int] = field(default_factory=dict)  # of them, by what went wrong
    cached: int = 0  # calls that the ledger had already
    calls: int = 0  # calls that came back in this job
    sent: int = 0  # requests sent for them, retries and repairs included
    input_tokens: int = 0  # of this job, cache tokens included
    output_tokens: int = 0  # of this job
    cost_usd: float | None = 0.0  # of this job; None where the model has no price
    seconds: float = 0.0  # since the job began

    @property
    def rate(self) -> float | None:
        """Calls a second; None before the first."""
        return self.calls / self.seconds if self.calls and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end at the present rate; None where nothing has come back yet."""
        answered = self.done * self.calls / max(self.calls + self.cached, 1)  # without those from the cache
        return self.seconds / answered * (self.total - self.done) if answered else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields with rate and time left as JSON values; safe while another thread counts."""
        fields = {**vars(self), "failed": dict(self.failed)}
        return {**fields, "rate": self.rate, "seconds_left": self.seconds_left}

    def count_result(self, result: TaskResult) -> None:
        """Count a finished sample."""
        self.done += 1
        if result.status == "scored":
            self.scored += 1
        elif result.status == "not_applicable":
            self.not_applicable += 1
        else:
            self.failed[result.status] = self.failed.get(result.status, 0) + 1

    def count_call(self, call: ModelCall) -> None:
        """Count a call that came back."""
        self.calls += 1
        self.sent += call.asked
        usage = call.usage
        self.input_tokens += usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
        self.output_tokens += usage.output_tokens
        priced = self.cost_usd is not None and call.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (call.cost_usd or 0.0) if priced else None


BACKOFF_SECONDS, LONGEST_SECONDS = 0.5, 60.0
STOP_CHECK_SECONDS = 1.0  # how soon a stop is noticed during a pause
LONGEST_RETRY_AFTER = 3600.0  # a longer Retry-After is cut to this
EASE_AFTER = 20  # replies in a row after which one more request may be in flight


class StoppedError(Exception):
    """A stop was requested while a request waited for its turn."""


class ConcurrencyLimiter:
    """Limits the requests in flight, with none while the service asks for a pause.

    A rate limit or overload halves the number in flight and pauses all; replies raise it again.
    """

    def __init__(self, most: int, stopped: Callable[[], bool] = lambda: False) -> None:
        self.most = most
        self.stopped = stopped
        self.allowed = float(most)
        self._in_flight = 0
        self._replies = 0
        self.pauses = 0  # in a row, without a reply between them
        self._paused_until = 0.0
        self._free = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._free:
            while True:
                wait = self._paused_until - _now()
                if wait > 0:
                    self._free.release()
                    try:
                        await asyncio.sleep(min(wait, STOP_CHECK_SECONDS))
                    finally:
                        await self._free.acquire()
                    if self.stopped():
                        raise StoppedError
                elif self._in_flight < max(int(self.allowed), 1):
                    break
                else:
                    await self._free.wait()
            self._in_flight += 1

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._free:
            self._in_flight -= 1
            self._free.notify()

    def answered(self) -> None:
        """Count a reply."""
        self.pauses = 0
        self._replies += 1
        if self._replies >= EASE_AFTER and self.allowed < self.most:
            self._replies, self.allowed = 0, min(self.allowed + 1, float(self.most))

    def slow_down(self, seconds: float | None) -> None:
        """Pause all requests after a rate limit or overload.

        For as long as the service's Retry-After asks, else ever longer.
        """
        if self._paused_until <= _now():  # several in one burst count once
            self.pauses += 1
            self.allowed = max(self.allowed / 2, 1.0)
        self._replies = 0
        pause = min(seconds, LONGEST_RETRY_AFTER) if seconds is not None else backoff(self.pauses)
        self._paused_until = max(self._paused_until, _now() + pause)


def backoff(tries: int) -> float:
    """Return the seconds to wait after a number of failures: doubling, half of it random."""
    longest = min(BACKOFF_SECONDS * 2.0 ** max(tries - 1, 0), LONGEST_SECONDS)
    return longest * (0.5 + random.random() / 2)  # noqa: S311 -- spreads requests, guards nothing


def _now() -> float:
    return asyncio.get_running_loop().time()


BYTES_A_TOKEN = 2  # fewer than any language has
SENDS = 2  # an invalid reply is asked for once more


def most_cost(request: Request, model: Model) -> float:
    """Return the most that a request can cost in USD, its repair included; 0 without a price."""
    text = len(request.system.encode()) + len(request.user.encode())
    reply = reply_limit(request, model)
    usage = Usage(output_tokens=reply, cache_write_tokens=text // BYTES_A_TOKEN + reply)
    return SENDS * (model.cost(usage) or 0.0)


def affordable_in_batch(
    requests: Mapping[str, Request], model: Model, left: float | None
) -> tuple[dict[str, Request], float | None]:
    """Return the requests that a budget allows in a batch at the most that they can cost.

    Args:
        requests: by their keys.
        model: that is asked.
        left: of the budget in USD; None for no limit.

    Returns:
        These requests, and the most that the first one which is left out can cost; None where none is.
    """
    allowed: dict[str, Request] = {}
    for key, request in requests.items():
        most = most_cost(request, model) * model.batch_factor
        if left is not None and most > left:
            return allowed, most
        left = None if left is None else left - most
        allowed[key] = request
    return allowed, None


def small_budget(budget: float, most: float) -> str:
    """Return the sentence about a budget that is smaller than the most that one call can cost, in USD."""
    least = math.ceil(most * 1e4) / 1e4
    return (
        f"the budget of ${budget:.4f} is smaller than the most that one call can cost, ${least:.4f} (the "
        f"longest reply, asked for twice); accepted: --budget {least:.4f} or more"
    )


class FaultStreak:
    """Counts equal faults in a row among the calls of a job: what fails alike so often will go on failing."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.length = 0
        self._last: ModelCall | None = None

    def note(self, call: ModelCall) -> None:
        """Count a call that came back."""
        same = self._last is not None and _fault(self._last) == _fault(call)
        self.length = 0 if call.status == "scored" else self.length + 1 if same else 1
        self._last = call

    @property
    def reason(self) -> str:
        """Why the job ends; "" while it goes on."""
        if self._last is None or not self.most or self.length < self.most:
            return ""
        status = self._last.status.replace("_", " ")
        return f"{self.length:,} calls in a row ended alike, {status} ({self._last.reason})"


def _fault(call: ModelCall) -> str:
    """Return what makes two faults equal; the reasons of invalid replies quote them, and so always differ."""
    return call.reason if call.status == "error" else call.status


class Budget:
    """Admits requests while what is spent and reserved stays within the limit."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        self._settled = asyncio.Condition()

    async def reserve(self, amount: float) -> bool:
        """Reserve an amount, waiting for requests in flight if need be; return False where it is not left."""
        async with self._settled:
            while self.limit is not None and self.spent + self._reserved + amount > self.limit:
                if self._reserved <= 0:
                    return False
                await self._settled.wait()
            self._reserved += amount
            return True

    async def settle(self, amount: float, cost: float) -> None:
        """Replace a reserved amount by what was spent."""
        async with self._settled:
            self._reserved = max(self._reserved - amount, 0.0)
            if self._reserved < 1e-12:
                self._reserved = 0.0
            self.spent += cost
            self._settled.notify_all()
