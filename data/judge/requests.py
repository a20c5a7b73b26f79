"""What is asked of a model and what comes of it, whoever asks: the judge, an evaluator, or a generator.

Work on a sample is a generator of steps: it yields requests, is sent the call each came to, and returns an
outcome. The same steps run one by one in a job of many at once, or round by round through batches.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from data.store.judge_results import CallStatus, TaskResult

__all__ = ["FINAL", "JudgeTask", "ModelCall", "Request", "TaskSample", "Usage", "Workflow", "request_key"]

FINAL: tuple[CallStatus, ...] = ("scored", "refused", "truncated", "context_exceeded", "invalid")
Sample = dict[str, Any]


@dataclass(frozen=True)
class Usage:
    """Tokens that a call took, all attempts together.

    Attributes:
        input_tokens: neither written to nor read from the prompt cache.
        output_tokens: given by the model.
        cache_write_tokens: written to the prompt cache.
        cache_read_tokens: read from it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
        )


@dataclass(frozen=True)
class Request:
    """One question to a model.

    Attributes:
        kind: what it is for, e.g. "reading".
        prompt: version of the fixed prompt.
        system: the fixed prompt.
        user: the message.
        schema: JSON schema of the reply.
        check: raises MetricsError for a reply that the schema lets pass and that cannot be true.
        expected_tokens: rough length of the reply, for the estimate and for its limit.
        attempt: 0, or which repetition of the same question this is.
    """

    kind: str
    prompt: str
    system: str
    user: str
    schema: Mapping[str, Any]
    check: Callable[[object], object]
    expected_tokens: int
    attempt: int = 0


def request_key(request: Request, model: str) -> str:
    """Name a question to a model by all that its answer depends on; 40 hexadecimal digits."""
    schema = json.dumps(request.schema, sort_keys=True)
    parts = (request.kind, request.prompt, request.user, schema, model, str(request.attempt))
    content = "\x1e".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:40]


@dataclass(frozen=True)
class ModelCall:
    """What a request came to.

    Attributes:
        key: request_key of it.
        status: "scored", or what went wrong; FINAL ones are not asked again.
        reason: in words; "" where scored.
        payload: the checked reply; None where not scored.
        usage: tokens.
        seconds: from the first attempt to the end.
        asked: requests that were sent.
        cached: whether it was asked in an earlier job.
        cost_usd: by the price table; None where the model is not in it.
    """

    key: str
    status: CallStatus
    reason: str = ""
    payload: Any = None
    usage: Usage = Usage()
    seconds: float = 0.0
    asked: int = 0
    cached: bool = False
    cost_usd: float | None = None


Workflow = Generator[Request, ModelCall, TaskResult]


@dataclass(frozen=True)
class TaskSample:
    """A sample that is worked on.

    Attributes:
        row: row of the run.
        attempt: 0, or which repetition of the work this is.
        sample: as stored.
    """

    row: int
    attempt: int
    sample: Sample


class JudgeTask(Protocol):
    """A kind of work on the samples of a run."""

    @property
    def kind(self) -> str:
        """What it is, e.g. "reading"."""

    @property
    def prompt(self) -> str:
        """Version of all that is fixed in what is asked."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Sample columns that it reads."""

    def workflow(self, given: TaskSample) -> Workflow:
        """Give the steps of the work on a sample."""
