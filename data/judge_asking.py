"""Asking once: a question that is alike another is answered from the ledger, or with the one in flight."""

from __future__ import annotations

import asyncio
import sqlite3

from data.job_progress import Progress
from data.judge_budget import Budget, most_cost
from data.judge_calls import FINAL, Call, Request, request_key
from data.judge_client import Claude, JudgeStoppedError
from data.judge_pace import StoppedError
from data.verdicts import Verdicts

__all__ = ["Asking"]

KEEP_TRIES = 3


class Asking:
    """Answers the requests of a job within its budget."""

    def __init__(self, claude: Claude, verdicts: Verdicts, budget: Budget, progress: Progress) -> None:
        self.claude, self.verdicts, self.budget, self.progress = claude, verdicts, budget, progress
        self._flying: dict[str, asyncio.Future[Call | None]] = {}

    async def answer(self, request: Request) -> Call | None:
        """Give the call of a request; None where budget or a stop do not allow it.

        Raises:
            JudgeStoppedError: no further request can succeed.
        """
        key = request_key(request, self.claude.settings.judge)
        flying = self._flying.get(key)
        if flying is not None:
            self.progress.cached += 1
            return await asyncio.shield(flying)
        future: asyncio.Future[Call | None] = asyncio.get_running_loop().create_future()
        self._flying[key] = future  # before anything is waited for, so that one like it cannot slip past
        try:
            call = await self._found_or_asked(request, key)
            future.set_result(call)
            return call
        except BaseException as error:
            future.set_exception(JudgeStoppedError(str(error) or type(error).__name__))
            future.exception()  # somebody has seen it: this one raises it
            raise
        finally:
            self._flying.pop(key, None)

    async def _found_or_asked(self, request: Request, key: str) -> Call | None:
        known = self.verdicts.find([key]).get(key)
        if known is not None and known.status in FINAL:
            self.progress.cached += 1
            return known
        amount = most_cost(request, self.claude.settings.model)
        if not await self.budget.reserve(amount):
            return None
        cost = 0.0
        try:
            call = await self.claude.ask(request)
            cost = call.cost_usd or 0.0
            self.progress.pay(call)
            await self.keep(request, call)
            return call
        except StoppedError:
            return None
        finally:
            await self.budget.settle(amount, cost)

    async def keep(self, request: Request, call: Call, batch: str = "") -> None:
        """Write a call down; a ledger that is locked is waited for.

        Raises:
            JudgeStoppedError: it cannot be written; going on would pay for what is lost.
        """
        origin = {"model": self.claude.settings.judge, "sdk": self.claude.sdk, "batch": batch}
        for left in reversed(range(KEEP_TRIES)):
            try:
                self.verdicts.keep(request, call, origin)
                return
            except sqlite3.Error as error:
                if not left:
                    said = f"the ledger cannot be written ({error}); nothing more is asked"
                    raise JudgeStoppedError(said) from error
                await asyncio.sleep(1.0)
