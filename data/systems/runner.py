"""Ask a system many questions within its limits, keeping every reply in a journal."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import orjson

from ragtriage.data.errors import DataError
from ragtriage.data.jobs import lock_file
from ragtriage.data.store.workspace import OWNER_ONLY, writing
from ragtriage.data.systems.system import System, SystemLimits, SystemReply, SystemRequest

VERSION = 1


class Journal:
    """The replies so far, by the key of their request."""

    def __init__(self, file: IO[bytes], replies: dict[str, SystemReply]) -> None:
        self._file, self.replies = file, replies

    def keep(self, key: str, reply: SystemReply) -> None:
        """Write a reply and wait until it is on the disk."""
        entry = {"key": key, **asdict(reply), "sample": dict(reply.sample)}
        with writing(self._file.name):
            self._file.write(_line(entry))
            self._file.flush()
            os.fsync(self._file.fileno())
        self.replies[key] = reply


@contextmanager
def open_journal(path: Path, system: System) -> Iterator[Journal]:
    """Open a journal, alone; a half-written last line, which a kill leaves, is dropped.

    It is created with its folders, for its owner alone.

    Raises:
        DataError: another process writes to it, it is of another system, or it cannot be written.
    """
    try:
        path.parent.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); accepted: a writable workspace"
        ) from error
    with os.fdopen(handle, "r+b") as file:
        _lock(file, path)
        replies = _read(file, path, system)
        yield Journal(file, replies)


def _read(file: IO[bytes], path: Path, system: System) -> dict[str, SystemReply]:
    """Read the replies, cut off what is half written at the end, and leave the file there.

    A line that is damaged elsewhere is passed over: its question is asked again, the others are not.
    """
    begun, replies, end = False, {}, 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        entry = _entry(line)
        if not begun:
            _check_header(entry or {}, path, system)
            begun = True
        elif entry is not None and (reply := _reply(entry)) is not None:
            replies[str(entry["key"])] = reply
        end += len(line)
    with writing(str(path)):
        file.seek(end)
        file.truncate()
        if not begun:
            file.write(_line({"version": VERSION, "system": system.identity, "name": system.name}))
            file.flush()
    return replies


def _check_header(header: Mapping[str, Any], path: Path, system: System) -> None:
    if "system" not in header:
        raise DataError(
            f"{path}: its first line is damaged; accepted: that line repaired, or the file deleted"
        )
    if header.get("version") != VERSION or header.get("system") != system.identity:
        raise DataError(
            f"{path}: holds answers of another system ({str(header.get('name'))[:80]}); accepted: the system "
            "that it was begun with, or the file deleted"
        )


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return a line as an object; None where it is damaged."""
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return entry if isinstance(entry, dict) else None


def _reply(entry: Mapping[str, Any]) -> SystemReply | None:
    """Return the reply of an entry; None where it is damaged."""
    status, sample, seconds = entry.get("status"), entry.get("sample"), entry.get("seconds", 0.0)
    if status not in ("answered", "failed") or not isinstance(sample, dict) or "key" not in entry:
        return None
    if (status == "answered" and sample.get("answer") is None) or not isinstance(seconds, int | float):
        return None
    return SystemReply(
        status,
        sample,
        str(entry.get("reason", "")),
        float(seconds),
        entry.get("passing") is True,
        str(entry.get("version", "")),
    )


def _line(entry: Mapping[str, Any]) -> bytes:
    return orjson.dumps(dict(entry), option=orjson.OPT_NON_STR_KEYS) + b"\n"


def _lock(file: IO[bytes], path: Path) -> None:
    """Lock the file for this process until it is closed; a killed process leaves no lock.

    Raises:
        DataError: another process has it.
    """
    if not lock_file(file, wait=False):
        raise DataError(
            f"{path}: another process is asking the same questions; wait for it to end, or stop it"
        )


NOT_ASKED = "not asked"
LOOK_SECONDS = 0.2  # how often is looked whether to stop


@dataclass
class AskProgress:
    """How far the asking is."""

    total: int  # requests in all, each counted once
    cached: int = 0  # replies that the journal had
    answered: int = 0  # of all, those with an answer
    failed: int = 0  # of all, those without
    asked: int = 0  # sent to the system this time
    cost_usd: float = 0.0  # that the answers report, those of the journal included
    without_cost: int = 0  # answers that report none
    dearest: float = 0.0

    def add(self, reply: SystemReply) -> None:
        """Count a reply."""
        if reply.status != "answered":
            self.failed += 1
            return
        self.answered += 1
        cost = reply.sample.get("cost_usd")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0:
            self.cost_usd += float(cost)
            self.dearest = max(self.dearest, float(cost))
        else:
            self.without_cost += 1

    @property
    def done(self) -> int:
        """Requests with a reply."""
        return self.answered + self.failed


