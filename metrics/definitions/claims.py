"""Claim metrics: answer claims against the reference and the context, reference claims against both.

The first eleven are RAGChecker's (Ru et al. 2024, arXiv:2408.08067), in its order. Under the convention
"ragchecker" they reproduce its code: an empty list of claims or documents gives 0, and noise from irrelevant
documents leaves out claims that a relevant document also supports. Under "default" an empty denominator is
not applicable, an answer without any document is simply unsupported, and the two kinds of noise may share a
claim.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.batch import Claims, ReferenceClaims, entailment
from ragtriage.metrics.schema.metric import Compute, Convention, Metric, ratio, require
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Scores, Source, Status

Rule = tuple[BoolArray, Status, str]
_NO_CLAIMS = "the answer makes no claims"
_NO_REFERENCE = "the reference answer has no claims"
_NO_SUPPORT = "which documents support the claims was not recorded"


def _count(block: Claims | ReferenceClaims, counted: BoolArray | FloatArray | None = None) -> FloatArray:
    """(n,) number of claims of each sample; with (m,) `counted`, by how much each counts."""
    weights = np.ones(len(block.sample)) if counted is None else counted.astype(np.float64)
    return np.bincount(block.sample, weights=weights, minlength=len(block.status)).astype(np.float64)


def _unrecorded(block: Claims | ReferenceClaims) -> Rule:
    whose = "answer" if isinstance(block, Claims) else "reference answer"
    return block.status != Status.SCORED, Status.NOT_RUN, f"the claims of the {whose} were not recorded"


def _unknown(block: Claims | ReferenceClaims, lacking: BoolArray, why: str) -> Rule:
    return _count(block, lacking) > 0, Status.NOT_RUN, why


def _no_verdict(block: Claims | ReferenceClaims) -> Rule:
    if isinstance(block, Claims):
        why = "whether the reference answer entails the claims was not recorded"
        return _unknown(block, block.in_reference < 0, why)
    why = "whether the answer entails the claims of the reference was not recorded"
    return _unknown(block, block.in_answer < 0, why)


def _no_support(block: Claims | ReferenceClaims) -> Rule:
    return _unknown(block, ~block.support_known, _NO_SUPPORT)


def _backed(reference: ReferenceClaims) -> BoolArray:
    """(m,) True where any retrieved document supports the claim."""
    backed: BoolArray = np.any(reference.supported, axis=1)
    return backed


def _share(
    part: FloatArray,
    whole: FloatArray | IntArray,
    source: NDArray[np.int8],
    gaps: list[Rule],
    empty: list[tuple[BoolArray, str]],
    convention: Convention,
) -> Scores:
    """Return part / whole; empty ones are not applicable, or 0 under the convention "ragchecker"."""
    values = ratio(part, whole)
    void = np.any([mask for mask, _ in empty], axis=0)
    if convention == "ragchecker":
        return Scores.build(np.where(void, 0.0, values), gaps, source)
    return Scores.build(values, [*gaps, *((mask, Status.NOT_APPLICABLE, why) for mask, why in empty)], source)


def _of_answer(
    claims: Claims, hit: FloatArray | BoolArray, gaps: list[Rule], convention: Convention
) -> Scores:
    whole = _count(claims)
    gaps = [_unrecorded(claims), *gaps]
    return _share(_count(claims, hit), whole, claims.source, gaps, [(whole == 0, _NO_CLAIMS)], convention)


def _of_reference(
    reference: ReferenceClaims, hit: FloatArray | BoolArray, gaps: list[Rule], convention: Convention
) -> Scores:
    whole = _count(reference)
    gaps = [_unrecorded(reference), *gaps]
    empty = [(whole == 0, _NO_REFERENCE)]
    return _share(_count(reference, hit), whole, reference.source, gaps, empty, convention)


def answer_precision(claims: Claims, convention: Convention = "default") -> Scores:
    """Share of answer claims that the reference answer entails; one that it entails in part counts a half."""
    return _of_answer(claims, entailment(claims.in_reference), [_no_verdict(claims)], convention)


def answer_recall(reference: ReferenceClaims, convention: Convention = "default") -> Scores:
    """Share of reference claims that the answer entails; one that it entails in part counts a half."""
    return _of_reference(reference, entailment(reference.in_answer), [_no_verdict(reference)], convention)


def answer_f1(claims: Claims, reference: ReferenceClaims, convention: Convention = "default") -> Scores:
    """Harmonic mean of answer precision and recall, per sample; 0 where both are 0."""
    precision, recall = answer_precision(claims, convention), answer_recall(reference, convention)
    total = precision.values + recall.values
    values = np.where(total == 0, 0.0, ratio(2 * precision.values * recall.values, total))
    # "Not applicable" of either side comes first, then what keeps precision from being scored, then recall.
    void = Status.NOT_APPLICABLE
    gap_of_recall = (recall.status == void) | (precision.status == Status.SCORED)
    gap_of_recall &= precision.status != void
    status = np.where(gap_of_recall, recall.status, precision.status)
    reason = np.where(gap_of_recall, recall.reason, precision.reason)
    return Scores(values, status, reason, np.maximum(claims.source, reference.source))


def context_recall(reference: ReferenceClaims, convention: Convention = "default") -> Scores:
    """Share of reference claims that any retrieved document supports (RAGChecker's claim recall)."""
    return _of_reference(reference, _backed(reference), [_no_support(reference)], convention)


def relevant_documents(reference: ReferenceClaims) -> BoolArray:
    """(n, K) True where the document at that rank supports at least one reference claim: a relevant chunk."""
    relevant = np.zeros((len(reference.status), reference.supported.shape[1]), dtype=np.bool_)
    claim, rank = np.nonzero(reference.supported)
    relevant[reference.sample[claim], rank] = True
    return relevant


def chunk_precision(
    reference: ReferenceClaims, documents: IntArray, convention: Convention = "default"
) -> Scores:
    """Share of the (n,) retrieved documents that support at least one reference claim."""
    relevant = relevant_documents(reference)
    listed = np.arange(relevant.shape[1]) < documents[:, None]
    part = np.sum(relevant & listed, axis=1).astype(np.float64)
    gaps = [_unrecorded(reference), _no_support(reference)]
    empty = [(_count(reference) == 0, _NO_REFERENCE), (documents == 0, "no document was retrieved")]
    return _share(part, documents, reference.source, gaps, empty, convention)


def context_utilization(reference: ReferenceClaims, convention: Convention = "default") -> Scores:
    """Of the reference claims that the context supports, the share that the answer entails."""
    backed = _backed(reference)
    whole = _count(reference, backed)
    gaps = [_unrecorded(reference), _no_support(reference), _no_verdict(reference)]
    none_backed = "no retrieved document supports a claim of the reference answer"
    empty = [(_count(reference) == 0, _NO_REFERENCE), (whole == 0, none_backed)]
    part = _count(reference, backed * entailment(reference.in_answer))
    return _share(part, whole, reference.source, gaps, empty, convention)


def _noise(claims: Claims, reference: ReferenceClaims, backed: FloatArray, convention: Convention) -> Scores:
    gaps = [_unrecorded(claims), _unrecorded(reference)]
    gaps += [_no_verdict(claims), _no_support(claims), _no_support(reference)]
    none_relevant = f"{_NO_REFERENCE}, so no document counts as relevant"
    whole = _count(claims)
    empty = [(whole == 0, _NO_CLAIMS), (_count(reference) == 0, none_relevant)]
    source = np.maximum(claims.source, reference.source)
    part = _count(claims, backed * (1 - entailment(claims.in_reference)))
    return _share(part, whole, source, gaps, empty, convention)


def _backed_by(claims: Claims, reference: ReferenceClaims, *, relevant: bool) -> FloatArray:
    """(m,) how far relevant (or irrelevant) documents support the answer claim: 1, 0.5 in part, 0."""
    width = claims.supported.shape[1]
    chunk = np.zeros((len(claims.status), width), dtype=np.bool_)
    labelled = relevant_documents(reference)[:, :width]
    chunk[:, : labelled.shape[1]] = labelled
    return claims.grounding(chunk[claims.sample] == relevant)


def noise_sensitivity_relevant(
    claims: Claims, reference: ReferenceClaims, convention: Convention = "default"
) -> Scores:
    """Share of answer claims that are wrong and supported by a relevant document."""
    return _noise(claims, reference, _backed_by(claims, reference, relevant=True), convention)


def noise_sensitivity_irrelevant(
    claims: Claims, reference: ReferenceClaims, convention: Convention = "default"
) -> Scores:
    """Share of answer claims that are wrong and supported by an irrelevant document.

    Under "ragchecker" claims that a relevant document also supports are left out, so that both kinds of
    noise, precision and hallucination add up to 1.
    """
    backed = _backed_by(claims, reference, relevant=False)
    if convention == "ragchecker":
        backed = claims.grounding() - _backed_by(claims, reference, relevant=True)
    return _noise(claims, reference, backed, convention)


def _own(claims: Claims, documents: IntArray, chosen: FloatArray, convention: Convention) -> Scores:
    """Share of the (m,) chosen answer claims that no document supports; RAGChecker: 0 without documents."""
    alone = (1 - claims.grounding()) * chosen
    if convention == "ragchecker":
        alone *= documents[claims.sample] > 0
    return _of_answer(claims, alone, [_no_verdict(claims), _no_support(claims)], convention)


def hallucination(claims: Claims, documents: IntArray, convention: Convention = "default") -> Scores:
    """Share of answer claims that are wrong and supported by none of the (n,) retrieved documents."""
    return _own(claims, documents, 1 - entailment(claims.in_reference), convention)


def self_knowledge(claims: Claims, documents: IntArray, convention: Convention = "default") -> Scores:
    """Share of answer claims that are right though none of the (n,) retrieved documents supports them."""
    return _own(claims, documents, entailment(claims.in_reference), convention)


def faithfulness(claims: Claims, convention: Convention = "default") -> Scores:
    """Share of answer claims that any retrieved document supports; one supported in part counts a half."""
    return _of_answer(claims, claims.grounding(), [_no_support(claims)], convention)


def contradicted(claims: Claims, convention: Convention = "default") -> Scores:
    """Share of answer claims that a retrieved document contradicts, also where another supports them.

    Not run where contradiction was not recorded; word overlap (an estimated source) cannot show it.
    """
    recorded = claims.support_known if claims.contradiction_known is None else claims.contradiction_known
    recorded = recorded & (claims.source[claims.sample] != Source.ESTIMATED)
    gap = _unknown(claims, ~recorded, "which documents contradict the claims was not recorded")
    return _of_answer(claims, np.any(claims.contradicted, axis=1), [gap], convention)


def ungrounded(claims: Claims, convention: Convention = "default") -> Scores:
    """Share of answer claims that no retrieved document supports, true or not: 1 - faithfulness."""
    return _of_answer(claims, 1 - claims.grounding(), [_no_support(claims)], convention)


def omission(reference: ReferenceClaims, convention: Convention = "default") -> Scores:
    """Share of reference claims that the context supports and the answer leaves out."""
    missed = _backed(reference) * (1 - entailment(reference.in_answer))
    return _of_reference(reference, missed, [_no_support(reference), _no_verdict(reference)], convention)


_RAGCHECKER = "RAGChecker (Ru et al. 2024, arXiv:2408.08067)"
_EMPTY_ANSWER = "The answer is a refusal or makes no claims."
_EMPTY_REFERENCE = "The reference answer has no claims."
_EITHER_EMPTY = "The answer is a refusal or makes no claims, or the reference answer has none."


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


_answer_metric = partial(Metric, undefined=_EMPTY_ANSWER, reference=_RAGCHECKER)
_reference_metric = partial(Metric, undefined=_EMPTY_REFERENCE, reference=_RAGCHECKER)

METRICS: tuple[Metric, ...] = (
    _answer_metric(
        key="answer_precision",
        title="Answer precision",
        plain="right statements",
        meaning="How much of what the answer claims is right, according to the reference answer.",
        formula="answer claims entailed by the reference answer / answer claims; one entailed in part "
        "counts a half",
        component="answer",
        needs=("claims.in_reference",),
        bands=(0.7, 0.8),
        compute=_answer(answer_precision),
    ),
    _reference_metric(
        key="answer_recall",
        title="Answer recall",
        plain="needed facts stated",
        meaning="How much of the reference answer the answer covers.",
        formula="reference claims entailed by the answer / reference claims; one entailed in part counts a "
        "half",
        component="answer",
        needs=("reference_claims.in_answer",),
        bands=(0.7, 0.8),
        compute=_reference(answer_recall),
    ),
    _answer_metric(
        key="answer_f1",
        title="Answer F1",
        plain="complete and right",
        meaning="Whether the answer is both right and complete; low as soon as either fails.",
        formula="2 * answer_precision * answer_recall / (answer_precision + answer_recall) of one question, "
        "averaged afterwards; 0 where both are 0",
        component="answer",
        needs=("claims.in_reference", "reference_claims.in_answer"),
        undefined=_EITHER_EMPTY,
        bands=(0.5, 0.6),
        compute=_both(answer_f1),
    ),
    _reference_metric(
        key="context_recall",
        title="Context recall",
        plain="needed facts found",
        meaning="How much of the reference answer the retrieved documents support.",
        formula="reference claims supported by any retrieved document / reference claims",
        component="retrieval",
        needs=("reference_claims.supported_by", "retrieved"),
        bands=(0.80, 0.90),
        compute=_reference(context_recall),
        aliases=("claim_recall",),
    ),
    _reference_metric(
        key="chunk_precision",
        title="Chunk precision",
        meaning="How many of the retrieved documents contribute to the reference answer.",
        formula="retrieved documents that support at least one reference claim / retrieved documents",
        component="retrieval",
        needs=("reference_claims.supported_by", "retrieved"),
        undefined="The reference answer has no claims, or no document was retrieved.",
        compute=lambda batch, _k, convention: chunk_precision(
            require(batch.reference_claims), batch.documents, convention
        ),
        caution="RAGChecker calls it context_precision, which is a different metric in Ragas.",
    ),
    _reference_metric(
        key="context_utilization",
        title="Context utilization",
        plain="given facts used",
        meaning="How much of the reference content in the context the answer uses.",
        formula="reference claims that are supported by a retrieved document and entailed by the answer / "
        "reference claims supported by a retrieved document",
        component="generation",
        needs=("reference_claims.supported_by", "reference_claims.in_answer", "retrieved"),
        undefined="No retrieved document supports a claim of the reference answer, or it has no claims.",
        bands=(0.70, 0.85),
        caution="Ragas' metric of this name is a different one: context precision judged by the answer.",
        compute=_reference(context_utilization),
    ),
    _answer_metric(
        key="noise_sensitivity_relevant",
        title="Noise sensitivity (relevant)",
        plain="misled by right passages",
        meaning="How much of the answer is wrong and taken from documents that also have the right content.",
        formula="answer claims not entailed by the reference and supported by a relevant document / answer "
        "claims; a relevant document supports at least one reference claim",
        component="generation",
        needs=("claims.in_reference", "claims.supported_by", "reference_claims.supported_by", "retrieved"),
        undefined=_EITHER_EMPTY,
        higher_is_better=False,
        compute=_both(noise_sensitivity_relevant),
        aliases=("noise_sensitivity", "noise_sensitivity_in_relevant"),
    ),
    _answer_metric(
        key="noise_sensitivity_irrelevant",
        title="Noise sensitivity (irrelevant)",
        plain="misled by other passages",
        meaning="How much of the answer is wrong and taken from documents without any of the right content.",
        formula="answer claims not entailed by the reference and supported by an irrelevant document / "
        "answer claims; convention ragchecker leaves out claims that a relevant document also supports",
        component="generation",
        needs=("claims.in_reference", "claims.supported_by", "reference_claims.supported_by", "retrieved"),
        undefined=_EITHER_EMPTY,
        higher_is_better=False,
        compute=_both(noise_sensitivity_irrelevant),
        aliases=("noise_sensitivity_in_irrelevant",),
    ),
    _answer_metric(
        key="hallucination",
        title="Hallucination",
        plain="made-up statements",
        meaning="How much of the answer is wrong and found in no retrieved document.",
        formula="answer claims neither entailed by the reference nor supported by any retrieved document / "
        "answer claims",
        component="generation",
        needs=("claims.in_reference", "claims.supported_by", "retrieved"),
        higher_is_better=False,
        bands=(0.10, 0.05),
        compute=_in_context(hallucination),
    ),
    _answer_metric(
        key="self_knowledge",
        title="Self-knowledge",
        plain="right from memory",
        meaning="How much of the answer is right although no retrieved document says so: the model's memory.",
        formula="answer claims entailed by the reference and supported by no retrieved document / "
        "answer claims",
        component="generation",
        needs=("claims.in_reference", "claims.supported_by", "retrieved"),
        higher_is_better=None,
        compute=_in_context(self_knowledge),
    ),
    _answer_metric(
        key="faithfulness",
        title="Faithfulness",
        plain="supported answers",
        meaning="How much of the answer the retrieved documents support.",
        formula="answer claims supported by any retrieved document / answer claims; a claim supported in "
        "part, as where a qualifier is dropped, counts a half; 0 for claims made without any document",
        component="generation",
        needs=("claims.supported_by", "retrieved"),
        reference=f"{_RAGCHECKER}; Ragas (Es et al. 2024)",
        bands=(0.85, 0.95),
        compute=_answer(faithfulness),
        aliases=("groundedness",),
    ),
    _answer_metric(
        key="contradicted",
        title="Contradicted",
        plain="contradicted statements",
        meaning="How much of the answer a retrieved document contradicts.",
        formula="answer claims contradicted by at least one retrieved document / answer claims; counts also "
        "where another document supports the claim, because then the documents disagree; without those it is "
        "intrinsic_hallucination",
        component="generation",
        needs=("claims.contradicted_by", "retrieved"),
        reference="intrinsic hallucination, Maynez et al. 2020; Ji et al. 2023",
        higher_is_better=False,
        compute=_answer(contradicted),
    ),
    _answer_metric(
        key="ungrounded",
        title="Ungrounded",
        meaning="How much of the answer no retrieved document supports, true or not.",
        formula="answer claims supported by no retrieved document / answer claims = 1 - faithfulness = "
        "hallucination + self_knowledge = intrinsic_hallucination + extrinsic_hallucination",
        component="generation",
        needs=("claims.supported_by", "retrieved"),
        reference="extrinsic content, Maynez et al. 2020; complement of faithfulness",
        higher_is_better=False,
        compute=_answer(ungrounded),
    ),
    _reference_metric(
        key="omission",
        title="Omission",
        plain="facts left out",
        meaning="How much of the reference answer is in the context but missing from the answer.",
        formula="reference claims supported by a retrieved document and not entailed by the answer / "
        "reference claims",
        component="generation",
        needs=("reference_claims.supported_by", "reference_claims.in_answer", "retrieved"),
        reference="ragtriage; = context_recall * (1 - context_utilization)",
        higher_is_better=False,
        compute=_reference(omission),
    ),
)
