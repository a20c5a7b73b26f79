"""One case: what it is called, its state and the reason, and the tools that return it whole and label it."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ragtriage.dashboard.mcp_server.chosen_runs import (
    DATA_NOTE,
    MOST_BYTES,
    Cursor,
    Quoting,
    RunName,
    Tools,
    first_entry,
    json_text,
    name_text,
    quoted,
)
from ragtriage.dashboard.wording.diagnosis import case_conclusion, stage_advice, stage_evidence
from ragtriage.data.cases.cases import read_case
from ragtriage.data.cases.checks import failed_checks_text
from ragtriage.data.cases.export import case_result, native_record
from ragtriage.data.diagnosis.diagnosis import Diagnosis, row_of
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import DataError
from ragtriage.data.labels.failure_taxonomy import LONGEST_LABEL
from ragtriage.metrics.diagnosis.stages import STAGES

# characters of a text and entries of a list, tried in this order until the answer fits
LENGTHS = ((6_000, 100), (3_000, 60), (1_200, 40), (600, 30), (250, 20), (120, 15), (40, 6))
PART_BYTES = 6_000  # of a text that is asked for by its place
LONGEST_EVIDENCE, LONGEST_ID = 400, 400
MOST_CUTS = 12  # places that are named
Place = Annotated[
    str, Field(description="Only this part, as `cut` names it, such as sample.retrieved[0].text.")
]
QuestionId = Annotated[str, Field(description="Id of the question, as `cases` lists it.")]
Repeat = Annotated[
    int | None, Field(description="Which repeat of the question; needed where there are several.")
]


class SingleCaseTools(Tools):
    """The tool about one case."""

    def case(
        self,
        question_id: QuestionId,
        run: RunName = "",
        repeat: Repeat = None,
        place: Place = "",
        cursor: Cursor = "",
    ) -> dict[str, Any]:
        """Return one case: question, answer, retrieved documents, gold, scores, labels, diagnosis.

        `why` is the evidence for the failure stage and `advice` what to try. Long texts and lists are cut so
        that the answer stays readable: `cut` names the place of each, and a call with that `place` returns it
        whole, a page at a time. Scores at ranks k are in `metrics`.
        """
        chosen = self.chosen_run(run)
        diagnosis = self.diagnosis(chosen)
        row = row_of_case(diagnosis, question_id, repeat)
        sample, result = read_case(diagnosis.scored, row), case_result(diagnosis, row)
        judged, stage = sample.pop("judged", None), int(diagnosis.stages.stage[row])
        values = case_values(diagnosis, row, sample)
        if stage >= 0:
            values["advice"] = stage_advice(diagnosis, STAGES[stage].key, check_run(diagnosis.scored))
        quotes = {
            "sample": native_record(sample),
            "labels": result["labels"],
            **(
                {"judge": json.loads(judged) if isinstance(judged, str | bytes) else judged} if judged else {}
            ),
        }
        if place:
            return _part(self.run_values(chosen), quotes, place, cursor)
        head = {
            "run": self.run_values(chosen),
            **values,
            "scores": {
                name: value
                for name, value in result["scores"].items()
                if "@" not in name or name == diagnosis.context.metric_at(row)
            },
            "note": DATA_NOTE,
            "next": f'cases(run="{chosen.run_id}") lists the others',
        }
        return _cut_to_fit(head, quotes)


def _part(run: dict[str, Any], quotes: Mapping[str, Any], place: str, cursor: str) -> dict[str, Any]:
    """Return a page of what lies at a place of a case.

    Raises:
        DataError: nothing lies there, or no page has the cursor.
    """
    value = _at(quotes, place)
    text = value if isinstance(value, str) else json_text(value)
    clean = quoted(text, len(text))
    first = first_entry(cursor, len(clean))
    page = clean[first : first + PART_BYTES]
    while len(json_text(page).encode()) > PART_BYTES:  # of letters with several bytes, fewer fit
        page = page[: len(page) * 3 // 4]
    answer = {"run": run, "place": name_text(place), "quoted": page, "note": DATA_NOTE}
    end = first + len(page)
    if end < len(clean):
        answer |= {"next_cursor": str(end), "cut": f"characters {first + 1:,} to {end:,} of {len(clean):,}"}
    return answer


def _at(quotes: Any, place: str) -> Any:
    """Return what lies at a place such as sample.retrieved[0].text."""
    value, rest = quotes, place
    while rest:
        if isinstance(value, list) and (found := re.match(r"\[(\d{1,6})\]\.?", rest)):
            at, rest = int(found[1]), rest[found.end() :]
            if at >= len(value):
                break
            value = value[at]
            continue
        # a key may hold a point: the longest that fits is meant
        names = value if isinstance(value, Mapping) else ()
        keys = [key for key in names if re.match(rf"{re.escape(key)}(?:\.|(?=\[)|$)", rest)]
        if not keys:
            break
        key = max(keys, key=len)
        value, rest = value[key], rest[len(key) :].removeprefix(".")
    if not rest:
        return value
    raise DataError(
        f"place {place[:80]!r} is not in the case; accepted: one that `cut` names, such as sample.answer"
    )


def _cut_to_fit(head: dict[str, Any], quotes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer with as much of its texts as the bound allows."""
    for longest, most in LENGTHS:
        quoting = Quoting(longest, most)
        answer = {**head, "quoted": quoting.value(quotes)}
        if quoting.cut:
            more = len(quoting.cut) - MOST_CUTS
            answer["cut"] = [*quoting.cut[:MOST_CUTS], *([f"and {more:,} more places"] if more > 0 else [])]
        if len(json_text(answer).encode()) <= MOST_BYTES:
            return answer
    cut = [f"scores and texts: longer than {MOST_BYTES:,} bytes; ask for a place, such as sample.answer"]
    return {**head, "scores": {}, "quoted": {}, "cut": cut}


