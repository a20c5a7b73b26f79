"""A check as recorded, the sample it belongs to, what evaluating it finds, and what makes it malformed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import orjson

RECORDED = "recorded as failed"
DIFFERS = "the actual value differs from the expected one"


@dataclass(frozen=True)
class RecordedCheck:
    """A check as recorded."""

    name: str  # of the check
    kind: str  # as recorded, such as "router" or "tool choice"; the name where none is
    expected: Any  # the expected value, any JSON; None where none is recorded
    actual: Any  # the actual value likewise
    passed: bool | None  # the recorded verdict; None where the suite has to decide
    # whether it is a pass by the word of a "human" or a "judge" since the import
    said: Mapping[str, bool] = field(default_factory=dict)


class CheckedSample:
    """The sample of a check, read column by column as an evaluation asks for it."""

    def __init__(self, columns: Mapping[str, Any], row: int) -> None:
        """Look at one row of Arrow columns."""
        self._columns, self._row = columns, row
        self.was_read = False  # whether a rule has looked at it, so that its outcome rests on it

    @classmethod
    def of(cls, sample: Mapping[str, Any]) -> Self:
        """Return a stored sample, as read by ragtriage.data.store.sample_reader."""
        return cls({name: [value] for name, value in sample.items()}, 0)

    def __getitem__(self, name: str) -> Any:
        """Return a field of the sample as Python values; None where it is not recorded."""
        self.was_read = True
        if name not in self._columns:
            return None
        value = self._columns[name][self._row]
        return value.as_py() if hasattr(value, "as_py") else value


@dataclass(frozen=True)
class CheckOutcome:
    """What evaluating a check finds."""

    passed: bool | None  # the verdict; None where nothing decides it, which is never a pass or a failure
    reason: str = ""  # why it failed or was not decided; "" where it passed
    # what the summary of the suite counts, JSON; by suite
    detail: Mapping[str, Any] = field(default_factory=dict)


Evaluate = Callable[[RecordedCheck, CheckedSample], CheckOutcome]


def recorded_outcome(check: RecordedCheck, _sample: CheckedSample | None = None) -> CheckOutcome:
    """Return the recorded verdict, else whether expected and actual value are equal."""
    if check.passed is not None:
        return CheckOutcome(check.passed, "" if check.passed else RECORDED)
    if check.actual is None:
        return CheckOutcome(None, "no actual value is recorded")
    if check.expected is None:
        return CheckOutcome(None, "no expected value is recorded")
    same = bool(check.expected == check.actual)
    return CheckOutcome(same, "" if same else DIFFERS)


def stored_value(text: str | None) -> Any:
    """Return the JSON value that is stored of a check; its text where that is none, such as NaN."""
    if text is None:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


MALFORMED = "the check is malformed"  # the reason of a check met in a run stored without this test
_LONGEST = 80


class MalformedCheckError(ValueError):
    """A check whose expected value cannot be read.

    Attributes:
        field: which value of the check, "expected" or "actual".
        what: what is wrong.
        accepted: what would be accepted.
    """

    def __init__(self, what: str, accepted: str, field: str = "expected") -> None:
        super().__init__(f"{what}; accepted: {accepted}")
        self.field, self.what, self.accepted = field, what, accepted


def shown(value: object) -> str:
    """Return a value as an error names it, shortened."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
