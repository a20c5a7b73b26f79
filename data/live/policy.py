"""The policy of live traffic: what is kept of it, judged, watched, hidden, and for how long."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.live.posting import is_here

FILE_NAME = "policy.toml"
Stratum = Literal["error", "thumbs_down", "refusal", "rest"]
STRATA: tuple[Stratum, ...] = ("error", "thumbs_down", "refusal", "rest")  # a call is of the first that fits
DAY = 86_400  # seconds
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": DAY}
_DURATION = re.compile(r"([0-9]{1,6})([smhd])")


def seconds_in(text: object) -> int:
    """Return the seconds of a duration such as "5m", "1h" or "30d".

    Raises:
        PydanticCustomError: it is no duration.
    """
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None or not int(match[1]):
        raise _misfit("a number with s, m, h or d, such as 5m")
    return int(match[1]) * _SECONDS[match[2]]


def _misfit(accepted: str) -> PydanticCustomError:
    return PydanticCustomError("misfit", "{accepted}", {"accepted": accepted})


Duration = Annotated[int, BeforeValidator(seconds_in)]  # in seconds
Rate = Annotated[float, Field(ge=1e-6, le=1)]


def checked_webhook(address: str) -> str:
    """Return the address of a webhook: https, or http on this machine; "" for none.

    Raises:
        PydanticCustomError: it is neither.
    """
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    secure = parts.scheme == "https" or (parts.scheme == "http" and is_here(parts.hostname or ""))
    if address and not (parts.hostname and secure):
        raise _misfit("https://..., or http://localhost...")
    return address


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Keep(_Table):
    """Shares of the calls that are kept with their texts, by stratum; the facts of every call are kept."""

    rest: Rate = 1.0
    refusal: Rate = 1.0
    error: Rate = 1.0
    thumbs_down: Rate = 1.0
    questions: bool = True  # whether the question of every call is kept, for topics

    def rate(self, stratum: Stratum) -> float:
        """Return the share of a stratum that is kept."""
        return float(getattr(self, stratum))


class Windows(_Table):
    """When traces count as whole, and how long the windows are that become runs."""

    length: Duration = 3_600
    settle: Duration = 10  # a trace is read when no span of it came for so long
    late: Duration = 3_600  # spans that come later than this are counted, and change nothing

    @model_validator(mode="after")
    def _divides_a_day(self) -> "Windows":
        if DAY % self.length:
            raise _misfit("length: a part of a day, such as 5m, 1h or 1d")
        return self


class JudgeBudget(_Table):
    """Which metrics are judged on the kept calls, and for how much a day."""

    metrics: tuple[str, ...] = Field(min_length=1, strict=False)
    model: str = ""  # "": that of `ragtriage judge`
    budget: Annotated[float, Field(gt=0)] = 1.0  # USD a day, UTC


class Alert(_Table):
    """A rule: exactly one of a metric with its limit, a drift, or a silence."""

    metric: str = ""  # a fact of the calls (refused, errors, latency_p95 ...) or a score of the kept ones
    at_most: float | None = Field(None, strict=False)
    at_least: float | None = Field(None, strict=False)
    drift: Literal["", "context_tokens", "output_tokens", "latency_ms", "topics"] = ""
    silent: Literal["", "traffic", "judge"] = ""
    window: Duration = 300
    windows: Annotated[int, Field(ge=1, le=100)] = 2  # in a row
    fewest: Annotated[int, Field(ge=1)] = 30  # calls a window: with fewer, it cannot tell
    cooldown: Duration = 3_600
    baseline: Annotated[int, Field(ge=5, le=10_000)] = 20  # first windows, which a drift is held to
    width: Annotated[float, Field(gt=0)] = 3.0  # of the limits of a drift, in standard deviations

    @property
    def limit(self) -> float | None:
        """What its metric may be at most, or must be at least; None without a metric."""
        return self.at_most if self.at_most is not None else self.at_least

    def is_beyond(self, low: float, high: float) -> bool:
        """Return whether a whole interval is beyond the limit; never without one."""
        above = self.at_most is not None and low > self.at_most
        return above or (self.at_least is not None and high < self.at_least)

    @model_validator(mode="after")
    def _is_one_rule(self) -> "Alert":
        if sum(map(bool, (self.metric, self.drift, self.silent))) != 1:
            raise _misfit("one of metric, drift and silent")
        if bool(self.metric) != (sum(limit is not None for limit in (self.at_most, self.at_least)) == 1):
            raise _misfit("a metric with either at_most or at_least, and neither without a metric")
        return self


class Notify(_Table):
    """Who is told of an alert."""

    command: str = ""  # as `watch --on-fail`
    webhook: Annotated[str, AfterValidator(checked_webhook)] = ""  # https, or http on this machine


class Redaction(_Table):
    """What is taken out of texts before they are stored."""

    off: bool = False
    hash_users: bool = False
    patterns: Mapping[str, Annotated[str, Field(pattern=r"\S")]] = {}  # name -> regular expression of RE2


class Retention(_Table):
    """How long what is kept, and how much of it."""

    days: Annotated[int, Field(ge=1, le=36_500)] = 30
    megabytes: Annotated[int, Field(ge=10, le=1_000_000_000)] = 4_096

    @property
    def bytes(self) -> int:
        """How many bytes it may be."""
        return self.megabytes * 1_000_000


class Policy(_Table):
    """The policy of one project."""

    keep: Keep = Keep()
    windows: Windows = Windows()
    judge: JudgeBudget | None = None
    alerts: Annotated[tuple[Alert, ...], Field(strict=False)] = ()
    notify: Notify = Notify()
    redaction: Redaction = Redaction()
    retention: Retention = Retention()


_TABLES: Mapping[str, type[BaseModel]] = {
    **{"keep": Keep, "windows": Windows, "judge": JudgeBudget, "alerts": Alert, "notify": Notify},
    **{"redaction": Redaction, "retention": Retention},
}
_ACCEPTED = {
    **dict.fromkeys(("rest", "refusal", "error", "thumbs_down"), "a share from 0.000001 to 1"),
    **dict.fromkeys(("questions", "off", "hash_users"), "true or false"),
    **dict.fromkeys(("at_most", "at_least"), "a number"),
    **dict.fromkeys(("windows", "fewest"), "a whole number from 1 up"),
    "days": "a whole number from 1 to 36500",
    "megabytes": "a whole number from 10 to 1000000000",
    "alerts": "a list of tables, each begun with [[alerts]]",
    "baseline": "a whole number from 5 to 10000",
    "width": "a number of standard deviations above 0",
    "budget": "a number of USD above 0",
    "metrics": 'a list of metrics, such as ["faithfulness"]',
    "silent": '"traffic" or "judge"',
    "drift": '"context_tokens", "output_tokens", "latency_ms" or "topics"',
    "patterns": '{ NAME = "REGULAR EXPRESSION" }',
}


@dataclass(frozen=True)
class PolicyFile:
    """A policy with the file that it was read from."""

    policy: Policy
    source: str  # path, or "the default policy"
    fault: str = ""  # why the default stands for a file that cannot be used


def read_policy(path: Path) -> PolicyFile:
    """Read the policy of a file; the default where there is none.

    Raises:
        DataError: the file cannot be read, or is not TOML.
        InputError: everything that is wrong with it.
    """
    if not path.exists() and not path.is_symlink():
        return PolicyFile(Policy(), "the default policy")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(
            f"{path}: cannot be read ({error}); accepted: a TOML file, see docs/live.md"
        ) from error
    errors = ValidationErrors(str(path))
    try:
        return PolicyFile(Policy.model_validate(values), str(path))
    except ValidationError as error:
        for details in error.errors():
            errors.add(None, *_described(details["loc"], details["type"], details["input"], details["msg"]))
        errors.raise_if_any()
        raise


def usable_policy(path: Path) -> PolicyFile:
    """Read the policy of a file; the default, with the fault, where it cannot be used."""
    try:
        return read_policy(path)
    except DataError as error:
        return PolicyFile(Policy(), "the default policy", " ".join(str(error).split()))


def _described(steps: tuple[int | str, ...], kind: str, value: Any, message: str) -> tuple[str, str, str]:
    """Return where an error of a policy is, what is wrong, and what would be accepted."""
    place = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step[:60]}" for step in steps).lstrip(
        "."
    )
    if kind == "misfit":  # the address of a webhook may be a secret
        return place, "is not accepted" if steps[-1:] == ("webhook",) else f"{value!r}"[:80], message
    names = [str(step) for step in steps]
    if kind == "extra_forbidden":
        table = _TABLES.get(names[0], Policy)
        return place, "is not a setting", ", ".join(table.model_fields)
    what = "is missing" if kind == "missing" else f"{value!r}"[:80]
    named = next((name for name in reversed(names) if name in _ACCEPTED), "")
    return place, what, _ACCEPTED.get(named, "a table, see docs/live.md" if len(steps) == 1 else "a text")
