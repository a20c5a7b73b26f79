"""What users say and do: each measure with its interval by user, who answered, and who came back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any

import numpy as np

from ragtriage.data.ab.measures import LOWER, Kind, Measure, back_within, measures_of
from ragtriage.data.ab.reading import DAY, TestRows
from ragtriage.data.errors import DataError
from ragtriage.data.importers.parsing.names import plain_name
from ragtriage.data.live.calls import user_codes
from ragtriage.data.live.feedback.records import SYSTEM, Answer
from ragtriage.metrics.ab.differences import Z
from ragtriage.metrics.ab.feedback import cohort_matrix
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, finite_or_none
from ragtriage.metrics.statistics.distributions import QuantileInterval, quantile_interval
from ragtriage.metrics.statistics.intervals import Interval, clustered, interval, missing_bounds

WINDOWS = (7, 30, 90)  # days within which a user comes back
NORMAL_FROM = 30  # users from which an NPS has its normal interval
MOST_GROUPS = 60
MONTH, RELEASE, ALL = "month", "release", ""
GROUPS = (SYSTEM, RELEASE, MONTH)
COMMENT = "comment"
YEARS = (1900, 2100)
HIGH = 0.95


@dataclass(frozen=True)
class FeedbackRows:
    """Calls with what their users said, or the answers of a file."""

    call: (
        IntArray  # (n,) which call, or row of the file, each is of; -1 for an answer whose call is not known
    )
    users: Sequence[str]  # "" where not known
    times: FloatArray  # (n,) seconds since 1970, NaN where not known
    cells: Mapping[str, Sequence[object]]  # name -> (n,) values, None where there is none
    groups: Mapping[str, Sequence[str]]  # what rows can be grouped by -> (n,) names, "" for none
    calls: bool  # whether the rows are calls; else rows of a file

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.call)

    @property
    def units(self) -> IntArray:
        """(n,) code of the user of each row; a row of nobody known is a unit of its own."""
        return user_codes(self.users)


@dataclass(frozen=True)
class FeedbackResult:
    """One measure of the feedback of one group."""

    group: str  # "" for all
    name: str
    kind: Kind
    interval: (
        Interval  # mean, 95 % interval by user, values, users; an NPS from -100 to 100, shares from 0 to 1
    )
    high: QuantileInterval | None  # 95th percentile of a duration; None for all else
    shown: int | None  # calls, or rows of the file; None for who came back
    answered: int | None  # of them, those with a value
    bounds: tuple[float, float] | None  # of the mean, whatever the others would say; None where all answered
    other: int  # cells on no scale of it, not counted


@dataclass(frozen=True)
class Cohorts:
    """How many of the users first seen in a month were active, by months since then."""

    months: tuple[str, ...]  # of the cohorts, as in 2026-05; months without a new user are left out
    users: FloatArray  # (cohorts, months); NaN where the log does not reach, or ends within the month


@dataclass(frozen=True)
class FeedbackReport:
    """The feedback of a file or a project."""

    by: str  # what it is grouped by; "" for nothing
    groups: tuple[str, ...]
    results: tuple[FeedbackResult, ...]
    cohorts: Cohorts | None  # None without users and times, or within one month
    rows: int
    users: int
    comments: int
    first: float | None  # seconds since 1970
    last: float | None
    calls: bool  # whether rows are calls
    unjoined: int  # answers whose call is not known
    left_out: int  # rows that belong to no group

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values, null where nothing is known."""
        cohorts = self.cohorts
        return {
            "source": "human",
            "by": self.by or None,
            "groups": list(self.groups),
            "rows": self.rows,
            "rows_are": "calls" if self.calls else "rows",
            "users": self.users,
            "comments": self.comments,
            "unjoined": self.unjoined,
            "left_out": self.left_out,
            "results": [_result_dict(result) for result in self.results],
            "cohorts": None
            if cohorts is None
            else {
                month: [None if not isfinite(n) else int(n) for n in row]
                for month, row in zip(cohorts.months, cohorts.users.tolist(), strict=True)
            },
        }


