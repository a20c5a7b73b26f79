"""Tables of users' feedback: its measures, and who came back by the month of their first visit."""

from __future__ import annotations

from math import isfinite

from ragtriage.dashboard.headlines.feedback import measure_text, measure_title, place_of
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.live.feedback.joining import Joined
from ragtriage.data.live.feedback.results import FeedbackReport, FeedbackResult
from ragtriage.metrics.number_text import NOT_MEASURED, count
from ragtriage.metrics.result_table import Cell, Count, Of, ResultTable, Row

NAME = 30
FEW = 30  # answers below which nothing is said about a trend
MOST_MONTHS = 13


def feedback_table(report: FeedbackReport) -> ResultTable:
    """Return each measure of the feedback, for all and for each group, with its interval and who answered."""
    rows: list[Row] = []
    for result in sorted(report.results, key=place_of):
        if result.group and result.kind == "back" and not result.interval.n_scored:
            continue  # of nobody in any group
        group = {_title(report.by): shorten(result.group, NAME) or "all"} if report.by else {}
        rows.append({**group, **_row(result)})
        if result.high is not None and result.high.value is not None:
            rows.append({**group, **_high_row(result)})
    return ResultTable("Feedback", tuple(rows), " ".join(_notes(report)))


def _title(by: str) -> str:
    return by.replace("_", " ").capitalize()


def _row(result: FeedbackResult) -> dict[str, Cell]:
    found = result.interval
    known = found.n_scored > 0
    asked = bool(result.shown) and result.answered is not None
    return {
        "Measure": measure_title(result.name, result.kind),
        "Value": measure_text(result.kind, found.mean) if known else None,
        "95 %": _ends(result, found.low, found.high) if known else None,
        "n": Count(found.n_scored) if known else None,
        "Users": Count(found.n_clusters) if known else None,
        "Answered": Of(result.answered or 0, result.shown or 0) if asked else None,
        "If all had answered": None if result.bounds is None else _ends(result, *result.bounds),
    }


def _high_row(result: FeedbackResult) -> dict[str, Cell]:
    high = result.high
    if high is None:
        return {}
    return {
        **_row(result),
        "Measure": f"{measure_title(result.name, result.kind)}, 95th percentile",
        "Value": measure_text(result.kind, high.value),
        "95 %": _ends(result, high.low, high.high),
        "If all had answered": None,
    }


def _ends(result: FeedbackResult, low: float | None, high: float | None) -> str:
    if low is None or high is None or not (isfinite(low) and isfinite(high)):
        return NOT_MEASURED
    return f"{measure_text(result.kind, low)} to {measure_text(result.kind, high)}"


def _notes(report: FeedbackReport) -> list[str]:
    notes = ["Source: human. 95 % by user, so that several answers of one user count as one voice."]
    if any(result.bounds is not None for result in report.results):
        notes.append("Respondents are self-selected; the last column bounds the value over all.")
    if any(result.kind == "back" for result in report.results):
        notes.append("Back: on a later day within so many days; only users observed for that many days.")
    if report.by and any(0 < result.interval.n_scored < FEW for result in report.results):
        notes.append(f"Fewer than {FEW} answers in a group say nothing of a trend.")
    notes += [
        f"{measure_title(result.name, result.kind)}: {count(result.other, 'cell')} outside the scale."
        for result in report.results
        if result.other and not result.group
    ]
    if report.left_out:
        notes.append(f"{count(report.left_out, 'row')} without {_title(report.by).lower()} only in all.")
    return notes


def cohort_table(report: FeedbackReport) -> ResultTable | None:
    """Return how many users first seen in a month were active in each later one; None without users."""
    cohorts = report.cohorts
    if cohorts is None:
        return None
    shown = min(cohorts.users.shape[1], MOST_MONTHS)
    rows = tuple(
        {
            "First seen": month,
            "Users": Count(int(row[0])),
            **{f"+{at}": Count(int(row[at])) if isfinite(row[at]) else None for at in range(1, shown)},
        }
        for month, row in zip(cohorts.months, cohorts.users.tolist(), strict=True)
    )
    note = "Users active so many months after their first. A dash, not 0: the log does not reach so far."
    return ResultTable("Retention by month", rows, note)


def joined_text(joined: Joined) -> str:
    """Say how answers were joined to their calls."""
    ways = {
        "by trace": joined.by_trace,
        "by user, question and time": joined.by_question,
        "ambiguous": joined.ambiguous,
        "without a call": joined.unjoined,
    }
    listed = ", ".join(f"{n:,} {way}" for way, n in ways.items() if n)
    return f"{count(joined.answers, 'answer')}: {listed}." if joined.answers else "No answer."
