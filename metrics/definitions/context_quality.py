"""The quality of the context beyond relevance: coverage, diversity, redundancy, consistency.

Where nobody labelled the passages they are compared by their words, and the value is an estimate.
"""

from functools import partial

import numpy as np

from ragtriage.metrics.schema.batch import Batch, Claims, Facets, Passages, ReferenceClaims
from ragtriage.metrics.schema.metric import Convention, Metric, ratio, require
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Scores, Source, Status

MOST_PAIRED = 10  # passages that are compared with each other
ALPHA = 0.5  # what a facet is still worth when it was seen once
_NO_TEXT = "no retrieved document has a text"
_ONE_TEXT = "fewer than two retrieved documents have a text"
_NO_PAIR = "no two documents are labelled on the same point"


def context_similarity(passages: Passages) -> Scores:
    """Mean similarity of the question and each passage; not applicable without texts."""
    known = ~np.isnan(passages.with_question)
    total = np.where(known, passages.with_question, 0.0).sum(axis=1)
    without = (np.asarray(~known.any(axis=1)), Status.NOT_APPLICABLE, _NO_TEXT)
    return Scores.build(ratio(total, known.sum(axis=1)), [without], Source.ESTIMATED)


def context_diversity(passages: Passages) -> Scores:
    """1 - the mean similarity of two passages; not applicable with fewer than two texts."""
    without = (np.isnan(passages.mean_pair), Status.NOT_APPLICABLE, _ONE_TEXT)
    return Scores.build(1.0 - passages.mean_pair, [without], Source.ESTIMATED)


def context_redundancy(passages: Passages) -> Scores:
    """Share of the passages that repeat one ranked above them; not applicable with fewer than two texts."""
    texts = (~np.isnan(passages.with_question)).sum(axis=1)
    without = (texts < 2, Status.NOT_APPLICABLE, _ONE_TEXT)
    return Scores.build(
        ratio(passages.duplicate.sum(axis=1), np.minimum(texts, MOST_PAIRED)), [without], Source.ESTIMATED
    )


def context_coverage(
    reference: ReferenceClaims | None, facets: Facets | None, passages: Passages | None, n: int
) -> Scores:
    """Share of what the answer needs that any document has.

    Claims of the reference answer where all are labelled, else facets of the gold documents. Where the batch
    has neither, the content words of the reference answer are an estimate; the two are never mixed.

    Args:
        reference: the claims of the reference answers, if any.
        facets: of the gold documents, if any.
        passages: for the words of the reference answers, if the texts are there.
        n: number of samples.
    """
    values, source = np.full(n, np.nan), np.full(n, Source.COMPUTED, dtype=np.int8)
    if passages is not None and reference is None and facets is None:
        values, source = passages.reference_words.copy(), np.full(n, Source.ESTIMATED, dtype=np.int8)
    if facets is not None:
        wanted = facets.gold.any(axis=1)
        coverage = ratio((facets.ranked.any(axis=1) & wanted).sum(axis=1), wanted.sum(axis=1))
        values, source = _over(values, source, coverage, facets.status == Status.SCORED)
    if reference is not None and len(reference.sample):
        total = np.bincount(reference.sample, minlength=n)
        labelled = np.bincount(reference.sample[reference.support_known], minlength=n) == total
        held = np.bincount(reference.sample[reference.supported.any(axis=1)], minlength=n)
        values, source = _over(values, source, ratio(held, total), labelled & (total > 0))
    reason = "neither claims of the reference, facets of the gold, nor a reference answer and texts"
    return Scores.build(values, [(np.isnan(values), Status.NOT_RUN, reason)], source)


def _over(
    values: FloatArray, source: np.ndarray, better: FloatArray, where: BoolArray
) -> tuple[FloatArray, np.ndarray]:
    return np.where(where, better, values), np.where(where, np.int8(Source.COMPUTED), source).astype(np.int8)