def case_state(diagnosis: Diagnosis, row: int) -> str:
    """Return whether a case is bad, good or not measured."""
    if diagnosis.bad.bad[row]:
        return "bad"
    return "good" if diagnosis.measured[row] else "not measured"


def case_values(diagnosis: Diagnosis, row: int, sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a case is called, its state, and why it is bad."""
    stage, name = int(diagnosis.stages.stage[row]), str(sample["question_id"])
    values: dict[str, Any] = {
        "question_id": name if len(name) <= LONGEST_ID else quoted(name, LONGEST_ID),
        "repeat": int(sample["repeat"]),
        "state": case_state(diagnosis, row),
        "conclusion": case_conclusion(diagnosis, row),
    }
    if stage >= 0:
        values["stage"] = STAGES[stage].key
        # the evidence for a failure stage; marked as quoted where values of failed checks are in it
        evidence, failed = stage_evidence(diagnosis, sample), failed_checks_text(sample)
        text = quoted(evidence, LONGEST_EVIDENCE)
        values["why"] = {"quoted": text} if failed and failed in evidence else text
        values["reasons"] = [name for name, cases in diagnosis.bad.reasons.items() if cases[row]]
    if stage >= 0 and diagnosis.stages.inferred[row]:
        values["inferred"] = True
    return values


def row_of_case(diagnosis: Diagnosis, question_id: str, repeat: int | None) -> int:
    """Return the row of a case.

    Raises:
        DataError: the run does not have it, or the repeat must be named.
    """
    scored = diagnosis.scored
    at = np.flatnonzero(scored.question_ids == question_id)
    repeats = sorted(scored.repeats[scored.question == at[0]].tolist()) if len(at) else []
    shown = ", ".join(map(str, repeats[:20]))
    if not repeats:
        some = ", ".join(map(str, scored.question_ids[:5]))[:200]
        raise DataError(
            f"question {question_id[:60]!r} is not in run {scored.run.run_id}; accepted: an id as `cases` "
            f"lists it, such as {some}"
        )
    if repeat is None and len(repeats) > 1:
        raise DataError(
            f"question {question_id[:60]!r} has {len(repeats):,} repeats; accepted: repeat, one of {shown}"
        )
    row = row_of(scored, question_id, repeats[0] if repeat is None else repeat)
    if row is None:
        raise DataError(f"question {question_id[:60]!r} has no repeat {repeat}; accepted: {shown}")
    return row


AGENT = "agent: "  # before the name of every annotator, so that nobody takes its labels for a person's
LONGEST_NOTE = 2_000


class LabelTools(Tools):
    """The tool that labels."""

    def label(
        self,
        run: Annotated[str, Field(min_length=1, description="Id or name of the run.")],
        question_id: QuestionId,
        verdict: Annotated[
            Literal["pass", "fail", "note"], Field(description="`note` keeps the note without a verdict.")
        ],
        annotator: Annotated[
            str, Field(min_length=1, max_length=60, description="Who labels; recorded as `agent: NAME`.")
        ],
        repeat: Annotated[
            int | None, Field(description="Which repeat; needed where there are several.")
        ] = None,
        failure: Annotated[
            str, Field(max_length=LONGEST_LABEL, description="Failure label, a few words; may be empty.")
        ] = "",
        note: Annotated[str, Field(max_length=LONGEST_NOTE, description="Why; may be empty.")] = "",
    ) -> dict[str, Any]:
        """Label a case as passing or failing. Writes to the workspace: ask the user before you call it.

        A label overrules scores and checks in the diagnosis and counts in every pass rate and gate. It
        replaces your earlier label of the case; the page Cases shows it as `agent: NAME`, where it can be
        undone.
        """
        chosen = self.store.find(run)
        before = self.diagnosis(chosen)
        row = row_of_case(before, question_id, repeat)
        case = (chosen.run_id, question_id, int(before.scored.repeats[row]))
        who = f"{AGENT}{name_text(annotator).strip() or 'unnamed'}"
        pass_or_fail = None if verdict == "note" else verdict
        number = self.store.ledger.add_label(case, who, pass_or_fail, failure, note)
        after = self.diagnosis(chosen)
        return {
            "run": self.run_values(chosen),
            "label_id": number,
            "annotator": who,
            "state_before": case_state(before, row),
            "state_now": case_state(after, row),
            "pass_rate_before": before.pass_rate.mean,
            "pass_rate_now": after.pass_rate.mean,
            "next": f'triage(run="{chosen.run_id}") counts the label',
        }
