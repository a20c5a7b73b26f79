"""Citation metrics: whether the sentences of an answer cite documents, and documents that support them.

The plain metrics take support from labels or claims, or estimate it from words; a sentence that states
nothing needs no citation. ALCE's (Gao et al. 2023, arXiv:2305.14627) are named apart: every sentence counts,
one that cites a document outside the context is not supported, a citation counts where its sentence is
supported and it alone supports it or the others do not without it, and an answer without citations has
precision 0. Under the convention "alce" the plain ones follow the first and the last of these rules.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.batch import Citations
from ragtriage.metrics.schema.metric import Compute, Convention, Metric, ratio, require
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Scores, Source, Status

Rule = tuple[BoolArray, Status, str]
_NO_SUPPORT = "whether the cited documents support the sentences is not known"
_JOINT = "of a sentence with several citations it is known only whether they support it together"
_NO_CITATION = "the answer has no citation"
_NO_SENTENCE = "no sentence of the answer needs a citation"
_ESTIMATE = "support is only estimated from words, which is not entailment"


def _sentences(block: Citations, chosen: BoolArray) -> FloatArray:
    """(n,) number of chosen sentences of each sample; chosen is (m,)."""
    return np.bincount(block.sample[chosen], minlength=len(block.status)).astype(np.float64)


def _citations(block: Citations, chosen: BoolArray) -> FloatArray:
    """(n,) number of chosen citations of each sample; chosen is (c,)."""
    owner = block.sample[block.sentence[chosen]]
    return np.bincount(owner, minlength=len(block.status)).astype(np.float64)


def _cited(block: Citations) -> BoolArray:
    """(m,) True for sentences with a citation, in range or not."""
    return np.asarray(np.bincount(block.sentence, minlength=len(block.sample)) > 0)


def _outside(block: Citations) -> BoolArray:
    """(m,) True for sentences that cite a document outside the context."""
    return np.asarray(np.bincount(block.sentence[~block.in_range], minlength=len(block.sample)) > 0)


def _counted(block: Citations, convention: Convention) -> BoolArray:
    """(m,) True for sentences that need a citation; under ALCE's convention all do."""
    return np.ones(len(block.sample), dtype=np.bool_) if convention == "alce" else block.needed


def _share(block: Citations, part: FloatArray, whole: FloatArray, rules: list[Rule], empty: str) -> Scores:
    return _scores(block, ratio(part, whole), [*rules, (whole == 0, Status.NOT_APPLICABLE, empty)])


def _scores(
    block: Citations, values: FloatArray, rules: list[Rule], source: NDArray[np.int8] | None = None
) -> Scores:
    """Build scores in which samples that were not read keep their status and reason."""
    scores = Scores.build(values, rules, block.source if source is None else source)
    unread = block.status != Status.SCORED
    return Scores(
        np.where(unread, np.nan, scores.values),
        np.where(unread, block.status, scores.status).astype(np.int8),
        np.where(unread, block.reason, scores.reason).astype(object),
        scores.source,
    )


def _plain_source(block: Citations) -> NDArray[np.int8]:
    """(n,) computed: what no support enters is never estimated."""
    return np.full(len(block.status), Source.COMPUTED, dtype=np.int8)


def citation_precision(block: Citations, convention: Convention = "default") -> Scores:
    """Share of citations whose document supports their sentence, or with claims any claim of it.

    A citation outside the context supports nothing. Not run where one citation is not decided: a joint label
    of several says nothing of each.
    """
    whole = _citations(block, np.ones(len(block.sentence), dtype=np.bool_))
    several = np.bincount(block.sentence, minlength=len(block.sample))[block.sentence] > 1
    joint = (block.supports < 0) & several & (block.together[block.sentence] >= 0)
    unknown = (block.supports < 0) & ~joint
    rules = [
        (_citations(block, unknown) > 0, Status.NOT_RUN, _NO_SUPPORT),
        (_citations(block, joint) > 0, Status.NOT_RUN, _JOINT),
    ]
    values = ratio(_citations(block, block.supports == 1), whole)
    if convention == "alce":
        return _scores(block, np.where(whole == 0, 0.0, values), rules)
    return _scores(block, values, [*rules, (whole == 0, Status.NOT_APPLICABLE, _NO_CITATION)])


def citation_recall(block: Citations, convention: Convention = "default") -> Scores:
    """Share of the sentences that need a citation whose cited documents support them wholly."""
    needed = _counted(block, convention)
    unknown = _sentences(block, needed & (block.together < 0)) > 0
    part, whole = _sentences(block, needed & (block.together == 1)), _sentences(block, needed)
    return _share(block, part, whole, [(unknown, Status.NOT_RUN, _NO_SUPPORT)], _NO_SENTENCE)


