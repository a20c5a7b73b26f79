"""The cached model calls of the ledger, each by the key of all that its reply depends on."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from ragtriage.data.judge.client import Claude, JudgeStoppedError
from ragtriage.data.judge.job_spec import Budget, FaultStreak, JobSpec, Progress, StoppedError, most_cost
from ragtriage.data.judge.requests import ModelCall, Request, Usage, again, request_key
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import utc_now

_COLUMNS = (
    "key, status, reason, payload, input_tokens, output_tokens, cache_write_tokens, cache_read_tokens, "
    "seconds, asked, cost_usd"
)
_SELECT = f"SELECT {_COLUMNS} FROM calls WHERE key IN (SELECT value FROM json_each(?))"  # noqa: S608 -- constant text
_UPSERT = (
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
    " WHERE calls.status <> 'scored' OR calls.payload IS NULL"  # a scored call is never overwritten
)
KEYS_AT_ONCE = 5000


class CallCache:
    """The calls of one ledger over one connection, for use in one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def open(cls, ledger: Ledger) -> Iterator[CallCache]:
        """Open the calls of a ledger; stored calls survive a crash of this process."""
        with ledger.open() as connection:
            connection.execute("PRAGMA synchronous = NORMAL")
            yield cls(connection)

    def find(self, keys: Iterable[str]) -> dict[str, ModelCall]:
        """Return the calls that the ledger has, by key, transient failures included."""
        wanted = list(dict.fromkeys(keys))
        calls: dict[str, ModelCall] = {}
        for start in range(0, len(wanted), KEYS_AT_ONCE):
            rows = self._connection.execute(_SELECT, (json.dumps(wanted[start : start + KEYS_AT_ONCE]),))
            calls |= {row[0]: _call(row) for row in rows}
        return {
            key: call for key, call in calls.items() if call.status != "scored" or call.payload is not None
        }

    def keep(self, request: Request, call: ModelCall, origin: Mapping[str, str]) -> None:
        """Store a call; a scored call is never overwritten.

        `origin` has `model`, `sdk` and `batch` (its id, or "").
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
        self._connection.execute(_UPSERT, entry)


def _call(row: tuple[Any, ...]) -> ModelCall:
    key, status, reason, payload, *tokens, seconds, asked, cost = row
    return ModelCall(
        key=key,
        status=status,
        reason=reason,
        payload=None if payload is None else json.loads(payload),
        usage=Usage(*tokens),
        seconds=seconds,
        asked=asked,
        cached=True,
        cost_usd=cost,
    )


KEEP_TRIES = 3


class CachedCalls:
    """Makes the calls of a job within its budget, or takes them from the cache."""

    def __init__(self, claude: Claude, cache: CallCache, spec: JobSpec, progress: Progress) -> None:
        self.claude, self.cache, self.spec, self.progress = claude, cache, spec, progress
        self.budget = Budget(spec.budget_usd)
        self.streak = FaultStreak(spec.stop_after)
        self.too_dear: float | None = None  # the most that a call can cost which the budget did not allow
        self._made: set[str] = set()  # in this job, so that none is made again twice
        self._in_flight: dict[str, asyncio.Future[ModelCall | None]] = {}

    @property
    def ended(self) -> bool:
        """No further call is made: the budget does not allow it, or too many failed alike."""
        return self.too_dear is not None or bool(self.streak.reason)

    def settles(self, call: ModelCall) -> bool:
        """Return whether a stored call is taken as it is."""
        return self.spec.settles(call, call.key in self._made)

    async def answer(self, request: Request) -> ModelCall | None:
        """Return the call of a request; None where the budget, a stop or too many faults do not allow it.

        Raises:
            JudgeStoppedError: no further request can succeed.
        """
        key = request_key(request, self.claude.settings.judge)
        pending = self._in_flight.get(key)
        if pending is not None:
            self.progress.cached += 1
            return await asyncio.shield(pending)
        future: asyncio.Future[ModelCall | None] = asyncio.get_running_loop().create_future()
        self._in_flight[key] = future  # before the first await, so that no identical request is sent
        try:
            call = await self._cached_or_sent(request, key)
            future.set_result(call)
            return call
        except BaseException as error:
            future.set_exception(JudgeStoppedError(str(error) or type(error).__name__))
            future.exception()  # mark it as retrieved: the error is raised here
            raise
        finally:
            self._in_flight.pop(key, None)

    async def _cached_or_sent(self, request: Request, key: str) -> ModelCall | None:
        cached = self.cache.find([key]).get(key)
        if cached is not None and self.settles(cached):
            self.progress.cached += 1
            return cached
        request = request if cached is None else again(request, cached)
        amount = most_cost(request, self.claude.settings.model)
        # after the look in the cache: what is kept is used even where nothing more is sent
        if self.streak.reason:
            return None
        if not await self.budget.reserve(amount):
            self.too_dear = amount
            return None
        cost = 0.0
        try:
            call = await self.claude.ask(request)
            cost = call.cost_usd or 0.0
            self.progress.count_call(call)
            self.streak.note(call)
            await self.keep(request, call)
            return call
        except StoppedError:
            return None
        finally:
            # the reserve was for the dearest reply; what was not spent goes back to the others
            await self.budget.settle(amount, cost)

    async def keep(self, request: Request, call: ModelCall, batch: str = "") -> None:
        """Store a call, waiting for a locked ledger.

        Raises:
            JudgeStoppedError: it cannot be stored; going on would pay for calls that are lost.
        """
        origin = {"model": self.claude.settings.judge, "sdk": self.claude.sdk, "batch": batch}
        for tries_left in reversed(range(KEEP_TRIES)):
            try:
                self.cache.keep(request, call, origin)
                self._made.add(call.key)
                return
            except sqlite3.Error as error:
                if not tries_left:
                    raise JudgeStoppedError(
                        f"the ledger cannot be written ({error}); nothing more is asked"
                    ) from error
                await asyncio.sleep(1.0)
