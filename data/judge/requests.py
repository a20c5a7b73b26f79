"""Requests to a model and the calls they result in, for the judge, an evaluator or a generator.

A task's workflow for a sample is a Python generator: it yields requests, is sent the call of each, and
returns a result. The same workflows run concurrently in a job, or round by round through message batches.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ragtriage.data.store.judge_results import CallStatus, TaskResult

FINAL: tuple[CallStatus, ...] = ("scored", "refused", "truncated", "context_exceeded", "invalid")
Sample = dict[str, Any]


@dataclass(frozen=True)
class Usage:
    """Tokens that a call took, all attempts together."""

    input_tokens: int = 0  # neither written to nor read from the prompt cache
    output_tokens: int = 0  # of the replies
    cache_write_tokens: int = 0  # written to the prompt cache
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
    """One request to a model."""

    kind: str  # what it is for, e.g. "reading" for an evaluation
    prompt: str  # version of the fixed prompt
    system: str  # the fixed prompt
    user: str  # the user message
    schema: Mapping[str, Any]  # JSON schema of the reply
    check: Callable[[object], object]  # raises ReplyError for a reply that does not fit or contradicts itself
    expected_tokens: int  # estimated length of the reply, for the plan and for its limit
    attempt: int = 0  # 0, or which repetition of the same request this is
    # a reply that fits, by which the plan finds what would be asked after it; None where nothing would
    expected_reply: Any = None


def request_key(request: Request, model: str) -> str:
    """Return the key of a request: 40 hexadecimal digits made from all that its reply depends on."""
    schema = json.dumps(request.schema, sort_keys=True)
    parts = (request.kind, request.prompt, request.user, schema, model, str(request.attempt))
    content = "\x1e".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:40]


@dataclass(frozen=True)
class ModelCall:
    """The final reply to a request, or why there is none."""

    key: str  # `request_key` of the request
    status: CallStatus  # "scored", or what went wrong; calls with a FINAL status are not sent again
    reason: str = ""  # what went wrong; "" where scored
    payload: Any = None  # the checked reply; None where not scored
    usage: Usage = Usage()  # tokens of all attempts
    seconds: float = 0.0  # from the first attempt to the end
    asked: int = 0  # number of requests sent
    cached: bool = False  # whether it was made by an earlier job
    cost_usd: float | None = None  # by the price table; None where the table does not have the model


Workflow = Generator[Request, ModelCall, TaskResult]


@dataclass(frozen=True)
class TaskSample:
    """A sample to work on."""

    row: int  # row of the run
    attempt: int  # 0, or which repetition this is
    sample: Sample  # its stored fields


class JudgeTask(Protocol):
    """The work of a job on each sample of a run."""

    @property
    def kind(self) -> str:
        """Kind of the stored results, e.g. "reading"."""

    @property
    def prompt(self) -> str:
        """Version of the prompts and of all else that is the same in every request."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Sample columns that it reads."""

    def workflow(self, task_sample: TaskSample) -> Workflow:
        """Return the workflow for a sample."""
