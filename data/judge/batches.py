"""Requests through message batches: half the price, results matched by id, safe against a restart.

A batch is recorded before it is sent, so that one whose creation was interrupted is found again at the
service instead of being paid for twice.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from ragtriage.data.judge.client import GONE, Claude, JudgeStoppedError, service_host
from ragtriage.data.judge.requests import (
    ModelCall,
    Request,
    Spent,
    as_message,
    call_of,
    message_params,
    read_message,
    repaired,
    storable,
    usage_of,
)
from ragtriage.data.store.judge_results import CallStatus
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import utc_now

BATCH_REQUESTS, BATCH_BYTES = 10_000, 100_000_000
FIRST_POLL_SECONDS, LAST_POLL_SECONDS = 1.0, 60.0
CLOCKS_APART = timedelta(minutes=5)
NO_RESULT = "the service gave no result for it in a batch"
_FAILED: Mapping[str, tuple[CallStatus, str]] = {
    "expired": ("timeout", "the batch expired before it was processed"),
    "canceled": ("error", "the batch was canceled"),
}
Keep = Callable[[Request, ModelCall, str], Awaitable[None]]


@dataclass(frozen=True)
class SentBatch:
    """A batch as the ledger has it."""

    intent_id: int
    batch_id: str | None  # of the service; None where sending was interrupted
    keys: tuple[str, ...]  # of its requests
    at: str  # ISO time in UTC


@dataclass(frozen=True)
class Reply:
    """One result of a batch."""

    batch: str
    kind: str  # "succeeded", "errored", "canceled", "expired", or "" where there was none
    message: Mapping[str, Any]  # of a success, as JSON values
    error: str = ""  # the service's message of an error


def _reply(batch: str, result: Any) -> Reply:
    if result.type == "succeeded":
        return Reply(batch, result.type, as_message(result.message))
    message = getattr(getattr(getattr(result, "error", None), "error", None), "message", "")
    return Reply(batch, result.type, {}, str(storable(str(message)))[:200])


def _read(reply: Reply, request: Request) -> tuple[CallStatus, str, Any]:
    """Return status, reason and checked reply of a result."""
    if reply.kind == "succeeded":
        return read_message(reply.message, request)
    if reply.kind == "errored" and "too long" in reply.error:
        return "context_exceeded", "the sample does not fit the model's context window", None
    if reply.kind == "errored":
        return "error", f"the service failed on it in a batch ({reply.error or 'no reason given'})", None
    status, reason = _FAILED.get(reply.kind, ("error", NO_RESULT))
    return status, reason, None


class BatchRound:
    """Sends many requests at once and waits for their results.

    Invalid replies are asked for once more, unless all are invalid and `stop_after` or more.
    """

    def __init__(
        self, claude: Claude, ledger: Ledger, keep: Keep, stopped: Callable[[], bool], stop_after: int = 0
    ) -> None:
        self.claude, self.ledger, self.keep, self.stopped = claude, ledger, keep, stopped
        self.stop_after = stop_after
        self.host = service_host(claude.settings)
        self._lost: set[int] = set()

    async def ask(self, requests: Mapping[str, Request]) -> dict[str, ModelCall]:
        """Send requests by their keys and return their calls, all of them unless a stop was requested."""
        calls: dict[str, ModelCall] = {}
        settings = self.claude.settings
        waiting = {key: message_params(request, settings) for key, request in requests.items()}
        spent = dict.fromkeys(requests, Spent())
        for repairing in (False, True):
            replies, ended = await self._replies(waiting, requests, repairing)
            repairs: dict[str, Any] = {}
            read = {key: _read(reply, requests[key]) for key, reply in replies.items()}
            valid = sum(status != "invalid" for status, _, _ in read.values())
            hopeless = not valid and 0 < self.stop_after <= len(replies)
            for key, reply in replies.items():
                spent[key] = spent[key].more(usage_of(reply.message), settings.model, 1, batch=True)
                status, reason, payload = read[key]
                if status == "invalid" and not repairing and not hopeless:
                    repairs[key] = repaired(waiting[key], reply.message, reason)
                    continue
                calls[key] = call_of(requests[key], settings.judge, (status, reason, payload), spent[key])
                await self.keep(requests[key], calls[key], reply.batch)
            for batch in ended:  # only once its calls are stored; one with samples of another job stays open
                if all(key in requests for key in batch.keys):
                    self._collect(batch)
            if not repairs:
                break
            waiting = repairs
        return calls

    async def _replies(
        self, waiting: Mapping[str, dict[str, Any]], requests: Mapping[str, Request], repairing: bool
    ) -> tuple[dict[str, Reply], list[SentBatch]]:
        """Return replies by key, from batches sent earlier or now, and the batches that have ended."""
        earlier = [] if repairing else await self._sent_earlier(waiting)
        replies, ended = await self._results_of(earlier, requests)
        settled = {key for batch in ended for key in batch.keys}
        running = [batch for batch in earlier if batch not in ended and batch.intent_id not in self._lost]
        under_way = settled | {key for batch in running for key in batch.keys}
        fresh = {key: params for key, params in waiting.items() if key not in under_way}
        sent = [await self._send(part) for part in _parts(fresh)]
        more_replies, more_ended = await self._results_of(sent, requests)
        return replies | more_replies, ended + more_ended

    async def _results_of(
        self, batches: Sequence[SentBatch], requests: Mapping[str, Request]
    ) -> tuple[dict[str, Reply], list[SentBatch]]:
        """Wait for batches; return replies by key, and the batches that have ended, without lost ones."""
        replies: dict[str, Reply] = {}
        ended = []
        for batch in batches:
            results = await self._results(batch) if await self._has_ended(batch) else None
            if results is None:
                continue
            ended.append(batch)
            missing = Reply(str(batch.batch_id), "", {})
            replies |= {key: results.get(key, missing) for key in batch.keys if key in requests}
        return replies, ended

    def _collect(self, batch: SentBatch) -> None:
        now = utc_now().isoformat()
        self._write("UPDATE batches SET collected_at = ? WHERE intent_id = ?", (now, batch.intent_id))

    async def _sent_earlier(self, waiting: Mapping[str, object]) -> list[SentBatch]:
        """List the batches of earlier jobs that are not collected and hold any of the waiting requests."""
        with self.ledger.open() as connection:
            rows = connection.execute(
                "SELECT intent_id, batch_id, keys, at FROM batches WHERE host = ? AND collected_at IS NULL",
                (self.host,),
            ).fetchall()
        sent = [SentBatch(number, batch, tuple(json.loads(keys)), at) for number, batch, keys, at in rows]
        batches = [
            batch if batch.batch_id is not None else await self._adopted(batch)
            for batch in sent
            if any(key in waiting for key in batch.keys)
        ]
        return [batch for batch in batches if batch is not None]

    async def _adopted(self, sent: SentBatch) -> SentBatch | None:
        """Find at the service the batch whose creation was interrupted; delete the entry where none is.

        It is one that the ledger does not know, of the same size, and made after the entry.
        """
        with self.ledger.open() as connection:
            recorded = {row[0] for row in connection.execute("SELECT batch_id FROM batches")}
        listed = (await self._asked(partial(self.claude.client.messages.batches.list, limit=100))).data
        earliest = datetime.fromisoformat(sent.at).replace(tzinfo=UTC) - CLOCKS_APART
        for batch in listed:
            counts = batch.request_counts
            total = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
            if batch.id not in recorded and total == len(sent.keys) and batch.created_at >= earliest:
                self._write("UPDATE batches SET batch_id = ? WHERE intent_id = ?", (batch.id, sent.intent_id))
                return replace(sent, batch_id=batch.id)
        self._write("DELETE FROM batches WHERE intent_id = ?", (sent.intent_id,))
        return None

    async def _send(self, part: Mapping[str, dict[str, Any]]) -> SentBatch:
        at = utc_now().isoformat()
        with self.ledger.open() as connection:
            cursor = connection.execute(
                "INSERT INTO batches (host, keys, at) VALUES (?, ?, ?)", (self.host, json.dumps([*part]), at)
            )
            number = int(cursor.lastrowid or 0)
        requests: Any = [{"custom_id": key, "params": params} for key, params in part.items()]
        batch = await self._asked(partial(self.claude.client.messages.batches.create, requests=requests))
        self._write("UPDATE batches SET batch_id = ? WHERE intent_id = ?", (batch.id, number))
        return SentBatch(number, batch.id, tuple(part), at)

    async def _has_ended(self, batch: SentBatch) -> bool:
        """Wait for the end of a batch; return False after a stop, or where the service has lost it."""
        pause = FIRST_POLL_SECONDS
        while True:
            state = await self._asked(
                partial(self.claude.client.messages.batches.retrieve, str(batch.batch_id)), may_be_gone=True
            )
            if state is None:
                self._forget(batch)
                return False
            if state.processing_status == "ended":
                return True
            until = time.monotonic() + pause
            while time.monotonic() < until:
                if self.stopped():
                    return False
                await asyncio.sleep(min(0.5, pause))
            pause = min(pause * 1.5, LAST_POLL_SECONDS)

    def _forget(self, batch: SentBatch) -> None:
        """Treat a batch as lost, so that its requests are sent again."""
        self._lost.add(batch.intent_id)
        self._collect(batch)

    async def _results(self, batch: SentBatch) -> dict[str, Reply] | None:
        """Return the results of a batch by key; None where they are gone, or belong to another job."""
        name = str(batch.batch_id)
        lines = await self._asked(
            partial(self.claude.client.messages.batches.results, name), may_be_gone=True
        )
        replies: dict[str, Reply] = {}
        try:
            if lines is not None:
                async for line in lines:
                    replies[line.custom_id] = _reply(name, line.result)
        except (ValueError, RecursionError):
            raise JudgeStoppedError(
                f"{self.host}: the results of batch {name} cannot be read now; the same command tries again"
            ) from None
        if not set(replies) & set(batch.keys):
            self._forget(batch)
            return None
        return replies

    async def _asked(self, ask: Callable[[], Any], may_be_gone: bool = False) -> Any:
        attempt = await self.claude.send(ask, may_be_gone)
        if attempt.response is None and may_be_gone and attempt.reason == GONE:
            return None
        if attempt.response is None:
            raise JudgeStoppedError(f"{self.host}: batches cannot be used now ({attempt.reason})")
        return attempt.response

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        with self.ledger.open() as connection:
            connection.execute(statement, values)


def _parts(waiting: Mapping[str, dict[str, Any]]) -> Sequence[dict[str, dict[str, Any]]]:
    """Split requests into batches of at most the size that the service accepts."""
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
