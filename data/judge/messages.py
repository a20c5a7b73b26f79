"""The messages of the service: what a request is sent as, and what its reply comes to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from data.judge.prices import Model
from data.judge.reply import ReplyError
from data.judge.requests import ModelCall, Request, Usage, request_key
from data.store.judge_results import CallStatus

__all__ = [
    "KEYS",
    "ClientSettings",
    "Spent",
    "as_message",
    "call_of",
    "message_params",
    "read_message",
    "repaired",
    "reply_limit",
    "storable",
    "usage_of",
]

USUAL_EFFORT = "low"
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
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
    effort: str = USUAL_EFFORT

    @property
    def judge(self) -> str:
        """Name the model, with an effort that is not the usual one: that is another judge."""
        plain = self.effort_sent in ("", USUAL_EFFORT)
        return self.model.name if plain else f"{self.model.name}/{self.effort}"

    @property
    def effort_sent(self) -> str:
        """The effort, "" where the model does not take one."""
        return self.effort if self.model.effort else ""


def message_params(request: Request, settings: ClientSettings) -> dict[str, Any]:
    """Give the parameters of the message that asks a request."""
    model = settings.model
    config: dict[str, Any] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
    if settings.effort_sent:
        config["effort"] = settings.effort_sent
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
        details = message.get("stop_details")
        told = details.get("explanation") if isinstance(details, Mapping) else None
        said = storable(told or "the model declined to read this sample")
        return "refused", str(said), None
    if stop == "max_tokens":
        return "truncated", "the reply was cut off at its longest allowed length", None
    if stop == "model_context_window_exceeded":
        return "context_exceeded", "the sample does not fit the model's context window", None
    text = _text_of(message)
    try:
        reply = storable(json.loads(text))
        request.check(reply)
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, ReplyError) else f"no JSON ({error})"
        return "invalid", problem, None
    return "scored", "", reply


@dataclass(frozen=True)
class Spent:
    """What the sends of one call took together, each priced on its own.

    Attributes:
        usage: tokens.
        cost_usd: None where the model has no price.
        asked: requests sent.
    """

    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    asked: int = 0

    def more(self, usage: Usage, model: Model, asked: int, batch: bool = False) -> Spent:
        """Add a send."""
        price = model.cost(usage, batch)
        cost = None if price is None or self.cost_usd is None else self.cost_usd + price
        return Spent(self.usage + usage, cost, self.asked + asked)


def call_of(
    request: Request, judge: str, read: tuple[CallStatus, str, Any], spent: Spent, seconds: float = 0.0
) -> ModelCall:
    """Make the call to write down of what was read in the end."""
    status, reason, payload = read
    if status == "invalid":
        reason = f"no valid reply after a second attempt: {reason}"
    key = request_key(request, judge)
    return ModelCall(key, status, reason, payload, spent.usage, seconds, spent.asked, False, spent.cost_usd)


def as_message(found: Any) -> dict[str, Any]:
    """Give a message of the SDK as JSON values; empty for what is no message, such as a page of HTML."""
    given = found.to_dict() if hasattr(found, "to_dict") else {}
    fits = isinstance(given, dict) and isinstance(given.get("content"), list)
    return given if fits else {}


def storable(value: Any) -> Any:
    """Give JSON values without lone surrogates, which no file can hold, and without the API key."""
    if isinstance(value, str):
        return _without_keys(value.encode("utf-8", "replace").decode("utf-8"))
    if isinstance(value, list):
        return [storable(one) for one in value]
    if isinstance(value, dict):
        return {storable(key): storable(one) for key, one in value.items()}
    return value


def _without_keys(text: str) -> str:
    """Take the API key out of a text; a service may send it back."""
    for key in filter(None, (os.environ.get(name) for name in KEYS)):
        text = text.replace(key, "[API key]")
    return text


def _text_of(message: Mapping[str, Any]) -> str:
    parts = [one for one in message.get("content") or () if isinstance(one, Mapping)]
    return "".join(str(one.get("text") or "") for one in parts if one.get("type") == "text")


def repaired(params: Mapping[str, Any], message: Mapping[str, Any], problem: str) -> dict[str, Any]:
    """Give the parameters that ask for a corrected reply."""
    text = _text_of(message)
    turns = [{"role": "assistant", "content": text}] if text.strip() else []
    ask = {"role": "user", "content": REPAIR.format(problem=problem[:500])}
    return {**params, "messages": [*params["messages"], *turns, ask]}


def usage_of(message: Mapping[str, Any]) -> Usage:
    """Give the tokens of a message of the service, as JSON values; 0 where it does not say."""
    found = message.get("usage")
    given = found if isinstance(found, Mapping) else {}
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Usage(*(_whole(given.get(name)) for name in names))


def _whole(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0