@dataclass
class Asked:
    """The replies of a system and what they took."""

    # by the key of the request; every request has one, also those that were not asked
    replies: Mapping[str, SystemReply]
    progress: AskProgress  # the counts at the end
    stopped: str = ""  # why not everything was asked; "" where it was


@dataclass
class _Work:
    """The requests that wait and those in flight."""

    system: System
    limits: SystemLimits
    waiting: list[SystemRequest]
    progress: AskProgress
    stopped: Callable[[], bool]
    in_flight: dict[Future[SystemReply], SystemRequest] = field(default_factory=dict)
    reason: str = ""

    def may_ask(self) -> bool:
        """Return whether another request may be sent now; sets the reason where none may be any more."""
        if not self.waiting or self.reason:
            return False
        limits, progress = self.limits, self.progress
        if self.stopped():
            self.reason = "stopped"
        elif limits.most_requests is not None and progress.asked >= limits.most_requests:
            self.reason = f"the limit of {limits.most_requests:,} requests is reached"
        elif limits.budget_usd is not None:
            return self._within_budget(limits.budget_usd)
        return not self.reason and len(self.in_flight) < limits.concurrency

    def _within_budget(self, budget: float) -> bool:
        """Return whether the budget allows one more; until a cost is known, one is asked at a time."""
        expected = self.progress.cost_usd + (len(self.in_flight) + 1) * self.progress.dearest
        if expected > budget or self.progress.cost_usd >= budget:
            if not self.in_flight:
                self.reason = (
                    f"the budget of ${budget:,.2f} is used up (${self.progress.cost_usd:,.4f} spent)"
                )
            return False
        at_once = self.limits.concurrency if self.progress.answered else 1
        return len(self.in_flight) < at_once


def ask_all(
    system: System,
    requests: Iterable[SystemRequest],
    journal: Path,
    limits: SystemLimits,
    progress: Callable[[AskProgress], None] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> Asked:
    """Ask a system all questions that the journal has no answer to.

    Failures that the journal has are asked again where they may be gone. The budget holds as far as the
    system reports `cost_usd`: a request is sent only while the dearest answer so far would still fit. Each
    request is asked once, however often it is listed, from several threads; the system is closed if this ends
    by an exception. Where `stopped` returns True, the asking ends when what is in flight is done.

    Raises:
        DataError: another process uses the journal, it is of another system, or it cannot be written.
    """
    unique = {request.key: request for request in requests}
    with open_journal(journal, system) as kept:
        known = {
            key: reply
            for key, reply in kept.replies.items()
            if key in unique and (reply.status == "answered" or not reply.passing)
        }
        counts = AskProgress(len(unique), cached=len(known))
        for reply in known.values():
            counts.add(reply)
        waiting = [request for key, request in unique.items() if key not in known]
        work = _Work(system, limits, waiting[::-1], counts, stopped or (lambda: False))
        if progress is not None:
            progress(counts)
        _ask(work, kept, progress)
        replies = {key: _final(kept.replies.get(key), work.reason) for key in unique}
    return Asked(replies, counts, work.reason)


def _final(reply: SystemReply | None, reason: str) -> SystemReply:
    if reply is None:
        return SystemReply("not_asked", {}, reason or NOT_ASKED)
    return reply


def _ask(work: _Work, journal: Journal, progress: Callable[[AskProgress], None] | None) -> None:
    """Send what may be sent, and keep what comes back, until nothing is left."""
    with ThreadPoolExecutor(max(work.limits.concurrency, 1), "system") as pool:
        try:
            while work.waiting or work.in_flight:
                while work.may_ask():
                    request = work.waiting.pop()
                    work.in_flight[pool.submit(work.system.ask, request, work.limits)] = request
                    work.progress.asked += 1
                if not work.in_flight:
                    return
                finished, _ = wait(work.in_flight, LOOK_SECONDS, FIRST_COMPLETED)
                for future in finished:
                    request, reply = work.in_flight.pop(future), future.result()
                    journal.keep(request.key, reply)
                    work.progress.add(reply)
                    if progress is not None:
                        progress(work.progress)
        except BaseException:  # Ctrl+C, a full disk: what is in flight is ended, so that the threads end
            for future in work.in_flight:
                future.cancel()
            work.system.close()
            raise