def _result_dict(result: FeedbackResult) -> dict[str, Any]:
    interval, high = result.interval, result.high
    values: dict[str, Any] = {
        "group": result.group or None,
        "name": result.name,
        "kind": result.kind,
        "mean": finite_or_none(interval.mean),
        "low": finite_or_none(interval.low),
        "high": finite_or_none(interval.high),
        "method": interval.method,
        "n": interval.n_scored,
        "users": interval.n_clusters,
        "p95": None if high is None else high.value,
        "p95_low": None if high is None else high.low,
        "p95_high": None if high is None else high.high,
        "shown": result.shown,
        "answered": result.answered,
        "response_rate": result.answered / result.shown
        if result.shown and result.answered is not None
        else None,
        "bounds": None if result.bounds is None else list(result.bounds),
        "other_cells": result.other,
    }
    return values


def rows_of_answers(answers: Sequence[Answer]) -> FeedbackRows:
    """Return the rows of a file: each of its answers, those with no value too."""
    return FeedbackRows(
        call=np.arange(len(answers), dtype=np.int64),
        users=[answer.user_id for answer in answers],
        times=times_of(answer.time for answer in answers),
        cells=cells_of([answer.values for answer in answers]),
        groups={SYSTEM: [answer.system_type for answer in answers]},
        calls=False,
    )


def times_of(times: Iterable[float | None]) -> FloatArray:
    """Return (n,) times, NaN where there is none."""
    return np.array([np.nan if time is None else time for time in times], dtype=np.float64)


def cells_of(values: Sequence[Mapping[str, float | str]]) -> dict[str, list[object]]:
    """Return name -> (n,) values of the rows, None where a row has none."""
    names = dict.fromkeys(name for row in values for name in row)
    return {name: [row.get(name) for row in values] for name in names}


def feedback_report(rows: FeedbackRows, by: str | None = None) -> FeedbackReport:
    """Return every measure of the feedback, for all and for each group.

    Args:
        rows: calls, or answers of a file.
        by: "month", "release", "system_type" or a column; by default the release or the system, where there
            are several.

    Raises:
        DataError: there is nothing of that name, or it has too many values.
    """
    if by is None:
        several = [name for name, groups in rows.groups.items() if len(set(groups) - {""}) > 1]
        by = next(iter(several), ALL)
    names, groups = _grouped(rows, by)
    measures = [measure for measure in _measures(rows, by) if measure.kind != "answered"]
    units = rows.units
    everything = np.ones(rows.n, dtype=np.bool_)
    masks = {ALL: everything, **{group: names == group for group in groups}}
    results = [
        _result(rows, measure, units, mask, group) for measure in measures for group, mask in masks.items()
    ]
    timed = rows.times[np.isfinite(rows.times)]
    return FeedbackReport(
        by=by,
        groups=groups,
        results=tuple(results),
        cohorts=_cohorts(rows),
        rows=len(np.unique(rows.call[rows.call >= 0])),
        users=len(set(rows.users) - {""}),
        comments=sum(isinstance(cell, str) for cell in rows.cells.get(COMMENT, ())),
        first=float(timed.min()) if len(timed) else None,
        last=float(timed.max()) if len(timed) else None,
        calls=rows.calls,
        unjoined=int((rows.call < 0).sum()),
        left_out=int((names == "").sum()) if by else 0,
    )


