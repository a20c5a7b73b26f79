"""The tool that lists cases with their reasons: by state, stage, tags, words, metric, and what fails anew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ragtriage.dashboard.headlines.cases import cases_headline, count_cases, nothing_newly_fails
from ragtriage.dashboard.mcp_server.chosen_runs import (
    DATA_NOTE,
    MOST_BYTES,
    Cursor,
    RunName,
    Tools,
    first_entry,
    headline_values,
    json_text,
    name_text,
    page_of,
    quoted,
)
from ragtriage.dashboard.mcp_server.single_case import case_values
from ragtriage.dashboard.wording.diagnosis import stage_advice
from ragtriage.data.cases.cases import CaseFilter, case_rows, read_cases, stage_order
from ragtriage.data.comparison.question_changes import newly_failing
from ragtriage.data.diagnosis.context import GOLD_IN_CONTEXT
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import pass_rate_doubts
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run, utc_now
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.metric_registry import ordered
from ragtriage.metrics.sanity.rule import Finding
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
    str, Field(description='"" for the order to fix them in, "worst", "imported", or a metric, lowest first.')
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


MOST_CASES = 50
LISTED_TEXT = 240  # characters of a question or answer
Limit = Annotated[int, Field(ge=1, le=MOST_CASES, description="Cases on a page.")]


class CaseListTools(Tools):
    """The tool that lists cases."""

    def cases(
        self,
        run: RunName = "",
        state: State = "bad",
        stage: StageKey = "",
        against: Against = "",
        since: Since = "",
        search: Search = "",
        tags: Tags = None,
        metric: MetricName = "",
        at_least: AtLeast = None,
        at_most: AtMost = None,
        cohort: Cohort = "",
        sort: Sort = "",
        limit: Limit = 10,
        cursor: Cursor = "",
    ) -> dict[str, Any]:
        """List the cases of a run with the reason of each: which fail, since when, and why.

        cases(since="yesterday") answers "which cases fail since yesterday and why"; cases(against="baseline")
        what newly fails; cases(stage="missed") what one stage lost. Each case has its conclusion, the stage
        where it failed, the evidence, its scores, and question and answer shortened; `stages` explains each
        stage and what to try. Read one whole with `case`. Repeat the same arguments with `cursor` to page.
        """
        chosen = self.chosen_run(run)
        diagnosis = self.diagnosis(chosen)
        base = earlier_run(self.store, chosen, against, since)
        wanted = CaseQuery(state, stage, search, tags, metric, at_least, at_most, cohort, sort)
        change = None
        if base is not None:
            change = newly_failing(self.diagnosis(base), diagnosis)
        rows = matching_rows(diagnosis, wanted, None if change is None else change.samples)
        first, findings = first_entry(cursor, len(rows)), check_run(diagnosis.scored)
        doubts = dict.fromkeys(finding.clause for finding in pass_rate_doubts(diagnosis, findings))
        names, doubt = self.store.names(), "; ".join(doubts)
        headline = cases_headline(count_cases(names[chosen.run_id], diagnosis, rows), doubt)
        if base is not None and change is not None and not len(change.question_ids):
            headline = nothing_newly_fails(names[chosen.run_id], names[base.run_id], change, doubt)
        answer: dict[str, Any] = {
            "run": self.run_values(chosen),
            "headline": headline_values(headline),
            "total": len(rows),
            "note": DATA_NOTE,
        }
        if base is not None and change is not None:
            answer["passed_in"] = self.run_values(base)
            answer["questions"] = {
                "compared": change.compared,
                "newly_failing": len(change.question_ids),
                "repaired": change.repaired,
            }
        samples = read_cases(diagnosis.scored, rows[first : first + limit])
        entries = [_entry(diagnosis, sample, (metric, sort)) for sample in samples]
        answer["next"] = f'case(run="{chosen.run_id}", question_id="...") has one whole'
        if not len(rows):
            nothing = "no such case newly fails" if change is not None else "no case matches"
            answer["next"] = f'{nothing}; triage(run="{chosen.run_id}") says how the run does as a whole'
        return self._with_cases(answer, diagnosis, findings, entries, first)

    def _with_cases(
        self,
        answer: dict[str, Any],
        diagnosis: Diagnosis,
        findings: Sequence[Finding],
        entries: Sequence[dict[str, Any]],
        first: int,
    ) -> dict[str, Any]:
        """Return the answer with as many cases as fit together with what explains their stages."""
        legend: dict[str, dict[str, str]] = {}
        for shown in range(len(entries), -1, -1):
            legend = _legend(diagnosis, findings, entries[:shown])
            taken = len(json_text({**answer, "stages": legend}).encode()) + 200
            page = page_of("cases", "case", entries[:shown], first, answer["total"], taken)
            if len(page["cases"]) == shown and (shown or not entries):
                return {**answer, **page, "stages": legend}
        # one case and its stage do not fit together: the case alone, without its texts if need be
        alone = dict(entries[0])
        if len(json_text({**answer, "cases": [alone]}).encode()) > MOST_BYTES - 200:
            alone = {key: alone[key] for key in ("question_id", "repeat", "state")}
        taken = len(json_text(answer).encode()) + 200
        return {**answer, **page_of("cases", "case", [alone], first, answer["total"], taken), "stages": {}}


def _entry(diagnosis: Diagnosis, sample: Mapping[str, Any], more: Sequence[str]) -> dict[str, Any]:
    """Return a case as it stands in the list, with the values that decide on it."""
    row, scored = int(sample["row"]), diagnosis.scored
    context = diagnosis.context.metric_at(row)
    scores: dict[str, float] = {}
    if context:
        title = "gold in context" if context == GOLD_IN_CONTEXT else context
        scores[title] = float(diagnosis.context.values[row])
    for name in ("faithfulness", "answer_relevancy", *CORRECTNESS, *more):
        value = float(scored.values(name)[row]) if name in scored.metrics else float("nan")
        if np.isfinite(value):
            scores[name] = value
    return {
        **case_values(diagnosis, row, sample),
        "scores": scores,
        "quoted": {
            "question": quoted(sample["question"], LISTED_TEXT),
            "answer": quoted(sample["answer"], LISTED_TEXT),
        },
    }


def _legend(
    diagnosis: Diagnosis, findings: Sequence[Finding], entries: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, str]]:
    """Return meaning and advice of the stages on a page."""
    keys = dict.fromkeys(entry["stage"] for entry in entries if "stage" in entry)
    return {
        key: {
            "title": STAGES[stage_code(key)].title,
            "meaning": STAGES[stage_code(key)].meaning,
            "advice": quoted(stage_advice(diagnosis, key, findings), 400),
        }
        for key in keys
    }
