"""Asking Claude: the one module that speaks to the `anthropic` SDK.

Each request comes to a call with a status. What goes by (a service that is busy, a broken connection) is
tried again at a pace that all requests share; what would go wrong for every request (no key, an unknown
model, no credit) ends the job with one sentence. The key is read from the environment by the SDK and is
never written, logged or shown.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Self
from urllib.parse import urlsplit

from data.errors import DataError
from data.judge.limits import ConcurrencyLimiter, backoff
from data.judge.messages import (
    KEYS,
    ClientSettings,
    Spent,
    as_message,
    call_of,
    message_params,
    read_message,
    repaired,
    storable,
    usage_of,
)
from data.judge.requests import ModelCall, Request
from data.store.judge_results import CallStatus

__all__ = [
    "GONE",
    "Attempt",
    "Claude",
    "ClientSettings",
    "JudgeStoppedError",
    "count_on_service",
    "service_host",
]

TRIES = 6
HOPELESS = 12  # connections that broke before a service answered at all
GONE = "the service does not have it any more"
NO_KEY = (
    "no API key: set ANTHROPIC_API_KEY in the environment of the command or of the dashboard; "
    "everything but judging works without one"
)


class JudgeStoppedError(DataError):
    """Nothing more can be asked: the message says why, and what would help."""


def service_host(settings: ClientSettings) -> str:
    """Name the service by its host alone, for people and for the ledger."""
    given = settings.base_url or os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
    try:
        parts = urlsplit(given)
        fits = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        fits = False
    if not fits:
        raise JudgeStoppedError(f"service address {given[:80]!r}; accepted: http:// or https:// with a host")
    return parts.netloc.rpartition("@")[2]


def _check_environment(settings: ClientSettings) -> None:
    """Refuse what no request can succeed with, before anything is sent."""
    service_host(settings)
    keys = [os.environ.get(name, "") for name in KEYS]
    if not any(keys):
        raise JudgeStoppedError(NO_KEY)
    for key in filter(None, keys):
        if not key.strip() or not key.isascii() or not key.isprintable() or key != key.strip():
            raise JudgeStoppedError(
                "the API key in the environment has blanks or line ends in it; set it anew"
            )


@dataclass(frozen=True)
class Attempt:
    """What asking the service came to.

    Attributes:
        found: what it gave; None where it failed.
        status: "scored" where it gave something, else what went wrong.
        reason: in words.
        times: requests sent.
    """

    found: Any
    status: CallStatus
    reason: str
    times: int


class Claude:
    """Asks one model; used as an asynchronous context manager."""

    def __init__(self, settings: ClientSettings, stopped: Callable[[], bool] = lambda: False) -> None:
        import anthropic

        _check_environment(settings)
        self.settings = settings
        self.answered = False
        self._unanswered = 0
        self.sdk = f"anthropic {anthropic.__version__}"
        self.pace = ConcurrencyLimiter(settings.concurrency, stopped)
        self._errors = anthropic
        self.client = anthropic.AsyncAnthropic(
            base_url=settings.base_url,
            max_retries=0,
            timeout=settings.timeout,
            middleware=[_paced(self.pace)],
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    async def ask(self, request: Request) -> ModelCall:
        """Ask until there is a call to write down.

        Raises:
            JudgeStoppedError: no further request can succeed.
        """
        started = time.monotonic()
        params = message_params(request, self.settings)
        spent = Spent()
        for mending in (False, True):
            sent = await self.tried(partial(self.client.messages.create, **params))
            status, reason, payload = sent.status, sent.reason, None
            message: dict[str, Any] = as_message(sent.found)
            if message:
                status, reason, payload = read_message(message, request)
            elif status == "scored":
                status, reason = "error", "the service sent what is no message"
            spent = spent.more(usage_of(message), self.settings.model, sent.times)
            if status != "invalid" or mending:
                break
            params = repaired(params, message, reason)
        seconds = time.monotonic() - started
        return call_of(request, self.settings.judge, (status, reason, payload), spent, seconds)

    async def count_tokens(self, request: Request) -> int:
        """Ask the service how many tokens a request has; costs nothing."""
        params = message_params(request, self.settings)
        try:
            found = await self.client.messages.count_tokens(
                model=params["model"],
                system=params["system"],
                messages=params["messages"],
                output_config=params["output_config"],
            )
        except self._errors.APIError as error:
            raise JudgeStoppedError(self._sentence(error)) from error
        return int(found.input_tokens)

    async def tried(self, ask: Callable[[], Awaitable[Any]], may_be_gone: bool = False) -> Attempt:
        """Ask the service something, again where the failure may pass.

        Args:
            ask: sends the request.
            may_be_gone: whether it asks for what the service may have no more; then a 404 is an answer.

        Raises:
            JudgeStoppedError: no further request can succeed.
        """
        status: CallStatus = "error"
        reason = ""
        for tried in range(1, TRIES + 1):
            try:
                found = await ask()
            except self._errors.APIError as error:
                if may_be_gone and getattr(error, "status_code", None) == 404:
                    return Attempt(None, "error", GONE, tried)
                status, reason, again = self._judge_error(error)
                if not again:
                    return Attempt(None, status, reason, tried)
            except self._errors.AnthropicError:
                return Attempt(None, "error", GONE, tried)  # results of a batch that was archived
            except (ValueError, RecursionError) as error:  # no JSON, or nested without end
                status, reason = "error", f"the service sent what is no message ({type(error).__name__})"
            else:
                self.pace.answered()
                self.answered = True
                if found is not None:
                    return Attempt(found, "scored", "", tried)
                status, reason = "error", "the service sent an empty message"
            if tried < TRIES:
                await asyncio.sleep(0 if status == "overloaded" else backoff(tried))
        return Attempt(None, status, f"{reason}, {TRIES} times", TRIES)

    def _judge_error(self, error: Exception) -> tuple[CallStatus, str, bool]:
        """Say what an error means for the request, and whether to try again."""
        found = self._errors
        code = getattr(error, "status_code", None)
        if isinstance(error, found.APITimeoutError):
            return "timeout", f"no answer within {self.settings.timeout:g} s", True
        if isinstance(error, found.APIConnectionError):
            self._unanswered += 1
            if not self.answered and self._unanswered >= HOPELESS:
                where = service_host(self.settings)
                raise JudgeStoppedError(
                    f"{where} cannot be reached: {self._unanswered} connections broke"
                ) from error
            return "error", "the connection broke", True
        if code in (429, 529):
            self.pace.slow_down(_retry_after(error))
            return (
                "overloaded",
                "the service was overloaded" if code == 529 else "the rate limit was met",
                True,
            )
        if code in (401, 402, 403, 404) or "credit balance" in str(error):
            raise JudgeStoppedError(self._sentence(error)) from error
        if code == 413 or (code == 400 and "too long" in str(error)):
            return "context_exceeded", "the sample does not fit the model's context window", False
        if code is not None and code < 500 and code not in (408, 409):
            return "error", f"the service refused the request ({code}: {_said(error)})", False
        return "error", f"the service failed ({code or type(error).__name__})", True

    def _sentence(self, error: Exception) -> str:
        """One sentence for what stops a job."""
        code = getattr(error, "status_code", None)
        where = service_host(self.settings)
        if code == 401:
            return f"{where} does not accept the API key in ANTHROPIC_API_KEY; accepted: a key that is in use"
        if code == 404:
            model = self.settings.model.name
            return (
                f"{where} does not know the model {model!r}, or is no such service; name another with --model"
            )
        if code in (402, 403) or "credit balance" in str(error):
            return f"{where} will not serve this key ({code}: {_said(error)})"
        return f"{where} cannot be asked ({_said(error)})"


def count_on_service(requests: Sequence[Request], settings: ClientSettings) -> list[int]:
    """Let the service count the tokens of requests.

    Raises:
        JudgeStoppedError: it cannot be asked.
    """

    async def count() -> list[int]:
        async with Claude(settings) as claude:
            return [await claude.count_tokens(one) for one in requests]

    with ThreadPoolExecutor(1) as apart:  # the caller may have an event loop of its own
        return apart.submit(asyncio.run, count()).result()


def _paced(pace: ConcurrencyLimiter) -> Any:
    """Make a middleware that holds a place in the pace only while a request is on its way.

    What the SDK does before and after it, building and checking messages, then costs no throughput.
    """

    async def paced(request: Any, call_next: Any) -> Any:
        async with pace:
            return await call_next(request)

    return paced


def _retry_after(error: Exception) -> float | None:
    """Seconds that the service asks to wait; None where it does not say, or says what makes no sense."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        asked = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return asked if math.isfinite(asked) and asked > 0 else None


def _said(error: Exception) -> str:
    """What the service said of an error, without anything of the request."""
    body = getattr(error, "body", None)
    inner = body.get("error", {}) if isinstance(body, Mapping) else {}
    message = inner.get("message") if isinstance(inner, Mapping) else None
    return str(storable(str(message or type(error).__name__)))[:200]
