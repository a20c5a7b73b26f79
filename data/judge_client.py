"""Asking Claude: the one module that speaks to the `anthropic` SDK.

Each request comes to a call with a status. What goes by (a service that is busy, a broken connection) is
tried again at a pace that all requests share; what would go wrong for every request (no key, an unknown
model, no credit) ends the job with one sentence. The key is read from the environment by the SDK and is
never written, logged or shown.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from data.errors import DataError
from data.judge_calls import Call, CallStatus, Request, Usage, request_key
from data.judge_pace import Pace, backoff
from data.model_prices import Model
from metrics.values import MetricsError

__all__ = [
    "Claude",
    "ClientSettings",
    "JudgeStoppedError",
    "message_params",
    "read_message",
    "reply_limit",
    "service_host",
]

TRIES = 6
REPLY_FACTOR, LEAST_REPLY, MOST_REPLY = 4, 4_000, 20_000  # of what is expected; thinking counts as well
NO_KEY = (
    "no API key: set ANTHROPIC_API_KEY in the environment of the command or of the dashboard; "
    "everything but judging works without one"
)
REPAIR = (
    "The reply does not fit the form: {problem}. Send the whole reply again, corrected, as JSON of the form."
)


class JudgeStoppedError(DataError):
    """Nothing more can be asked: the message says why, and what would help."""


@dataclass(frozen=True)
class ClientSettings:
    """How to reach the service.

    Attributes:
        model: whom to ask.
        base_url: of the service; None for ANTHROPIC_BASE_URL, else Anthropic's own.
        concurrency: requests in flight.
        timeout: seconds that a request may take.
        effort: how much the model thinks, where it takes the setting.
    """

    model: Model
    base_url: str | None = None
    concurrency: int = 8
    timeout: float = 120.0
    effort: str = "low"


def service_host(settings: ClientSettings) -> str:
    """Name the service by its host alone, for people and for the ledger."""
    given = settings.base_url or os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
    return urlsplit(given).netloc.rpartition("@")[2]


def message_params(request: Request, settings: ClientSettings) -> dict[str, Any]:
    """Give the parameters of the message that asks a request."""
    model = settings.model
    config: dict[str, Any] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
    if model.effort:
        config["effort"] = settings.effort
    return {
        "model": model.name,
        "max_tokens": reply_limit(request, model),
        "system": [{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": request.user}],
        "output_config": config,
    }


def reply_limit(request: Request, model: Model) -> int:
    """Tokens that a reply may have."""
    wished = max(REPLY_FACTOR * request.expected_tokens, LEAST_REPLY)
    return min(wished, MOST_REPLY, model.most_output)


def read_message(message: Mapping[str, Any], request: Request) -> tuple[CallStatus, str, Any]:
    """Give status, reason and checked reply of a message of the service, as JSON values."""
    stop = message.get("stop_reason")
    if stop == "refusal":
        details = message.get("stop_details") or {}
        return "refused", str(details.get("explanation") or "the model declined to read this sample"), None
    if stop == "max_tokens":
        return "truncated", "the reply was cut off at its longest allowed length", None
    if stop == "model_context_window_exceeded":
        return "context_exceeded", "the sample does not fit the model's context window", None
    text = "".join(one.get("text", "") for one in message.get("content", ()) if one.get("type") == "text")
    try:
        reply = json.loads(text)
        request.check(reply)
    except (ValueError, RecursionError) as error:  # MetricsError is a ValueError
        problem = str(error) if isinstance(error, MetricsError) else f"no JSON ({error})"
        return "invalid", problem, None
    return "scored", "", reply


class Claude:
    """Asks one model; used as an asynchronous context manager."""

    def __init__(self, settings: ClientSettings) -> None:
        import anthropic
        import httpx2

        if not (os.environ.get("ANTHROPIC_API_KEY") or os.environ.get("ANTHROPIC_AUTH_TOKEN")):
            raise JudgeStoppedError(NO_KEY)
        self.settings = settings
        self.sdk = f"anthropic {anthropic.__version__}"
        self.pace = Pace(settings.concurrency)
        self._errors = anthropic
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=settings.concurrency)
        http = anthropic.DefaultAsyncHttpxClient(transport=_paced(self.pace, limits))
        self.client = anthropic.AsyncAnthropic(
            base_url=settings.base_url, max_retries=0, timeout=settings.timeout, http_client=http
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    async def ask(self, request: Request) -> Call:
        """Ask until there is a call to write down.

        Raises:
            JudgeStoppedError: no further request can succeed.
        """
        started = time.monotonic()
        params = message_params(request, self.settings)
        usage, asked = Usage(), 0
        for mending in (False, True):
            message, status, reason, sent = await self._send(params)
            asked += sent
            if message is not None:
                usage += _usage(message)
                status, reason, payload = read_message(message, request)
            else:
                payload = None
            if status != "invalid" or mending:
                break
            params = _mended(params, message or {}, reason)
        if status == "invalid":
            reason = f"no valid reply after a second attempt: {reason}"
        key = request_key(request, self.settings.model.name)
        seconds = time.monotonic() - started
        cost = self.settings.model.cost(usage)
        return Call(key, status, reason, payload, usage, seconds, asked, False, cost)

    async def count_tokens(self, request: Request) -> int:
        """Ask the service how many tokens a request has; costs nothing."""
        params = message_params(request, self.settings)
        try:
            found = await self.client.messages.count_tokens(
                model=params["model"], system=params["system"], messages=params["messages"]
            )
        except self._errors.APIError as error:
            raise JudgeStoppedError(self._sentence(error)) from error
        return int(found.input_tokens)

    async def _send(self, params: Mapping[str, Any]) -> tuple[dict[str, Any] | None, CallStatus, str, int]:
        """Send one message, again where the failure may pass: (message, status, reason, requests sent)."""
        status: CallStatus = "error"
        reason = ""
        for tried in range(1, TRIES + 1):
            try:
                message = await self.client.messages.create(**params)
            except self._errors.APIError as error:
                status, reason, again = self._judge_error(error)
                if not again:
                    return None, status, reason, tried
            except ValueError as error:  # a reply of the service that is no JSON
                status, reason = "error", f"the service sent what is no message ({type(error).__name__})"
            else:
                self.pace.answered()
                return message.to_dict(), "scored", "", tried
            if tried < TRIES:
                await asyncio.sleep(0 if status == "overloaded" else backoff(tried))
        return None, status, f"{reason}, {TRIES} times", TRIES

    def _judge_error(self, error: Exception) -> tuple[CallStatus, str, bool]:
        """Say what an error means for the request, and whether to try again."""
        found = self._errors
        code = getattr(error, "status_code", None)
        if isinstance(error, found.APITimeoutError):
            return "timeout", f"no answer within {self.settings.timeout:g} s", True
        if isinstance(error, found.APIConnectionError):
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
            return f"{where} does not know the model {self.settings.model.name!r}; name another with --model"
        if code in (402, 403) or "credit balance" in str(error):
            return f"{where} will not serve this key ({code}: {_said(error)})"
        return f"{where} cannot be asked ({_said(error)})"


def _paced(pace: Pace, limits: Any) -> Any:
    """Make a transport that holds its place in the pace only while a request is on its way.

    What the SDK does before and after it, building and checking messages, then costs no throughput.
    """
    import httpx2

    class Paced(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: Any) -> Any:
            async with pace:
                response = await super().handle_async_request(request)
                await response.aread()
                return response

    return Paced(limits=limits)


def _mended(params: Mapping[str, Any], message: Mapping[str, Any], problem: str) -> dict[str, Any]:
    """Ask for a corrected reply."""
    text = "".join(one.get("text", "") for one in message.get("content", ()) if one.get("type") == "text")
    turns = [{"role": "assistant", "content": text}] if text.strip() else []
    ask = {"role": "user", "content": REPAIR.format(problem=problem[:500])}
    return {**params, "messages": [*params["messages"], *turns, ask]}


def _usage(message: Mapping[str, Any]) -> Usage:
    found = message.get("usage") or {}
    return Usage(
        int(found.get("input_tokens") or 0),
        int(found.get("output_tokens") or 0),
        int(found.get("cache_creation_input_tokens") or 0),
        int(found.get("cache_read_input_tokens") or 0),
    )


def _retry_after(error: Exception) -> float | None:
    """Seconds that the service asks to wait."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        return max(float(headers.get("retry-after", "")), 0.0)
    except ValueError:
        return None


def _said(error: Exception) -> str:
    """What the service said of an error, without anything of the request."""
    body = getattr(error, "body", None)
    inner = body.get("error", {}) if isinstance(body, Mapping) else {}
    message = inner.get("message") if isinstance(inner, Mapping) else None
    return str(message or type(error).__name__)[:200]
