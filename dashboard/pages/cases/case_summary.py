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
    """Return the scores that decide on a case, measured or not, then the others that it has."""
    row, thresholds = int(sample["row"]), diagnosis.settings.thresholds
    reasons = {score["metric"]: score["reason"] or "" for score in sample["scores"] or ()}
    context = diagnosis.context.metric_at(row) or diagnosis.context_metric
    limits = {
        **({context: thresholds.context} if context else {}),
        "faithfulness": thresholds.faithfulness,
        "answer_relevancy": thresholds.answer_relevancy,
    }
    scores = [_score(diagnosis, row, name, reasons.get(name, ""), limit) for name, limit in limits.items()]
    others = [_score(diagnosis, row, name, reasons.get(name, "")) for name in HEADLINES if name not in limits]
    return [*scores, *(score for score in others if score.share is not None)][:MOST_SCORES]


def _score(
    diagnosis: Diagnosis, row: int, name: str, reason: str, threshold: float | None = None
) -> CaseScore:
    title, column = metric_title(name), diagnosis.scored.column(name)
    if name == GOLD_IN_CONTEXT:
        value, source = float(diagnosis.context.values[row]), "oracle context"
    elif column is None or column.status[row] != Status.SCORED:
        return CaseScore(title, NOT_MEASURED, None, threshold, help=reason or "not measured for this case")
    else:
        value, source = float(column.values[row]), Source(int(column.source[row])).label
    how = ". ".join(part for part in (f"{capital(source)}", reason) if part)
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
