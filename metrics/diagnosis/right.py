"""Whether each answer is right: by its correctness, else by the claims that it shares with the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.schema.scores import BoolArray, FloatArray


@dataclass(frozen=True)
class Right:
    """Whether each of n answers is right.

    Attributes:
        values: (n,) from 0 to 1, right from the threshold of correctness on; NaN where nothing tells.
        by_claims: (n,) True where the claims of the reference decide, as no correctness is known.
        says_more: (n,) True where everything asked for is there, among more that documents support.
    """

    values: FloatArray
    by_claims: BoolArray
    says_more: BoolArray


def right_answers(
    correctness: FloatArray,
    f1: FloatArray,
    precision: FloatArray,
    recall: FloatArray,
    faithfulness: FloatArray,
    contradicted: FloatArray,
    thresholds: CaseThresholds | None = None,
) -> Right:
    """Say whether answers are right.

    The harmonic mean of claim precision and recall punishes an answer that holds all of the reference among
    more that its documents support. It says more than asked, which is no error: its recall counts.

    Args:
        correctness: (n,) against the reference, judged or imported; decides where it is known.
        f1: (n,) of the claims of answer and reference.
        precision: (n,) share of the answer's claims that the reference supports.
        recall: (n,) share of the reference's claims that the answer holds.
        faithfulness: (n,) share of the answer's claims that the context supports.
        contradicted: (n,) above 0 where a document contradicts a claim; NaN is unknown, taken as not.
        thresholds: the defaults where left out.
    """
    minimum = thresholds or CaseThresholds()
    supported = (faithfulness >= minimum.faithfulness) & ~(contradicted > 0)
    says_more = (recall >= minimum.correctness) & (precision < minimum.correctness) & supported
    by_claims = np.isnan(correctness) & np.isfinite(f1)
    claims = np.where(says_more, np.fmax(f1, recall), f1)
    return Right(np.where(by_claims, claims, correctness), by_claims, says_more)
