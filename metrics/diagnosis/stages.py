"""Failure attribution: each bad case goes to the first stage whose rule it meets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metrics.diagnosis.patterns import CaseThresholds
from metrics.schema.scores import BoolArray, FloatArray, MetricsError

__all__ = [
    "DEFAULT_ORDER",
    "STAGES",
    "FailureStage",
    "Owner",
    "StageFeatures",
    "StageResult",
    "always",
    "answered",
    "answered_unanswerable",
    "attribute_failures",
    "below",
    "equals",
    "followed_noise",
    "inferred_miss",
    "is_known",
    "left_out",
    "misranked",
    "missed",
    "off_question",
    "partial_gold",
    "reaches",
    "refused_with_context",
    "retrieval_miss",
    "self_contradiction",
    "stage_code",
    "unfaithful",
    "wrong",
    "wrong_format",
]

_WHOLE = 1.0 - 1e-9  # a fraction at or above this is all of the gold
_SOME = 1e-9  # and at or above this some of it
_UNANSWERABLE = 2.0  # code in metrics.schema.batch.ANSWERABLE


@dataclass(frozen=True)
class StageFeatures:
    """What is known of n samples. Every field except ``bad`` may be left out; NaN means unknown.

    Attributes:
        bad: (n,) True for the cases to attribute.
        refused: (n,) 1 refused, 0 answered.
        answerable: (n,) codes 0..3 into metrics.schema.batch.ANSWERABLE.
        gold_in_candidates: (n,) fraction 0..1 of the gold among the first-pass candidates.
        gold_in_context: (n,) fraction 0..1 of the gold in the context handed to the generator.
        has_candidates: (n,) 1 where a candidate list was recorded.
        noise_sensitivity: (n,) share of the claims that are wrong and taken from a retrieved document.
        format_failed: (n,) 1 where a format check failed.
        contradicts_itself: (n,) 1 where the answer contradicts itself.
        faithfulness: (n,) share of the answer's claims that the context supports.
        context_utilization: (n,) share of the relevant context that the answer uses.
        omission: (n,) share of the reference that the context has and the answer lacks.
        answer_relevancy: (n,) how well the answer addresses the question.
        correctness: (n,) agreement with the reference.
        context: (n,) values of the context metric (context_metric.choose_per_question), used without gold.
    """

    bad: BoolArray
    refused: FloatArray | None = None
    answerable: FloatArray | None = None
    gold_in_candidates: FloatArray | None = None
    gold_in_context: FloatArray | None = None
    has_candidates: FloatArray | None = None
    noise_sensitivity: FloatArray | None = None
    format_failed: FloatArray | None = None
    contradicts_itself: FloatArray | None = None
    faithfulness: FloatArray | None = None
    context_utilization: FloatArray | None = None
    omission: FloatArray | None = None
    answer_relevancy: FloatArray | None = None
    correctness: FloatArray | None = None
    context: FloatArray | None = None

    def known(self, name: str) -> FloatArray:
        """Return a feature as floats, all NaN where it was left out.

        Raises:
            MetricsError: the array does not have one entry per sample.
        """
        value = getattr(self, name)
        if value is None:
            return np.full(len(self.bad), np.nan)
        if len(value) != len(self.bad):
            raise MetricsError(f"feature {name!r} has {len(value)} entries for {len(self.bad)} samples")
        return np.asarray(value, dtype=np.float64)


def is_known(features: StageFeatures, name: str) -> BoolArray:
    """(n,) True where the feature is recorded."""
    return ~np.isnan(features.known(name))


def equals(features: StageFeatures, name: str, value: float) -> BoolArray:
    """(n,) True where the feature is recorded and has this value."""
    return np.asarray(features.known(name) == value, dtype=np.bool_)


def below(features: StageFeatures, name: str, limit: float) -> BoolArray:
    """(n,) True where the feature is recorded and lower than the limit."""
    return np.asarray(features.known(name) < limit, dtype=np.bool_)


def reaches(features: StageFeatures, name: str, limit: float) -> BoolArray:
    """(n,) True where the feature is recorded and at or above the limit."""
    return np.asarray(features.known(name) >= limit, dtype=np.bool_)


def answered(features: StageFeatures) -> BoolArray:
    """(n,) True where the answer is not known to be a refusal; rules on what answers say skip refusals."""
    return ~equals(features, "refused", 1)


def answered_unanswerable(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """An answer to a question that the corpus cannot answer."""
    return equals(features, "answerable", _UNANSWERABLE) & equals(features, "refused", 0)


def refused_with_context(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """A refusal with all of the gold in the context or, without gold labels, a high context metric."""
    by_metric = ~is_known(features, "gold_in_context") & reaches(features, "context", thresholds.context)
    had_gold = reaches(features, "gold_in_context", _WHOLE) | by_metric
    return equals(features, "refused", 1) & had_gold & ~equals(features, "answerable", _UNANSWERABLE)


def missed(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """No gold in the recorded candidates and none in the context."""
    nowhere = equals(features, "gold_in_context", 0) & equals(features, "gold_in_candidates", 0)
    return nowhere & ~equals(features, "has_candidates", 0)


def misranked(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """Gold in the recorded candidates but none in the context."""
    retrieved = reaches(features, "gold_in_candidates", _SOME) & ~equals(features, "has_candidates", 0)
    return equals(features, "gold_in_context", 0) & retrieved


def retrieval_miss(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """No gold in the context, and no recorded candidates to tell whether it was retrieved at all."""
    no_candidates = ~is_known(features, "gold_in_candidates") | equals(features, "has_candidates", 0)
    return equals(features, "gold_in_context", 0) & no_candidates


def partial_gold(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """Some of the gold in the context, but not all."""
    return reaches(features, "gold_in_context", _SOME) & below(features, "gold_in_context", _WHOLE)


def inferred_miss(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """No gold labels, and a low context metric on a question not labelled unanswerable."""
    low = ~is_known(features, "gold_in_context") & below(features, "context", thresholds.context)
    return low & ~equals(features, "answerable", _UNANSWERABLE)


def followed_noise(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """Gold in the context (or a high context metric), and wrong claims taken from retrieved documents."""
    by_metric = ~is_known(features, "gold_in_context") & reaches(features, "context", thresholds.context)
    present = reaches(features, "gold_in_context", _SOME) | by_metric
    return answered(features) & present & reaches(features, "noise_sensitivity", thresholds.noise)


def wrong_format(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """A failed format check."""
    return equals(features, "format_failed", 1)


def self_contradiction(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """An answer that contradicts itself."""
    return answered(features) & equals(features, "contradicts_itself", 1)


def unfaithful(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """Faithfulness below its threshold."""
    return answered(features) & below(features, "faithfulness", thresholds.faithfulness)


def left_out(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """Too little of the relevant context in the answer, by utilization or omission."""
    omitted = reaches(features, "omission", 1 - thresholds.utilization)
    return answered(features) & (below(features, "context_utilization", thresholds.utilization) | omitted)


def off_question(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """Answer relevancy below its threshold in a faithful answer."""
    off = below(features, "answer_relevancy", thresholds.answer_relevancy)
    return answered(features) & off & reaches(features, "faithfulness", thresholds.faithfulness)


def wrong(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """Faithful and relevant, but in disagreement with the reference."""
    faithful = reaches(features, "faithfulness", thresholds.faithfulness)
    relevant = reaches(features, "answer_relevancy", thresholds.answer_relevancy)
    return answered(features) & faithful & relevant & below(features, "correctness", thresholds.correctness)


def always(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """Every remaining case."""
    return np.ones(len(features.bad), dtype=np.bool_)


Owner = Literal["retrieval", "reranking", "generation", "refusal", "format", "unexplained"]
Rule = Callable[[StageFeatures, CaseThresholds], BoolArray]


@dataclass(frozen=True)
class FailureStage:
    """A stage of the pipeline at which an answer can go wrong.

    Attributes:
        key: name in files and links.
        title: name on screen.
        meaning: what happened.
        advice: what to try.
        owner: the part of the pipeline that must change.
        rule: (features, thresholds) -> (n,) True where the recorded features meet the rule.
        inferred: True where the rule uses the context metric of cases without gold labels.
    """

    key: str
    title: str
    meaning: str
    advice: str
    owner: Owner
    rule: Rule
    inferred: bool = False


STAGES = (
    FailureStage(
        "answered_unanswerable",
        "Answered although unanswerable",
        "The corpus does not contain the answer, and the system gave one.",
        "Ask for refusals in the prompt, or add a relevance threshold before generation.",
        "refusal",
        answered_unanswerable,
    ),
    FailureStage(
        "refused_with_context",
        "Refused although the context had the answer",
        "Everything needed was in the context, and the system refused.",
        "Loosen the refusal instruction; check whether the gold is buried deep in a long context.",
        "refusal",
        refused_with_context,
        inferred=True,
    ),
    FailureStage(
        "missed",
        "Missed",
        "The gold is not among the first-pass candidates.",
        "Look at chunking, embeddings and query processing, or retrieve more candidates.",
        "retrieval",
        missed,
    ),
    FailureStage(
        "misranked",
        "Misranked",
        "The gold is among the candidates but did not reach the context.",
        "Look at the reranker and at how many documents it passes on.",
        "reranking",
        misranked,
    ),
    FailureStage(
        "retrieval_miss",
        "Retrieval miss",
        "The gold is not in the context; without recorded candidates, missed and misranked look the same.",
        "Record the candidates to tell the two apart; look at chunking, embeddings and query processing.",
        "retrieval",
        retrieval_miss,
    ),
    FailureStage(
        "partial_gold",
        "Only part of the gold",
        "Some of what the question needs is in the context, some is not.",
        "Retrieve more documents, split the question into hops, or look at chunk borders.",
        "retrieval",
        partial_gold,
    ),
    FailureStage(
        "inferred_miss",
        "Retrieval miss, by the context metric",
        "No gold is recorded; the context metric is low, so the context probably lacks what is needed.",
        "Look at chunking, embeddings and query processing; gold labels would make this certain.",
        "retrieval",
        inferred_miss,
        inferred=True,
    ),
    FailureStage(
        "followed_noise",
        "Followed the noise",
        "The right context was there, but the claims come from other, misleading passages.",
        "Pass fewer documents, rerank, or ask the model to quote the passage that answers.",
        "generation",
        followed_noise,
        inferred=True,
    ),
    FailureStage(
        "wrong_format",
        "Wrong format",
        "The answer is not in the required format.",
        "Constrain the output, or show the required format by example.",
        "format",
        wrong_format,
    ),
    FailureStage(
        "self_contradiction",
        "Contradicts itself",
        "The answer states something and its opposite.",
        "Look at contradicting sources in the context, and at the answer's length.",
        "generation",
        self_contradiction,
    ),
    FailureStage(
        "unfaithful",
        "Unfaithful",
        "The answer makes claims that the context does not support.",
        "Look at the prompt, the model and its temperature.",
        "generation",
        unfaithful,
    ),
    FailureStage(
        "left_out",
        "Left out what the context had",
        "The context had the information, and the answer omits it.",
        "Look at the limits on the answer's length and at the order of the context.",
        "generation",
        left_out,
    ),
    FailureStage(
        "off_question",
        "Faithful but off the question",
        "The answer is supported by the context, but does not answer the question.",
        "Look at query processing and at where the question is placed in the prompt.",
        "generation",
        off_question,
    ),
    FailureStage(
        "wrong",
        "Relevant and faithful but wrong",
        "The answer is faithful and relevant, but disagrees with the reference.",
        "Check the reference, the judge and the source document.",
        "unexplained",
        wrong,
    ),
    FailureStage(
        "unexplained",
        "Unexplained",
        "None of the recorded evidence shows where it went wrong.",
        "Read the case; record gold documents, claims or judge results.",
        "unexplained",
        always,
    ),
)
DEFAULT_ORDER = tuple(stage.key for stage in STAGES)
_CODES = {stage.key: code for code, stage in enumerate(STAGES)}


def stage_code(key: str) -> int:
    """Return the code of a stage key, as used in the arrays of `attribute_failures`.

    Raises:
        MetricsError: the key is not known; the message lists those that are.
    """
    if key not in _CODES:
        raise MetricsError(f"unknown stage {key!r}; known: {', '.join(DEFAULT_ORDER)}")
    return _CODES[key]


@dataclass(frozen=True)
class StageResult:
    """The stage at which each bad case went wrong.

    Attributes:
        stage: (n,) int8 codes into STAGES; -1 where the case is not bad.
        matches: (n, len(STAGES)) True for every stage whose rule the bad case meets, first or not.
        inferred: (n,) True where the stage follows from the context metric, since no gold is recorded.
    """

    stage: NDArray[np.int8]
    matches: BoolArray
    inferred: BoolArray


def attribute_failures(
    features: StageFeatures, order: Sequence[str] = DEFAULT_ORDER, thresholds: CaseThresholds | None = None
) -> StageResult:
    """Attribute each bad case to the first stage of the order whose rule it meets.

    Args:
        features: of n samples; a rule never fires on what is unknown.
        order: stage keys, tried in turn. A stage that is left out gets no case; "unexplained" gets the rest
            wherever it is listed.
        thresholds: the defaults where left out.

    Raises:
        MetricsError: an unknown or repeated key in the order.
    """
    if len(set(order)) != len(order):
        raise MetricsError(f"a stage is listed twice in the order: {', '.join(order)}")
    codes = [stage_code(key) for key in order if key != "unexplained"]
    thresholds = thresholds or CaseThresholds()
    matches = np.stack([stage.rule(features, thresholds) for stage in STAGES], axis=1)
    matches &= features.bad[:, None]
    stage = np.select([matches[:, code] for code in codes], codes, _CODES["unexplained"])
    stage = np.where(features.bad, stage, -1).astype(np.int8)
    by_metric = [code for code, entry in enumerate(STAGES) if entry.inferred]
    return StageResult(stage, matches, np.isin(stage, by_metric) & ~is_known(features, "gold_in_context"))
