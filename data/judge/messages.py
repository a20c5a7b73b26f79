"""The messages of the service: the parameters of a request, and the status and content of a reply."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ragtriage.data.judge.reply_model import ReplyError
from ragtriage.data.judge.requests import Model, ModelCall, Request, Usage, request_key
from ragtriage.data.store.judge_results import CallStatus

USUAL_EFFORT = "low"
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
REPLY_FACTOR, LEAST_REPLY, MOST_REPLY = 4, 4_000, 20_000  # limits in tokens; thinking counts as well
REPAIR = (
    "The reply does not fit the form: {problem}. Send the whole reply again, corrected, as JSON of the form."
)


@dataclass(frozen=True)
class ClientSettings:
    """How to reach the service."""

    model: Model  # the model to ask
    base_url: str | None = None  # of the service; None for ANTHROPIC_BASE_URL, else Anthropic's
    concurrency: int = 8  # most requests in flight
    timeout: float = 120.0  # seconds that a request may take
    effort: str = USUAL_EFFORT  # effort setting, for models that take one

    @property
    def judge(self) -> str:
        """The model's name, with the effort unless it is the usual one: another effort is another judge."""
        plain = self.effort_sent in ("", USUAL_EFFORT)
        return self.model.name if plain else f"{self.model.name}/{self.effort}"

    @property
    def effort_sent(self) -> str:
        """The effort setting, "" where the model does not take one."""
        return self.effort if self.model.effort else ""


def message_params(request: Request, settings: ClientSettings) -> dict[str, Any]:
    """Return the parameters of `messages.create` for a request."""
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
    """Return the tokens that a reply may have."""
    wanted = max(REPLY_FACTOR * request.expected_tokens, LEAST_REPLY)
    return min(wanted, MOST_REPLY, model.most_output)


def again(request: Request, earlier: ModelCall) -> Request:
    """Return a request to be sent anew; where its reply was cut off, the next one may be the longest."""
    return replace(request, expected_tokens=MOST_REPLY) if earlier.status == "truncated" else request


def read_message(message: Mapping[str, Any], request: Request) -> tuple[CallStatus, str, Any]:
    """Return status, reason and checked reply of a message of the service."""
    stop = message.get("stop_reason")
    if stop == "refusal":
        details = message.get("stop_details")
        explanation = details.get("explanation") if isinstance(details, Mapping) else None
        return "refused", str(storable(explanation or "the model declined to read this sample")), None
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
    """The cost of the requests of one call together, each priced on its own."""

    usage: Usage = field(default_factory=Usage)  # tokens
    cost_usd: float | None = 0.0  # None where the model has no price
    asked: int = 0  # number of requests sent

    def more(self, usage: Usage, model: Model, asked: int, batch: bool = False) -> Spent:
        """Add requests."""
        price = model.cost(usage, batch)
        cost = None if price is None or self.cost_usd is None else self.cost_usd + price
        return Spent(self.usage + usage, cost, self.asked + asked)


def call_of(
    request: Request, judge: str, read: tuple[CallStatus, str, Any], spent: Spent, seconds: float = 0.0
) -> ModelCall:
    """Return the call to store, from what the last reply was read as."""
    status, reason, payload = read
    if status == "invalid":
        attempt = "a second" if spent.asked > 1 else "the first"
        reason = f"no valid reply after {attempt} attempt: {reason}"
    key = request_key(request, judge)
    return ModelCall(key, status, reason, payload, spent.usage, seconds, spent.asked, False, spent.cost_usd)


def as_message(response: Any) -> dict[str, Any]:
    """Return a message of the SDK as JSON values; empty for anything else, such as a page of HTML."""
    message = response.to_dict() if hasattr(response, "to_dict") else {}
    is_message = isinstance(message, dict) and isinstance(message.get("content"), list)
    return message if is_message else {}


def storable(value: Any) -> Any:
    """Return JSON values without lone surrogates, which no file can hold, and without the API key.

    A service may send the key back.
    """
    if isinstance(value, list):
        return [storable(entry) for entry in value]
    if isinstance(value, dict):
        return {storable(key): storable(entry) for key, entry in value.items()}
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "replace").decode("utf-8")
    for key in filter(None, (os.environ.get(name) for name in KEYS)):
        text = text.replace(key, "[API key]")
    return text


def _text_of(message: Mapping[str, Any]) -> str:
    blocks = [block for block in message.get("content") or () if isinstance(block, Mapping)]
    return "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")


def repaired(params: Mapping[str, Any], message: Mapping[str, Any], problem: str) -> dict[str, Any]:
    """Return the parameters of a request for a corrected reply."""
    text = _text_of(message)
    turns = [{"role": "assistant", "content": text}] if text.strip() else []
    ask = {"role": "user", "content": REPAIR.format(problem=problem[:500])}
    return {**params, "messages": [*params["messages"], *turns, ask]}


def usage_of(message: Mapping[str, Any]) -> Usage:
    """Return the tokens of a message of the service; 0 where it does not report a valid number."""
    usage = message.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    values = [counts.get(name) for name in names]
    return Usage(*(value if isinstance(value, int) and 0 <= value < 2**53 else 0 for value in values))
