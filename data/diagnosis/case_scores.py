"""The scores that a diagnosis looks at: those of the metric pattern, those that decide, and what is right."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ragtriage.data.diagnosis.context import GOLD_IN_CONTEXT
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.diagnosis.context_metric import ContextChoice
from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.diagnosis.right import CORRECTNESS, RIGHT_SOURCES, ClaimScores, Right, right_answers
from ragtriage.metrics.schema.scores import FloatArray


@dataclass(frozen=True)
class CaseScores:
    """The scores that a diagnosis looks at."""

    # those that make a case bad and give its metric pattern; "context", "faithfulness",
    # "answer_relevancy" and "correctness"
    values: Mapping[str, FloatArray]
    right: Right  # which answers are right
    contradictions: Mapping[str, FloatArray]  # whether answers contradict themselves or their context


def case_scores(scored: ScoredRun, context: ContextChoice, thresholds: CaseThresholds) -> CaseScores:
    """Return the scores of a run, with which of its answers are right."""
    faithfulness, contradictions = scored.values("faithfulness"), _contradictions(scored)
    claims = ClaimScores(
        scored.values("answer_f1"),
        scored.values("answer_precision"),
        scored.values("answer_recall"),
        faithfulness,
        contradictions["contradicts_context"],
    )
    correctness = {name: scored.values(name) for name in CORRECTNESS}
    right = right_answers(correctness, claims, scored.stage_features["text_outcome"], thresholds)
    values = {
        "context": context.values,
        "faithfulness": faithfulness,
        "answer_relevancy": scored.values("answer_relevancy"),
        "correctness": right.values,
    }
    return CaseScores(values, right, contradictions)


def measurements_of(context: ContextChoice, scores: CaseScores) -> dict[str, FloatArray]:
    """Return metric -> (n,) values of all that can make a case bad, NaN where it does not decide a case."""
    of_context = {
        name: np.where(context.code == at, context.values, np.nan)
        for at, name in enumerate(context.metrics)
        if name != GOLD_IN_CONTEXT  # gold that was handed over measures nothing of the system
    }
    right = scores.right
    by_right = {name: np.where(right.decided_by(name), right.values, np.nan) for name in RIGHT_SOURCES}
    return {
        **of_context,
        "faithfulness": scores.values["faithfulness"],
        "answer_relevancy": scores.values["answer_relevancy"],
        **by_right,
        "self_contradiction": scores.contradictions["self_contradiction"],
        "contradicted": scores.contradictions["contradicts_context"],
    }


def _contradictions(scored: ScoredRun) -> dict[str, FloatArray]:
    """Return whether answers contradict themselves or their context; NaN where that is not known.

    A share of contradicted claims that another tool computed is taken where the claims are not recorded.
    """
    by_claims, shares = scored.stage_features["contradicts_context"], scored.values("contradicted")
    return {
        "self_contradiction": scored.values("self_contradiction"),
        "contradicts_context": np.where(np.isnan(by_claims), shares, by_claims),
    }
