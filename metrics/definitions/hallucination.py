"""Hallucination in two parts: claims that the context contradicts, and claims that are not in it at all.

The two partition the claims that no retrieved document supports, so that on every sample
intrinsic_hallucination + extrinsic_hallucination = ungrounded. `contradicted` counts wider than the first:
also claims that one document contradicts and another supports, where it is the documents that disagree.
"""

from __future__ import annotations

import numpy as np

from ragtriage.metrics.schema.applicability import ratio, require
from ragtriage.metrics.schema.batch import Claims
from ragtriage.metrics.schema.metric import Convention, Metric
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Scores, Status
from ragtriage.metrics.schema.source import Source

_REFERENCE = "Maynez et al. 2020 (arXiv:2005.00661); Ji et al. 2023 (arXiv:2202.03629)"
_EMPTY = "The answer is a refusal or makes no claims. Not run where contradiction is not labelled."


def _count(claims: Claims, counted: FloatArray | BoolArray) -> FloatArray:
    """(n,) number of claims of each sample, each by how much (m,) it counts."""
    weights = counted.astype(np.float64)
    return np.bincount(claims.sample, weights=weights, minlength=len(claims.status)).astype(np.float64)


def _share(claims: Claims, against: bool, convention: Convention) -> Scores:
    """Share of answer claims that no document supports and that a document contradicts, or that none does."""
    known = claims.support_known.copy()
    if claims.contradiction_known is not None:
        known &= claims.contradiction_known
    # an estimate by shared words cannot tell a contradiction from a claim that is merely absent
    known &= claims.source[claims.sample] != Source.ESTIMATED
    chosen = (1 - claims.grounding()) * (claims.contradicted.any(axis=1) == against)
    whole = _count(claims, np.ones(len(claims.sample), dtype=np.bool_))
    values = ratio(_count(claims, chosen), whole)
    rules: list[tuple[BoolArray, Status, str]] = [
        (claims.status != Status.SCORED, Status.NOT_RUN, "the claims of the answer were not recorded"),
        (
            _count(claims, ~known) > 0,
            Status.NOT_RUN,
            "which documents contradict the claims was not recorded",
        ),
    ]
    if convention == "ragchecker":
        return Scores.build(np.where(whole == 0, 0.0, values), rules, claims.source)
    empty = (whole == 0, Status.NOT_APPLICABLE, "the answer makes no claims")
    return Scores.build(values, [*rules, empty], claims.source)


def intrinsic_hallucination(claims: Claims, convention: Convention = "default") -> Scores:
    """Share of answer claims that no retrieved document supports and at least one contradicts."""
    return _share(claims, True, convention)


def extrinsic_hallucination(claims: Claims, convention: Convention = "default") -> Scores:
    """Share of answer claims that no retrieved document supports and none contradicts."""
    return _share(claims, False, convention)


METRICS: tuple[Metric, ...] = (
    Metric(
        key="intrinsic_hallucination",
        title="Intrinsic hallucination",
        meaning="How much of the answer the context contradicts and nowhere supports.",
        formula="answer claims supported by no retrieved document and contradicted by at least one / answer "
        "claims; intrinsic_hallucination + extrinsic_hallucination = ungrounded",
        component="generation",
        needs=("claims.supported_by", "claims.contradicted_by", "retrieved"),
        undefined=_EMPTY,
        reference=_REFERENCE,
        higher_is_better=False,
        compute=lambda batch, _k, convention: intrinsic_hallucination(require(batch.claims), convention),
        caution="`contradicted` counts wider: also claims that another document supports.",
    ),
    Metric(
        key="extrinsic_hallucination",
        title="Extrinsic hallucination",
        meaning="How much of the answer is not in the context at all, neither supported nor contradicted.",
        formula="answer claims that no retrieved document supports or contradicts / answer claims",
        component="generation",
        needs=("claims.supported_by", "claims.contradicted_by", "retrieved"),
        undefined=_EMPTY,
        reference=_REFERENCE,
        higher_is_better=False,
        compute=lambda batch, _k, convention: extrinsic_hallucination(require(batch.claims), convention),
        caution="It may be true: `hallucination` and `self_knowledge` check it against the reference.",
    ),
)
