"""The headline of users' feedback: the first thing that they were asked, and how many answered."""

from __future__ import annotations

from math import isfinite

from ragtriage.dashboard.headlines.ab import metric_title
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.data.ab.measures import Kind
from ragtriage.data.importers.parsing.names import plain_name
from ragtriage.data.live.feedback.results import FeedbackReport, FeedbackResult
from ragtriage.metrics.number_text import NOT_MEASURED, count, number, percent

NO_FEEDBACK = Headline(
    "empty",
    "No feedback yet",
    "Send it with ragtriage.feedback, or load a file with `ragtriage feedback FILE`.",
)
FIRST = (
    "task_completed",
    "satisfaction_score",
    "satisfaction",
    "nps_score",
    "nps",
    "thumb",
    "thumbs",
    "stars",
)
MANY_SILENT = 0.5  # share without an answer above which those who answered may be unlike the rest


def measure_title(name: str, kind: Kind) -> str:
    """Return the name of a measure as it stands in a table or a sentence."""
    title = metric_title(name)
    if kind == "satisfied":
        return f"{title}, 4 and 5"
    return f"{title} up" if plain_name(name) in ("thumb", "thumbs") else title


def measure_text(kind: Kind, value: float | None) -> str:
    """Format a value of a measure: a share in percent, an NPS or a number as it is."""
    if value is None or not isfinite(value):
        return NOT_MEASURED
    if kind == "nps":
        return number(value, 0)
    return number(value, 2) if kind == "mean" else percent(value)


def feedback_headline(report: FeedbackReport) -> Headline:
    """Conclude the feedback of all: its main measure with its interval, and who gave it."""
    measured = [result for result in report.results if not result.group and result.interval.n_scored]
    if not measured:
        return NO_FEEDBACK
    main = min(measured, key=place_of)
    found = main.interval
    ends = f"{measure_text(main.kind, found.low)} to {measure_text(main.kind, found.high)}"
    title = measure_title(main.name, main.kind)
    statement = f"{title[:1].upper()}{title[1:]}: {measure_text(main.kind, found.mean)} [{ends}]"
    by = f", {count(found.n_clusters, 'user')}" if report.users else ""
    noun = "answer" if main.kind != "back" else "user"
    detail = f"{count(found.n_scored, noun)}{by if noun == 'answer' else ''}; human."
    silent = 1 - main.answered / main.shown if main.shown and main.answered is not None else 0.0
    if silent <= MANY_SILENT:
        return Headline("good", statement, detail)
    what = "calls" if report.calls else "rows"
    doubt = f"{percent(silent)} of {main.shown:,} {what} have no answer: who answers chose to"
    return Headline("doubted", statement, detail, doubt)


def place_of(result: FeedbackResult) -> tuple[bool, int]:
    """Return what sorts measures: what decides first, who came back last."""
    plain = plain_name(result.name)
    return result.kind == "back", FIRST.index(plain) if plain in FIRST else len(FIRST)
