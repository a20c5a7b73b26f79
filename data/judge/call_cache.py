"""The verdict cache of the ledger: each call to a model by the key of all that its answer depends on."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from data.judge.client import Claude, JudgeStoppedError
from data.judge.limits import Budget, StoppedError, most_cost
from data.judge.progress import Progress
from data.judge.requests import FINAL, ModelCall, Request, Usage, request_key
from data.store.ledger import Ledger
from data.store.workspace import utc_now

__all__ = [
    "CachedCalls",
    "CallCache",
]

_COLUMNS = (
    "key, status, reason, payload, input_tokens, output_tokens, cache_write_tokens, cache_read_tokens, "
    "seconds, asked, cost_usd"
)
_READ = f"SELECT {_COLUMNS} FROM calls WHERE key IN (SELECT value FROM json_each(?))"  # noqa: S608 -- constants
_KEEP = (
    "INSERT INTO calls (key, kind, model, prompt, sdk, at, status, reason, payload, input_tokens,"
    " output_tokens, cache_write_tokens, cache_read_tokens, cost_usd, seconds, asked, batch)"
    " VALUES (:key, :kind, :model, :prompt, :sdk, :at, :status, :reason, :payload, :input_tokens,"
    " :output_tokens, :cache_write_tokens, :cache_read_tokens, :cost_usd, :seconds, :asked, :batch)"
    " ON CONFLICT (key) DO UPDATE SET status = excluded.status, reason = excluded.reason,"
    " payload = excluded.payload, at = excluded.at, sdk = excluded.sdk, batch = excluded.batch,"
    " input_tokens = calls.input_tokens + excluded.input_tokens,"
    " output_tokens = calls.output_tokens + excluded.output_tokens,"
    " cache_write_tokens = calls.cache_write_tokens + excluded.cache_write_tokens,"
    " cache_read_tokens = calls.cache_read_tokens + excluded.cache_read_tokens,"
    " cost_usd = coalesce(calls.cost_usd, 0) + excluded.cost_usd, seconds = excluded.seconds,"
    " asked = calls.asked + excluded.asked"
    " WHERE calls.status <> 'scored' OR calls.payload IS NULL"  # a verdict that stands is never overwritten
)
AT_ONCE = 5000


class CallCache:
    """The calls of one ledger over one connection; for one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def open(cls, ledger: Ledger) -> Iterator[CallCache]:
        """Open the calls of a ledger; what is kept survives the end of this process however it comes."""
        with ledger.open() as connection:
            connection.execute("PRAGMA synchronous = NORMAL")
            yield cls(connection)

    def find(self, keys: Iterable[str]) -> dict[str, ModelCall]:
        """Give the calls that the ledger has, by key; those that failed in passing too."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, ModelCall] = {}
        for start in range(0, len(wanted), AT_ONCE):
            rows = self._connection.execute(_READ, (json.dumps(wanted[start : start + AT_ONCE]),))
            found |= {row[0]: _call(row) for row in rows}
        return {
            key: call for key, call in found.items() if call.status != "scored" or call.payload is not None
        }

    def keep(self, request: Request, call: ModelCall, origin: Mapping[str, str]) -> None:
        """Write a call down; a verdict that stands is never overwritten.

        Args:
            request: what was asked.
            call: what it came to.
            origin: `model`, `sdk` and `batch` (its id, or "").
        """
        payload = None if call.payload is None else json.dumps(call.payload, ensure_ascii=False)
        entry: dict[str, Any] = {
            "key": call.key,
            "kind": request.kind,
            "prompt": request.prompt,
            "at": utc_now().isoformat(),
            "status": call.status,
            "reason": call.reason,
            "payload": payload,
            **asdict(call.usage),
            "cost_usd": call.cost_usd,
            "seconds": call.seconds,
            "asked": call.asked,
            **origin,
        }
        self._connection.execute(_KEEP, entry)


def _call(row: tuple[Any, ...]) -> ModelCall:
    key, status, reason, payload, given, written, to_cache, from_cache, seconds, asked, cost = row
    return ModelCall(
        key=key,
        status=status,
        reason=reason,
        payload=None if payload is None else json.loads(payload),
        usage=Usage(given, written, to_cache, from_cache),
        seconds=seconds,
        asked=asked,
        cached=True,
        cost_usd=cost,
    )


KEEP_TRIES = 3


class CachedCalls:
    """Answers the requests of a job within its budget."""

    def __init__(self, claude: Claude, verdicts: CallCache, budget: Budget, progress: Progress) -> None:
        self.claude, self.verdicts, self.budget, self.progress = claude, verdicts, budget, progress
        self._flying: dict[str, asyncio.Future[ModelCall | None]] = {}

    async def answer(self, request: Request) -> ModelCall | None:
        """Give the call of a request; None where budget or a stop do not allow it.

        Raises:
            JudgeStoppedError: no further request can succeed.
        """
        key = request_key(request, self.claude.settings.judge)
        flying = self._flying.get(key)
        if flying is not None:
            self.progress.cached += 1
            return await asyncio.shield(flying)
        future: asyncio.Future[ModelCall | None] = asyncio.get_running_loop().create_future()
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

    async def _found_or_asked(self, request: Request, key: str) -> ModelCall | None:
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

    async def keep(self, request: Request, call: ModelCall, batch: str = "") -> None:
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
