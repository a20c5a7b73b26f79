"""The details that the rule of tool calls left on the checks of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check_table import check_table
from ragtriage.metrics.schema.scores import FloatArray, IntArray

TOOL_SUITE = "tool"
_CHECKS: WeakKeyDictionary[ScoredRun, CallChecks | None] = WeakKeyDictionary()


@dataclass(frozen=True)
class CallChecks:
    """The m checks of the suite Tools.

    Attributes:
        sample: (m,) row of the sample of each.
        passed: (m,) 1 passed, 0 failed, -1 not measured.
        names: name of each.
        details: what ragtriage.data.checks.tool_calls counted; {} where it counted nothing.
    """

    sample: IntArray
    passed: NDArray[np.int8]
    names: list[str]
    details: list[dict[str, Any]]

    def counts(self, key: str) -> FloatArray:
        """(m,) a count of the details, the length where it is a list; NaN where a check does not have it."""
        values = (detail.get(key) for detail in self.details)
        return np.array(
            [
                np.nan if value is None else len(value) if isinstance(value, list) else float(value)
                for value in values
            ]
        )


def call_checks(scored: ScoredRun) -> CallChecks | None:
    """Return the checks of the suite Tools; None where a run has none. Read once for each run."""
    if scored not in _CHECKS:
        _CHECKS[scored] = _read(scored)
    return _CHECKS[scored]


def _read(scored: ScoredRun) -> CallChecks | None:
    checks = check_table(scored)
    if checks is None or TOOL_SUITE not in checks.suite.values:
        return None
    mine = np.flatnonzero(checks.of(TOOL_SUITE))
    details = [value if isinstance(value, dict) else {} for value in checks.values("detail", mine)]
    names = [checks.name.values[code] for code in checks.name.codes[mine]]
    return CallChecks(checks.sample[mine], checks.passed[mine], names, details)