def _f1(precision: Scores, recall: Scores) -> Scores:
    """Return the harmonic mean by sample; 0 where both are 0. What keeps either from a value keeps it."""
    total = precision.values + recall.values
    values = np.where(total == 0, 0.0, ratio(2 * precision.values * recall.values, total))
    gap = precision.status == Status.SCORED
    status = np.where(gap, recall.status, precision.status).astype(np.int8)
    reason = np.where(gap, recall.reason, precision.reason).astype(object)
    values = np.where(status == Status.SCORED, values, np.nan)
    return Scores(values, status, reason, np.maximum(precision.source, recall.source))


def citation_f1(block: Citations, convention: Convention = "default") -> Scores:
    """Harmonic mean of citation precision and recall, per sample."""
    return _f1(citation_precision(block, convention), citation_recall(block, convention))


def _alce_together(block: Citations) -> NDArray[np.int8]:
    """(m,) 1 where the cited passages together entail the sentence; 0 without or with one out of range."""
    rejected = ~_cited(block) | _outside(block)
    return np.where(rejected, 0, block.together).astype(np.int8)


def _alce_rules(block: Citations, unknown: FloatArray) -> list[Rule]:
    estimated = block.source == Source.ESTIMATED
    return [(estimated, Status.NOT_RUN, _ESTIMATE), (unknown > 0, Status.NOT_RUN, _NO_SUPPORT)]


def alce_citation_recall(block: Citations, _convention: Convention = "default") -> Scores:
    """ALCE's citation recall: share of all sentences that their cited passages together entail."""
    together, every = _alce_together(block), np.ones(len(block.sample), dtype=np.bool_)
    rules = _alce_rules(block, _sentences(block, together < 0))
    whole = _sentences(block, every)
    return _share(block, _sentences(block, together == 1), whole, rules, "the answer has no sentence")


def alce_citation_precision(block: Citations, _convention: Convention = "default") -> Scores:
    """ALCE's citation precision: share of citations that count; 0 for an answer without any.

    A citation counts where its sentence is recalled and it alone entails the sentence, or the other citations
    do not without it. Sentences that cite outside the context leave the denominator, as in ALCE's code.
    Not run where one of several citations has only a joint label, also where that label alone would make it
    0: else the answers left would be those that fail.
    """
    together = _alce_together(block)[block.sentence]
    inside = ~_outside(block)[block.sentence]
    counts = (together == 1) & ((block.alone == 1) | (block.rest == 0))
    idle = (block.alone >= 0) & ((together == 0) | ((block.alone == 0) & (block.rest == 1)))
    rules = _alce_rules(block, _citations(block, inside & ~counts & ~idle))
    whole = _citations(block, inside)
    values = np.where(whole == 0, 0.0, ratio(_citations(block, inside & counts), whole))
    return _scores(block, values, rules)


def alce_citation_f1(block: Citations, convention: Convention = "default") -> Scores:
    """Harmonic mean of ALCE's precision and recall, per sample."""
    return _f1(alce_citation_precision(block, convention), alce_citation_recall(block, convention))


def citation_format(block: Citations, _convention: Convention = "default") -> Scores:
    """Share of what was meant as a citation that has the form and names a document of the context."""
    whole = _citations(block, np.ones(len(block.sentence), dtype=np.bool_)) + block.broken
    values = ratio(_citations(block, block.in_range), whole)
    rules: list[Rule] = [(whole == 0, Status.NOT_APPLICABLE, _NO_CITATION)]
    return _scores(block, values, rules, _plain_source(block))


def uncited_sentences(block: Citations, convention: Convention = "default") -> Scores:
    """Share of the sentences that need a citation which have none."""
    needed = _counted(block, convention)
    whole = _sentences(block, needed)
    values = ratio(_sentences(block, needed & ~_cited(block)), whole)
    rules: list[Rule] = [(whole == 0, Status.NOT_APPLICABLE, _NO_SENTENCE)]
    return _scores(block, values, rules, _plain_source(block))


def citation_compliance(block: Citations, convention: Convention = "default") -> Scores:
    """1 where every sentence that needs a citation has one and every citation names a document, else 0."""
    needed = _counted(block, convention)
    whole = _sentences(block, needed)
    faults = _sentences(block, needed & ~_cited(block)) + _citations(block, ~block.in_range) + block.broken
    values = (faults == 0).astype(np.float64)
    rules: list[Rule] = [(whole == 0, Status.NOT_APPLICABLE, _NO_SENTENCE)]
    return _scores(block, values, rules, _plain_source(block))


def _of(formula: Callable[[Citations, Convention], Scores]) -> Compute:
    return lambda batch, _k, convention: formula(require(batch.citations), convention)


