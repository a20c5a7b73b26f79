"""What the diagnosis says of the open case: chips, scores with their thresholds, evidence and advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.dashboard.present.page_html.case_blocks import CaseScore, Chip
from ragtriage.dashboard.shell.components import metric_title
from ragtriage.dashboard.wording.diagnosis import case_conclusion, doubted_by, stage_evidence
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.diagnosis.context import GOLD_IN_CONTEXT
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import case_doubts
from ragtriage.data.diagnosis.good_case import ANSWERABILITY, LABEL, PART_TITLES, CasePart, case_parts
from ragtriage.metrics.definitions.wording import NOT_DECIDED, RIGHT_BY_TEXT
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.number_text import NOT_MEASURED, number
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.scores import Status
from ragtriage.metrics.schema.source import Source

HEADLINES = (
    "context_precision", "context_recall", "faithfulness", "answer_relevancy", "answer_correctness",
    "correctness", "answer_f1", "answer_precision", "answer_recall",
)  # fmt: skip
MOST_SCORES = 6
_USUAL = {"right": RIGHT_BY_TEXT, "grounded": "faithfulness", "on_question": "answer_relevancy"}


def case_chips(diagnosis: Diagnosis, findings: Sequence[Finding], row: int) -> list[Chip]:
    """Return the conclusion on a case, what it rests on, and whether the answer is a refusal."""
    stage, conclusion = int(diagnosis.stages.stage[row]), case_conclusion(diagnosis, row)
    doubts = case_doubts(diagnosis, findings, row)
    if stage >= 0:
        chips = [Chip(conclusion, owner=STAGES[stage].owner, help=STAGES[stage].meaning)]
        if diagnosis.stages.inferred[row]:
            chips.append(Chip("inferred: no gold recorded", help="The context metric stands in for gold."))
    elif diagnosis.measured[row]:
        chips = [Chip("✓ Good", "good"), Chip(conclusion)]
    else:
        chips = [Chip(f"– {conclusion}", "unmeasured")]
    if doubts:
        chips.append(Chip("! doubted", "unclear", help=capital(doubted_by(doubts))))
    features = diagnosis.scored.stage_features
    if features["refused"][row] == 1 and (stage < 0 or STAGES[stage].owner != "refusal"):
        chips.append(Chip(f"refusal, {Source(int(features['refused_source'][row])).label}"))
    return chips


def scores_with_thresholds(diagnosis: Diagnosis, sample: Mapping[str, Any]) -> list[CaseScore]:
    """Return the four parts of a good case, measured or not, then the other scores that it has."""
    row = int(sample["row"])
    reasons = {score["metric"]: score["reason"] or "" for score in sample["scores"] or ()}
    if diagnosis.right.undecided[row]:
        reasons.setdefault(RIGHT_BY_TEXT, NOT_DECIDED)
    parts = case_parts(diagnosis, row)
    scores, shown = [_part_score(diagnosis, part, reasons) for part in parts], {part.metric for part in parts}
    for name in HEADLINES:
        column = None if name in shown else diagnosis.scored.column(name)
        if column is not None and column.status[row] == Status.SCORED:
            source = Source(int(column.source[row])).label
            title = metric_title(name)
            scores.append(_score(title, float(column.values[row]), source, reasons.get(name, "")))
    return scores[:MOST_SCORES]


def _part_score(diagnosis: Diagnosis, part: CasePart, reasons: Mapping[str, str]) -> CaseScore:
    """Return one of the four parts of a good case, named with what it is taken from."""
    usual = diagnosis.context_metric if part.key == "found" else _USUAL[part.key]
    metric = part.metric or usual or ""
    name = {LABEL: "label", ANSWERABILITY: "refusal"}.get(metric) or metric_title(metric)
    known, why = part.value is not None, reasons.get(metric, "")
    named = known or part.key != "right"  # what is not known to be right could be so by any of its sources
    title = f"{PART_TITLES[part.key]}: {name}" if named and name else PART_TITLES[part.key]
    if part.value is None:
        return CaseScore(title, NOT_MEASURED, None, part.threshold, help=why or "not measured for this case")
    source = "oracle context" if metric == GOLD_IN_CONTEXT else part.source
    return _score(title, part.value, source, why, part.threshold)


def _score(title: str, value: float, source: str, reason: str, threshold: float | None = None) -> CaseScore:
    how = ". ".join(text for text in (capital(source), reason) if text)
    return CaseScore(title, number(value), min(1.0, max(0.0, value)), threshold, source, how)


def notes(diagnosis: Diagnosis, findings: Sequence[Finding], sample: Mapping[str, Any]) -> list[str]:
    """Return the evidence for the failure stage of a bad case and, unless it is doubted, what to try."""
    row = int(sample["row"])
    stage = int(diagnosis.stages.stage[row])
    if stage < 0:
        return []
    sentence = stage_evidence(diagnosis, sample)
    advice = "" if case_doubts(diagnosis, findings, row) else f"What to try: {STAGES[stage].advice}"
    return [f"Evidence: {sentence}" if sentence else "", advice]
