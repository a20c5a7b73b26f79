"""Which time is shown, and what its later part is compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from ragtriage.data.errors import DataError
from ragtriage.data.live.calls import Calls
from ragtriage.data.live.policy import DAY
from ragtriage.data.live.production.buckets import Release, releases_in

MINUTE, HOUR = 60, 3_600
SPANS: Mapping[str, tuple[int, int]] = MappingProxyType(  # name -> seconds, and seconds of a step
    {
        "1h": (HOUR, 300),
        "6h": (6 * HOUR, 1_800),
        "1d": (DAY, HOUR),
        "7d": (7 * DAY, 6 * HOUR),
        "30d": (30 * DAY, DAY),
    }
)
MOST_STEPS, USUAL_STEPS = 400, 24
STEPS = (MINUTE, 300, 900, 1_800, HOUR, 6 * HOUR, DAY, 7 * DAY)
PIECES = 5  # of a step
USUAL_SPAN = "1h"
RELEASE, BEFORE = "release", "before"  # what the later part of a time is compared with


@dataclass(frozen=True)
class Times:
    """A time in steps, and its two parts. All are seconds since 1970."""

    first: float  # begin of the first step
    last: float  # end of the last
    step: int
    begin: float  # of the earlier part
    later: float  # begin of the later part, which ends at `last`
    release: str = ""  # that the later part begins with; "" where it is the whole time
    releases: tuple[Release, ...] = ()  # with calls in the time

    @property
    def piece(self) -> int:
        """Seconds of a piece, of which a step has several."""
        return self.step // PIECES if self.step % PIECES == 0 else self.step

    @property
    def steps(self) -> list[tuple[float, float]]:
        """Begin and end of each step."""
        n = round((self.last - self.first) / self.step)
        return [(self.first + at * self.step, self.first + (at + 1) * self.step) for at in range(n)]


def chosen_span(
    calls: Calls, name: str | None = None, first: str | None = None, last: str | None = None
) -> tuple[float, float, int]:
    """Return begin, end and step of a span of SPANS, or from a begin, up to an end or the last call.

    Raises:
        DataError: there is no call yet, a moment cannot be read, or the end is before the begin.
    """
    known = calls.span_of_time()
    if known is None:
        raise DataError(
            f"{calls.path}: holds no call yet; accepted: traffic that `ragtriage collect` takes in"
        )
    end = known[1] + 1e-3 if last is None else moment_of(last)
    if first is None:
        seconds, step = SPANS[name or USUAL_SPAN]
        end = math.ceil(end / step) * step
        return float(end - seconds), float(end), step
    begin = moment_of(first)
    step = step_for(end - begin)
    begin = math.floor(begin / step) * step
    return float(begin), float(math.ceil(end / step) * step), step


def times_of(calls: Calls, first: float, last: float, step: int, against: str = "") -> Times:
    """Return a time with its parts.

    Against RELEASE the later part begins with the last release in the time; against BEFORE it is the whole
    time, and the earlier part is as long. By default RELEASE where there is one.

    Raises:
        DataError: the time is empty or has too many steps, or it has no release.
    """
    if not first < last or step < 1 or (last - first) / step > MOST_STEPS:
        raise DataError(
            f"{utc(first)} to {utc(last)} in steps of {step:,} s; accepted: a begin before the end, and at "
            f"most {MOST_STEPS} steps"
        )
    last = first + math.ceil((last - first) / step) * step
    releases = tuple(releases_in(calls, first, last))
    changed = next((each for each in reversed(releases[1:]) if each.name), None)
    if against == RELEASE and changed is None:
        raise DataError(f"{utc(first)} to {utc(last)} has no new release; accepted: {BEFORE}")
    if changed is None or against == BEFORE:
        return Times(first, last, step, first - (last - first), first, "", releases)
    minute = math.floor(changed.first / MINUTE) * MINUTE
    before = releases_in(calls, minute, changed.first)  # it began with its minute where nothing says no
    later = changed.first if before else float(minute)
    return Times(first, last, step, first, max(later, first), changed.name, releases)


def utc(moment: float) -> str:
    """Format a moment, as "2026-03-01 18:45 UTC"."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"


def iso(moment: float) -> str:
    """Format a moment by ISO 8601, as "2026-03-01T18:45:00Z"."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def clock(moment: float, span: float = DAY) -> str:
    """Format a moment within a span, as "18:45"; with its day where the span is longer than one."""
    return f"{datetime.fromtimestamp(moment, UTC):{'%H:%M' if span <= DAY else '%-d %b %H:%M'}}"


def day_of(moment: float) -> str:
    """Format the day of a moment, as "1 Mar 2026"."""
    return f"{datetime.fromtimestamp(moment, UTC):%-d %b %Y}"


def moment_of(text: str) -> float:
    """Read a moment, as 2026-03-01T18:45; UTC where no zone is named.

    Raises:
        DataError: it is none.
    """
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise DataError(f"{text[:40]!r}: is no moment; accepted: as in 2026-03-01T18:45, UTC") from error


def span_ends(name: str) -> tuple[str | None, str | None, str | None]:
    """Return what the name of a time on display means: a key of SPANS, or a begin and an end as FROM~TO.

    Raises:
        DataError: it is neither.
    """
    first, found, last = name.partition("~")
    if found:
        if not moment_of(first) < moment_of(last):
            raise DataError(f"{name[:80]!r}: ends before it begins; accepted: FROM~TO")
        return None, first, last
    if name not in SPANS:
        raise DataError(f"{name[:40]!r}: is no time; accepted: {', '.join(SPANS)}, or FROM~TO")
    return name, None, None


def span_title(name: str) -> str:
    """Return a span of SPANS with its step, as "Last hour, by 5 min"."""
    seconds, step = SPANS[name]
    long = {HOUR: "hour", DAY: "day"}.get(seconds) or (
        f"{seconds // DAY} days" if seconds > DAY else f"{seconds // HOUR} hours"
    )
    short = {HOUR: "hour", DAY: "day"}.get(step) or (
        f"{step // HOUR} h" if step > HOUR else f"{step // MINUTE} min"
    )
    return f"Last {long}, by {short}"


def step_for(seconds: float) -> int:
    """Return the step in which a time is shown: the shortest that makes at most 24 of it."""
    return next((step for step in STEPS if seconds / step <= USUAL_STEPS), STEPS[-1])
