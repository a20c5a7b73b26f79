"""Stage attribution: each bad case belongs to the first stage whose rule its evidence meets."""

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
    """What is known of n samples. Every field but ``bad`` may be left out; NaN within one is unknown.

    Attributes:
        bad: (n,) True for the cases to attribute.
        refused: (n,) 1 refused, 0 answered.
        answerable: (n,) codes 0..3 into metrics.schema.batch.ANSWERABLE.
        gold_in_candidates: (n,) fraction 0..1 of the gold among the first-pass candidates.
        gold_in_context: (n,) fraction 0..1 of the gold in the context handed to the generator.
        has_candidates: (n,) 1 where a candidate list was recorded.
        noise_sensitivity: (n,) share of the claims that are wrong and stem from a retrieved document.
        format_failed: (n,) 1 where a format check failed.
        contradicts_itself: (n,) 1 where the answer contradicts itself.
        faithfulness: (n,) share of the answer's claims that the context supports.
        context_utilization: (n,) share of what the context held that the answer states.
        omission: (n,) share of the reference that the context held and the answer lacks.
        answer_relevancy: (n,) how well the answer meets the question.
        correctness: (n,) agreement with the reference.
        context: (n,) context signal (metrics.diagnosis.patterns.context_signal), used where gold is unknown.
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
        """The named evidence as floats, all NaN where left out.

        Raises:
            MetricsError: the array has not one entry a sample.
        """
        value = getattr(self, name)
        if value is None:
            return np.full(len(self.bad), np.nan)
        if len(value) != len(self.bad):
            raise MetricsError(f"evidence {name!r} has {len(value)} entries for {len(self.bad)} samples")
        return np.asarray(value, dtype=np.float64)


def is_known(evidence: StageFeatures, name: str) -> BoolArray:
    """(n,) True where the named evidence is recorded."""
    return ~np.isnan(evidence.known(name))


def equals(evidence: StageFeatures, name: str, value: float) -> BoolArray:
    """(n,) True where the named evidence is recorded and has this value."""
    return np.asarray(evidence.known(name) == value, dtype=np.bool_)


def below(evidence: StageFeatures, name: str, limit: float) -> BoolArray:
    """(n,) True where the named evidence is recorded and lower than the limit."""
    return np.asarray(evidence.known(name) < limit, dtype=np.bool_)


def reaches(evidence: StageFeatures, name: str, limit: float) -> BoolArray:
    """(n,) True where the named evidence is recorded and at or above the limit."""
    return np.asarray(evidence.known(name) >= limit, dtype=np.bool_)


def answered(evidence: StageFeatures) -> BoolArray:
    """(n,) True where the answer is not known to be a refusal; rules on what an answer says skip refusals."""
    return ~equals(evidence, "refused", 1)


def answered_unanswerable(evidence: StageFeatures, _: CaseThresholds) -> BoolArray:
    """An answer where the corpus has none."""
    return equals(evidence, "answerable", _UNANSWERABLE) & equals(evidence, "refused", 0)


def refused_with_context(evidence: StageFeatures, cut: CaseThresholds) -> BoolArray:
    """A refusal with all of the gold in the context or, without gold labels, a high context signal."""
    by_signal = ~is_known(evidence, "gold_in_context") & reaches(evidence, "context", cut.context)
    had_it = reaches(evidence, "gold_in_context", _WHOLE) | by_signal
    return equals(evidence, "refused", 1) & had_it & ~equals(evidence, "answerable", _UNANSWERABLE)


def missed(evidence: StageFeatures, _: CaseThresholds) -> BoolArray:
    """No gold among recorded candidates, none in the context."""
    nowhere = equals(evidence, "gold_in_context", 0) & equals(evidence, "gold_in_candidates", 0)
    return nowhere & ~equals(evidence, "has_candidates", 0)


def misranked(evidence: StageFeatures, _: CaseThresholds) -> BoolArray:
    """Gold among recorded candidates, none in the context."""
    found = reaches(evidence, "gold_in_candidates", _SOME) & ~equals(evidence, "has_candidates", 0)
    return equals(evidence, "gold_in_context", 0) & found


def retrieval_miss(evidence: StageFeatures, _: CaseThresholds) -> BoolArray:
    """No gold in the context, and no candidates recorded that would say whether it was ever found."""
    untold = ~is_known(evidence, "gold_in_candidates") | equals(evidence, "has_candidates", 0)
    return equals(evidence, "gold_in_context", 0) & untold


def partial_gold(evidence: StageFeatures, _: CaseThresholds) -> BoolArray:
    """Some of the gold in the context, not all."""
    return reaches(evidence, "gold_in_context", _SOME) & below(evidence, "gold_in_context", _WHOLE)


def inferred_miss(evidence: StageFeatures, cut: CaseThresholds) -> BoolArray:
    """No gold labels, and a low context signal on a question that has an answer as far as is known."""
    low = ~is_known(evidence, "gold_in_context") & below(evidence, "context", cut.context)
    return low & ~equals(evidence, "answerable", _UNANSWERABLE)


def followed_noise(evidence: StageFeatures, cut: CaseThresholds) -> BoolArray:
    """Gold in the context (or a high context signal), and wrong claims that stem from retrieved documents."""
    by_signal = ~is_known(evidence, "gold_in_context") & reaches(evidence, "context", cut.context)
    present = reaches(evidence, "gold_in_context", _SOME) | by_signal
    return answered(evidence) & present & reaches(evidence, "noise_sensitivity", cut.noise)


def wrong_format(evidence: StageFeatures, _: CaseThresholds) -> BoolArray:
    """A failed format check."""
    return equals(evidence, "format_failed", 1)


def self_contradiction(evidence: StageFeatures, _: CaseThresholds) -> BoolArray:
    """An answer that contradicts itself."""
    return answered(evidence) & equals(evidence, "contradicts_itself", 1)


def unfaithful(evidence: StageFeatures, cut: CaseThresholds) -> BoolArray:
    """Faithfulness below its cut-off."""
    return answered(evidence) & below(evidence, "faithfulness", cut.faithfulness)


def left_out(evidence: StageFeatures, cut: CaseThresholds) -> BoolArray:
    """Too little of what the context held is in the answer, told by utilization or by omission."""
    omitted = reaches(evidence, "omission", 1 - cut.utilization)
    return answered(evidence) & (below(evidence, "context_utilization", cut.utilization) | omitted)


def off_question(evidence: StageFeatures, cut: CaseThresholds) -> BoolArray:
    """Answer relevance below its cut-off in a faithful answer."""
    off = below(evidence, "answer_relevancy", cut.answer_relevancy)
    return answered(evidence) & off & reaches(evidence, "faithfulness", cut.faithfulness)


def wrong(evidence: StageFeatures, cut: CaseThresholds) -> BoolArray:
    """Faithful, relevant, and in disagreement with the reference."""
    faithful = reaches(evidence, "faithfulness", cut.faithfulness)
    relevant = reaches(evidence, "answer_relevancy", cut.answer_relevancy)
    return answered(evidence) & faithful & relevant & below(evidence, "correctness", cut.correctness)


def always(evidence: StageFeatures, _: CaseThresholds) -> BoolArray:
    """Every sample: the rule of last resort."""
    return np.ones(len(evidence.bad), dtype=np.bool_)


Owner = Literal["retrieval", "reranking", "generation", "refusal", "format", "unexplained"]
Rule = Callable[[StageFeatures, CaseThresholds], BoolArray]


@dataclass(frozen=True)
class FailureStage:
    """A place where an answer can go wrong.

    Attributes:
        key: name in files and links.
        title: name for people.
        meaning: what happened.
        advice: what to try.
        owner: the part of the pipeline that must change.
        rule: (evidence, cut-offs) -> (n,) True where known evidence meets the rule.
        inferred: True where the rule reads the context signal of a case that has no gold labels.
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
        "Answered though unanswerable",
        "The corpus does not hold the answer, and the system gave one.",
        "Ask for refusals in the prompt, add a relevance threshold before generation.",
        "refusal",
        answered_unanswerable,
    ),
    FailureStage(
        "refused_with_context",
        "Refused though the context had it",
        "All that was needed was in the context, and the system declined.",
        "Loosen the refusal instruction; see whether the gold lies deep in a long context.",
        "refusal",
        refused_with_context,
        inferred=True,
    ),
    FailureStage(
        "missed",
        "Missed",
        "The gold is nowhere among the first-pass candidates.",
        "Look at chunking, embeddings and query processing, or retrieve more candidates.",
        "retrieval",
        missed,
    ),
    FailureStage(
        "misranked",
        "Misranked",
        "The gold is among the candidates and did not reach the context.",
        "Look at the reranker and at how many documents it passes on.",
        "reranking",
        misranked,
    ),
    FailureStage(
        "retrieval_miss",
        "Retrieval miss",
        "The gold is not in the context; without recorded candidates, missed and misranked are one.",
        "Record the candidates to tell the two apart; look at chunking, embeddings and query processing.",
        "retrieval",
        retrieval_miss,
    ),
    FailureStage(
        "partial_gold",
        "Part of the gold only",
        "Some of what the question needs is in the context, some is not.",
        "Retrieve more documents, split the question into hops, or look at chunk borders.",
        "retrieval",
        partial_gold,
    ),
    FailureStage(
        "inferred_miss",
        "Retrieval miss, by the context signal",
        "No gold is recorded; the context signal is low, so the context likely lacks what is needed.",
        "Look at chunking, embeddings and query processing; gold labels would make this certain.",
        "retrieval",
        inferred_miss,
        inferred=True,
    ),
    FailureStage(
        "followed_noise",
        "Followed the noise",
        "The right context was there, and the claims come from other, misleading passages.",
        "Hand over fewer documents, rerank, or ask for the passage that answers.",
        "generation",
        followed_noise,
        inferred=True,
    ),
    FailureStage(
        "wrong_format",
        "Wrong format",
        "The answer does not have the required form.",
        "Constrain the output or state the form with an example.",
        "format",
        wrong_format,
    ),
    FailureStage(
        "self_contradiction",
        "Contradicts itself",
        "The answer states a thing and its opposite.",
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
        "The context held it, and the answer does not say it.",
        "Look at the limits on the answer's length and at the order of the context.",
        "generation",
        left_out,
    ),
    FailureStage(
        "off_question",
        "Faithful but off the question",
        "What the answer says is in the context, and is not what was asked.",
        "Look at query processing and at how the question is placed in the prompt.",
        "generation",
        off_question,
    ),
    FailureStage(
        "wrong",
        "Relevant and faithful but wrong",
        "The answer follows its context, meets the question, and disagrees with the reference.",
        "Check the reference, the judge and the source document.",
        "unexplained",
        wrong,
    ),
    FailureStage(
        "unexplained",
        "Unexplained",
        "None of the recorded evidence says where it went wrong.",
        "Read the case; record gold documents, claims or a judge's labels.",
        "unexplained",
        always,
    ),
)
DEFAULT_ORDER = tuple(stage.key for stage in STAGES)
_CODES = {stage.key: code for code, stage in enumerate(STAGES)}


