"""The four parts of a good case, with source and threshold: right, grounded, found, on the question."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.metrics.diagnosis.stage_rules import WHOLE
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Source, StrArray
from ragtriage.metrics.statistics.ppi import CorrectedMean

PartKey = Literal["right", "grounded", "found", "on_question"]
PART_TITLES: Mapping[PartKey, str] = {
    "right": "Right",
    "grounded": "Grounded",
    "found": "Found",
    "on_question": "On the question",
}
LABEL, ANSWERABILITY = "label", "answerability"  # what right is taken from, apart from metrics
FEWEST_COMPLETE = 10  # cases with all of the gold that show how often such cases pass


@dataclass(frozen=True)
class CasePart:
    """One part of a case."""

    key: PartKey  # of the part
    metric: str  # what it is taken from: a metric, LABEL or ANSWERABILITY; "" where nothing tells
    source: str  # how that was obtained, such as "judged" or "estimated"; "" where nothing tells
    value: float | None  # None where nothing tells
    threshold: float  # from which on the part is good
    good: bool | None  # None where nothing tells


@dataclass(frozen=True)
class PartColumn:
    """One part of n cases."""

    values: FloatArray  # (n,) NaN where nothing tells
    metric: StrArray  # (n,) what each is taken from, "" where nothing tells
    threshold: float  # from which on the part is good

    @property
    def good(self) -> FloatArray:
        """(n,) 1 good, 0 not, NaN where nothing tells."""
        return np.where(np.isnan(self.values), np.nan, (self.values >= self.threshold).astype(np.float64))


def parts_of(diagnosis: Diagnosis) -> dict[PartKey, PartColumn]:
    """Return the four parts of the cases of a run.

    Whether a case is right is taken from a person's label, else for a refusal from whether the question can
    be answered, else from correctness, claims of the reference, or the words of the answer.
    """
    scored, limits, context = diagnosis.scored, diagnosis.settings.thresholds, diagnosis.context
    named = np.array([*context.metrics, ""], dtype=object)[context.code]
    return {
        "right": _right(diagnosis),
        "grounded": _of_metric(scored.values("faithfulness"), "faithfulness", limits.faithfulness),
        "found": PartColumn(context.values, named, limits.context),
        "on_question": _of_metric(
            scored.values("answer_relevancy"), "answer_relevancy", limits.answer_relevancy
        ),
    }


def _of_metric(values: FloatArray, name: str, threshold: float) -> PartColumn:
    return PartColumn(values, np.where(np.isnan(values), "", name).astype(object), threshold)


def _right(diagnosis: Diagnosis) -> PartColumn:
    right, labels, refusals = diagnosis.right, diagnosis.human_labels, diagnosis.refusals
    values, metric = right.values.copy(), right.metric
    for rows, value in ((refusals.right, 1.0), (refusals.wrong | refusals.answered, 0.0)):
        values[rows], metric[rows] = value, ANSWERABILITY
    for rows, value in ((labels.good, 1.0), (labels.bad, 0.0)):
        values[rows], metric[rows] = value, LABEL
    return PartColumn(values, metric, diagnosis.settings.thresholds.correctness)


def case_parts(diagnosis: Diagnosis, row: int) -> list[CasePart]:
    """Return the four parts of one case."""
    parts = []
    for key, column in parts_of(diagnosis).items():
        value, metric, good = column.values[row], str(column.metric[row]), column.good[row]
        known = bool(np.isfinite(value))
        parts.append(
            CasePart(
                key,
                metric,
                _source(diagnosis, metric, row) if known else "",
                float(value) if known else None,
                column.threshold,
                bool(good) if known else None,
            )
        )
    return parts


def _source(diagnosis: Diagnosis, metric: str, row: int) -> str:
    if metric == LABEL:
        return Source.HUMAN.label
    if metric == ANSWERABILITY:
        return Source(int(diagnosis.scored.stage_features["refused_source"][row])).label
    column = diagnosis.scored.column(metric)
    return "" if column is None else Source(int(column.source[row])).label


@dataclass(frozen=True)
class RightByContext:
    """How right answers and complete contexts go together, of answered cases where both are known."""

    n_without: int  # cases whose context has none of the gold
    right_without: int  # of them, the right ones
    supported_without: int  # of these, the ones that their context supports: gold is missing, no document
    n_complete: int  # cases whose context has all of the gold
    wrong_complete: int  # of them, the wrong ones: lost by the generator


def right_without_context(diagnosis: Diagnosis) -> BoolArray:
    """(n,) True where an answer is right and its context has none of the gold."""
    return _answered_rightly(diagnosis, 1.0) & (diagnosis.scored.stage_features["gold_in_context"] <= 0)


def supported_without_gold(diagnosis: Diagnosis) -> BoolArray:
    """(n,) True where an answer is right and faithful to a context that has none of the gold."""
    grounded = parts_of(diagnosis)["grounded"].good == 1
    return np.asarray(right_without_context(diagnosis) & grounded, dtype=np.bool_)


def wrong_with_context(diagnosis: Diagnosis) -> BoolArray:
    """(n,) True where an answer is wrong although its context has all of the gold."""
    return _answered_rightly(diagnosis, 0.0) & (diagnosis.scored.stage_features["gold_in_context"] >= WHOLE)


def _answered_rightly(diagnosis: Diagnosis, good: float) -> BoolArray:
    answered = diagnosis.scored.stage_features["refused"] == 0
    return np.asarray(answered & (_right(diagnosis).good == good), dtype=np.bool_)


def right_by_context(diagnosis: Diagnosis) -> RightByContext:
    """Count how right answers and complete contexts go together."""
    gold = diagnosis.scored.stage_features["gold_in_context"]
    known = _answered_rightly(diagnosis, 1.0) | _answered_rightly(diagnosis, 0.0)
    return RightByContext(
        int((known & (gold <= 0)).sum()),
        int(right_without_context(diagnosis).sum()),
        int(supported_without_gold(diagnosis).sum()),
        int((known & (gold >= WHOLE)).sum()),
        int(wrong_with_context(diagnosis).sum()),
    )


def passing_with_gold(diagnosis: Diagnosis) -> float:
    """Return the share of good cases among those with all of the gold in their context; 1 where too few."""
    complete = diagnosis.measured & (diagnosis.scored.stage_features["gold_in_context"] >= WHOLE)
    if complete.sum() < FEWEST_COMPLETE:
        return 1.0
    weights, scored = diagnosis.scored.question_weights, diagnosis.scored
    of_cases = None if weights is None else weights[scored.question[complete]]
    return float(np.average(~diagnosis.bad.bad[complete], weights=of_cases))


def corrected_right_rate(diagnosis: Diagnosis) -> CorrectedMean | None:
    """Return the share of right answers by labels drawn at random and the words of the others, if any."""
    return diagnosis.label_correction if diagnosis.right_by_text else None


def right_summary(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return what is known of right answers as JSON values: their parts, words, labels and contexts."""
    wording, corrected = diagnosis.right.wording, corrected_right_rate(diagnosis)
    return {
        "by_text": {**asdict(wording), "undecided": wording.undecided, "has_rate": wording.enough},
        "corrected": corrected
        and {
            "estimate": corrected.mean,
            "low": corrected.low,
            "high": corrected.high,
            "n_labelled": corrected.n_labelled,
        },
        "by_context": asdict(right_by_context(diagnosis)),
        "says_more": int((diagnosis.right.says_more & ~diagnosis.bad.bad).sum()),
    }


def part_summary(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return for each part how many cases are known and good, and what it is taken from, as JSON values."""
    summary: dict[str, Any] = {}
    for key, column in parts_of(diagnosis).items():
        known = np.isfinite(column.values)
        names, counts = np.unique(column.metric[known].astype(str), return_counts=True)
        summary[key] = {
            "n_known": int(known.sum()),
            "n_good": int((column.good == 1).sum()),
            "threshold": column.threshold,
            "taken_from": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        }
    return summary
