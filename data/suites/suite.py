"""What a check suite is: the rule that decides its checks, and what they amount to over a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from ragtriage.data.suites.check import Evaluate, RecordedCheck, recorded_outcome
from ragtriage.data.suites.check_table import CheckedRun


class SuiteFindings(Protocol):
    """What the checks of a suite amount to over a run: a frozen dataclass of the suite's own."""

    def to_dict(self) -> dict[str, Any]:
        """Return its numbers as JSON values: null where something is not measured, never NaN."""


F = TypeVar("F", bound=SuiteFindings)


@dataclass(frozen=True)
class Part:
    """Something that the rule of a suite counts in a check, and that a cohort of cases has in common.

    Attributes:
        title: of the cases; {} is the first value, which else follows the title with the others.
        matches: (detail of a check, values of the cohort) -> whether it has this.
        failed_only: whether checks that passed are left out.
    """

    title: str
    matches: Callable[[Mapping[str, Any], Sequence[str]], bool]
    failed_only: bool = False


def _nothing_malformed(_check: RecordedCheck) -> None:
    return


@dataclass(frozen=True)
class Suite(Generic[F]):
    """A check suite.

    Attributes:
        key: names it in files, commands and addresses.
        findings: what its checks amount to, beyond their pass rate; None where the run has nothing for it.
        rule: decides a check. Reasons are counted by their text, so they hold no values: these belong into
            the detail.
        refuse: raises MalformedCheckError where a check cannot be decided, before it is stored.
        parts: what its cohorts may have in common, by key.
    """

    key: str
    findings: Callable[[CheckedRun], F | None] = lambda _run: None
    rule: Evaluate = recorded_outcome
    refuse: Callable[[RecordedCheck], object] = _nothing_malformed
    parts: Mapping[str, Part] = field(default_factory=dict)
