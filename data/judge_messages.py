"""The messages of the service: what a request is sent as, and what its reply comes to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from data.judge_calls import Call, CallStatus, Request, Usage, request_key
from data.model_prices import Model
from metrics.values import MetricsError

__all__ = [
    "ClientSettings",
    "call_of",
    "mended",
    "message_params",
    "read_message",
    "reply_limit",
    "usage_of",
]

REPLY_FACTOR, LEAST_REPLY, MOST_REPLY = 4, 4_000, 20_000  # of what is expected; thinking counts as well
REPAIR = (
    "The reply does not fit the form: {problem}. Send the whole reply again, corrected, as JSON of the form."
)


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


def call_of(
    request: Request,
    model: Model,
    read: tuple[CallStatus, str, Any],
    usage: Usage,
    seconds: float,
    asked: int,
    batch: bool = False,
) -> Call:
    """Make the call to write down of what was read in the end."""
    status, reason, payload = read
    if status == "invalid":
        reason = f"no valid reply after a second attempt: {reason}"
    cost = model.cost(usage, batch)
    return Call(request_key(request, model.name), status, reason, payload, usage, seconds, asked, False, cost)


def mended(params: Mapping[str, Any], message: Mapping[str, Any], problem: str) -> dict[str, Any]:
    """Give the parameters that ask for a corrected reply."""
    text = "".join(one.get("text", "") for one in message.get("content", ()) if one.get("type") == "text")
    turns = [{"role": "assistant", "content": text}] if text.strip() else []
    ask = {"role": "user", "content": REPAIR.format(problem=problem[:500])}
    return {**params, "messages": [*params["messages"], *turns, ask]}


def usage_of(message: Mapping[str, Any]) -> Usage:
    """Give the tokens of a message of the service, as JSON values."""
    found = message.get("usage") or {}
    return Usage(
        int(found.get("input_tokens") or 0),
        int(found.get("output_tokens") or 0),
        int(found.get("cache_creation_input_tokens") or 0),
        int(found.get("cache_read_input_tokens") or 0),
    )
