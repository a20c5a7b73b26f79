"""Which cases a call asks for: by state, stage, tags, words, a metric, and what newly fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ragtriage.dashboard.mcp_server.bounded import name_text
from ragtriage.data.cases.cases import CaseFilter, case_rows, stage_order
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run, utc_now
from ragtriage.metrics.metric_registry import ordered
from ragtriage.metrics.schema.scores import BoolArray, IntArray

DAYS_AGO: Mapping[str, int] = {"today": 0, "yesterday": 1}
MOST_OFFERED = 20  # names in an error

State = Annotated[
    Literal["bad", "good", "not measured", "all"],
    Field(description="Which cases; stage, against and since always mean bad ones."),
]
StageKey = Annotated[str, Field(description="Key of a failure stage as `triage` lists them; empty for all.")]
Against = Annotated[
    str,
    Field(
        description="Only cases that passed in this run (id or name) and fail now; `baseline` stands for the "
        "baseline of the project."
    ),
]
Since = Annotated[
    str,
    Field(
        description="Only cases that passed in the last run of the project before this moment and fail now: "
        "an ISO date or time in UTC, `yesterday` or `today` (their midnight)."
    ),
]
Search = Annotated[str, Field(description="Words to look for in question, answer, reference and id.")]
Tags = Annotated[
    dict[str, str] | None,
    Field(description='Only cases with these tags or query type, as in {"query_type": "multi-hop"}.'),
]
MetricName = Annotated[str, Field(description="Full name of the metric that at_least and at_most limit.")]
AtLeast = Annotated[float | None, Field(description="Only cases whose metric is not lower.")]
AtMost = Annotated[float | None, Field(description="Only cases whose metric is not higher.")]
Cohort = Annotated[
    str, Field(description="Key of a saved group of cases, as in the address of the page Cases.")
]
Sort = Annotated[
    str,
    Field(description='"" for the order to fix them in, "worst", "imported", or a metric, lowest first.'),
]


@dataclass(frozen=True)
class CaseQuery:
    """What a call asks for; the fields are the arguments of the tool `cases`."""

    state: Literal["bad", "good", "not measured", "all"] = "bad"
    stage: str = ""
    search: str = ""
    tags: Mapping[str, str] | None = None
    metric: str = ""
    at_least: float | None = None
    at_most: float | None = None
    cohort: str = ""
    sort: str = ""


def matching_rows(diagnosis: Diagnosis, wanted: CaseQuery, failing: BoolArray | None) -> IntArray:
    """Return the rows that a query keeps, in its order; of newly failing samples, (n,) True, those alone.

    Raises:
        DataError: it names a stage, tag, metric or cohort that is not there.
    """
    if wanted.sort not in ("", "worst", "imported"):
        _check_metric(diagnosis, wanted.sort)
    states = {"bad": True, "good": False} if failing is None and not wanted.stage else {}
    rows = case_rows(
        diagnosis,
        CaseFilter(
            stage=wanted.stage,
            bad=states.get(wanted.state),
            text=wanted.search,
            slices=_checked_tags(diagnosis, wanted.tags or {}),
            cohort=wanted.cohort,
            sort="" if wanted.sort == "imported" else wanted.sort,
        ),
    )
    if failing is not None:
        rows = rows[failing[rows]]
    elif wanted.state == "not measured" and not wanted.stage:
        rows = rows[~diagnosis.measured[rows]]
    rows = rows[_within_limits(diagnosis, rows, wanted)]
    if not wanted.sort:
        order = stage_order(diagnosis)
        rows = order[np.isin(order, rows)]
    return np.asarray(rows, dtype=np.int64)


def _checked_tags(diagnosis: Diagnosis, tags: Mapping[str, str]) -> Mapping[str, str]:
    groups = {group.name: group.labels for group in diagnosis.scored.groups}
    for name, value in tags.items():
        if name not in groups:
            accepted = ", ".join(map(name_text, list(groups)[:MOST_OFFERED])) or "none, this run has no tags"
            raise DataError(f"tag {name[:60]!r} is not in this run; accepted: {accepted}")
        if value not in groups[name]:
            accepted = ", ".join(map(name_text, groups[name][:MOST_OFFERED]))
            raise DataError(f"tag {name[:60]!r} is never {value[:60]!r}; accepted: {accepted}")
        if name not in [group.name for group in diagnosis.scored.slices]:
            raise DataError(f"tag {name[:60]!r} does not divide the cases; accepted: one that does")
    return tags


def _check_metric(diagnosis: Diagnosis, metric: str) -> None:
    if metric not in diagnosis.scored.metrics:
        accepted = ", ".join(ordered(diagnosis.scored.metrics)[:60]) or "none, this run has no metrics"
        raise DataError(f"metric {metric[:60]!r} is not in this run; accepted: {accepted}")


def _within_limits(diagnosis: Diagnosis, rows: IntArray, wanted: CaseQuery) -> BoolArray:
    """(len(rows),) True where the metric of the query is within its limits; without a value it is not."""
    limited = wanted.at_least is not None or wanted.at_most is not None
    if not wanted.metric and limited:
        raise DataError("at_least or at_most is given without metric; accepted: the name of a metric too")
    if not wanted.metric:
        return np.ones(len(rows), dtype=np.bool_)
    _check_metric(diagnosis, wanted.metric)
    values = diagnosis.scored.values(wanted.metric)[rows]
    keep = np.isfinite(values)
    if wanted.at_least is not None:
        keep &= values >= wanted.at_least
    if wanted.at_most is not None:
        keep &= values <= wanted.at_most
    return np.asarray(keep, dtype=np.bool_)


def earlier_run(store: RunStore, run: Run, against: str, since: str) -> Run | None:
    """Return the run that newly failing cases passed in; None where they are not asked for.

    It is `against`, by id, name or `baseline`, or the last run of the project before the moment `since`.

    Raises:
        DataError: there is none.
    """
    if against and since:
        raise DataError("against and since are both given; accepted: one of them")
    if since:
        return _last_before(store, run, _moment(since))
    if not against:
        return None
    baseline = baseline_of(store, run, "" if against == "baseline" else against)
    if baseline.run is None:
        raise DataError(
            f"against {against!r}: {baseline.note}; accepted: the id or name of another run with samples"
        )
    return baseline.run


def _last_before(store: RunStore, run: Run, moment: datetime) -> Run:
    project, at = name_text(run.project), f"{moment:%Y-%m-%d %H:%M} UTC"
    if run.created_at < moment:
        raise DataError(
            f"project {project} has no run since {at}, the newest is {name_text(run.name)} ({run.run_id}) of "
            f"{run.created_at:%Y-%m-%d %H:%M}; accepted: an earlier moment, or against=RUN"
        )
    before = [other for other in store.runs(run.project) if other.created_at < moment and not other.means]
    if not before:
        raise DataError(
            f"project {project} has no run before {at} to compare with; accepted: a later moment, or "
            "against=RUN"
        )
    return before[-1]


def _moment(text: str) -> datetime:
    """Return the moment that a text names, in UTC without a zone, as runs have it."""
    if text in DAYS_AGO:
        return utc_now().replace(hour=0, minute=0, second=0) - timedelta(days=DAYS_AGO[text])
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError) as error:
        raise DataError(
            f"since {text[:40]!r}; accepted: a date or time as in 2026-01-31 or 2026-01-31T09:00, "
            "`yesterday` or `today`"
        ) from error
