"""Failure attribution: each bad case goes to the first stage whose rule it meets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.diagnosis import stage_rules as rules
from ragtriage.metrics.diagnosis.check_kinds import CHECK_KINDS, OTHER_CHECK, CheckKind
from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.diagnosis.stage_rules import StageFeatures
from ragtriage.metrics.schema.scores import BoolArray, MetricsError

Owner = Literal[
    "retrieval", "reranking", "generation", "refusal", "format", "orchestration", "safety", "unexplained"
]
Rule = Callable[[StageFeatures, CaseThresholds], BoolArray]


@dataclass(frozen=True)
class FailureStage:
    """A stage of the pipeline at which an answer can go wrong."""

    key: str  # name in files and links
    title: str  # name of at most three words, the same on every page and in every command
    counted: str  # the name as it follows a number of cases
    meaning: str  # what happened
    advice: str  # what to try
    owner: Owner  # the part of the pipeline that must change
    rule: Rule  # (features, thresholds) -> (n,) True where the recorded features meet the rule
    rests_on: tuple[str, ...]  # names of the StageFeatures that the rule looks at
    inferred: bool = False  # True where the context metric stands in for gold labels
    plain: str = ""  # what happened, for those who did not build the system; "" where the meaning serves

    def count(self, n: int) -> str:
        """Return a number of cases with the stage's name, such as "17 wrongly refused"."""
        return f"{n:,} {self.counted}"


def _check_stage(code: int, kind: CheckKind) -> FailureStage:
    words = ", ".join(kind.names) or "of any other kind"
    return FailureStage(
        f"check_{kind.key}",
        kind.title,
        kind.counted,
        kind.meaning,
        kind.advice,
        kind.owner,
        rules.failed_check(code, words),
        ("failed_kinds",),
    )


