"""What a judge job is asked to do, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ragtriage.data.judge.requests import FINAL, ModelCall
from ragtriage.data.store.judge_results import CallStatus, TaskResult

AGAIN: tuple[CallStatus, ...] = ("invalid", "refused", "truncated", "context_exceeded")
STOP_AFTER = 20  # equal faults in a row that end a job


@dataclass(frozen=True)
class JobSpec:
    """What a judge job is asked to do."""

    rows: Sequence[int]  # rows of the run, in the order of the work
    repeats: int = 1  # how often each is done
    budget_usd: float | None = None  # most that may be spent; None for no limit
    batch: bool = False  # through message batches, at half the price
    limit: int | None = None  # number of samples from the start, where the rows were chosen that way
    sample: int | None = None  # number drawn at random, where the rows were chosen that way
    prompts: str | None = None  # folder of the user's own prompts, if any
    again: tuple[CallStatus, ...] = ()  # of AGAIN, the failures of earlier jobs that are asked for anew
    stop_after: int = STOP_AFTER  # equal faults in a row that end the job; 0 for no such end
    reference: str = "apart"  # when an evaluation shows the reference answer, "apart" or "along"
    shuffle: float = 0.0  # share of the samples that are also judged with their documents in another order

    def settles(self, call: ModelCall, made_now: bool = False) -> bool:
        """Whether a stored call is taken as it is, instead of being made again.

        Args:
            call: the stored call.
            made_now: whether this job made it.
        """
        return call.status in FINAL and (made_now or call.status not in self.again)


@dataclass
class Progress:
    """How far a judge job is."""

    total: int  # samples and repetitions to work on
    done: int = 0  # of them, those that have a result
    scored: int = 0  # of them, those that were scored
    not_applicable: int = 0  # of them, those with nothing to judge
    failed: dict[str, int] = field(default_factory=dict)  # of them, by what went wrong
    cached: int = 0  # calls that the ledger had already
    calls: int = 0  # calls that came back in this job
    sent: int = 0  # requests sent for them, retries and repairs included
    input_tokens: int = 0  # of this job, cache tokens included
    output_tokens: int = 0  # of this job
    cost_usd: float | None = 0.0  # of this job; None where the model has no price
    seconds: float = 0.0  # since the job began

    @property
    def rate(self) -> float | None:
        """Calls a second; None before the first."""
        return self.calls / self.seconds if self.calls and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end at the present rate; None where nothing has come back yet."""
        answered = self.done * self.calls / max(self.calls + self.cached, 1)  # without those from the cache
        return self.seconds / answered * (self.total - self.done) if answered else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields with rate and time left as JSON values; safe while another thread counts."""
        fields = {**vars(self), "failed": dict(self.failed)}
        return {**fields, "rate": self.rate, "seconds_left": self.seconds_left}

    def note(self, result: TaskResult) -> None:
        """Count a finished sample."""
        self.done += 1
        if result.status == "scored":
            self.scored += 1
        elif result.status == "not_applicable":
            self.not_applicable += 1
        else:
            self.failed[result.status] = self.failed.get(result.status, 0) + 1

    def pay(self, call: ModelCall) -> None:
        """Count a call that came back."""
        self.calls += 1
        self.sent += call.asked
        usage = call.usage
        self.input_tokens += usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
        self.output_tokens += usage.output_tokens
        priced = self.cost_usd is not None and call.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (call.cost_usd or 0.0) if priced else None
