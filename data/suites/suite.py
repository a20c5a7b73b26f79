"""What a check suite is: the rule that decides its checks, and what they amount to over a run.

The checks of a suite keep what their rule counted (`suite_checks`): figures over questions are drawn from it,
and cohorts of the cases that have some part in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote
from weakref import WeakKeyDictionary

import numpy as np

from ragtriage.data.suites.check import Evaluate, RecordedCheck, recorded_outcome
from ragtriage.data.suites.check_table import CheckedRun, check_table, question_shares, rate_values
from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import Interval, score_mean


class SuiteFindings(Protocol):
    """What the checks of a suite amount to over a run: a frozen dataclass of the suite's own."""

    def to_dict(self) -> dict[str, Any]:
        """Return its numbers as JSON values: null where something is not measured, never NaN."""


F = TypeVar("F", bound=SuiteFindings)


@dataclass(frozen=True)
class Part:
    """Something that the rule of a suite counts in a check, and that a cohort of cases has in common."""

    title: str  # of the cases; {} is the first value, which else follows the title with the others
    # (detail of a check, values of the cohort) -> whether it has this
    matches: Callable[[Mapping[str, Any], Sequence[str]], bool]
    failed_only: bool = False  # whether checks that passed are left out


@dataclass(frozen=True)
class Suite(Generic[F]):
    """A check suite."""

    key: str  # names it in files, commands and addresses
    # what its checks amount to, beyond their pass rate; None where the run has nothing for it
    findings: Callable[[CheckedRun], F | None] = lambda _run: None
    # decides a check. Reasons are counted by their text, so they hold no values: these belong into the
    # detail
    rule: Evaluate = recorded_outcome
    # raises MalformedCheckError where a check cannot be decided, before it is stored
    refuse: Callable[[RecordedCheck], object] = lambda _check: None
    parts: Mapping[str, Part] = field(default_factory=dict)  # what its cohorts may have in common, by key


_Read = tuple[IntArray, IntArray, Sequence[Any]]  # sample, passed, details
_KEPT: WeakKeyDictionary[CheckedRun, dict[str, _Read]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Figure:
    """One number of a suite: a mean over questions."""

    key: str  # of the number in JSON
    title: str  # on screen
    share: Interval  # the mean, its n and its interval
    cohort: str = ""  # the cases that lower it; "" for none
    is_share: bool = True  # whether it is a share, and not a number on a scale of its own


def figure_values(figures: Sequence[Figure]) -> dict[str, Any]:
    """Return figures as JSON values by their key."""
    return {figure.key: rate_values(figure.share) for figure in figures}


class SuiteChecks:
    """The checks of one suite of a run that their rule could look into.

    Attributes:
        sample: (m,) row of the sample of each.
        passed: (m,) 1 passed, 0 failed, -1 not measured.
        details: what the rule counted for each.
    """

    def __init__(self, run: CheckedRun, sample: IntArray, passed: IntArray, details: Sequence[Any]) -> None:
        self._run = run
        self.sample, self.passed, self.details = sample, passed, details

    def having(self, key: str, value: Any = None) -> SuiteChecks:
        """Return the checks whose detail has a key, with a value where that is given."""
        chosen = [
            at
            for at, detail in enumerate(self.details)
            if key in detail and (value is None or detail[key] == value)
        ]
        return SuiteChecks(
            self._run, self.sample[chosen], self.passed[chosen], [self.details[at] for at in chosen]
        )

    def counts(self, key: str) -> FloatArray:
        """(m,) a count of the details, the length where it is a list; NaN where a check does not have it."""
        values = (detail.get(key) for detail in self.details)
        return np.array(
            [
                np.nan if value is None else len(value) if isinstance(value, list) else float(value)
                for value in values
            ]
        )

    def with_details(self, details: Sequence[Any]) -> SuiteChecks:
        """Return the checks with other details."""
        return SuiteChecks(self._run, self.sample, self.passed, details)

    def mean(
        self, value: Callable[[Mapping[str, Any]], float | None], bounds: tuple[float, float] = (0.0, 1.0)
    ) -> Interval:
        """Return the mean of a value over questions, repeats averaged first; None is not a value."""
        numbers = [value(detail) for detail in self.details]
        values = np.array([np.nan if number is None else float(number) for number in numbers], np.float64)
        known = np.isfinite(values)
        by_question = question_shares(self._run, self.sample, np.where(known, values, 0.0), known)
        return score_mean(by_question, self._run.clusters, bounds, self._run.question_weights)

    def __len__(self) -> int:
        """Return the number of checks."""
        return len(self.details)


def suite_checks(run: CheckedRun, suite: str) -> SuiteChecks:
    """Return the checks of a suite whose rule counted something, measured or not; read once for each run."""
    kept = _KEPT.setdefault(run, {})
    if suite not in kept:
        kept[suite] = _read(run, suite)
    return SuiteChecks(run, *kept[suite])


def _read(run: CheckedRun, suite: str) -> _Read:
    checks = check_table(run)
    if checks is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), []
    at = np.flatnonzero(checks.of(suite))
    details = checks.values("detail", at)
    kept = [place for place, detail in enumerate(details) if isinstance(detail, dict)]
    rows = at[kept]
    return checks.sample[rows], checks.passed[rows].astype(np.int64), [details[place] for place in kept]


def part_cohort(suite: str, key: str, *values: object) -> str:
    """Return the cohort of the cases whose checks of a suite have some part."""
    return f"part:{'/'.join([suite, key, *(quote(str(value), safe='') for value in values)])}"
