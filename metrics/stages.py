"""Stage attribution: each bad case belongs to the first stage whose rule its evidence meets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metrics import evidence
from metrics.diagnosis import Cutoffs
from metrics.evidence import StageEvidence, is_known
from metrics.values import BoolArray, MetricsError

__all__ = [
    "DEFAULT_ORDER",
    "STAGES",
    "FailureStage",
    "Owner",
    "StageEvidence",
    "StageResult",
    "attribute",
    "stage_code",
]

Owner = Literal["retrieval", "reranking", "generation", "refusal", "format", "unexplained"]
Rule = Callable[[StageEvidence, Cutoffs], BoolArray]


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
        evidence.answered_unanswerable,
    ),
    FailureStage(
        "refused_with_context",
        "Refused though the context had it",
        "All that was needed was in the context, and the system declined.",
        "Loosen the refusal instruction; see whether the gold lies deep in a long context.",
        "refusal",
        evidence.refused_with_context,
        inferred=True,
    ),
    FailureStage(
        "missed",
        "Missed",
        "The gold is nowhere among the first-pass candidates.",
        "Look at chunking, embeddings and query processing, or retrieve more candidates.",
        "retrieval",
        evidence.missed,
    ),
    FailureStage(
        "misranked",
        "Misranked",
        "The gold is among the candidates and did not reach the context.",
        "Look at the reranker and at how many documents it passes on.",
        "reranking",
        evidence.misranked,
    ),
    FailureStage(
        "retrieval_miss",
        "Retrieval miss",
        "The gold is not in the context; without recorded candidates, missed and misranked are one.",
        "Record the candidates to tell the two apart; look at chunking, embeddings and query processing.",
        "retrieval",
        evidence.retrieval_miss,
    ),
    FailureStage(
        "partial_gold",
        "Part of the gold only",
        "Some of what the question needs is in the context, some is not.",
        "Retrieve more documents, split the question into hops, or look at chunk borders.",
        "retrieval",
        evidence.partial_gold,
    ),
    FailureStage(
        "inferred_miss",
        "Retrieval miss, by the context signal",
        "No gold is recorded; the context signal is low, so the context likely lacks what is needed.",
        "Look at chunking, embeddings and query processing; gold labels would make this certain.",
        "retrieval",
        evidence.inferred_miss,
        inferred=True,
    ),
    FailureStage(
        "followed_noise",
        "Followed the noise",
        "The right context was there, and the claims come from other, misleading passages.",
        "Hand over fewer documents, rerank, or ask for the passage that answers.",
        "generation",
        evidence.followed_noise,
        inferred=True,
    ),
    FailureStage(
        "wrong_format",
        "Wrong format",
        "The answer does not have the required form.",
        "Constrain the output or state the form with an example.",
        "format",
        evidence.wrong_format,
    ),
    FailureStage(
        "self_contradiction",
        "Contradicts itself",
        "The answer states a thing and its opposite.",
        "Look at contradicting sources in the context, and at the answer's length.",
        "generation",
        evidence.self_contradiction,
    ),
    FailureStage(
        "unfaithful",
        "Unfaithful",
        "The answer makes claims that the context does not support.",
        "Look at the prompt, the model and its temperature.",
        "generation",
        evidence.unfaithful,
    ),
    FailureStage(
        "left_out",
        "Left out what the context had",
        "The context held it, and the answer does not say it.",
        "Look at the limits on the answer's length and at the order of the context.",
        "generation",
        evidence.left_out,
    ),
    FailureStage(
        "off_question",
        "Faithful but off the question",
        "What the answer says is in the context, and is not what was asked.",
        "Look at query processing and at how the question is placed in the prompt.",
        "generation",
        evidence.off_question,
    ),
    FailureStage(
        "wrong",
        "Relevant and faithful but wrong",
        "The answer follows its context, meets the question, and disagrees with the reference.",
        "Check the reference, the judge and the source document.",
        "unexplained",
        evidence.wrong,
    ),
    FailureStage(
        "unexplained",
        "Unexplained",
        "None of the recorded evidence says where it went wrong.",
        "Read the case; record gold documents, claims or a judge's labels.",
        "unexplained",
        evidence.always,
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


def attribute(
    known: StageEvidence, order: Sequence[str] = DEFAULT_ORDER, cutoffs: Cutoffs | None = None
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
    cut = cutoffs or Cutoffs()
    matches = np.stack([stage.rule(known, cut) for stage in STAGES], axis=1)
    matches &= known.bad[:, None]
    stage = np.select([matches[:, code] for code in codes], codes, _CODES["unexplained"])
    own = np.where(known.bad, stage, -1).astype(np.int8)
    by_signal = [code for code, entry in enumerate(STAGES) if entry.inferred]
    return StageResult(own, matches, np.isin(own, by_signal) & ~is_known(known, "gold_in_context"))
