"""The protocol between ragtriage and a system under test: what it is sent, what it answers, its limits.

One JSON object goes in, one comes out:

    {"question_id": "q1", "repeat": 0, "question": "...", "history": [{"role": "user", "text": "..."}],
     "contexts": [{"id": "d1", "text": "..."}], "settings": {"top_k": 5}, "account_id": "a1", "tools": [...]}

    {"answer": "...", "retrieved": [{"id": "d1", "text": "..."}], "latency_ms": 812, "cost_usd": 0.002, ...}

`contexts` is there where an experiment fixes the context, and the system has to answer from it; `settings`
where an experiment sets parameters. The answer is a sample in the native form; only `answer` is needed.

Answers are hostile: their size is bounded before they come here, and what they hold is validated like any
imported file. A system says what it answered and retrieved; which question it was, on whose behalf, and what
is checked is never its to say.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import orjson

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.store.parsed_run import normalise
from ragtriage.data.store.sample_schema import FIELDS
from ragtriage.data.text.printable import printable


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
    """The outcome of a request."""

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
    """The limits of a system."""

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
    """The use of a system's own model that it expects of requests before they are sent."""

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


SHORTEST = 8  # characters: shorter values are words that stand in answers by chance
_NAMED_LIKE_ONE = re.compile(r"(?i)(key|token|secret|passw|credential|authorization)")
_LOOKS = re.compile(r"\b(sk-[A-Za-z0-9_-]{8,200}|gh[pousr]_[A-Za-z0-9]{16,200}|AKIA[0-9A-Z]{16})")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,2000}")
_LOGIN = re.compile(r"(?<=://)[^/\s@]{1,200}@")
_OPTION = re.compile(r"(?i)^--?[\w-]*(key|token|secret|passw|credential|authorization)[\w-]*$")
MASK = "[secret]"


class Secrets:
    """The secrets that may come up while a system is asked."""

    def __init__(self, named: Mapping[str, str] | None = None) -> None:
        """Gather the values to hide.

        Named ones are hidden whatever their length; variables of the environment that are named like a secret
        are hidden too.
        """
        values = {
            name: value
            for name, value in os.environ.items()
            if _NAMED_LIKE_ONE.search(name) and len(value) >= SHORTEST
        }
        values |= {name: value for name, value in (named or {}).items() if value}
        keys = [(name, value.split(None, 1)[1]) for name, value in values.items() if _is_scheme(value)]
        self._values = sorted([*values.items(), *keys], key=lambda item: -len(item[1]))

    def hide(self, text: str) -> str:
        """Return a text without any secret."""
        for name, value in self._values:
            text = text.replace(value, f"[{name}]")
        text = _LOOKS.sub(MASK, text)
        text = _BEARER.sub(rf"\1 {MASK}", text)
        return _LOGIN.sub("", text)

    def hide_values(self, value: Any) -> Any:
        """Return a JSON value in which no text holds a secret that is known by its value."""
        if isinstance(value, str):
            for name, secret in self._values:
                value = value.replace(secret, f"[{name}]")
            return value
        if isinstance(value, list):
            return [self.hide_values(item) for item in value]
        if isinstance(value, dict):
            return {self.hide_values(key): self.hide_values(item) for key, item in value.items()}
        return value

    def hide_arguments(self, arguments: Sequence[str]) -> list[str]:
        """Return the arguments of a command without secrets, nor the value after an option such as --key."""
        shown, hide_next = [], False
        for argument in arguments:
            option, equals, _ = argument.partition("=")
            if hide_next:
                shown.append(MASK)
            elif equals and (_OPTION.match(option) or _NAMED_LIKE_ONE.search(option)):
                shown.append(f"{option}={MASK}")
            else:
                shown.append(self.hide(argument))
            hide_next = not equals and bool(_OPTION.match(argument))
        return shown


def _is_scheme(value: str) -> bool:
    """Return whether a header's value is a scheme and a key, as in "Bearer abc"."""
    scheme, _, key = value.partition(" ")
    return scheme.casefold() in ("basic", "bearer", "token") and len(key.strip()) > 0


def secret_arguments(arguments: Sequence[str]) -> dict[str, str]:
    """Return the secrets among the arguments of a command, by option: they are not to be in what it says."""
    secrets, name = {}, ""
    for argument in arguments:
        option, equals, value = argument.partition("=")
        if name:
            secrets[name] = argument
        elif equals and (_OPTION.match(option) or _NAMED_LIKE_ONE.search(option)):
            secrets[option.lstrip("-")] = value
        name = argument.lstrip("-") if not name and not equals and _OPTION.match(argument) else ""
    return {name: value for name, value in secrets.items() if len(value) >= SHORTEST}


