"""Ask a system many questions within its limits, keeping every reply in a journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from ragtriage.data.systems.journal import Journal, open_journal
from ragtriage.data.systems.system import System, SystemLimits, SystemReply, SystemRequest

NOT_ASKED = "not asked"
LOOK_SECONDS = 0.2  # how often is looked whether to stop


@dataclass
class AskProgress:
    """How far the asking is.

    Attributes:
        total: requests in all, each counted once.
        cached: replies that the journal had.
        answered: of all, those with an answer.
        failed: of all, those without.
        asked: sent to the system this time.
        cost_usd: that the answers report, those of the journal included.
        without_cost: answers that report none.
    """

    total: int
    cached: int = 0
    answered: int = 0
    failed: int = 0
    asked: int = 0
    cost_usd: float = 0.0
    without_cost: int = 0
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
    """What came of asking.

    Attributes:
        replies: by the key of the request; every request has one, also those that were not asked.
        progress: the counts at the end.
        stopped: why not everything was asked; "" where it was.
    """

    replies: Mapping[str, SystemReply]
    progress: AskProgress
    stopped: str = ""


@dataclass
class _Work:
    """What is still to be asked, and what is in flight."""

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
    system reports `cost_usd`: a request is sent only while the dearest answer so far would still fit.

    Args:
        system: asked from several threads; it is closed if this ends by an exception.
        requests: each asked once, however often it is listed.
        journal: file of the replies.
        limits: what it may take.
        progress: called after every reply.
        stopped: called before every request; True ends the asking when what is in flight is done.

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