STAGES = (
    FailureStage(
        "answered_unanswerable",
        "Should have refused",
        "should have refused",
        "The corpus does not contain the answer, and the system gave one.",
        "Ask for refusals in the prompt, or add a relevance threshold before generation.",
        "refusal",
        rules.answered_unanswerable,
        ("answerable", "refused"),
    ),
    FailureStage(
        "refused_with_context",
        "Wrongly refused",
        "wrongly refused",
        "Everything needed was in the context, and the system refused.",
        "Loosen the refusal instruction; check whether the gold is deep in a long context.",
        "refusal",
        rules.refused_with_context,
        ("gold_in_context",),
        plain="The answer was in the documents, and the system refused.",
    ),
    FailureStage(
        "inferred_refusal",
        "Wrongly refused (inferred)",
        "wrongly refused (inferred)",
        "No gold is recorded; the context metric is high, so the context probably had the answer.",
        "Read some of these cases; where the context has the answer, loosen the refusal instruction.",
        "refusal",
        rules.inferred_refusal,
        ("context",),
        inferred=True,
        plain="The answer was probably in the documents, and the system refused.",
    ),
    *(_check_stage(code, kind) for code, kind in enumerate(CHECK_KINDS)),
    FailureStage(
        "missed",
        "Not retrieved",
        "not retrieved",
        "The gold is not among the first-pass candidates.",
        "Look at chunking, embeddings and query processing, or retrieve more candidates.",
        "retrieval",
        rules.missed,
        ("gold_in_context", "gold_in_candidates"),
        plain="The search did not find the passage that answers.",
    ),
    FailureStage(
        "misranked",
        "Not ranked in",
        "not ranked in",
        "The gold is among the candidates but did not reach the context.",
        "Look at the reranker and at how many documents it passes on.",
        "reranking",
        rules.misranked,
        ("gold_in_context", "gold_in_candidates"),
        plain="The search found the passage that answers, but did not pass it on.",
    ),
    FailureStage(
        "retrieval_miss",
        "Retrieval miss",
        "missed by retrieval",
        "The gold is not in the context; no candidates are recorded to show whether it was retrieved at all.",
        "Record the candidates to tell retrieval from ranking; look at chunking, embeddings and query "
        "processing.",
        "retrieval",
        rules.retrieval_miss,
        ("gold_in_context",),
        plain="The passage that answers did not reach the model.",
    ),
    FailureStage(
        "partial_gold",
        "Partly retrieved",
        "partly retrieved",
        "Some of what the question needs is in the context, some is not.",
        "Retrieve more documents, split the question into hops, or look at chunk boundaries.",
        "retrieval",
        rules.partial_gold,
        ("gold_in_context",),
        plain="Only a part of what the question needs was found.",
    ),
    FailureStage(
        "inferred_miss",
        "Retrieval miss (inferred)",
        "missed by retrieval (inferred)",
        "No gold is recorded; the context metric is low, so the context probably lacks what is needed.",
        "Look at chunking, embeddings and query processing; gold labels would make this certain.",
        "retrieval",
        rules.inferred_miss,
        ("context",),
        inferred=True,
        plain="What the question needs was probably not found.",
    ),
    FailureStage(
        "followed_noise",
        "Followed noise",
        "followed noise",
        "The right context was there, but the claims come from other, misleading passages.",
        "Pass fewer documents, rerank, or ask the model to quote the passage that answers.",
        "generation",
        rules.followed_noise,
        ("gold_in_context", "noise_sensitivity"),
        plain="The right passage was there, but the answer follows another, misleading one.",
    ),
    FailureStage(
        "inferred_noise",
        "Followed noise (inferred)",
        "followed noise (inferred)",
        "No gold is recorded; the context metric is high, and the claims come from misleading passages.",
        "Read some of these cases; where the context has the answer, pass fewer documents or rerank.",
        "generation",
        rules.inferred_noise,
        ("context", "noise_sensitivity"),
        inferred=True,
        plain="The answer follows a misleading passage.",
    ),
    FailureStage(
        "wrong_format",
        "Wrong format",
        "in the wrong format",
        "The answer is not in the required format.",
        "Constrain the output, or show the required format by example.",
        "format",
        rules.wrong_format,
        ("format_failed",),
    ),
    FailureStage(
        "self_contradiction",
        "Self-contradictory",
        "self-contradictory",
        "The answer states something and its opposite.",
        "Look at contradicting sources in the context, and at the answer's length.",
        "generation",
        rules.self_contradiction,
        ("contradicts_itself",),
    ),
    FailureStage(
        "contradicts_context",
        "Contradicts context",
        "contradicting the context",
        "The answer states the opposite of what a document of its context says.",
        "Compare the claim with that passage; look at the prompt and the model.",
        "generation",
        rules.contradicts_context,
        ("contradicts_context",),
        plain="The answer says the opposite of a document it was given.",
    ),
    FailureStage(
        "unfaithful",
        "Unfaithful",
        "unfaithful",
        "The answer makes claims that the context does not support.",
        "Look at the prompt, the model and its temperature.",
        "generation",
        rules.unfaithful,
        ("faithfulness",),
        plain="The answer states what its documents do not say.",
    ),
    FailureStage(
        "left_out",
        "Incomplete",
        "incomplete",
        "The context had the information, and the answer omits it.",
        "Look at the limits on the answer's length and at the order of the context.",
        "generation",
        rules.left_out,
        ("context_utilization", "omission", "answer_recall"),
        plain="The documents had the information, and the answer leaves it out.",
    ),
    FailureStage(
        "off_question",
        "Off the question",
        "off the question",
        "The answer is supported by the context, but does not answer the question.",
        "Look at query processing and at where the question is placed in the prompt.",
        "generation",
        rules.off_question,
        ("answer_relevancy", "faithfulness"),
    ),
    FailureStage(
        "refused",
        "Refused",
        "refused",
        "The system refused what has an answer; nothing recorded shows whether the context held it.",
        "Record gold documents or a context metric: they tell a retrieval miss from a wrong refusal.",
        "unexplained",
        rules.refused,
        ("refused",),
        plain="The system refused, and there is an answer.",
    ),
    FailureStage(
        "wrong",
        "Disagrees with reference",
        "not matching the reference",
        "The answer disagrees with its reference, and nothing else that was measured is at fault.",
        "Read some of these cases: the source document, the reference or the judge may be wrong.",
        "unexplained",
        rules.wrong,
        ("correctness",),
    ),
    _check_stage(len(CHECK_KINDS), OTHER_CHECK),
    FailureStage(
        "unexplained",
        "Unexplained",
        "unexplained",
        "None of the recorded evidence shows where it went wrong.",
        "Read the case; record gold documents, claims or judge results.",
        "unexplained",
        rules.always,
        ("context", "faithfulness", "answer_relevancy", "correctness"),
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
    """The stage at which each bad case went wrong."""

    stage: NDArray[np.int8]  # (n,) int8 codes into STAGES; -1 where the case is not bad
    matches: BoolArray  # (n, len(STAGES)) True for every stage whose rule the bad case meets, first or not
    inferred: BoolArray  # (n,) True where the context metric stands in for gold, which is not recorded


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
    return StageResult(stage, matches, np.isin(stage, by_metric))
