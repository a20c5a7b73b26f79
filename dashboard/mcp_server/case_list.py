"""The tool that lists cases with the reason of each, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ragtriage.dashboard.headlines.cases import cases_headline, count_cases, nothing_newly_fails
from ragtriage.dashboard.mcp_server.bounded import DATA_NOTE, json_text, page_of, quoted
from ragtriage.dashboard.mcp_server.case_filters import (
    Against,
    AtLeast,
    AtMost,
    CaseQuery,
    Cohort,
    MetricName,
    Search,
    Since,
    Sort,
    StageKey,
    State,
    Tags,
    earlier_run,
    matching_rows,
)
from ragtriage.dashboard.mcp_server.chosen_runs import (
    Cursor,
    RunName,
    Tools,
    first_entry,
    headline_values,
)
from ragtriage.dashboard.mcp_server.single_case import case_values
from ragtriage.dashboard.wording.diagnosis import stage_advice
from ragtriage.data.cases.cases import read_cases
from ragtriage.data.comparison.question_changes import newly_failing
from ragtriage.data.diagnosis.context import GOLD_IN_CONTEXT
from ragtriage.data.diagnosis.diagnosis import CORRECTNESS, Diagnosis
from ragtriage.data.diagnosis.doubts import pass_rate_doubts
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.sanity.rule import Finding

MOST_CASES = 50
LISTED_TEXT = 240  # characters of a question or answer
LEGEND_BYTES = 12_000  # what the stages of a page may take
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
        taken = len(json_text(answer).encode()) + LEGEND_BYTES
        answer |= page_of("cases", "case", entries, first, len(rows), taken)
        answer["stages"] = _legend(diagnosis, findings, answer["cases"])
        answer["next"] = f'case(run="{chosen.run_id}", question_id="...") has one whole'
        if not len(rows):
            nothing = "no such case newly fails" if change is not None else "no case matches"
            answer["next"] = f'{nothing}; triage(run="{chosen.run_id}") says how the run does as a whole'
        return answer


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
