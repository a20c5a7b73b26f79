"""Metrics of what an answer says: they are over answers, since a refusal says nothing to measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ragtriage.metrics.schema.metric import Convention
from ragtriage.metrics.schema.scores import BoolArray, Scores, Status
from ragtriage.metrics.schema.source import Source

OVER_ANSWERS = (
    "answer_relevancy",
    "faithfulness",
    "answer_precision",
    "answer_recall",
    "answer_f1",
    "hallucination",
    "self_knowledge",
    "noise_sensitivity_relevant",
    "noise_sensitivity_irrelevant",
    "ungrounded",
    "intrinsic_hallucination",
    "extrinsic_hallucination",
)
_GOOD = ("answer_relevancy", "faithfulness", "answer_precision", "answer_recall", "answer_f1")
REASON = "the answer is a refusal, which has its own metrics"


def over_answers(
    blocks: Mapping[tuple[str, Source], Scores], refused: BoolArray, convention: Convention
) -> dict[tuple[str, Source], Scores]:
    """Make the metrics of OVER_ANSWERS not applicable to refusals.

    Under the convention "refusals_0" a refusal counts 0 in those for which 1 is best, as answer relevancy of
    Ragas does; under "ragchecker" its values stay as recorded or computed. People's values always stay.

    Args:
        blocks: scores of n samples by metric and source.
        refused: (n,) True for refusals.
        convention: of the scores.
    """
    changed = dict(blocks)
    for (name, source), scores in blocks.items():
        if name not in OVER_ANSWERS or source == Source.HUMAN or convention == "ragchecker":
            continue
        as_zero = convention == "refusals_0" and name in _GOOD
        changed[name, source] = replace(
            scores,
            values=np.where(refused, 0.0 if as_zero else np.nan, scores.values),
            status=np.where(
                refused, Status.SCORED if as_zero else Status.NOT_APPLICABLE, scores.status
            ).astype(np.int8),
            reason=np.where(refused, "" if as_zero else REASON, scores.reason).astype(object),
        )
    return changed
