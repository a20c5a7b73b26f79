"""The scores that a diagnosis looks at: those of the metric pattern, those that decide, and what is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ragtriage.data.diagnosis.context import GOLD_IN_CONTEXT
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.definitions.wording import RIGHT_BY_TEXT
from ragtriage.metrics.diagnosis.context_metric import ContextChoice
from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.diagnosis.right import RIGHT_SOURCES, ClaimScores, Right, right_answers
from ragtriage.metrics.schema.scores import FloatArray

CORRECTNESS = ("correctness", "answer_correctness", "factual_correctness")  # the first that a run has


@dataclass(frozen=True)
class CaseScores:
    """The scores that a diagnosis looks at.

    Attributes:
        values: those of the metric pattern; "context", "faithfulness", "answer_relevancy" and "correctness".
        deciding: those that make a case bad, under the same names.
        correctness: the metric that stands for correctness.
        right: which answers are right.
        contradictions: whether answers contradict themselves or their context.
    """

    values: Mapping[str, FloatArray]
    deciding: Mapping[str, FloatArray]
    correctness: str
    right: Right
    contradictions: Mapping[str, FloatArray]


def case_scores(scored: ScoredRun, context: ContextChoice, thresholds: CaseThresholds) -> CaseScores:
    """Return the scores of a run, with which of its answers are right."""
    correctness = next((name for name in CORRECTNESS if name in scored.sources), "correctness")
    faithfulness, relevancy = scored.values("faithfulness"), scored.values("answer_relevancy")
    reference = scored.values(correctness)
    # A similarity to the reference can take the place of correctness, but it does not make a case bad.
    similarity = None if "correctness" in scored.sources else reference
    contradictions = _contradictions(scored)
    claims = ClaimScores(
        scored.values("answer_f1"),
        scored.values("answer_precision"),
        scored.values("answer_recall"),
        faithfulness,
        contradictions["contradicts_context"],
    )
    right = right_answers(
        reference if similarity is None else np.full(scored.n, np.nan),
        claims,
        np.where(np.isnan(reference), scored.stage_features["text_outcome"], np.nan),
        thresholds,
    )
    shared = {"context": context.values, "faithfulness": faithfulness, "answer_relevancy": relevancy}
    shown = right.values
    if similarity is not None:
        shown = np.where(np.isnan(similarity) | right.decided_by("claims"), right.values, similarity)
    return CaseScores(
        shared | {"correctness": shown},
        shared | {"correctness": right.values},
        correctness,
        right,
        contradictions,
    )


def measurements_of(context: ContextChoice, scores: CaseScores) -> dict[str, FloatArray]:
    """Return metric -> (n,) values of all that can make a case bad, NaN where it does not decide a case."""
    of_context = {
        name: np.where(context.code == at, context.values, np.nan)
        for at, name in enumerate(context.metrics)
        if name != GOLD_IN_CONTEXT  # gold that was handed over measures nothing of the system
    }
    right = scores.right
    by_right = {
        name: np.where(right.decided_by(source), right.values, np.nan)
        for name, source in zip((scores.correctness, "answer_f1", RIGHT_BY_TEXT), RIGHT_SOURCES, strict=True)
    }
    return {
        **of_context,
        "faithfulness": scores.deciding["faithfulness"],
        "answer_relevancy": scores.deciding["answer_relevancy"],
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
