"""Asking Claude: the one module that uses the `anthropic` SDK.

Each request results in a call with a status. Transient failures (a busy service, a broken connection) are
retried under one limit of concurrency; a failure that every request would meet (no key, an unknown model,
no credit) ends the job with one sentence. The SDK reads the key from the environment; it is never written,
logged or shown.
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

from ragtriage.data.errors import DataError
from ragtriage.data.judge.job_spec import ConcurrencyLimiter, backoff
from ragtriage.data.judge.requests import (
    KEYS,
    ClientSettings,
    ModelCall,
    Request,
    Spent,
    as_message,
    call_of,
    message_params,
    read_message,
    repaired,
    storable,
    usage_of,
)
from ragtriage.data.read_costs import add_costs
from ragtriage.data.store.judge_results import CallStatus

TRIES = 6
HOPELESS = 12  # broken connections before the first reply that end the job
MOST_PAUSES = 16  # in a row for a rate limit or overload, minutes in all, that end the job
GONE = "the service no longer has it"
NO_KEY = (
    "no API key: set ANTHROPIC_API_KEY in the environment of the command or of the dashboard; "
    "everything but judging works without one"
)


class JudgeStoppedError(DataError):
    """No further request can succeed; the message says why, and what would help."""


def service_host(settings: ClientSettings) -> str:
    """Return the host of the service, to be shown and stored."""
    address = settings.base_url or os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid:
        raise JudgeStoppedError(
            f"service address {address[:80]!r}; accepted: http:// or https:// with a host"
        )
    return parts.netloc.rpartition("@")[2]


def _check_environment(settings: ClientSettings) -> None:
    """Raise for an address or a key that no request can succeed with."""
    service_host(settings)
    keys = [os.environ.get(name, "") for name in KEYS]
    if not any(keys):
        raise JudgeStoppedError(NO_KEY)
    for key in filter(None, keys):
        if not key.strip() or not key.isascii() or not key.isprintable() or key != key.strip():
            raise JudgeStoppedError(
                "the API key in the environment contains blanks or line breaks; set it again"
            )


@dataclass(frozen=True)
class Attempt:
    """The result of a request with its retries."""

    response: Any  # of the SDK; None where it failed
    status: CallStatus  # "scored" with a response, else what went wrong
    reason: str  # what went wrong; "" where nothing did
    requests: int  # number of requests sent


class Claude:
    """A client for one model; an asynchronous context manager."""

    def __init__(self, settings: ClientSettings, stopped: Callable[[], bool] = lambda: False) -> None:
        import anthropic

        _check_environment(settings)
        self.settings = settings
        self.answered = False
        self._unanswered = 0
        self.sdk = f"anthropic {anthropic.__version__}"
        self.limiter = ConcurrencyLimiter(settings.concurrency, stopped)
        self._errors = anthropic
        self.client = anthropic.AsyncAnthropic(
            base_url=settings.base_url,
            max_retries=0,
            timeout=settings.timeout,
            middleware=[_limited(self.limiter)],
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    async def ask(self, request: Request) -> ModelCall:
        """Send a request, and once more for a repair of an invalid reply, and return the call.

        Raises:
            JudgeStoppedError: no further request can succeed.
        """
        started = time.monotonic()
        params = message_params(request, self.settings)
        spent = Spent()
        for repairing in (False, True):
            add_costs(model_calls=1)
            attempt = await self.send(partial(self.client.messages.create, **params))
            status, reason, payload = attempt.status, attempt.reason, None
            message: dict[str, Any] = as_message(attempt.response)
            if message:
                status, reason, payload = read_message(message, request)
            elif status == "scored":
                status, reason = "error", "the service sent something that is not a message"
            spent = spent.more(usage_of(message), self.settings.model, attempt.requests)
            if status != "invalid" or repairing:
                break
            params = repaired(params, message, reason)
        seconds = time.monotonic() - started
        return call_of(request, self.settings.judge, (status, reason, payload), spent, seconds)

    async def count_tokens(self, request: Request) -> int:
        """Ask the service for the number of tokens of a request, which costs nothing."""
        params = message_params(request, self.settings)
        try:
            response = await self.client.messages.count_tokens(
                model=params["model"],
                system=params["system"],
                messages=params["messages"],
                output_config=params["output_config"],
            )
        except self._errors.APIError as error:
            raise JudgeStoppedError(self._sentence(error)) from error
        return int(response.input_tokens)

    async def send(self, ask: Callable[[], Awaitable[Any]], may_be_gone: bool = False) -> Attempt:
        """Send a request, and again after a transient failure.

        Where it may be gone, a 404 is a result: the service no longer has what is asked for.

        Raises:
            JudgeStoppedError: no further request can succeed.
        """
        status: CallStatus = "error"
        reason = ""
        for count in range(1, TRIES + 1):
            try:
                response = await ask()
            except self._errors.APIError as error:
                if may_be_gone and getattr(error, "status_code", None) == 404:
                    return Attempt(None, "error", GONE, count)
                status, reason, retry = self._classify(error)
                if not retry:
                    return Attempt(None, status, reason, count)
            except self._errors.AnthropicError:
                return Attempt(None, "error", GONE, count)  # results of a batch that was archived
            except (ValueError, RecursionError) as error:  # not JSON, or nested too deeply
                reason = f"the service sent something that is not a message ({type(error).__name__})"
                status = "error"
            else:
                self.limiter.answered()
                self.answered = True
                if response is not None:
                    return Attempt(response, "scored", "", count)
                status, reason = "error", "the service sent an empty message"
            if count < TRIES:
                await asyncio.sleep(0 if status == "overloaded" else backoff(count))
        return Attempt(None, status, f"{reason}, {TRIES} times", TRIES)

    def _classify(self, error: Exception) -> tuple[CallStatus, str, bool]:
        """Return status and reason of a failed request, and whether to try again."""
        errors = self._errors
        code = getattr(error, "status_code", None)
        if isinstance(error, errors.APITimeoutError):
            return "timeout", f"no answer within {self.settings.timeout:g} s", True
        if isinstance(error, errors.APIConnectionError):
            self._unanswered += 1
            # a service that never answered is not there; one that did may be back
            if not self.answered and self._unanswered >= HOPELESS:
                where = service_host(self.settings)
                raise JudgeStoppedError(
                    f"{where} cannot be reached: {self._unanswered} connections broke"
                ) from error
            return "error", "the connection broke", True
        if code in (429, 529):
            self.limiter.slow_down(_retry_after(error))
            if self.limiter.pauses >= MOST_PAUSES:
                raise JudgeStoppedError(self._sentence(error)) from error
            return (
                "overloaded",
                "the service was overloaded" if code == 529 else "the rate limit was reached",
                True,
            )
        if code in (401, 402, 403, 404) or "credit balance" in str(error):
            raise JudgeStoppedError(self._sentence(error)) from error
        if code == 413 or (code == 400 and "too long" in str(error)):
            return "context_exceeded", "the sample does not fit the model's context window", False
        if code is not None and code < 500 and code not in (408, 409):
            return "error", f"the service refused the request ({code}: {_service_message(error)})", False
        return "error", f"the service failed ({code or type(error).__name__})", True

    def _sentence(self, error: Exception) -> str:
        """Return the sentence that a job ends with after an error."""
        code = getattr(error, "status_code", None)
        where = service_host(self.settings)
        if code == 401:
            return f"{where} does not accept the API key in ANTHROPIC_API_KEY; accepted: a valid key"
        if code == 404:
            model = self.settings.model.name
            return (
                f"{where} does not know the model {model!r}; name another with --model, or check its address"
            )
        if code in (429, 529):
            cause = "is overloaded" if code == 529 else "keeps rate-limiting"
            return (
                f"{where} {cause}: no reply in {self.limiter.pauses} pauses; what is finished is kept, "
                "and the same command continues from there"
            )
        if code in (402, 403) or "credit balance" in str(error):
            return f"{where} will not serve this key ({code}: {_service_message(error)})"
        return f"{where} cannot be asked ({_service_message(error)})"


def count_on_service(requests: Sequence[Request], settings: ClientSettings) -> list[int]:
    """Return the number of tokens of each request, counted by the service.

    Raises:
        JudgeStoppedError: the service cannot be used.
    """

    async def count() -> list[int]:
        async with Claude(settings) as claude:
            return [await claude.count_tokens(request) for request in requests]

    with ThreadPoolExecutor(1) as thread:  # the caller may have an event loop of its own
        return thread.submit(asyncio.run, count()).result()


def _limited(limiter: ConcurrencyLimiter) -> Any:
    """Return a middleware that counts a request as in flight only while it is on its way.

    The SDK's work before and after, building and parsing messages, then costs no throughput.
    """

    async def send(request: Any, call_next: Any) -> Any:
        async with limiter:
            return await call_next(request)

    return send


def _retry_after(error: Exception) -> float | None:
    """Return the Retry-After of a response in seconds; None where it is missing or not a positive number."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _service_message(error: Exception) -> str:
    """Return the service's message of an error, which contains nothing of the request."""
    body = getattr(error, "body", None)
    inner = body.get("error", {}) if isinstance(body, Mapping) else {}
    message = inner.get("message") if isinstance(inner, Mapping) else None
    return str(storable(str(message or type(error).__name__)))[:200]
