"""The check suites of a run, their checks by name, and the commonest reasons."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.data.cases.suite_cohorts import check_cohort
from ragtriage.data.suites.summary import SuiteSummary
from ragtriage.metrics.result_table import Of, ResultTable, Row


def suite_table(summaries: Sequence[SuiteSummary]) -> ResultTable:
    """Return what became of the checks of each suite."""
    rows: list[Row] = [
        {
            "Suite": summary.title,
            "Checks": summary.n_checks,
            "Cases": summary.n_samples,
            "Passed": Of(summary.n_passed, summary.n_decided),
            "Not measured": summary.n_not_measured,
            "Pass rate": summary.rate,
            "Commonest reason": summary.reasons[0][0] if summary.reasons else "",
        }
        for summary in summaries
    ]
    return ResultTable("Check suites", tuple(rows))


def check_name_table(summary: SuiteSummary) -> ResultTable:
    """Return what became of the checks of each name; a row leads to those that fail."""
    rows: list[Row] = [
        {
            "Check": name.name,
            "Checks": name.n_checks,
            "Passed": Of(name.n_passed, name.n_decided),
            "Not measured": name.n_checks - name.n_decided,
            "Pass rate": name.rate,
        }
        for name in summary.names
    ]
    cohorts = [check_cohort(summary.key, name.name) for name in summary.names]
    return ResultTable(f"{summary.title} by check", tuple(rows), cohorts=tuple(cohorts))


def reason_table(summary: SuiteSummary) -> ResultTable:
    """Return the commonest reasons, failures first; a row of these leads to its cases."""
    rows: list[Row] = [
        {"Result": result, "Reason": reason, "Checks": n}
        for result, reasons in (("failed", summary.reasons), ("not measured", summary.not_measured))
        for reason, n in reasons
    ]
    cohorts = [check_cohort(summary.key, "", reason) for reason, _ in summary.reasons]
    cohorts += [""] * len(summary.not_measured)
    return ResultTable(f"{summary.title}: reasons", tuple(rows), cohorts=tuple(cohorts))
