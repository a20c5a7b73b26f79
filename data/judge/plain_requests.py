"""Requests that belong to no run: planned, asked once each within a budget, kept in the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from ragtriage.data.chunking.chunkers import count_tokens
from ragtriage.data.judge.batches import BatchRound
from ragtriage.data.judge.call_cache import CachedCalls, CallCache
from ragtriage.data.judge.client import Claude
from ragtriage.data.judge.job_spec import JobSpec, Progress, affordable_in_batch, small_budget
from ragtriage.data.judge.plan import TOKENS_FOR_ONE
from ragtriage.data.judge.requests import (
    FINAL,
    ClientSettings,
    ModelCall,
    Request,
    Usage,
    again,
    request_key,
)
from ragtriage.data.store.ledger import Ledger

Result = TypeVar("Result")


@dataclass(frozen=True)
class RequestPlan:
    """The expected cost of requests; the field names are the keys of the JSON output."""

    model: str  # that is asked
    requests: int  # different ones
    cached: int  # of them, those that the ledger has
    calls: int  # to make
    input_tokens: int  # of these calls, estimated
    output_tokens: int  # of these calls, expected
    cost_usd: float | None  # of these calls; None where the model has no price

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class AskedRequests:
    """The replies and their cost."""

    calls: tuple[ModelCall | None, ...]  # of each request, in their order; None where it was not asked
    cost_usd: float  # of all these calls, those of the ledger included
    stopped: str  # why not everything was asked; "" where it was
    too_dear: float | None = None  # the most that the call can cost which the budget did not allow, in USD


def plan_requests(ledger: Ledger, settings: ClientSettings, requests: Sequence[Request]) -> RequestPlan:
    """Plan requests; asks nothing."""
    unique = {request_key(request, settings.judge): request for request in requests}
    kept = _kept(ledger, list(unique))
    waiting = [request for key, request in unique.items() if key not in kept]
    tokens = [round(TOKENS_FOR_ONE * count_tokens(f"{each.system}{each.user}")) for each in waiting]
    usages = [Usage(sent, each.expected_tokens) for sent, each in zip(tokens, waiting, strict=True)]
    costs = [settings.model.cost(usage) for usage in usages]
    return RequestPlan(
        model=settings.model.name,
        requests=len(unique),
        cached=len(kept),
        calls=len(waiting),
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cost_usd=sum(cost or 0.0 for cost in costs) if settings.model.bands else None,
    )


def kept_calls(
    ledger: Ledger, settings: ClientSettings, requests: Sequence[Request]
) -> list[ModelCall | None]:
    """Return the final calls that the ledger has, in the order of the requests; asks nothing."""
    keys = [request_key(request, settings.judge) for request in requests]
    kept = _kept(ledger, keys)
    return [kept.get(key) for key in keys]


def _kept(ledger: Ledger, keys: Sequence[str]) -> Mapping[str, ModelCall]:
    with CallCache.open(ledger) as cache:
        return {key: call for key, call in cache.find(keys).items() if call.status in FINAL}


def ask_requests(
    ledger: Ledger,
    settings: ClientSettings,
    requests: Sequence[Request],
    budget_usd: float | None = None,
    watch: Callable[[Progress], None] | None = None,
    stopped: Callable[[], bool] = lambda: False,
    batch: bool = False,
) -> AskedRequests:
    """Ask what the ledger does not have; each reply is stored as it comes.

    With `batch` through message batches: half the price, and up to a day.

    The budget is for all of them, those of the ledger included. `watch` is called after each; once `stopped`
    is true, what is in flight is waited for.

    Raises:
        JudgeStoppedError: no further request can succeed.
    """
    kept = kept_calls(ledger, settings, requests)
    if all(kept):  # needs neither key nor service
        return AskedRequests(tuple(kept), _cost(kept), "")
    left = None if budget_usd is None else max(budget_usd - _cost(kept), 0.0)
    spec, progress = JobSpec([], budget_usd=left), Progress(len(requests))

    async def work(cache: CallCache) -> tuple[list[ModelCall | None], str, float | None]:
        async with Claude(settings, stopped) as claude:
            calls = CachedCalls(claude, cache, spec, progress)
            if batch:
                await _ask_in_batch(calls, ledger, requests, left, stopped)
                if watch is not None:
                    watch(progress)
                answers = kept_calls(ledger, settings, requests)
                return answers, _ending(calls, answers), calls.too_dear

            async def ask(request: Request) -> ModelCall | None:
                call = None if stopped() else await calls.answer(request)
                progress.done += 1
                if watch is not None:
                    watch(progress)
                return call

            answers = list(await asyncio.gather(*(ask(request) for request in requests)))
            return answers, _ending(calls, answers), calls.too_dear

    def ask_all() -> tuple[list[ModelCall | None], str, float | None]:
        with CallCache.open(ledger) as cache:
            return asyncio.run(work(cache))

    answers, reason, too_dear = _in_free_thread(ask_all)
    return AskedRequests(tuple(answers), _cost(answers), reason, too_dear)


async def _ask_in_batch(
    calls: CachedCalls,
    ledger: Ledger,
    requests: Sequence[Request],
    left: float | None,
    stopped: Callable[[], bool],
) -> None:
    """Ask in one round of message batches what the ledger does not have and the budget allows."""

    async def keep(request: Request, call: ModelCall, batch: str) -> None:
        calls.progress.count_call(call)
        await calls.keep(request, call, batch)

    settings, spec = calls.claude.settings, calls.spec
    by_key = {request_key(request, settings.judge): request for request in requests}
    stored = calls.cache.find(by_key)
    anew = {
        key: again(request, stored[key]) if key in stored else request
        for key, request in by_key.items()
        if key not in stored or stored[key].status not in FINAL
    }
    fresh, calls.too_dear = affordable_in_batch(anew, settings.model, left)
    if fresh:
        await BatchRound(calls.claude, ledger, keep, stopped, spec.stop_after).ask(fresh)


def _in_free_thread(work: Callable[[], Result]) -> Result:
    """Do work that runs an event loop: in a thread of its own where this one runs one, as a notebook does."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def _cost(calls: Sequence[ModelCall | None]) -> float:
    return sum(call.cost_usd or 0.0 for call in calls if call is not None)


def _ending(calls: CachedCalls, answers: Sequence[ModelCall | None]) -> str:
    """Return why some were not asked, or failed in a way that may be gone; "" where none did."""
    if calls.streak.reason:
        return calls.streak.reason
    if calls.too_dear is not None:
        return small_budget(calls.spec.budget_usd or 0.0, calls.too_dear)
    left = [call for call in answers if call is None or call.status not in FINAL]
    reason = next((call.reason for call in left if call is not None), "stopped")
    return f"{len(left):,} of {len(answers):,} are not answered: {reason}" if left else ""
