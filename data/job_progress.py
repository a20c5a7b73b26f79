"""What a job that asks a model has to do, and how far it is: what came back, its cost, the time left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from data.judge_calls import Call
from data.judgements import Outcome

__all__ = ["JobSpec", "Progress"]


@dataclass(frozen=True)
class JobSpec:
    """What a job is asked to do.

    Attributes:
        rows: rows of the run, in the order of the work.
        repeats: how often each is done.
        budget_usd: limit that is not passed; None for none.
        batch: through message batches, at half the price.
        limit: the first so many samples, where the rows were chosen so.
        sample: so many drawn at random, where they were chosen so.
        prompts: folder with prompts of one's own, where one was named.
    """

    rows: Sequence[int]
    repeats: int = 1
    budget_usd: float | None = None
    batch: bool = False
    limit: int | None = None
    sample: int | None = None
    prompts: str | None = None


@dataclass
class Progress:
    """How far a job is.

    Attributes:
        total: samples and repetitions to work on.
        done: of them, those that have an outcome.
        scored: of them, those with a verdict.
        not_applicable: of them, those with nothing to judge.
        failed: of them, by what went wrong.
        cached: calls that the ledger had already.
        calls: calls that came back in this job.
        sent: requests sent for them, retries and mending included.
        input_tokens: of this job, cache tokens included.
        output_tokens: of this job.
        cost_usd: of this job; None where the model has no price.
        seconds: since the job began.
    """

    total: int
    done: int = 0
    scored: int = 0
    not_applicable: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    cached: int = 0
    calls: int = 0
    sent: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0

    @property
    def rate(self) -> float | None:
        """Calls a second; None before the first."""
        return self.calls / self.seconds if self.calls and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end at the present rate; None where nothing has come back yet."""
        asked = self.done * self.calls / max(self.calls + self.cached, 1)
        return self.seconds / asked * (self.total - self.done) if asked else None

    def to_dict(self) -> dict[str, Any]:
        """Give the fields with rate and time left as JSON values."""
        return {**asdict(self), "rate": self.rate, "seconds_left": self.seconds_left}

    def note(self, outcome: Outcome) -> None:
        """Count a finished sample."""
        self.done += 1
        if outcome.status == "scored":
            self.scored += 1
        elif outcome.status == "not_applicable":
            self.not_applicable += 1
        else:
            self.failed[outcome.status] = self.failed.get(outcome.status, 0) + 1

    def pay(self, call: Call) -> None:
        """Count a call that came back."""
        self.calls += 1
        self.sent += call.asked
        usage = call.usage
        self.input_tokens += usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
        self.output_tokens += usage.output_tokens
        known = self.cost_usd is not None and call.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (call.cost_usd or 0.0) if known else None
