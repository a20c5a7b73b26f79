"""The checks of a case as rows of a table, on the page, in the HTML report and on slides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.cases.checks import case_checks
from ragtriage.data.checks.check import DIFFERS, RECORDED

LONGEST_VALUE = 300
ORDER = (False, None, True)
SAY_NOTHING = (DIFFERS, RECORDED)  # beside expected and actual value
RESULTS = {False: "failed", None: "not measured", True: "passed"}


def check_rows(sample: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what each check of a stored sample expects and what it got, failed ones first."""
    checks = sorted(case_checks(sample), key=lambda check: ORDER.index(check.passed))
    reasons = ["" if check.reason in SAY_NOTHING else check.reason for check in checks]
    told = [check.faults or reason for check, reason in zip(checks, reasons, strict=True)]
    return [
        {
            "Check": check.name,
            "Result": RESULTS[check.passed],
            "Expected": shorten(check.expected, LONGEST_VALUE),
            "Actual": shorten(check.actual, LONGEST_VALUE),
            **({"Reason": shorten(reason, LONGEST_VALUE)} if any(told) else {}),
        }
        for check, reason in zip(checks, told, strict=True)
    ]
