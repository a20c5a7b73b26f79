"""What is known of a bad case, and the rules that read a failure stage from it.

A rule never fires on what is unknown, save that an unrecorded refusal counts as an answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.diagnosis import Cutoffs
from metrics.values import BoolArray, FloatArray, MetricsError

__all__ = [
    "StageEvidence",
    "always",
    "answered",
    "answered_unanswerable",
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
    "unfaithful",
    "wrong",
    "wrong_format",
]

_WHOLE = 1.0 - 1e-9  # a fraction at or above this is all of the gold
_SOME = 1e-9  # and at or above this some of it
_UNANSWERABLE = 2.0  # code in metrics.inputs.ANSWERABLE


@dataclass(frozen=True)
class StageEvidence:
    """What is known of n samples. Every field but ``bad`` may be left out; NaN within one is unknown.

    Attributes:
        bad: (n,) True for the cases to attribute.
        refused: (n,) 1 refused, 0 answered.
        answerable: (n,) codes 0..3 into metrics.inputs.ANSWERABLE.
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
        context: (n,) context signal (metrics.diagnosis.context_signal), used where gold is unknown.
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


def is_known(evidence: StageEvidence, name: str) -> BoolArray:
    """(n,) True where the named evidence is recorded."""
    return ~np.isnan(evidence.known(name))


def equals(evidence: StageEvidence, name: str, value: float) -> BoolArray:
    """(n,) True where the named evidence is recorded and has this value."""
    return np.asarray(evidence.known(name) == value, dtype=np.bool_)


def below(evidence: StageEvidence, name: str, limit: float) -> BoolArray:
    """(n,) True where the named evidence is recorded and lower than the limit."""
    return np.asarray(evidence.known(name) < limit, dtype=np.bool_)


def reaches(evidence: StageEvidence, name: str, limit: float) -> BoolArray:
    """(n,) True where the named evidence is recorded and at or above the limit."""
    return np.asarray(evidence.known(name) >= limit, dtype=np.bool_)


def answered(evidence: StageEvidence) -> BoolArray:
    """(n,) True where the answer is not known to be a refusal; rules on what an answer says skip refusals."""
    return ~equals(evidence, "refused", 1)


def answered_unanswerable(evidence: StageEvidence, _: Cutoffs) -> BoolArray:
    """An answer where the corpus has none."""
    return equals(evidence, "answerable", _UNANSWERABLE) & equals(evidence, "refused", 0)


def refused_with_context(evidence: StageEvidence, cut: Cutoffs) -> BoolArray:
    """A refusal with all of the gold in the context or, without gold labels, a high context signal."""
    by_signal = ~is_known(evidence, "gold_in_context") & reaches(evidence, "context", cut.context)
    had_it = reaches(evidence, "gold_in_context", _WHOLE) | by_signal
    return equals(evidence, "refused", 1) & had_it & ~equals(evidence, "answerable", _UNANSWERABLE)


def missed(evidence: StageEvidence, _: Cutoffs) -> BoolArray:
    """No gold among recorded candidates, none in the context."""
    nowhere = equals(evidence, "gold_in_context", 0) & equals(evidence, "gold_in_candidates", 0)
    return nowhere & ~equals(evidence, "has_candidates", 0)


def misranked(evidence: StageEvidence, _: Cutoffs) -> BoolArray:
    """Gold among recorded candidates, none in the context."""
    found = reaches(evidence, "gold_in_candidates", _SOME) & ~equals(evidence, "has_candidates", 0)
    return equals(evidence, "gold_in_context", 0) & found


def retrieval_miss(evidence: StageEvidence, _: Cutoffs) -> BoolArray:
    """No gold in the context, and no candidates recorded that would say whether it was ever found."""
    untold = ~is_known(evidence, "gold_in_candidates") | equals(evidence, "has_candidates", 0)
    return equals(evidence, "gold_in_context", 0) & untold


def partial_gold(evidence: StageEvidence, _: Cutoffs) -> BoolArray:
    """Some of the gold in the context, not all."""
    return reaches(evidence, "gold_in_context", _SOME) & below(evidence, "gold_in_context", _WHOLE)


def inferred_miss(evidence: StageEvidence, cut: Cutoffs) -> BoolArray:
    """No gold labels, and a low context signal on a question that has an answer as far as is known."""
    low = ~is_known(evidence, "gold_in_context") & below(evidence, "context", cut.context)
    return low & ~equals(evidence, "answerable", _UNANSWERABLE)


def followed_noise(evidence: StageEvidence, cut: Cutoffs) -> BoolArray:
    """Gold in the context (or a high context signal), and wrong claims that stem from retrieved documents."""
    by_signal = ~is_known(evidence, "gold_in_context") & reaches(evidence, "context", cut.context)
    present = reaches(evidence, "gold_in_context", _SOME) | by_signal
    return answered(evidence) & present & reaches(evidence, "noise_sensitivity", cut.noise)


def wrong_format(evidence: StageEvidence, _: Cutoffs) -> BoolArray:
    """A failed format check."""
    return equals(evidence, "format_failed", 1)


def self_contradiction(evidence: StageEvidence, _: Cutoffs) -> BoolArray:
    """An answer that contradicts itself."""
    return answered(evidence) & equals(evidence, "contradicts_itself", 1)


def unfaithful(evidence: StageEvidence, cut: Cutoffs) -> BoolArray:
    """Faithfulness below its cut-off."""
    return answered(evidence) & below(evidence, "faithfulness", cut.faithfulness)


def left_out(evidence: StageEvidence, cut: Cutoffs) -> BoolArray:
    """Too little of what the context held is in the answer, told by utilization or by omission."""
    omitted = reaches(evidence, "omission", 1 - cut.utilization)
    return answered(evidence) & (below(evidence, "context_utilization", cut.utilization) | omitted)


def off_question(evidence: StageEvidence, cut: Cutoffs) -> BoolArray:
    """Answer relevance below its cut-off in a faithful answer."""
    off = below(evidence, "answer_relevancy", cut.answer_relevancy)
    return answered(evidence) & off & reaches(evidence, "faithfulness", cut.faithfulness)


def wrong(evidence: StageEvidence, cut: Cutoffs) -> BoolArray:
    """Faithful, relevant, and in disagreement with the reference."""
    faithful = reaches(evidence, "faithfulness", cut.faithfulness)
    relevant = reaches(evidence, "answer_relevancy", cut.answer_relevancy)
    return answered(evidence) & faithful & relevant & below(evidence, "correctness", cut.correctness)


def always(evidence: StageEvidence, _: Cutoffs) -> BoolArray:
    """Every sample: the rule of last resort."""
    return np.ones(len(evidence.bad), dtype=np.bool_)