_ALCE = "ALCE (Gao et al. 2023, arXiv:2305.14627), eval.py"
_BY_WORDS = (
    "where neither labels nor claims show the support, it is estimated from shared words, and marked so; "
    "claims are put to the sentence that has most of their words."
)
_metric = partial(Metric, component="citation")

METRICS: tuple[Metric, ...] = (
    _metric(
        key="citation_precision",
        title="Citation precision",
        plain="sources that fit",
        meaning="How many of the citations support their sentence.",
        formula="citations whose document supports their sentence (with claims: any claim of it) / citations",
        needs=("citations.supported",),
        undefined="The answer is a refusal or has no citation (convention alce: 0). Not run where several "
        "citations have only a joint label.",
        reference="Liu et al. 2023 (arXiv:2304.09848)",
        bands=(0.7, 0.9),
        compute=_of(citation_precision),
        caution=_BY_WORDS[0].upper() + _BY_WORDS[1:],
    ),
    _metric(
        key="citation_recall",
        title="Citation recall",
        plain="sentences with a source",
        meaning="How many sentences are fully supported by the citations they carry.",
        formula="sentences wholly supported by the documents they cite / sentences that need a citation",
        needs=("citations.supported",),
        undefined="The answer is a refusal, or no sentence of it needs a citation.",
        reference="Liu et al. 2023 (arXiv:2304.09848)",
        bands=(0.7, 0.9),
        compute=_of(citation_recall),
        caution=_BY_WORDS[0].upper() + _BY_WORDS[1:],
    ),
    _metric(
        key="citation_f1",
        title="Citation F1",
        plain="sources fit and complete",
        meaning="Whether citations are both right and complete; low as soon as either fails.",
        formula="2 * citation_precision * citation_recall / (citation_precision + citation_recall) of one "
        "question, averaged afterwards; 0 where both are 0",
        needs=("citations.supported",),
        undefined="Where either is.",
        reference="Liu et al. 2023 (arXiv:2304.09848)",
        compute=_of(citation_f1),
    ),
    _metric(
        key="alce_citation_precision",
        title="Citation precision (ALCE)",
        meaning="How many of the citations are needed for the support of their sentence.",
        formula="citations of a supported sentence that support it alone, or without which the others do not "
        "/ citations of sentences that cite only documents of the context; 0 without any citation",
        needs=("citations.supported",),
        undefined="The answer is a refusal. Not run where support is only estimated, or known only of "
        "several citations together.",
        reference=_ALCE,
        compute=_of(alce_citation_precision),
        caution="A citation of a document twice in one sentence counts once here.",
    ),
    _metric(
        key="alce_citation_recall",
        title="Citation recall (ALCE)",
        meaning="How many of all sentences are supported by the citations they carry together.",
        formula="sentences that their cited passages together entail / sentences; a sentence without a "
        "citation, or with one outside the context, is not entailed",
        needs=("citations.supported",),
        undefined="The answer is a refusal. Not run where support is only estimated.",
        reference=_ALCE,
        compute=_of(alce_citation_recall),
    ),
    _metric(
        key="alce_citation_f1",
        title="Citation F1 (ALCE)",
        meaning="ALCE's citation precision and recall in one.",
        formula="harmonic mean of alce_citation_precision and alce_citation_recall of one question, averaged "
        "afterwards; 0 where both are 0",
        needs=("citations.supported",),
        undefined="Where either is.",
        reference=_ALCE,
        compute=_of(alce_citation_f1),
    ),
    _metric(
        key="citation_format",
        title="Citation format",
        meaning="How many of the citations have the expected form and name a document of the context.",
        formula="citations of the form that name a document of the context / marks meant as citations; marks "
        "in a list of references at the end do not count",
        needs=("citations",),
        undefined="The answer is a refusal or has no citation.",
        reference="ragtriage",
        bands=(0.95, 1.0),
        compute=_of(citation_format),
    ),
    _metric(
        key="uncited_sentences",
        title="Uncited sentences",
        meaning="How many of the sentences that need a citation have none.",
        formula="sentences that need a citation and have none / sentences that need one",
        needs=("citations",),
        undefined="The answer is a refusal, or no sentence of it needs a citation.",
        reference="ragtriage",
        higher_is_better=False,
        bands=(0.1, 0.0),
        compute=_of(uncited_sentences),
    ),
    _metric(
        key="citation_compliance",
        title="Citation compliance",
        meaning="Whether every sentence that needs a citation has one, and every citation names a document.",
        formula="1 if so, else 0",
        needs=("citations",),
        undefined="The answer is a refusal, or no sentence of it needs a citation.",
        reference="ragtriage",
        compute=_of(citation_compliance),
    ),
)
