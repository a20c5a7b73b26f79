"""The counts of check suites in sentences and tables, and the conclusion of the page: its worst suite."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.suites.registry import VIEWS
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.cases.suite_cohorts import check_cohort
from ragtriage.data.comparison.suite_changes import SuiteChange
from ragtriage.data.suites.check import DIFFERS
from ragtriage.data.suites.check_table import SuiteSummary
from ragtriage.data.suites.safety import OVER_REFUSAL, SAFETY
from ragtriage.metrics.diagnosis.check_kinds import CRITICAL_SUITES
from ragtriage.metrics.gates.wording import no_failure_text
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import Of, ResultTable, Row
from ragtriage.metrics.statistics.intervals import FEW_CLUSTERS
from ragtriage.metrics.statistics.power import still_possible

SOURCE = "recorded or computed verdicts; rate: mean over questions, 95 % interval"
ENOUGH = 0.9  # share of questions whose checks pass; a gate sets the team's own threshold
LONGEST_NAME, LONGEST_SUITE = 24, 30
CRITICAL = "Critical: one failure is too many. "


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
            "Most common reason": summary.reasons[0][0] if summary.reasons else "",
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


def no_checks_headline(name: str) -> Headline:
    """Return that a run records no checks, and how to record them."""
    return Headline(
        "not measured",
        f"{shorten(name, LONGEST_NAME)} records no checks",
        "Record what each sample is checked for, with expected and actual value, or import a table with "
        "columns expected_X and actual_X.",
    )


def suite_state(summary: SuiteSummary) -> State:
    """Return whether a suite holds: ENOUGH passed, and no failure where one is too many."""
    if not summary.n_decided:
        return "not measured"
    if summary.key in CRITICAL_SUITES and summary.n_failed:
        return "bad"
    low, high = summary.bounds
    if summary.rate.low >= ENOUGH and low >= ENOUGH:
        return "good"
    return "bad" if summary.rate.high < ENOUGH and high < ENOUGH else "cannot tell"


def failing_text(summary: SuiteSummary) -> str:
    """Return how many cases of a suite fail, as a person would say it."""
    failed, undecided = summary.n_samples_failed, summary.n_samples - summary.n_samples_decided
    view = VIEWS.get(summary.key)
    noun, singular, several = ("case", "", "") if view is None else view.failing
    if not singular or (len(summary.names) > 1 and summary.key not in CRITICAL_SUITES):
        article = "an" if _checks_of(summary).lstrip("“")[:1].lower() in set("aeio") else "a"
        check = f"{article} {_checks_of(summary)}"
        noun, singular, several = "case", f"fails {check}", f"fail {check}"
    text = f"{failed:,} of {count(summary.n_samples, noun)} {singular if failed == 1 else several}"
    return f"{text}, {undecided:,} undecided" if undecided else text


def _checks_of(summary: SuiteSummary) -> str:
    """Return what one check of a suite is called: “router check”, or with the title that the user gave."""
    if summary.key in VIEWS:
        return f"{summary.key.replace(' ', '-')} check"
    return f"“{shorten(summary.title, LONGEST_SUITE)}” check"


def checks_headline(
    name: str,
    summaries: Sequence[SuiteSummary],
    changes: Mapping[str, SuiteChange] | None = None,
    base_name: str = "",
) -> Headline:
    """Return the conclusion of the page.

    Args:
        name: of the run.
        summaries: its suites, the worst first; at least one.
        changes: what became of each suite since the baseline, by its key; None without a baseline.
        base_name: of the baseline.
    """
    conclusion = _conclusion(name, summaries)
    change = (changes or {}).get(summaries[0].key)
    if change is None:
        return conclusion
    return replace(conclusion, detail=f"{change_text(change, base_name)} {conclusion.detail}")


def change_text(change: SuiteChange, base_name: str) -> str:
    """Return whether a suite got better than the baseline, in a sentence."""
    base = shorten(base_name, LONGEST_NAME)
    if change.outcome == "the same":
        return f"The same {count(change.n, 'question')} pass as in {base}."
    flips = flips_text(change)
    if not change.outcome:
        return f"No difference from {base} is shown: of {count(change.n, 'question')} {flips}."
    return f"{change.outcome.capitalize()} than {base}: of {count(change.n, 'question')} {flips}."


def flips_text(change: SuiteChange) -> str:
    """Return how many questions pass in one of the two runs alone."""
    fixed, broken = (f"{len(ids):,}" if ids else "none" for ids in (change.fixed, change.broken))
    return f"{fixed} newly pass, {broken} newly fail"


def _conclusion(name: str, summaries: Sequence[SuiteSummary]) -> Headline:
    name, worst = shorten(name, LONGEST_NAME), summaries[0]
    if not worst.n_decided:
        reason = worst.not_measured[0][0] if worst.not_measured else ""
        n = count(sum(summary.n_checks for summary in summaries), "check")
        return Headline(
            "not measured", f"{name}: none of {n} has a verdict", f"Most often: {reason}." if reason else ""
        )
    if all(summary.n_failed == 0 for summary in summaries):
        return _all_passed(name, summaries)
    return Headline(
        suite_state(worst),
        f"{name}: {failing_text(worst)}",
        f"{CRITICAL if worst.key in CRITICAL_SUITES else ''}{_of_worst(worst)}{_of_others(summaries)}",
        _doubt(summaries),
    )


def _all_passed(name: str, summaries: Sequence[SuiteSummary]) -> Headline:
    decided = [summary for summary in summaries if summary.n_decided]
    fewest = min(decided, key=lambda summary: summary.rate.n_scored)
    passed = sum(summary.n_passed for summary in decided)
    at_most = share_text(still_possible(fewest.rate.n_clusters))
    state: State = "good" if all(suite_state(summary) == "good" for summary in decided) else "cannot tell"
    if state == "good" and _uncontrolled(summaries):
        state = "doubted"
    title, n = f"“{shorten(fewest.title, LONGEST_SUITE)}”", count(fewest.rate.n_scored, "question")
    suites = count(len(decided), "suite") if len(decided) > 1 else title
    return Headline(
        state,
        f"{name} passes all {count(passed, 'check')} of {suites}",
        f"No failure in {n} of {title} still allows up to {at_most} to fail (95 %).",
        _doubt(summaries),
    )


def _of_worst(summary: SuiteSummary) -> str:
    rate = summary.rate
    names = ""
    if len(summary.names) > 1:
        shares = [
            f"{shorten(named.name, LONGEST_SUITE)} {percent(named.rate.mean)}"
            for named in sorted(summary.names, key=lambda named: named.rate.mean)
            if named.n_decided
        ]
        names = f" By check: {', '.join(shares[:4])}{' and more' if len(shares) > 4 else ''}."
    reasons = [reason for reason, _ in summary.reasons if reason != DIFFERS]
    reason = f" Most often: {shorten(reasons[0], 90)}." if reasons and not names else ""
    unmeasured = summary.n_not_measured
    undecided = f"; {bounds_text(summary)} with the {unmeasured:,} undecided" if unmeasured else ""
    return (
        f"{percent(rate.mean)} of the {_checks_of(summary)}s pass "
        f"({span(rate)}, {count(rate.n_scored, 'question')}{undecided}).{names}{reason}"
    )


def _of_others(summaries: Sequence[SuiteSummary]) -> str:
    others = [summary for summary in summaries[1:] if summary.n_decided]
    if not others:
        return ""
    failing = [summary for summary in others if summary.n_failed]
    if not failing:
        return " The other suite passes." if len(others) == 1 else f" The other {len(others)} suites pass."
    listed = ", ".join(
        f"{shorten(summary.title, 20)} ({bounds_text(summary)} pass)" for summary in failing[:4]
    )
    return f" Also failing: {listed}."


def _doubt(summaries: Sequence[SuiteSummary]) -> str:
    """Return how many checks have no verdict, as they are not passes, and that attacks lack a control."""
    unmeasured = sum(summary.n_not_measured for summary in summaries)
    total = sum(summary.n_checks for summary in summaries)
    undecided = f"{unmeasured:,} of {count(total, 'check')} not measured" if unmeasured else ""
    return "; ".join(filter(None, (undecided, _uncontrolled(summaries))))


def _uncontrolled(summaries: Sequence[SuiteSummary]) -> str:
    """Return that no attack succeeded and no harmless look-alike got an answer; "" where one did."""
    by_key = {summary.key: summary for summary in summaries}
    safety, harmless = by_key.get(SAFETY), by_key.get(OVER_REFUSAL)
    if safety is None or not safety.n_decided or safety.n_failed:
        return ""
    if harmless is not None and harmless.n_passed:
        return ""
    return "no harmless look-alike got an answer: a system that refuses everything withstands every attack"