def context_consistency(claims: Claims | None, passages: Passages | None, n: int) -> Scores:
    """1 - the pairs of documents that contradict each other / the pairs that speak of the same point.

    A pair speaks of the same point where both support or contradict one claim, or both are labelled with
    the answer that they give. It contradicts where one supports what the other contradicts, or the answers
    differ.

    Args:
        claims: with supporting and contradicting documents, if any.
        passages: with the answers that documents are labelled to give, if any.
        n: number of samples.
    """
    same, against = np.zeros(n), np.zeros(n)
    if passages is not None:
        for sample in np.flatnonzero((passages.says >= 0).sum(axis=1) >= 2):
            # the pairs of labelled documents, and those whose answers differ. says: (K,) codes
            says = passages.says[sample]
            labelled = says[says >= 0]
            _, counts = np.unique(labelled, return_counts=True)
            pairs = len(labelled) * (len(labelled) - 1) // 2
            same[sample], against[sample] = pairs, pairs - int((counts * (counts - 1) // 2).sum())
    if claims is not None and claims.contradicted.any():
        for sample in np.unique(claims.sample[claims.contradicted.any(axis=1)]):
            of_sample = claims.sample == sample
            # the pairs that speak of one claim, and those that disagree on one
            supported = claims.supported[of_sample]
            contradicted = claims.contradicted[of_sample]
            speaks = (supported | contradicted).astype(np.int64)
            together = (speaks.T @ speaks) > 0
            opposed = (supported.astype(np.int64).T @ contradicted.astype(np.int64)) > 0
            upper = np.triu(np.ones_like(together), 1)
            same[sample] = (together & upper).sum()
            against[sample] = ((opposed | opposed.T) & upper).sum()
    nothing = (same == 0, Status.NOT_APPLICABLE, _NO_PAIR)
    return Scores.build(1.0 - ratio(against, same), [nothing])


def alpha_dcg(documents: BoolArray, k: int, alpha: float = ALPHA) -> float:
    """Return the gain of a ranked list in which a facet is worth less each time it is seen again.

    Args:
        documents: (K, F) True where the document at that rank is gold for the facet.
        k: cut-off.
        alpha: share of a facet's worth that is lost each time.
    """
    seen = np.zeros(documents.shape[1])
    gain = 0.0
    for rank, facets in enumerate(documents[:k]):
        gain += float(((1.0 - alpha) ** seen)[facets].sum()) / np.log2(rank + 2)
        seen += facets
    return gain


def alpha_ndcg(facets: Facets, k: int) -> Scores:
    """alpha-nDCG@k with alpha 0.5; the ideal list is the greedy one.

    Args:
        facets: ranked lists and gold by facet.
        k: cut-off.
    """
    scored = facets.status == Status.SCORED
    values = np.full(len(scored), np.nan)
    for sample in np.flatnonzero(scored):
        # the usual ideal list: documents in the order in which each adds most
        documents = facets.gold[sample]
        left, seen = list(range(len(documents))), np.zeros(documents.shape[1])
        order: list[int] = []
        while left and len(order) < k:
            gains = [((1.0 - ALPHA) ** seen)[documents[at]].sum() for at in left]
            best = left.pop(int(np.argmax(gains)))
            order.append(best)
            seen = seen + documents[best]
        ideal = alpha_dcg(documents[order], k)
        values[sample] = alpha_dcg(facets.ranked[sample], k) / ideal
    gaps = [
        (facets.status == status, status, str(next(iter(facets.reason[facets.status == status]), "")))
        for status in (Status.NOT_APPLICABLE, Status.NOT_RUN)
    ]
    return Scores.build(values, gaps)


def _coverage(batch: Batch, _k: int, _convention: Convention) -> Scores:
    return context_coverage(batch.reference_claims, batch.facets, batch.passages, batch.n)


def _consistency(batch: Batch, _k: int, _convention: Convention) -> Scores:
    return context_consistency(batch.claims, batch.passages, batch.n)


_of_words = partial(
    Metric,
    component="retrieval",
    needs=("retrieved", "retrieved.text"),
    reference="ragtriage; by an embedding model: `ragtriage score`",
)
_BY_WORDS = "Estimated from words, without a model: other wording counts as other content."

METRICS: tuple[Metric, ...] = (
    _of_words(
        key="context_similarity",
        title="Context similarity (words)",
        meaning="How much of their wording question and passages share, on average over the passages.",
        formula="mean over passages of |q & p| / sqrt(|q| |p|), q and p the distinct content words",
        undefined="No retrieved document has a text.",
        compute=lambda batch, _k, _convention: context_similarity(require(batch.passages)),
        caution=_BY_WORDS,
    ),
    _of_words(
        key="context_coverage",
        title="Context coverage",
        meaning="How much of what the answer needs any of the documents has.",
        formula="reference claims supported / claims; else facets (hops) of the gold found / facets; in a "
        "run without either, content words of the reference found / words",
        undefined="Never; not run without claims of the reference, facets, or a reference answer with texts.",
        compute=_coverage,
        needs=("retrieved", "coverage"),
        reference="subtopic recall (Zhai et al. 2003); equals context recall where claims are labelled",
    ),
    _of_words(
        key="context_diversity",
        title="Context diversity (words)",
        meaning="How different the passages are from each other; noise raises it too.",
        formula="1 - mean over pairs of the first 10 of |a & b| / |a or b|, a and b their distinct words",
        undefined="Fewer than two retrieved documents have a text.",
        higher_is_better=None,
        compute=lambda batch, _k, _convention: context_diversity(require(batch.passages)),
        caution=_BY_WORDS,
    ),
    _of_words(
        key="context_redundancy",
        title="Context redundancy (words)",
        meaning="How many passages repeat one ranked above them and so waste their place.",
        formula="passages of the first 10 with Jaccard similarity of 0.8 or more to one above / passages",
        undefined="Fewer than two retrieved documents have a text.",
        higher_is_better=False,
        compute=lambda batch, _k, _convention: context_redundancy(require(batch.passages)),
        caution=_BY_WORDS,
    ),
    _of_words(
        key="context_consistency",
        title="Context consistency",
        meaning="How many pairs of documents on the same point agree with each other.",
        formula="1 - contradicting pairs / pairs on the same point",
        undefined="No two documents are labelled on the same point, by claims or by `answer` of a document.",
        compute=_consistency,
        needs=("retrieved", "agreement"),
        reference="ragtriage, after RAMDocs (Wang et al. 2025)",
        caution="Documents on two things of one name may both be right: ambiguity is not an error.",
    ),
    Metric(
        key="alpha_ndcg@k",
        title="alpha-nDCG",
        meaning="How early the ranking brings each facet, with less credit for a facet seen before.",
        formula="alpha-DCG@k / alpha-DCG@k of the greedy ideal list, alpha 0.5, log2 discount",
        component="retrieval",
        needs=("retrieved", "relevant.hop"),
        undefined="The gold documents name no facet (`hop`).",
        reference="Clarke et al. 2008",
        compute=lambda batch, k, _convention: alpha_ndcg(require(batch.facets), k),
        per_k=True,
    ),
)

_by_model = partial(
    Metric,
    needs=("retrieved",),
    undefined="No retrieved document has a text.",
    reference="ragtriage, by a model on this machine: `ragtriage score`",
    caution="Depends on the model: compare runs that the same one scored.",
)
_COSINE = (-1.0, 1.0)

LOCAL_MODEL_METRICS: tuple[Metric, ...] = (
    _by_model(
        key="embedding_context_similarity",
        title="Context similarity (embeddings)",
        meaning="How close question and passages are in embedding space, on average over the passages.",
        formula="mean over passages of the cosine with the question",
        component="retrieval",
        bounds=_COSINE,
    ),
    _by_model(
        key="embedding_context_diversity",
        title="Context diversity (embeddings)",
        meaning="How different the passages are in embedding space; noise raises it too.",
        formula="1 - mean over pairs of passages of their cosine",
        component="retrieval",
        undefined="Fewer than two retrieved documents have a text.",
        higher_is_better=None,
        bounds=(0.0, 2.0),
    ),
    _by_model(
        key="embedding_context_redundancy",
        title="Context redundancy (embeddings)",
        meaning="How many passages repeat one ranked above them and so waste their place.",
        formula="passages with a cosine of 0.95 or more to one above / passages",
        component="retrieval",
        undefined="Fewer than two retrieved documents have a text.",
        higher_is_better=False,
    ),
    _by_model(
        key="nli_context_consistency",
        title="Context consistency (NLI)",
        meaning="How many pairs of documents that speak of one claim agree on it.",
        formula="1 - pairs where one entails and the other contradicts a claim / pairs that speak of one",
        component="retrieval",
        undefined="No two documents entail or contradict the same claim.",
    ),
    _by_model(
        key="nli_faithfulness",
        title="NLI faithfulness",
        meaning="How many claims of the answer a passage entails, by an NLI model instead of the judge.",
        formula="claims with entailment of the threshold (0.8) or more for one passage / claims",
        component="generation",
        needs=("answer", "retrieved"),
        undefined="The answer claims nothing, or no document has a text.",
        reference="SummaC (Laban et al. 2022), MiniCheck (Tang et al. 2024); `ragtriage score`",
        caution="The largest of many passages is inflated; calibrate the threshold on labels.",
    ),
    _by_model(
        key="nli_contradicted",
        title="NLI contradicted",
        meaning="How many claims of the answer a passage contradicts and none entails, by an NLI model.",
        formula="claims contradicted from the threshold on and not entailed / claims",
        component="generation",
        needs=("answer", "retrieved"),
        undefined="The answer claims nothing, or no document has a text.",
        higher_is_better=False,
    ),
    _by_model(
        key="reverse_question_relevancy",
        title="Relevancy by reverse questions",
        meaning="How close the question is to questions made from the answer alone.",
        formula="mean cosine of the question with up to 10 questions made from the answer",
        component="answer",
        needs=("question", "answer"),
        undefined="The answer is a refusal, commits itself to nothing, or no question was made from it.",
        reference="Ragas answer relevancy (Es et al. 2024); `ragtriage score`",
        bounds=_COSINE,
        caution="No measure of completeness or truth; offsets differ by embedding model, so look at the "
        "off-topic baseline, and make the questions in the language of the question.",
    ),
)
