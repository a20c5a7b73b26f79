"""The check suites of a run, their checks by name, and the commonest reasons: in words and as tables."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.data.cases.suite_cohorts import check_cohort
from ragtriage.data.suites.check_table import SuiteSummary
from ragtriage.metrics.gates.wording import no_failure_text
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import Of, ResultTable, Row
from ragtriage.metrics.statistics.intervals import FEW_CLUSTERS

SOURCE = "recorded or computed verdicts; rate: mean over questions, 95 % interval"


def share_text(share: float) -> str:
    """Format a share with a decimal below 10 %, where whole percents hide too much; only none reads 0 %."""
    return percent(share, 1 if share < 0.095 else 0)


def bounds_text(summary: SuiteSummary) -> str:
    """Return the pass rate of a suite; its bounds where checks have no verdict: they are not passes."""
    if not summary.n_not_measured:
        return percent(summary.rate.mean)
    low, high = summary.bounds
    return f"between {percent(low)} and {percent(high)}"


def counts_text(summary: SuiteSummary) -> str:
    """Return how many checks a suite has and what became of them, in one sentence."""
    unmeasured = summary.n_not_measured
    verdicts = (
        f"{summary.n_passed:,} of {summary.n_decided:,} passed" if summary.n_decided else "none was decided"
    )
    also = f"; {unmeasured:,} not measured" if unmeasured else ""
    also += f", so that {bounds_text(summary)} pass" if unmeasured and summary.n_decided else ""
    return f"{count(summary.n_checks, 'check')} in {count(summary.n_samples, 'case')}: {verdicts}{also}."


def source_of(summary: SuiteSummary) -> list[str]:
    """Return what the numbers of a suite rest on, as facts of small print."""
    clusters, decided = summary.rate.n_clusters, bool(summary.n_decided)
    few = "too few questions for more than a hint" if decided and clusters < FEW_CLUSTERS else ""
    return [SOURCE, few, no_failure_text(clusters) if decided and not summary.n_failed else ""]


def suite_table(summaries: Sequence[SuiteSummary]) -> ResultTable:
    """Return what became of the checks of each suite."""
    undecided = any(summary.n_not_measured and summary.n_decided for summary in summaries)
    rows: list[Row] = [
        {
            "Suite": summary.title,
            "Checks": summary.n_checks,
            "Cases": summary.n_samples,
            "Passed": Of(summary.n_passed, summary.n_decided),
            "Not measured": summary.n_not_measured,
            "Pass rate": summary.rate,
            **(
                {"Undecided counted": bounds_text(summary) if summary.n_decided else None}
                if undecided
                else {}
            ),
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
