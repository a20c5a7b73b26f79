"""Check suites in words."""

from __future__ import annotations

from ragtriage.data.suites.summary import SuiteSummary
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.statistics.intervals import FEW_CLUSTERS
from ragtriage.metrics.statistics.rule_of_three import still_possible

SOURCE = "recorded or computed verdicts; rate: mean over questions, 95 % interval"


def share_text(share: float) -> str:
    """Format a share with a decimal below 10 %, where whole percents hide too much; only none reads 0 %."""
    return percent(share, 1 if share < 0.095 else 0)


def counts_text(summary: SuiteSummary) -> str:
    """Return how many checks a suite has and what became of them, in one sentence."""
    unmeasured = summary.n_not_measured
    verdicts = (
        f"{summary.n_passed:,} of {summary.n_decided:,} passed" if summary.n_decided else "none was decided"
    )
    also = f"; {unmeasured:,} not measured" if unmeasured else ""
    return f"{count(summary.n_checks, 'check')} in {count(summary.n_samples, 'case')}: {verdicts}{also}."


def source_of(summary: SuiteSummary) -> list[str]:
    """Return what the numbers of a suite rest on, as facts of small print."""
    clusters, decided = summary.rate.n_clusters, bool(summary.n_decided)
    few = "too few questions for more than a hint" if decided and clusters < FEW_CLUSTERS else ""
    none = f"no failure in {clusters:,} still allows up to {share_text(still_possible(clusters))} (95 %)"
    return [SOURCE, few, none if decided and not summary.n_failed else ""]
