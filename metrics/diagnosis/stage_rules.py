"""What is known of samples, and the rules of the failure stages over it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, MetricsError

WHOLE = 1.0 - 1e-9  # a share of the gold at or above this is all of it
_SOME = 1e-9  # and at or above this some of it
_UNANSWERABLE = 2.0  # code in ragtriage.metrics.schema.batch.ANSWERABLE


@dataclass(frozen=True)
class StageFeatures:
    """The known facts of n samples. Every field except ``bad`` may be left out; NaN means unknown."""

    bad: BoolArray  # (n,) True for the cases to attribute
    refused: FloatArray | None = None  # (n,) 1 refused, 0 answered
    answerable: FloatArray | None = None  # (n,) codes 0..3 into ragtriage.metrics.schema.batch.ANSWERABLE
    # (n,) fraction 0..1 of the gold among the first-pass candidates
    gold_in_candidates: FloatArray | None = None
    # (n,) fraction 0..1 of the gold in the context handed to the generator
    gold_in_context: FloatArray | None = None
    has_candidates: FloatArray | None = None  # (n,) 1 where a candidate list was recorded
    # (n,) share of the claims that are wrong and taken from a retrieved document
    noise_sensitivity: FloatArray | None = None
    format_failed: FloatArray | None = None  # (n,) 1 where a format check failed
    # (n,) sum of 2**i over the i of check_kinds.suite_code of which a check failed
    failed_kinds: FloatArray | None = None
    contradicts_itself: FloatArray | None = None  # (n,) 1 where the answer contradicts itself
    # (n,) 1 where a document contradicts a claim that none supports
    contradicts_context: FloatArray | None = None
    faithfulness: FloatArray | None = None  # (n,) share of the answer's claims that the context supports
    context_utilization: FloatArray | None = None  # (n,) share of the relevant context that the answer uses
    # (n,) share of the reference that the context has and the answer lacks
    omission: FloatArray | None = None
    # (n,) share of the answer's claims that the reference supports
    answer_precision: FloatArray | None = None
    answer_recall: FloatArray | None = None  # (n,) share of the reference's claims that the answer holds
    answer_relevancy: FloatArray | None = None  # (n,) how well the answer addresses the question
    correctness: FloatArray | None = None  # (n,) agreement with the reference
    # (n,) values of the context metric (context_metric.choose_per_question), used without gold
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


def refused_with_context(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """A refusal with all of the gold in the context."""
    had_gold = reaches(features, "gold_in_context", WHOLE)
    return equals(features, "refused", 1) & had_gold & ~equals(features, "answerable", _UNANSWERABLE)


def inferred_refusal(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """No gold labels, and a refusal with a high context metric."""
    high = ~is_known(features, "gold_in_context") & reaches(features, "context", thresholds.context)
    return equals(features, "refused", 1) & high & ~equals(features, "answerable", _UNANSWERABLE)


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
    return reaches(features, "gold_in_context", _SOME) & below(features, "gold_in_context", WHOLE)


def inferred_miss(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """No gold labels, and a low context metric on a question not labelled unanswerable."""
    low = ~is_known(features, "gold_in_context") & below(features, "context", thresholds.context)
    return low & ~equals(features, "answerable", _UNANSWERABLE)


def followed_noise(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """Gold in the context, and wrong claims taken from retrieved documents."""
    noisy = reaches(features, "noise_sensitivity", thresholds.noise)
    return answered(features) & reaches(features, "gold_in_context", _SOME) & noisy


def inferred_noise(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """No gold labels, a high context metric, and wrong claims taken from retrieved documents."""
    high = ~is_known(features, "gold_in_context") & reaches(features, "context", thresholds.context)
    return answered(features) & high & reaches(features, "noise_sensitivity", thresholds.noise)


def wrong_format(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """A failed format check."""
    return equals(features, "format_failed", 1)


def failed_check(code: int, words: str) -> Callable[[StageFeatures, CaseThresholds], BoolArray]:
    """Return the rule for failed checks of one kind.

    Args:
        code: the kind's place, see check_kinds.suite_code.
        words: its names, for the rule's description.
    """

    def rule(features: StageFeatures, _: CaseThresholds) -> BoolArray:
        failed = np.nan_to_num(features.known("failed_kinds")).astype(np.int64)
        return np.asarray((failed & (1 << code)) > 0, dtype=np.bool_)

    rule.__doc__ = f"A failed check: {words}."
    return rule


def self_contradiction(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """An answer that contradicts itself."""
    return answered(features) & equals(features, "contradicts_itself", 1)


def contradicts_context(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """A claim that a document of the context contradicts and none supports."""
    return answered(features) & equals(features, "contradicts_context", 1)


def unfaithful(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """Faithfulness below its threshold."""
    return answered(features) & below(features, "faithfulness", thresholds.faithfulness)


def left_out(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """Too little of the relevant context or of the reference in the answer, and what is there is right."""
    omitted = reaches(features, "omission", 1 - thresholds.utilization)
    unused = below(features, "context_utilization", thresholds.utilization) | omitted
    part = below(features, "answer_recall", thresholds.correctness)
    part &= reaches(features, "answer_precision", thresholds.correctness)
    return answered(features) & (unused | part)


def off_question(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """Answer relevancy below its threshold in a faithful answer."""
    off = below(features, "answer_relevancy", thresholds.answer_relevancy)
    return answered(features) & off & reaches(features, "faithfulness", thresholds.faithfulness)


def refused(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """A refusal of what has an answer; rules before it found nothing about the context."""
    return equals(features, "refused", 1) & ~equals(features, "answerable", _UNANSWERABLE)


def wrong(features: StageFeatures, thresholds: CaseThresholds) -> BoolArray:
    """In disagreement with the reference; rules before it found no other fault."""
    return answered(features) & below(features, "correctness", thresholds.correctness)


def always(features: StageFeatures, _: CaseThresholds) -> BoolArray:
    """Every remaining case."""
    return np.ones(len(features.bad), dtype=np.bool_)
