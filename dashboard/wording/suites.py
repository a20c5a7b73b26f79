"""Check suites in words: counts, rates, cells of their tables."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.suites.summary import NameSummary, SuiteSummary
from ragtriage.metrics.number_text import NOT_MEASURED, count, percent
from ragtriage.metrics.statistics.intervals import FEW_CLUSTERS, Interval
from ragtriage.metrics.statistics.rule_of_three import still_possible

SOURCE = "recorded or computed verdicts; rate: mean over questions, 95 % interval"


def share_text(share: float) -> str:
    """Format a share with a decimal below 10 %, where whole percents hide too much; only none reads 0 %."""
    return percent(share, 1 if share < 0.095 else 0)


def rate_text(rate: Interval) -> str:
    """Format a pass rate with its interval and n; a dash where nothing was measured."""
    if not rate.n_scored:
        return NOT_MEASURED
    return f"{percent(rate.mean)} [{span(rate)}], n = {rate.n_scored:,}"


def counts_text(summary: SuiteSummary) -> str:
    """Return how many checks a suite has and what became of them, in one sentence."""
    unmeasured = summary.n_not_measured
    verdicts = (
        f"{summary.n_passed:,} of {summary.n_decided:,} passed" if summary.n_decided else "none was decided"
    )
    also = f"; {unmeasured:,} not measured" if unmeasured else ""
    return f"{count(summary.n_checks, 'check')} in {count(summary.n_samples, 'case')}: {verdicts}{also}."


def suite_rows(summaries: Sequence[SuiteSummary]) -> list[dict[str, str | int]]:
    """Return a row for each suite."""
    return [
        {
            "Suite": summary.title,
            "Checks": summary.n_checks,
            "Cases": summary.n_samples,
            "Passed": f"{summary.n_passed:,} of {summary.n_decided:,}",
            "Not measured": summary.n_not_measured,
            "Pass rate": rate_text(summary.rate),
            "Commonest reason": summary.reasons[0][0] if summary.reasons else "",
        }
        for summary in summaries
    ]


def name_rows(names: Sequence[NameSummary]) -> list[dict[str, str | int]]:
    """Return a row for each name of check in a suite."""
    return [
        {
            "Check": name.name,
            "Checks": name.n_checks,
            "Passed": f"{name.n_passed:,} of {name.n_decided:,}",
            "Not measured": name.n_checks - name.n_decided,
            "Pass rate": rate_text(name.rate),
        }
        for name in names
    ]


def reason_rows(summary: SuiteSummary) -> list[dict[str, str | int]]:
    """Return a row for each of the commonest reasons, failures first."""
    return [
        {"Result": result, "Reason": reason, "Checks": n}
        for result, reasons in (("failed", summary.reasons), ("not measured", summary.not_measured))
        for reason, n in reasons
    ]


def source_of(summary: SuiteSummary) -> list[str]:
    """Return what the numbers of a suite rest on, as facts of small print."""
    clusters, decided = summary.rate.n_clusters, bool(summary.n_decided)
    few = "too few questions for more than a hint" if decided and clusters < FEW_CLUSTERS else ""
    none = f"no failure in {clusters:,} still allows up to {share_text(still_possible(clusters))} (95 %)"
    return [SOURCE, few, none if decided and not summary.n_failed else ""]
