"""How fast a service may be asked: requests in flight, slowed down for everybody when it says so."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from types import TracebackType

from data.judge.messages import reply_limit
from data.judge.prices import Model
from data.judge.requests import Request, Usage

__all__ = [
    "Budget",
    "ConcurrencyLimiter",
    "StoppedError",
    "backoff",
    "most_cost",
]

BACKOFF_SECONDS, LONGEST_SECONDS = 0.5, 60.0
LOOK_SECONDS = 1.0  # how soon a stop is noticed in a pause
LONGEST_ASKED = 3600.0  # a service that asks for more is taken to mean this
EASE_AFTER = 20  # answers in a row behind which one more request may be in flight


class StoppedError(Exception):
    """A stop was asked while a request waited for its turn."""


class ConcurrencyLimiter:
    """A gate for requests: at most so many in flight, none while the service asks for a pause.

    A refusal to serve halves the number in flight and pauses everybody; answers raise it again.
    """

    def __init__(self, most: int, stopped: Callable[[], bool] = lambda: False) -> None:
        self.most = most
        self.stopped = stopped
        self.allowed = float(most)
        self._flying = 0
        self._answers = 0
        self._strikes = 0
        self._until = 0.0
        self._free = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._free:
            while True:
                wait = self._until - _now()
                if wait > 0:
                    self._free.release()
                    try:
                        await asyncio.sleep(min(wait, LOOK_SECONDS))
                    finally:
                        await self._free.acquire()
                    if self.stopped():
                        raise StoppedError
                elif self._flying < max(int(self.allowed), 1):
                    break
                else:
                    await self._free.wait()
            self._flying += 1

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._free:
            self._flying -= 1
            self._free.notify()

    def answered(self) -> None:
        """Note that the service served a request."""
        self._strikes = 0
        self._answers += 1
        if self._answers >= EASE_AFTER and self.allowed < self.most:
            self._answers, self.allowed = 0, min(self.allowed + 1, float(self.most))

    def slow_down(self, seconds: float | None) -> None:
        """Note that the service would not serve.

        Args:
            seconds: for how long it asks to be left alone; None where it does not say.
        """
        if self._until <= _now():  # refusals of one burst count once
            self._strikes += 1
            self.allowed = max(self.allowed / 2, 1.0)
        self._answers = 0
        pause = min(seconds, LONGEST_ASKED) if seconds is not None else backoff(self._strikes)
        self._until = max(self._until, _now() + pause)


def backoff(tries: int) -> float:
    """Seconds to wait behind the given number of failures: doubling, with a random half."""
    longest = min(BACKOFF_SECONDS * 2.0 ** max(tries - 1, 0), LONGEST_SECONDS)
    return longest * (0.5 + random.random() / 2)  # noqa: S311 -- spreads requests, guards nothing


def _now() -> float:
    return asyncio.get_running_loop().time()


BYTES_A_TOKEN = 2  # fewer than any language has
SENDS = 2  # a reply that does not fit the form is asked for once more


def most_cost(request: Request, model: Model) -> float:
    """Give the most that a request can cost in USD, mending included; 0 without a price."""
    text = len(request.system.encode()) + len(request.user.encode())
    reply = reply_limit(request, model)
    usage = Usage(output_tokens=reply, cache_write_tokens=text // BYTES_A_TOKEN + reply)
    return SENDS * (model.cost(usage) or 0.0)


class Budget:
    """Lets requests pass while the spent and the reserved stay within the limit."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        self._settled = asyncio.Condition()

    async def reserve(self, amount: float) -> bool:
        """Set an amount aside; waits for what is in flight where it must. False where it cannot be had."""
        async with self._settled:
            while self.limit is not None and self.spent + self._reserved + amount > self.limit:
                if self._reserved <= 0:
                    return False
                await self._settled.wait()
            self._reserved += amount
            return True

    async def settle(self, amount: float, cost: float) -> None:
        """Replace an amount set aside by what was really spent."""
        async with self._settled:
            self._reserved = max(self._reserved - amount, 0.0)
            if self._reserved < 1e-12:
                self._reserved = 0.0
            self.spent += cost
            self._settled.notify_all()