def _grouped(rows: FeedbackRows, by: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the group of each row, "" for none, and the groups in their order."""
    if not by:
        return np.full(rows.n, ""), ()
    if by == MONTH:
        names = [_month(time) for time in rows.times]
    elif by in rows.groups and any(rows.groups[by]):
        names = list(rows.groups[by])
    elif by in rows.cells:
        names = [_text(cell) for cell in rows.cells[by]]
    else:
        known = [*(name for name in rows.groups if any(rows.groups[name])), MONTH, *rows.cells]
        raise DataError(f"nothing is called {by[:60]!r}; accepted: {', '.join(known[:12])}")
    groups = tuple(sorted(set(names) - {""}))
    if not 1 <= len(groups) <= MOST_GROUPS:
        raise DataError(f"{by[:60]!r} has {len(groups):,} different values; accepted: 1 to {MOST_GROUPS}")
    return np.array(names, dtype=object), groups


def _text(cell: object) -> str:
    if cell is None:
        return ""
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def _month(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m") if isfinite(time) else ""


def _measures(rows: FeedbackRows, by: str) -> list[Measure]:
    """Return what is measured: columns, and who came back of those users that are known."""
    everyone = np.zeros(rows.n, dtype=np.int64)
    cells = {name: cells for name, cells in rows.cells.items() if name not in (by, COMMENT)}
    plain = TestRows(("",), everyone, None, "", None, "", cells, 0, {})
    found = [measure for measure in measures_of(plain).values() if not _is_years(measure)]
    known = np.array([bool(user) for user in rows.users], dtype=np.bool_) & np.isfinite(rows.times)
    order = np.flatnonzero(known)[np.argsort(rows.times[known], kind="stable")]
    if len(order):  # a user counts in the group of the first visit
        users = rows.units[order]
        visits = TestRows(("",), everyone[order], users, "user", rows.times[order], "time", {}, 0, {})
        for window in WINDOWS:
            back = back_within(visits, window)
            values = np.full(rows.n, np.nan)
            if back is not None:
                values[order] = back.values
            found.append(Measure(f"back_within_{window}_days", "back", True, values))
    return found


def _is_years(measure: Measure) -> bool:
    values = measure.values[np.isfinite(measure.values)]
    whole = bool(np.all(values == np.floor(values)))
    return measure.kind == "mean" and whole and values.min() >= YEARS[0] and values.max() <= YEARS[1]


def _result(
    rows: FeedbackRows, measure: Measure, units: IntArray, mask: BoolArray, group: str
) -> FeedbackResult:
    values = measure.values[mask]
    low, high = measure.ends or (-np.inf, np.inf)
    found = mean_by_user(values, units[mask], measure.kind)
    duration = measure.kind == "mean" and LOWER.search(plain_name(measure.name)) is not None
    shown = answered = bounds = None
    if measure.kind != "back":
        of_call = mask & (rows.call >= 0)
        asked, measured = rows.call[of_call], np.isfinite(measure.values[of_call])
        shown, answered = len(np.unique(asked)), len(np.unique(asked[measured]))
        if answered < shown and measure.ends is not None:
            bounds = missing_bounds(measure.values[of_call][measured], shown - answered, low, high)
    return FeedbackResult(
        group,
        measure.name,
        measure.kind,
        found,
        quantile_interval(values, HIGH, found.n_clusters) if duration else None,
        shown,
        answered,
        bounds,
        measure.other,
    )


def mean_by_user(values: FloatArray, units: IntArray, kind: Kind) -> Interval:
    """Return the mean of values with its 95 % interval clustered by user.

    An NPS of 30 users or more has the normal interval, with SE = 100 sqrt((p + d - (p - d)^2) / n) where each
    user answers once.
    """
    bounds = {"nps": (-100.0, 100.0), "mean": (-np.inf, np.inf)}.get(kind, (0.0, 1.0))
    n = int(np.isfinite(values).sum())
    found = interval(values, units, n, binary=bounds == (0.0, 1.0), bounds=bounds)
    if kind != "nps" or found.n_clusters < NORMAL_FROM or found.too_few:
        return found
    error = clustered(values, units, bounds).error * ((found.n_clusters - 1) / found.n_clusters) ** 0.5
    ends = found.mean - Z * error, found.mean + Z * error
    return replace(found, low=max(ends[0], bounds[0]), high=min(ends[1], bounds[1]), method="normal")


def _cohorts(rows: FeedbackRows) -> Cohorts | None:
    known = np.array([bool(user) for user in rows.users], dtype=np.bool_) & np.isfinite(rows.times)
    if not known.any():
        return None
    moments = np.floor(rows.times[known]).astype("datetime64[s]")
    months = moments.astype("datetime64[M]").astype(np.int64)
    first, last = int(months.min()), int(months.max())
    if first == last or last - first >= MOST_GROUPS:
        return None
    users = np.unique(rows.units[known], return_inverse=True)[1].astype(np.int64)
    matrix = cohort_matrix(users, months - first)
    end = datetime.fromtimestamp(float(rows.times[known].max()), UTC)
    if (end + timedelta(seconds=DAY)).month == end.month:  # the last month goes on
        for cohort in range(last - first):
            matrix[cohort, last - first - cohort] = np.nan
    names = np.arange(first, last + 1).astype("datetime64[M]").astype(str)
    new = matrix[:, 0] > 0
    return Cohorts(tuple(map(str, names[new])), matrix[new])
