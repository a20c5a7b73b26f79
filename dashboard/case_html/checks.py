"""The checks of a case as rows of a table, on the page, in the HTML report and on slides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dashboard.wording.escaping import shorten
from data.cases.checks import case_checks

__all__ = ["check_rows"]

LONGEST_VALUE = 300


def check_rows(sample: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what each check of a stored sample expects and what it got, failed ones first."""
    return [
        {
            "Check": check.name,
            "Result": "passed" if check.passed else "failed",
            "Expected": shorten(check.expected, LONGEST_VALUE),
            "Actual": shorten(check.actual, LONGEST_VALUE),
        }
        for check in sorted(case_checks(sample), key=lambda check: check.passed)
    ]