def stage_code(key: str) -> int:
    """The code of a stage key in the arrays that attribute returns.

    Raises:
        MetricsError: the key is not known; the message lists those that are.
    """
    if key not in _CODES:
        raise MetricsError(f"unknown stage {key!r}; known: {', '.join(DEFAULT_ORDER)}")
    return _CODES[key]


@dataclass(frozen=True)
class StageResult:
    """Where the bad cases went wrong.

    Attributes:
        stage: (n,) int8 codes into STAGES; -1 where the case is not bad.
        matches: (n, len(STAGES)) True for every stage whose rule the case meets, first or not; not bad: none.
        inferred: (n,) True where the stage was told by the context signal, since no gold is recorded.
    """

    stage: NDArray[np.int8]
    matches: BoolArray
    inferred: BoolArray


def attribute_failures(
    known: StageFeatures, order: Sequence[str] = DEFAULT_ORDER, cutoffs: CaseThresholds | None = None
) -> StageResult:
    """Attribute each bad case to the first stage of the order whose rule its known evidence meets.

    Args:
        known: evidence on n samples; a rule never fires on what is unknown.
        order: stage keys, tried in turn. A stage that is left out owns nothing; "unexplained" takes the rest
            wherever it stands.
        cutoffs: defaults where left out.

    Raises:
        MetricsError: an unknown or repeated key in the order.
    """
    if len(set(order)) != len(order):
        raise MetricsError(f"a stage stands twice in the order: {', '.join(order)}")
    codes = [stage_code(key) for key in order if key != "unexplained"]
    cut = cutoffs or CaseThresholds()
    matches = np.stack([stage.rule(known, cut) for stage in STAGES], axis=1)
    matches &= known.bad[:, None]
    stage = np.select([matches[:, code] for code in codes], codes, _CODES["unexplained"])
    own = np.where(known.bad, stage, -1).astype(np.int8)
    by_signal = [code for code, entry in enumerate(STAGES) if entry.inferred]
    return StageResult(own, matches, np.isin(own, by_signal) & ~is_known(known, "gold_in_context"))
