"""Repeats of the same question: pass^k of checks of tool calls, and of the outcome recorded beside them."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from ragtriage.data.suites.check_table import CheckedRun, CheckTable, check_table
from ragtriage.data.suites.summary import rate_values
from ragtriage.data.suites.tool.rule import KEY
from ragtriage.metrics.schema.scores import BoolArray
from ragtriage.metrics.statistics.intervals import Interval, interval

MOST_K = 8
MOST_NAMES = 6
OUTCOME = {"outcome", "reward", "task", "goal"}  # words of kinds of checks that say whether a task succeeded


@dataclass(frozen=True)
class PassHatK:
    """The chance that k repeats all pass."""

    check: str  # name of the checks
    k: int  # repeats
    rate: Interval  # mean over the questions with k repeats or more

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"check": self.check, "k": self.k, **rate_values(self.rate)}


@dataclass(frozen=True)
class Agreement:
    """How the verdict on calls and a recorded outcome go together, in samples with both."""

    outcome: str  # name of the checks of the outcome
    both: int  # calls right and outcome reached
    calls_only: int  # calls right alone
    outcome_only: int  # outcome reached alone
    neither: int  # neither


def pass_hat_ks(run: CheckedRun) -> list[PassHatK]:
    """Return pass^k for each name of check that is repeated: of tool calls, and of a recorded outcome."""
    checks = check_table(run)
    if checks is None:
        return []
    return [entry for name, chosen in _repeated(checks) for entry in _of_name(run, checks, name, chosen)]


def _repeated(checks: CheckTable) -> list[tuple[str, BoolArray]]:
    tools, outcomes = checks.of(KEY), _outcomes(checks)
    return [
        (name, part & checks.name.equal(name))
        for part in (outcomes, tools)
        for name, _ in checks.name.counts(part, MOST_NAMES)
    ]


def _outcomes(checks: CheckTable) -> BoolArray:
    suites = [suite for suite in checks.suite.values if OUTCOME & set(suite.split()) and suite != KEY]
    return np.isin(checks.suite.codes, [checks.suite.values.index(suite) for suite in suites])


def _of_name(run: CheckedRun, checks: CheckTable, name: str, chosen: BoolArray) -> list[PassHatK]:
    """Return C(c, k) / C(n, k) as a mean over questions, for each k up to the most repeats.

    A sample passes if all its checks of the name do: two calls of a tool in one trace are not repeats.
    """
    verdicts = _verdicts(run, checks, chosen)
    decided = verdicts >= 0
    question, size = run.question[decided], len(run.clusters)
    n = np.bincount(question, minlength=size)
    won = np.bincount(question, weights=verdicts[decided], minlength=size).astype(np.int64)
    most = min(int(n.max(initial=0)), MOST_K)
    if most < 2:
        return []
    rows = []
    for k in range(1, most + 1):
        shares = np.array(
            [comb(int(c), k) / comb(int(m), k) if m >= k else np.nan for c, m in zip(won, n, strict=True)]
        )
        finite = shares[np.isfinite(shares)]
        rate = interval(shares, run.clusters, len(finite), bool(np.isin(finite, (0.0, 1.0)).all()))
        rows.append(PassHatK(name, k, rate))
    return rows


def agreements(run: CheckedRun) -> list[Agreement]:
    """Return how the verdict on calls goes together with each recorded outcome of the same samples."""
    checks = check_table(run)
    if checks is None:
        return []
    calls = _verdicts(run, checks, checks.of(KEY))
    outcomes = _outcomes(checks)
    rows = []
    for name, _ in checks.name.counts(outcomes, MOST_NAMES):
        reached = _verdicts(run, checks, outcomes & checks.name.equal(name))
        pairs = [int(((calls == right) & (reached == won)).sum()) for right in (1, 0) for won in (1, 0)]
        if sum(pairs):
            rows.append(Agreement(name, *pairs))
    return rows


def _verdicts(run: CheckedRun, checks: CheckTable, chosen: BoolArray) -> Any:
    """(n,) 1 where all chosen checks of a sample passed, 0 where one failed, -1 where none is decided."""
    decided = chosen & checks.decided
    total = np.bincount(checks.sample[decided], minlength=run.n)
    failed = np.bincount(checks.sample[decided & checks.failed], minlength=run.n)
    return np.where(total == 0, -1, (failed == 0).astype(np.int64))
