"""Asking through message batches: half the price, results matched by id, safe against a restart.

What is to be sent is written down before it goes out, so a batch whose creation was interrupted is found
again at the service instead of being paid for twice.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from data.judge_calls import Call, CallStatus, Request, Usage
from data.judge_client import Claude, JudgeStoppedError, service_host
from data.judge_messages import call_of, mended, message_params, read_message, usage_of
from data.ledger import Ledger
from data.workspace import utc_now

__all__ = ["BATCH_REQUESTS", "BatchRound", "SentBatch"]

BATCH_REQUESTS, BATCH_BYTES = 10_000, 100_000_000
FIRST_POLL_SECONDS, LAST_POLL_SECONDS = 1.0, 60.0
CLOCKS_APART = timedelta(minutes=5)
_FAILED: Mapping[str, tuple[CallStatus, str]] = {
    "errored": ("error", "the service failed on it in a batch"),
    "expired": ("timeout", "the batch expired before it was read"),
    "canceled": ("error", "the batch was canceled"),
}
Keep = Callable[[Request, Call, str], None]
Reply = tuple[str, str, dict[str, Any]]  # batch, kind of result, message


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


class BatchRound:
    """Asks many requests at once and waits for their results."""

    def __init__(self, claude: Claude, ledger: Ledger, keep: Keep, stopped: Callable[[], bool]) -> None:
        self.claude, self.ledger, self.keep, self.stopped = claude, ledger, keep, stopped
        self.host = service_host(claude.settings)

    async def ask(self, requests: Mapping[str, Request]) -> dict[str, Call]:
        """Ask requests by their keys; gives the calls that came back, all of them unless a stop was asked."""
        found: dict[str, Call] = {}
        settings = self.claude.settings
        waiting = {key: message_params(request, settings) for key, request in requests.items()}
        used = dict.fromkeys(requests, Usage())
        for mending in (False, True):
            replies, done = await self._replies(waiting, requests, mending)
            again: dict[str, Any] = {}
            for key, (batch, kind, message) in replies.items():
                request = requests[key]
                used[key] += usage_of(message)
                read = read_message(message, request) if kind == "succeeded" else (*_FAILED[kind], None)
                if read[0] == "invalid" and not mending:
                    again[key] = mended(waiting[key], message, read[1])
                    continue
                model = self.claude.settings.model
                call = call_of(request, model, read, used[key], 0.0, 1 + mending, batch=True)
                self.keep(request, call, batch)
                found[key] = call
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
        under_way = {key for batch in out for key in batch.keys}
        fresh = {key: one for key, one in waiting.items() if key not in under_way}
        for part in _parts(fresh):
            out.append(await self._send(part))
        found: dict[str, Reply] = {}
        ended = []
        for batch in out:
            if batch.batch_id is not None and await self._ended(batch.batch_id):
                found |= await self._results(batch.batch_id, requests)
                ended.append(batch)
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

    async def _ended(self, batch_id: str) -> bool:
        """Wait for the end of a batch; False where a stop was asked meanwhile."""
        pause = FIRST_POLL_SECONDS
        while True:
            batch = await self._asked(partial(self.claude.client.messages.batches.retrieve, batch_id))
            if batch.processing_status == "ended":
                return True
            until = time.monotonic() + pause
            while time.monotonic() < until:
                if self.stopped():
                    return False
                await asyncio.sleep(min(0.5, pause))
            pause = min(pause * 1.5, LAST_POLL_SECONDS)

    async def _results(self, batch_id: str, requests: Mapping[str, Request]) -> dict[str, Reply]:
        lines = await self._asked(partial(self.claude.client.messages.batches.results, batch_id))
        found: dict[str, Reply] = {}
        async for line in lines:
            if line.custom_id in requests:
                result = line.result
                message = result.message.to_dict() if result.type == "succeeded" else {}
                found[line.custom_id] = (batch_id, result.type, message)
        return found

    async def _asked(self, ask: Callable[[], Any]) -> Any:
        tried = await self.claude.tried(ask)
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