REPLY_FIELDS = frozenset(
    (
        *("answer", "retrieved", "candidates", "citations", "used", "search_query", "prompt"),
        *("latency_ms", "retrieval_ms", "input_tokens", "output_tokens", "retrieved_tokens"),
        *("cost_usd", "peak_memory_mb"),
    )
)
NOT_ITS_OWN = {*FIELDS, "row", "extra", "no_answer", "submitted"}
NOT_KEPT = (
    "its reply is nested too deeply, or holds half of a surrogate pair or a whole number of more than 64 bits"
)
SHOWN = 200  # characters of what a system wrote that are shown in a reason


def read_reply(written: bytes, request: SystemRequest, seconds: float, secrets: Secrets) -> SystemReply:
    """Return the reply that a system's output stands for; failed with the reason where it is none.

    The seconds that it took are the latency, unless the system gives one; the secrets are hidden in whatever
    it wrote.
    """
    if not written.strip():
        return failed("it wrote nothing; accepted: a JSON object with `answer`", seconds)
    try:
        record = json.loads(written.decode("utf-8"))
    except UnicodeDecodeError as error:
        return failed(f"its output is not UTF-8 (byte {error.start:,})", seconds)
    except (ValueError, RecursionError):
        start = secrets.hide(written[: 4 * SHOWN].decode("utf-8", "replace"))
        return failed(f"its output is not JSON; it begins: {reason_text(start)}", seconds)
    try:
        record = secrets.hide_values(record)  # before anything is shortened, which would leave half a key
        orjson.dumps(record)  # as the journal will
    except (RecursionError, orjson.JSONEncodeError):
        return failed(NOT_KEPT, seconds)
    problem = _problem(record, request)
    if problem:
        return failed(secrets.hide(problem), seconds)
    sample = {
        name: value for name, value in record.items() if name in REPLY_FIELDS or name not in NOT_ITS_OWN
    }
    sample.setdefault("latency_ms", round(1000 * seconds, 3))
    return SystemReply("answered", sample, seconds=seconds)


def failed(reason: str, seconds: float = 0.0, passing: bool = False) -> SystemReply:
    """Return a reply that failed."""
    return SystemReply("failed", {}, reason, seconds, passing)


def reason_text(text: str) -> str:
    """Return what a system wrote as one short line that any screen takes."""
    line = " ".join(printable(text).split())
    return line if len(line) <= SHOWN else line[: SHOWN - 3] + "..."


def sample_record(
    request: SystemRequest, reply: SystemReply, case: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the sample of a request in the native form; without an answer, it says why under `no_answer`.

    The fields of `case`, e.g. `checks`, `relevant` and `tags`, are the asker's and win over the reply.
    """
    asked: dict[str, Any] = {
        "question_id": request.question_id,
        "repeat": request.repeat,
        "question": request.question,
        "history": [dict(turn) for turn in request.history] or None,
        "account_id": request.account_id or None,
        "tools": [dict(tool) for tool in request.tools] or None,
    }
    record = {**reply.sample, **asked, **(case or {})}
    if request.contexts is not None and "retrieved" not in reply.sample:
        record["retrieved"] = [dict(document) for document in request.contexts]
    if reply.status != "answered":
        record["no_answer"] = {"status": reply.status, "reason": reply.reason}
    return record


def _problem(record: object, request: SystemRequest) -> str:
    """Return what keeps a JSON value from being a reply; "" where nothing does."""
    if not isinstance(record, dict):
        return "its output is JSON, but no object; accepted: an object with `answer`"
    if record.get("answer") is None:
        error = record.get("error")
        reason = f"; it says: {reason_text(str(error))}" if error else ""
        return f"its reply has no `answer`{reason}"
    answers = record.get("question_id", request.question_id)
    if str(answers) != request.question_id:
        return f"its reply is to another question, {reason_text(str(answers))}"
    errors = ValidationErrors("its reply")
    own = {name: value for name, value in record.items() if name in REPLY_FIELDS}
    sample = normalise({**own, "question": request.question}, 1, errors)
    if sample is None:
        first = errors.first[0]
        return f"its reply: {first.field}: {reason_text(first.what)}; accepted: {first.accepted}"
    return ""
