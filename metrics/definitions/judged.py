"""Metrics from judge labels: of the answer as a whole, and hallucination in two parts.

The two parts, claims that the context contradicts and claims that are not in it at all, partition the claims
that no retrieved document supports, so that on every sample
intrinsic_hallucination + extrinsic_hallucination = ungrounded. `contradicted` counts wider than the first:
also claims that one document contradicts and another supports, where it is the documents that disagree.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ragtriage.metrics.schema.batch import Claims, JudgeLabels
from ragtriage.metrics.schema.metric import Compute, Convention, Metric, ratio, require
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Scores, Source, Status

_NO_ANSWER = "no answer was recorded"


def _score(values: FloatArray, without: list[tuple[BoolArray, str]]) -> Scores:
    gaps = [(mask & np.isnan(values), Status.NOT_APPLICABLE, why) for mask, why in without]
    unknown = (np.isnan(values), Status.NOT_RUN, "no judge has scored this sample")
    return Scores.build(values, [*gaps, unknown], Source.JUDGED)


def answer_relevancy(judged: JudgeLabels) -> Scores:
    """1 where the answer fully addresses the question, 0.5 partly, 0 where it does not or refuses."""
    return _score(judged.addresses, [(~judged.has_answer, _NO_ANSWER)])


def completeness(judged: JudgeLabels) -> Scores:
    """1 where the answer says all that question and documents call for, 2/3 most, 1/3 some, 0 nothing.

    Only the first form of the judge asked for it.
    """
    return _score(judged.complete, [(~judged.has_answer, _NO_ANSWER)])


def correctness(judged: JudgeLabels) -> Scores:
    """1 where the answer agrees with the reference, 0.5 in part, 0 where it does not or says the opposite."""
    no_reference = ~np.isnan(judged.addresses) & np.isnan(judged.agrees)
    without = [(~judged.has_answer, _NO_ANSWER), (no_reference, "no reference answer addresses the question")]
    return _score(judged.agrees, without)


def self_contradiction(judged: JudgeLabels) -> Scores:
    """1 where the answer contradicts itself, else 0."""
    return _score(judged.contradicts_itself, [(~judged.has_answer, _NO_ANSWER)])


def injection(judged: JudgeLabels) -> Scores:
    """1 where text in the sample tried to instruct the judge, else 0."""
    return _score(np.where(judged.injections > 0, 1.0, judged.injections), [])


def _of(formula: Callable[[JudgeLabels], Scores]) -> Compute:
    return lambda batch, _k, _convention: formula(require(batch.judge_labels))


_judged = partial(Metric, component="answer", needs=("judged",), undefined="No answer was recorded.")
_RAGAS = "Ragas (Es et al. 2024)"

METRICS: tuple[Metric, ...] = (
    _judged(
        key="answer_relevancy",
        needs=("answer", "judged"),
        undefined="No answer was recorded, or it is a refusal.",
        title="Answer relevancy",
        plain="on-topic answers",
        meaning="Whether the answer addresses the question that was asked, right or wrong.",
        formula="judged 1 fully, 0.5 partly, 0 not; Ragas: mean cosine of the question and questions made "
        "from the answer",
        reference=_RAGAS,
        bands=(0.75, 0.90),
        aliases=("answer_relevance", "response_relevancy"),
        compute=_of(answer_relevancy),
    ),
    _judged(
        key="correctness",
        needs=("answer", "reference_answer", "judged"),
        title="Correctness",
        plain="right answers",
        meaning="Whether the answer agrees with the reference answer.",
        formula="judged 1 correct, 0.5 partly correct, 0 incorrect",
        undefined="There is no answer, or no reference answer that addresses the question.",
        reference="graded answer accuracy against a reference",
        bands=(0.70, 0.85),
        compute=_of(correctness),
    ),
    _judged(
        key="completeness",
        needs=("answer", "judged"),
        title="Completeness",
        plain="complete answers",
        meaning="Whether the answer says everything the question and the context call for.",
        formula="a human rating: 1 complete, 2/3 mostly, 1/3 partly, 0 not",
        reference="MTRAG (Katsis et al. 2025)",
        caution="Ratings are rescaled to 0 to 1 where their scale is declared; otherwise on their own scale. "
        "The judge is not asked for it any more: on 48 answers its word agreed with three people's at a "
        "Spearman correlation of 0.12, one person's with the others' at 0.37.",
        compute=_of(completeness),
    ),
    _judged(
        key="self_contradiction",
        needs=("answer", "judged"),
        title="Self-contradiction",
        meaning="Whether the answer contradicts itself.",
        formula="judged 1 if it does, else 0",
        component="generation",
        reference="ragtriage",
        higher_is_better=False,
        compute=_of(self_contradiction),
    ),
    _judged(
        key="injection",
        title="Injected instructions",
        meaning="Whether text in the documents, the question or the answer tries to instruct a judge.",
        formula="judged 1 if it does, else 0; such text is reported and not followed",
        component="system",
        undefined="Never.",
        reference="ragtriage",
        higher_is_better=False,
        compute=_of(injection),
    ),
)


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


HALLUCINATION_METRICS: tuple[Metric, ...] = (
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
