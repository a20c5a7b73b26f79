"""Requests to a model, the messages they are sent as, the calls they result in, and what these cost.

A task's workflow for a sample is a Python generator: it yields requests, is sent the call of each, and
returns a result. The same workflows run concurrently in a job, or round by round through message batches.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ragtriage.data.errors import DataError
from ragtriage.data.judge.reply_model import ReplyError
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


FILE = "model_prices.json"
UNKNOWN_WINDOW, UNKNOWN_OUTPUT = 200_000, 16_000
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=1)]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)


class Band(_Row):
    """Prices of requests up to a length, in USD per million tokens."""

    up_to: Price = math.inf  # input tokens of the longest request at these prices
    input: Price  # of an input token
    output: Price  # of an output token
    cache_write: Price  # of a token written to the prompt cache
    cache_read: Price  # of a token read from it


class Model(_Row):
    """A model in the table."""

    name: str = ""  # as the service calls it
    window: Tokens  # tokens that a request may hold, the reply included
    most_output: Tokens  # tokens that a reply may have
    effort: bool  # whether it takes an effort setting
    bands: tuple[Band, ...]  # prices, shortest requests first; empty where the table does not have the model
    batch_factor: Price = 1.0  # price of a request in a batch, as a factor of the usual price

    def cost(self, usage: Usage, batch: bool = False) -> float | None:
        """Return the price of a request in USD; None where the table does not have the model."""
        if not self.bands:
            return None
        length = usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
        band = next((band for band in self.bands if length <= band.up_to), self.bands[-1])
        price = (
            usage.input_tokens * band.input
            + usage.output_tokens * band.output
            + usage.cache_write_tokens * band.cache_write
            + usage.cache_read_tokens * band.cache_read
        )
        return price / 1e6 * (self.batch_factor if batch else 1.0)


class PriceTable(_Row):
    """The table."""

    date: str
    source: str  # where they were read
    default: str  # model used when none is named
    models: dict[str, Model]  # by name
    batch_factor: Price  # price of a request in a batch, as a factor of the usual price

    @model_validator(mode="after")
    def _complete_models(self) -> Self:
        if self.default not in self.models:
            raise ValueError(f"default {self.default!r} is none of the models")
        for name, model in self.models.items():
            self.models[name] = model.model_copy(update={"name": name, "batch_factor": self.batch_factor})
        return self

    def model(self, name: str | None = None) -> Model:
        """Return a model by name; without one, that of RAGTRIAGE_JUDGE_MODEL, else the default.

        A model that the table does not have gets cautious limits and no price.
        """
        wanted = (name or os.environ.get("RAGTRIAGE_JUDGE_MODEL") or self.default).strip()
        unknown = Model(
            name=wanted,
            window=UNKNOWN_WINDOW,
            most_output=UNKNOWN_OUTPUT,
            effort=False,
            bands=(),
            batch_factor=self.batch_factor,
        )
        return self.models.get(wanted, unknown)


def read_prices(folder: Path | None = None) -> PriceTable:
    """Read the table: `model_prices.json` of the workspace where it has one, else the bundled one.

    Raises:
        DataError: the workspace's own file cannot be read as a price table.
    """
    own = None if folder is None else folder / FILE
    if own is None or not own.is_file():
        return PriceTable.model_validate_json((files("ragtriage.data.judge") / FILE).read_text("utf-8"))
    try:
        return PriceTable.model_validate_json(own.read_text("utf-8"))
    except ValidationError as error:
        first = error.errors()[0]
        problem = ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
    except (OSError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
    raise DataError(
        f"{own}: cannot be read as a price table ({problem}); accepted: JSON with "
        "date, source, default, batch_factor and models, each with window, most_output, effort and bands"
    )


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
