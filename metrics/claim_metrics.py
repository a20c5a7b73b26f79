"""The declarations of the claim metrics; their formulas are in `metrics.claims`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from metrics import claims
from metrics.inputs import Claims, ReferenceClaims
from metrics.registry import Compute, Convention, Metric
from metrics.undefined import require
from metrics.values import IntArray, Scores

__all__ = ["METRICS"]

_RAGCHECKER = "RAGChecker (Ru et al. 2024, arXiv:2408.08067)"
_EMPTY_ANSWER = "The answer makes no claims."
_EMPTY_REFERENCE = "The reference answer has no claims."
_EITHER_EMPTY = "The answer makes no claims, or the reference answer has none."


def _answer(formula: Callable[[Claims, Convention], Scores]) -> Compute:
    return lambda batch, _k, convention: formula(require(batch.claims), convention)


def _in_context(formula: Callable[[Claims, IntArray, Convention], Scores]) -> Compute:
    return lambda batch, _k, convention: formula(require(batch.claims), batch.documents, convention)


def _reference(formula: Callable[[ReferenceClaims, Convention], Scores]) -> Compute:
    return lambda batch, _k, convention: formula(require(batch.reference_claims), convention)


def _both(formula: Callable[[Claims, ReferenceClaims, Convention], Scores]) -> Compute:
    return lambda batch, _k, convention: formula(
        require(batch.claims), require(batch.reference_claims), convention
    )


def _with_documents(formula: Callable[[ReferenceClaims, IntArray, Convention], Scores]) -> Compute:
    return lambda batch, _k, convention: formula(require(batch.reference_claims), batch.documents, convention)


_answer_metric = partial(Metric, undefined=_EMPTY_ANSWER, reference=_RAGCHECKER)
_reference_metric = partial(Metric, undefined=_EMPTY_REFERENCE, reference=_RAGCHECKER)

METRICS: tuple[Metric, ...] = (
    _answer_metric(
        key="answer_precision",
        title="Answer precision",
        meaning="How much of what the answer claims is right, judged by the reference answer.",
        formula="answer claims entailed by the reference answer / answer claims",
        stage="answer",
        needs=("claims.in_reference",),
        bands=(0.7, 0.8),
        compute=_answer(claims.answer_precision),
    ),
    _reference_metric(
        key="answer_recall",
        title="Answer recall",
        meaning="How much of the reference answer the answer says.",
        formula="reference claims entailed by the answer / reference claims",
        stage="answer",
        needs=("reference_claims.in_answer",),
        bands=(0.7, 0.8),
        compute=_reference(claims.answer_recall),
    ),
    _answer_metric(
        key="answer_f1",
        title="Answer F1",
        meaning="Whether the answer is both right and complete; low as soon as either fails.",
        formula="2 * answer_precision * answer_recall / (answer_precision + answer_recall) of one question, "
        "averaged afterwards; 0 where both are 0",
        stage="answer",
        needs=("claims.in_reference", "reference_claims.in_answer"),
        undefined=_EITHER_EMPTY,
        bands=(0.5, 0.6),
        compute=_both(claims.answer_f1),
    ),
    _reference_metric(
        key="context_recall",
        title="Context recall",
        meaning="How much of the reference answer the retrieved documents support.",
        formula="reference claims supported by any retrieved document / reference claims",
        stage="retrieval",
        needs=("reference_claims.supported_by", "retrieved"),
        bands=(0.80, 0.90),
        compute=_reference(claims.context_recall),
        aliases=("claim_recall",),
    ),
    _reference_metric(
        key="chunk_precision",
        title="Chunk precision",
        meaning="How many of the retrieved documents carry anything of the reference answer.",
        formula="retrieved documents that support at least one reference claim / retrieved documents",
        stage="retrieval",
        needs=("reference_claims.supported_by", "retrieved"),
        undefined="The reference answer has no claims, or no document was retrieved.",
        compute=_with_documents(claims.chunk_precision),
        caution="RAGChecker writes it as context_precision, which is another metric in Ragas.",
    ),
    _reference_metric(
        key="context_utilization",
        title="Context utilization",
        meaning="Of what the context offers of the reference answer, how much the answer takes up.",
        formula="reference claims that are supported by a retrieved document and entailed by the answer / "
        "reference claims supported by a retrieved document",
        stage="generation",
        needs=("reference_claims.supported_by", "reference_claims.in_answer", "retrieved"),
        undefined="No retrieved document supports a claim of the reference answer, or it has no claims.",
        bands=(0.70, 0.85),
        caution="Ragas' metric of this name is another: context precision judged by the answer.",
        compute=_reference(claims.context_utilization),
    ),
    _answer_metric(
        key="noise_sensitivity_relevant",
        title="Noise sensitivity (relevant)",
        meaning="How much of the answer is wrong and taken from documents that also hold the right content.",
        formula="answer claims not entailed by the reference and supported by a relevant document / answer "
        "claims; a relevant document supports at least one reference claim",
        stage="generation",
        needs=("claims.in_reference", "claims.supported_by", "reference_claims.supported_by", "retrieved"),
        undefined=_EITHER_EMPTY,
        higher_is_better=False,
        compute=_both(claims.noise_sensitivity_relevant),
        aliases=("noise_sensitivity", "noise_sensitivity_in_relevant"),
    ),
    _answer_metric(
        key="noise_sensitivity_irrelevant",
        title="Noise sensitivity (irrelevant)",
        meaning="How much of the answer is wrong and taken from documents without any of the right content.",
        formula="answer claims not entailed by the reference and supported by an irrelevant document / "
        "answer claims; convention ragchecker leaves out claims that a relevant document also supports",
        stage="generation",
        needs=("claims.in_reference", "claims.supported_by", "reference_claims.supported_by", "retrieved"),
        undefined=_EITHER_EMPTY,
        higher_is_better=False,
        compute=_both(claims.noise_sensitivity_irrelevant),
        aliases=("noise_sensitivity_in_irrelevant",),
    ),
    _answer_metric(
        key="hallucination",
        title="Hallucination",
        meaning="How much of the answer is wrong and found in no retrieved document.",
        formula="answer claims neither entailed by the reference nor supported by any retrieved document / "
        "answer claims",
        stage="generation",
        needs=("claims.in_reference", "claims.supported_by", "retrieved"),
        higher_is_better=False,
        bands=(0.10, 0.05),
        compute=_in_context(claims.hallucination),
    ),
    _answer_metric(
        key="self_knowledge",
        title="Self-knowledge",
        meaning="How much of the answer is right though no retrieved document says so: the model's memory.",
        formula="answer claims entailed by the reference and supported by no retrieved document / "
        "answer claims",
        stage="generation",
        needs=("claims.in_reference", "claims.supported_by", "retrieved"),
        higher_is_better=None,
        compute=_in_context(claims.self_knowledge),
    ),
    _answer_metric(
        key="faithfulness",
        title="Faithfulness",
        meaning="How much of the answer rests on the retrieved documents.",
        formula="answer claims supported by any retrieved document / answer claims; 0 for claims made "
        "without any document",
        stage="generation",
        needs=("claims.supported_by", "retrieved"),
        reference=f"{_RAGCHECKER}; Ragas (Es et al. 2024)",
        bands=(0.85, 0.95),
        compute=_answer(claims.faithfulness),
        aliases=("groundedness",),
    ),
    _answer_metric(
        key="contradicted",
        title="Contradicted",
        meaning="How much of the answer a retrieved document says the opposite of (intrinsic hallucination).",
        formula="answer claims contradicted by at least one retrieved document / answer claims; counts also "
        "where another document supports the claim, because then the documents disagree",
        stage="generation",
        needs=("claims.contradicted_by", "retrieved"),
        reference="intrinsic hallucination, Maynez et al. 2020; Ji et al. 2023",
        higher_is_better=False,
        compute=_answer(claims.contradicted),
    ),
    _answer_metric(
        key="ungrounded",
        title="Ungrounded",
        meaning="How much of the answer stands in no retrieved document, true or not.",
        formula="answer claims supported by no retrieved document / answer claims = 1 - faithfulness = "
        "hallucination + self_knowledge",
        stage="generation",
        needs=("claims.supported_by", "retrieved"),
        reference="extrinsic content, Maynez et al. 2020; complement of faithfulness",
        higher_is_better=False,
        compute=_answer(claims.ungrounded),
    ),
    _reference_metric(
        key="omission",
        title="Omission",
        meaning="How much of the reference answer the context offered and the answer left out.",
        formula="reference claims supported by a retrieved document and not entailed by the answer / "
        "reference claims",
        stage="generation",
        needs=("reference_claims.supported_by", "reference_claims.in_answer", "retrieved"),
        reference="ragtriage; = context_recall * (1 - context_utilization)",
        higher_is_better=False,
        compute=_reference(claims.omission),
    ),
)
