"""The protocol between ragtriage and a system under test: what it is sent, what it answers, its limits.

One JSON object goes in, one comes out:

    {"question_id": "q1", "repeat": 0, "question": "...", "history": [{"role": "user", "text": "..."}],
     "contexts": [{"id": "d1", "text": "..."}], "settings": {"top_k": 5}, "account_id": "a1", "tools": [...]}

    {"answer": "...", "retrieved": [{"id": "d1", "text": "..."}], "latency_ms": 812, "cost_usd": 0.002, ...}

`contexts` is there where an experiment fixes the context, and the system has to answer from it; `settings`
where an experiment sets parameters. The answer is a sample in the native form; only `answer` is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import orjson


@dataclass(frozen=True)
class SystemRequest:
    """One question to a system."""

    question_id: str  # of the question
    question: str  # its text
    repeat: int = 0  # number of the repeat, from 0
    history: Sequence[Mapping[str, str]] = ()  # earlier turns, {role, text}
    # documents {id, text} to answer from, in rank order; None where the system retrieves itself
    contexts: Sequence[Mapping[str, Any]] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # parameters that an experiment sets
    account_id: str = ""  # on whose behalf is asked; "" for nobody's
    tools: Sequence[Mapping[str, Any]] = ()  # schemas of the tools that may be called

    def payload(self) -> dict[str, Any]:
        """Return the JSON object that is sent; what is not set is left out."""
        sent: dict[str, Any] = {
            "question_id": self.question_id,
            "repeat": self.repeat,
            "question": self.question,
        }
        if self.history:
            sent["history"] = [dict(turn) for turn in self.history]
        if self.contexts is not None:
            sent["contexts"] = [dict(document) for document in self.contexts]
        if self.settings:
            sent["settings"] = dict(self.settings)
        if self.account_id:
            sent["account_id"] = self.account_id
        if self.tools:
            sent["tools"] = [dict(tool) for tool in self.tools]
        return sent

    @property
    def key(self) -> str:
        """Digest of what is sent: a question that was answered is not asked again after a stop."""
        return hashlib.sha256(orjson.dumps(self.payload(), option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True)
class SystemReply:
    """What became of a request."""

    # "answered", "failed" (the system's fault: a time-out, no JSON, 500 ...) or "not_asked" (a budget or a
    # stop kept it from being asked)
    status: Literal["answered", "failed", "not_asked"]
    # fields of a sample in the native form, `answer` among them; {} unless answered
    sample: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""  # why there is no answer; one sentence, without any secret
    seconds: float = 0.0  # that the request took
    # whether the failure may be gone when it is asked again, as of a service that is too busy
    passing: bool = False
    version: str = ""  # of the system, where it sends one; "" where not

    def agrees_with(self, other: SystemReply) -> bool:
        """Return whether two answers have the same words and the same documents, whatever they took."""
        return self._content == other._content

    @property
    def _content(self) -> tuple[str, list[str]]:
        listed = self.sample.get("retrieved") or ()
        documents = [str(entry.get("id")) for entry in listed if isinstance(entry, Mapping)]
        return " ".join(str(self.sample.get("answer") or "").split()), documents


@dataclass(frozen=True)
class SystemLimits:
    """What a system may take."""

    timeout_seconds: float = 60.0  # for one request
    most_bytes: int = 4_000_000  # of one answer; what is longer is cut off and fails
    concurrency: int = 4  # requests at a time
    most_requests: int | None = None  # in all; None for no limit
    # the most that the `cost_usd` of the answers may add up to; None for no limit
    budget_usd: float | None = None
    tries: int = 3  # of a request that fails for a passing reason, such as 429 or 503
    # that a service may ask for with Retry-After; a longer one is a failure
    longest_wait_seconds: float = 30.0


@dataclass(frozen=True)
class ModelUse:
    """What requests take of a system's own model, as it expects before they are asked."""

    calls: int  # of the model
    rewriting: int  # of them, those that rewrite a question before it is searched for
    input_tokens: int  # of all calls
    cost_usd: float | None  # None where the model has no price


class System(Protocol):
    """A system under test."""

    @property
    def name(self) -> str:
        """How it is called on screens and in the configuration of runs, without any secret."""

    @property
    def identity(self) -> str:
        """Digest of what it is: answers of another system are never taken for its own."""

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        """Ask one question; never raises for what the system does. Called from several threads."""

    def close(self) -> None:
        """End what it started."""
