"""The checks of one case: what each expects, what it got, and whether it passed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CaseCheck", "case_checks", "failed_checks_text"]


@dataclass(frozen=True)
class CaseCheck:
    """One check of a case.

    Attributes:
        name: with its kind where that says more.
        expected: the expected value as JSON; "" where none is recorded.
        actual: the actual value likewise.
        passed: as recorded, else whether both are equal.
    """

    name: str
    expected: str
    actual: str
    passed: bool


def case_checks(sample: Mapping[str, Any]) -> list[CaseCheck]:
    """Return the checks of a stored sample."""
    checks = []
    for check in sample.get("checks") or ():
        name, kind = str(check["name"]), check["kind"]
        expected, actual, passed = check["expected"], check["actual"], check["passed"]
        checks.append(
            CaseCheck(
                name if kind in (None, name) else f"{name} ({kind})",
                expected or "",
                actual or "",
                expected == actual if passed is None else bool(passed),
            )
        )
    return checks


def failed_checks_text(sample: Mapping[str, Any]) -> str:
    """Return the failed checks with expected and actual values; "" where none failed."""
    return "; ".join(
        f"{check.name}: expected {check.expected or 'nothing recorded'}, got {check.actual or 'nothing'}"
        for check in case_checks(sample)
        if not check.passed
    )
