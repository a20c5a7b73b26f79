"""Asking through message batches: half the price, results matched by id, safe against a restart.

What is to be sent is written down before it goes out, so a batch whose creation was interrupted is found
again at the service instead of being paid for twice.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from data.judge.client import GONE, Claude, JudgeStoppedError, service_host
from data.judge.messages import (
    Spent,
    as_message,
    call_of,
    message_params,
    read_message,
    repaired,
    storable,
    usage_of,
)
from data.judge.requests import ModelCall, Request
from data.store.judge_results import CallStatus
from data.store.ledger import Ledger
from data.store.workspace import utc_now

__all__ = ["BATCH_REQUESTS", "BatchRound", "SentBatch"]

BATCH_REQUESTS, BATCH_BYTES = 10_000, 100_000_000
FIRST_POLL_SECONDS, LAST_POLL_SECONDS = 1.0, 60.0
CLOCKS_APART = timedelta(minutes=5)
NO_RESULT = "the service gave no result for it in a batch"
_FAILED: Mapping[str, tuple[CallStatus, str]] = {
    "expired": ("timeout", "the batch expired before it was read"),
    "canceled": ("error", "the batch was canceled"),
}
Keep = Callable[[Request, ModelCall, str], Awaitable[None]]


@dataclass(frozen=True)
class SentBatch:
    """A batch as the ledger has it.

    Attributes:
        intent_id: number of the entry.
        batch_id: of the service; None where the sending was interrupted.
        keys: of its requests.
        at: ISO time in UTC.
    """

    intent_id: int
    batch_id: str | None
    keys: tuple[str, ...]
    at: str


@dataclass(frozen=True)
class Reply:
    """One result of a batch.

    Attributes:
        batch: its id.
        kind: "succeeded", "errored", "canceled", "expired", or "" where there was none.
        message: of a success, as JSON values.
        error: what the service said of an error.
    """

    batch: str
    kind: str
    message: Mapping[str, Any]
    error: str = ""


async def _nothing() -> AsyncIterator[Any]:
    """Give nothing."""
    nothing: tuple[Any, ...] = ()
    for line in nothing:
        yield line


def _reply(batch: str, result: Any) -> Reply:
    if result.type == "succeeded":
        return Reply(batch, result.type, as_message(result.message))
    inner = getattr(getattr(getattr(result, "error", None), "error", None), "message", "")
    return Reply(batch, result.type, {}, str(storable(str(inner)))[:200])


def _no_result(batch: SentBatch) -> Reply:
    return Reply(str(batch.batch_id), "", {})


def _read(reply: Reply, request: Request) -> tuple[CallStatus, str, Any]:
    """Say what a result came to: (status, reason, checked reply)."""
    if reply.kind == "succeeded":
        return read_message(reply.message, request)
    if reply.kind == "errored" and "too long" in reply.error:
        return "context_exceeded", "the sample does not fit the model's context window", None
    if reply.kind == "errored":
        return "error", f"the service failed on it in a batch ({reply.error or 'no reason given'})", None
    status, reason = _FAILED.get(reply.kind, ("error", NO_RESULT))
    return status, reason, None


class BatchRound:
    """Asks many requests at once and waits for their results."""

    def __init__(self, claude: Claude, ledger: Ledger, keep: Keep, stopped: Callable[[], bool]) -> None:
        self.claude, self.ledger, self.keep, self.stopped = claude, ledger, keep, stopped
        self.host = service_host(claude.settings)
        self._lost: set[int] = set()

    async def ask(self, requests: Mapping[str, Request]) -> dict[str, ModelCall]:
        """Ask requests by their keys; gives the calls that came back, all of them unless a stop was asked."""
        found: dict[str, ModelCall] = {}
        settings = self.claude.settings
        waiting = {key: message_params(request, settings) for key, request in requests.items()}
        spent = dict.fromkeys(requests, Spent())
        for mending in (False, True):
            replies, done = await self._replies(waiting, requests, mending)
            again: dict[str, Any] = {}
            for key, reply in replies.items():
                spent[key] = spent[key].more(usage_of(reply.message), settings.model, 1, batch=True)
                read = _read(reply, requests[key])
                if read[0] == "invalid" and not mending:
                    again[key] = repaired(waiting[key], reply.message, read[1])
                    continue
                found[key] = call_of(requests[key], settings.judge, read, spent[key])
                await self.keep(requests[key], found[key], reply.batch)
            self._collected(done, requests)  # not before its calls are written down
            if not again:
                break
            waiting = again
        return found

    async def _replies(
        self, waiting: Mapping[str, dict[str, Any]], requests: Mapping[str, Request], mending: bool
    ) -> tuple[dict[str, Reply], list[SentBatch]]:
        """Give replies by key, of batches that are out already or are sent now, and those that have ended."""
        out = [] if mending else await self._out(waiting)
        found, ended = await self._results_of(out, requests)
        settled = {key for batch in ended for key in batch.keys}
        still = [one for one in out if one not in ended and one.intent_id not in self._lost]
        under_way = settled | {key for batch in still for key in batch.keys}
        fresh = {key: one for key, one in waiting.items() if key not in under_way}
        sent = [await self._send(part) for part in _parts(fresh)]
        more, also = await self._results_of(sent, requests)
        return found | more, ended + also

    async def _results_of(
        self, batches: Sequence[SentBatch], requests: Mapping[str, Request]
    ) -> tuple[dict[str, Reply], list[SentBatch]]:
        """Wait for batches: replies by key, and the batches that have ended; lost ones are forgotten."""
        found: dict[str, Reply] = {}
        ended = []
        for batch in batches:
            lines = await self._results(batch) if await self._ended(batch) else None
            if lines is None:
                continue
            ended.append(batch)
            mine = {key: lines.get(key, _no_result(batch)) for key in batch.keys}
            found |= {key: reply for key, reply in mine.items() if key in requests}
        return found, ended

    def _collected(self, ended: Sequence[SentBatch], requests: Mapping[str, Request]) -> None:
        """Note that nothing more is to come of batches; one with another job's samples stays open."""
        for batch in ended:
            if all(key in requests for key in batch.keys):
                now = utc_now().isoformat()
                self._write("UPDATE batches SET collected_at = ? WHERE intent_id = ?", (now, batch.intent_id))

    async def _out(self, waiting: Mapping[str, object]) -> list[SentBatch]:
        """List the batches that were sent before and hold something of what is wanted."""
        sent = [one for one in self._uncollected() if any(key in waiting for key in one.keys)]
        found = []
        for one in sent:
            known = one if one.batch_id is not None else await self._adopted(one)
            if known is not None:
                found.append(known)
        return found

    def _uncollected(self) -> list[SentBatch]:
        with self.ledger.open() as connection:
            rows = connection.execute(
                "SELECT intent_id, batch_id, keys, at FROM batches WHERE host = ? AND collected_at IS NULL",
                (self.host,),
            ).fetchall()
        return [SentBatch(number, batch, tuple(json.loads(keys)), at) for number, batch, keys, at in rows]

    async def _adopted(self, sent: SentBatch) -> SentBatch | None:
        """Find at the service the batch whose creation was interrupted; forget the entry where none is."""
        with self.ledger.open() as connection:
            known = {row[0] for row in connection.execute("SELECT batch_id FROM batches")}
        listed = (await self._asked(partial(self.claude.client.messages.batches.list, limit=100))).data
        earliest = datetime.fromisoformat(sent.at).replace(tzinfo=UTC) - CLOCKS_APART
        for one in listed:
            counts = one.request_counts
            total = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
            if one.id not in known and total == len(sent.keys) and one.created_at >= earliest:
                self._write("UPDATE batches SET batch_id = ? WHERE intent_id = ?", (one.id, sent.intent_id))
                return SentBatch(sent.intent_id, one.id, sent.keys, sent.at)
        self._write("DELETE FROM batches WHERE intent_id = ?", (sent.intent_id,))
        return None

    async def _send(self, part: Mapping[str, dict[str, Any]]) -> SentBatch:
        at = utc_now().isoformat()
        with self.ledger.open() as connection:
            cursor = connection.execute(
                "INSERT INTO batches (host, keys, at) VALUES (?, ?, ?)", (self.host, json.dumps([*part]), at)
            )
            number = int(cursor.lastrowid or 0)
        asked: Any = [{"custom_id": key, "params": params} for key, params in part.items()]
        made = await self._asked(partial(self.claude.client.messages.batches.create, requests=asked))
        self._write("UPDATE batches SET batch_id = ? WHERE intent_id = ?", (made.id, number))
        return SentBatch(number, made.id, tuple(part), at)

    async def _ended(self, batch: SentBatch) -> bool:
        """Wait for the end of a batch; False where a stop was asked, or the service has it no more."""
        pause = FIRST_POLL_SECONDS
        while True:
            known = await self._asked(
                partial(self.claude.client.messages.batches.retrieve, str(batch.batch_id)), may_be_gone=True
            )
            if known is None:
                self._forget(batch)
                return False
            if known.processing_status == "ended":
                return True
            until = time.monotonic() + pause
            while time.monotonic() < until:
                if self.stopped():
                    return False
                await asyncio.sleep(min(0.5, pause))
            pause = min(pause * 1.5, LAST_POLL_SECONDS)

    def _forget(self, batch: SentBatch) -> None:
        """Take a batch for lost, so that its samples are asked anew."""
        self._lost.add(batch.intent_id)
        now = utc_now().isoformat()
        self._write("UPDATE batches SET collected_at = ? WHERE intent_id = ?", (now, batch.intent_id))

    async def _results(self, batch: SentBatch) -> dict[str, Reply] | None:
        """Give the results of a batch by key; None where they are gone, or are another job's."""
        name = str(batch.batch_id)
        lines = await self._asked(
            partial(self.claude.client.messages.batches.results, name), may_be_gone=True
        )
        found: dict[str, Reply] = {}
        try:
            async for line in lines or _nothing():
                found[line.custom_id] = _reply(name, line.result)
        except (ValueError, RecursionError):
            said = (
                f"{self.host}: the results of batch {name} cannot be read now; the same command tries again"
            )
            raise JudgeStoppedError(said) from None
        if not set(found) & set(batch.keys):
            self._forget(batch)
            return None
        return found

    async def _asked(self, ask: Callable[[], Any], may_be_gone: bool = False) -> Any:
        tried = await self.claude.tried(ask, may_be_gone)
        if tried.found is None and may_be_gone and tried.reason == GONE:
            return None
        if tried.found is None:
            raise JudgeStoppedError(f"{self.host}: batches cannot be used now ({tried.reason})")
        return tried.found

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        with self.ledger.open() as connection:
            connection.execute(statement, values)


def _parts(waiting: Mapping[str, dict[str, Any]]) -> Sequence[dict[str, dict[str, Any]]]:
    """Divide requests into batches that the service takes."""
    parts: list[dict[str, dict[str, Any]]] = []
    size = 0
    for key, params in waiting.items():
        length = len(json.dumps(params, ensure_ascii=False).encode())
        if not parts or len(parts[-1]) >= BATCH_REQUESTS or size + length > BATCH_BYTES:
            parts.append({})
            size = 0
        parts[-1][key] = params
        size += length
    return parts
