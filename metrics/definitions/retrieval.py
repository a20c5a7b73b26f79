"""Rank metrics of retrieved documents against gold documents, matched by id.

Conventions, and where they differ from trec_eval:

- The list is used in its recorded order. trec_eval sorts a run by score descending and breaks ties by
  document id descending; the TREC importer does that once, on import.
- A document repeated in a list counts at its first rank, and the repeats keep their ranks as not relevant.
  trec_eval rejects such a run.
- A question with no relevant document is not applicable. trec_eval scores it 0.
- A question whose list was recorded and is empty scores 0; one whose list was not recorded is not run.
  trec_eval leaves missing topics out, or counts them as 0 with ``-c``.
- ``mrr`` is cut at k; trec_eval's ``recip_rank`` looks at the whole list.
- Where gold names hops, ``recall`` counts hops (any alternative satisfies one). Everything else, and recall
  without hops, counts documents as trec_eval does. Grades may be fractions; any grade above 0 is relevant.

Otherwise recall, precision, hit, ndcg and map equal trec_eval's recall, P, success, ndcg_cut and map_cut.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ragtriage.metrics.schema.batch import Rankings
from ragtriage.metrics.schema.metric import Compute, Metric, from_lists, ratio, require
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Scores

_NO_GOLD = "the question has no relevant document"


def _relevant(rankings: Rankings, k: int) -> BoolArray:
    relevant: BoolArray = rankings.grades[:, :k] > 0
    return relevant


def _count(mask: BoolArray) -> IntArray:
    """(n,) True entries of each row; a sum along short rows takes three times as long."""
    counts: IntArray = np.einsum("ij->i", mask.view(np.int8), dtype=np.int64)
    return counts


def _ranks(width: int) -> IntArray:
    return np.arange(1, width + 1)


def _scores(values: FloatArray, rankings: Rankings) -> Scores:
    without = _count(~np.isnan(rankings.gold[:, :1])) == 0
    return from_lists(values, rankings, without, _NO_GOLD)


def recall(rankings: Rankings, k: int) -> Scores:
    """Share of gold units (hops, or documents without a hop) found in the top k; in [0, 1].

    Equals trec_eval ``recall_k`` where gold names no hops.
    """
    retrieved, units = _count(rankings.unit_rank <= k), _count(~np.isnan(rankings.unit_rank))
    return _scores(ratio(retrieved, units), rankings)


def precision(rankings: Rankings, k: int) -> Scores:
    """Relevant documents in the top k over k, also when the list is shorter; trec_eval ``P_k``."""
    return _scores(_count(_relevant(rankings, k)) / k, rankings)


def hit(rankings: Rankings, k: int) -> Scores:
    """1 where a relevant document is in the top k, else 0; trec_eval ``success_k``."""
    return _scores(np.any(_relevant(rankings, k), axis=1).astype(np.float64), rankings)


def reciprocal_rank(rankings: Rankings, k: int) -> Scores:
    """1 / rank of the first relevant document, 0 when none is in the top k.

    Equals trec_eval ``recip_rank`` on a run cut at k (Voorhees 1999).
    """
    relevant = _relevant(rankings, k)
    if not relevant.shape[1]:
        return _scores(np.zeros(len(relevant)), rankings)
    first = relevant.argmax(axis=1)
    is_relevant = relevant[np.arange(len(first)), first]
    return _scores(np.where(is_relevant, 1.0 / (first + 1), 0.0), rankings)


def ndcg(rankings: Rankings, k: int, *, exponential: bool = False) -> Scores:
    """Discounted cumulative gain of the top k over that of the ideal order of all judged gold, cut at k.

    Linear gain (the grade) equals trec_eval ``ndcg_cut_k``; ``exponential`` takes 2^grade - 1 instead
    (Burges et al. 2005). The discount is log2(rank + 1) (Järvelin and Kekäläinen 2002).
    """
    gained = _discounted(rankings.grades[:, :k], exponential)
    return _scores(ratio(gained, _discounted(rankings.gold[:, :k], exponential)), rankings)


def _discounted(grades: FloatArray, exponential: bool) -> FloatArray:
    grades = np.nan_to_num(grades, nan=0.0)
    gain = np.exp2(grades) - 1.0 if exponential else grades
    total: FloatArray = np.sum(gain / np.log2(_ranks(grades.shape[1]) + 1.0), axis=1)
    return total


def average_precision(rankings: Rankings, k: int) -> Scores:
    """Mean over all R relevant documents of the precision at each one's rank, 0 for those below k.

    Divides by R, not by min(R, k); equals trec_eval ``map_cut_k``.
    """
    relevant = _relevant(rankings, k)
    precision_at = np.cumsum(relevant, axis=1) / _ranks(relevant.shape[1])
    total = np.sum(np.where(relevant, precision_at, 0.0), axis=1)
    return _scores(ratio(total, _count(~np.isnan(rankings.gold))), rankings)


def all_hops_recall(rankings: Rankings, k: int) -> Scores:
    """1 where every gold hop is found in the top k, else 0; not applicable where gold names no hops."""
    complete = np.all(np.isnan(rankings.unit_rank) | (rankings.unit_rank <= k), axis=1)
    why = "the gold documents of the question name no hops"
    return from_lists(complete.astype(np.float64), rankings, ~rankings.has_hops, why)


def _at_k(formula: Callable[[Rankings, int], Scores]) -> Compute:
    return lambda batch, k, _convention: formula(require(batch.rankings), k)


_ranked = partial(
    Metric,
    component="retrieval",
    needs=("retrieved", "relevant"),
    undefined="The question has no relevant document.",
    per_k=True,
)

METRICS: tuple[Metric, ...] = (
    _ranked(
        key="recall@k",
        title="Recall",
        plain="right passages found",
        compute=_at_k(recall),
        meaning="How much of what the question needs is among the top k documents.",
        formula="gold units found in the top k / all gold units; a unit is a hop (any of its alternatives "
        "counts) or a relevant document without a hop",
        reference="trec_eval recall_k; Manning, Raghavan and Schütze 2008, ch. 8",
    ),
    _ranked(
        key="precision@k",
        title="Precision",
        plain="right share of passages",
        compute=_at_k(precision),
        meaning="How many of the top k documents are relevant.",
        formula="relevant documents in the top k / k; a list shorter than k still divides by k",
        reference="trec_eval P_k; Manning, Raghavan and Schütze 2008, ch. 8",
    ),
    _ranked(
        key="hit@k",
        title="Hit rate",
        plain="a right passage found",
        compute=_at_k(hit),
        meaning="Whether any relevant document is among the top k.",
        formula="1 if the top k holds a relevant document, else 0",
        reference="trec_eval success_k",
        aliases=("hit_rate@k", "success@k"),
    ),
    _ranked(
        key="mrr@k",
        title="Reciprocal rank",
        plain="right passage near top",
        compute=_at_k(reciprocal_rank),
        meaning="How high the first relevant document is ranked; the mean over questions is the MRR.",
        formula="1 / rank of the first relevant document; 0 if none is in the top k",
        reference="Voorhees 1999 (TREC-8 question answering); trec_eval recip_rank on a run cut at k",
        aliases=("recip_rank@k",),
    ),
    _ranked(
        key="ndcg@k",
        title="nDCG",
        plain="right passages first",
        compute=_at_k(ndcg),
        meaning="How close the top k documents come to the ideal order, counting grades and weighting the "
        "first ranks most.",
        formula="DCG@k / ideal DCG@k, where DCG@k = sum over ranks i <= k of grade_i / log2(i + 1) and the "
        "ideal sorts all judged gold by grade",
        reference="Järvelin and Kekäläinen 2002; trec_eval ndcg_cut_k",
    ),
    _ranked(
        key="map@k",
        title="Average precision",
        plain="right passages near top",
        compute=_at_k(average_precision),
        meaning="How early and how completely the relevant documents are ranked; its mean is the MAP.",
        formula="sum over relevant documents at ranks i <= k of precision@i / all R relevant documents "
        "(R, not min(R, k); alternatives of one hop count as documents)",
        reference="trec_eval map_cut_k; Manning, Raghavan and Schütze 2008, ch. 8",
        aliases=("average_precision@k",),
    ),
    _ranked(
        key="all_hops_recall@k",
        title="All-hops recall",
        plain="every passage found",
        compute=_at_k(all_hops_recall),
        meaning="Whether every hop of a multi-hop question is among the top k documents; with two hops, "
        "the two-hop recall.",
        formula="1 if each gold unit has a document in the top k, else 0",
        undefined="The gold documents of the question name no hops.",
        reference="all-or-nothing support recall on multi-hop sets such as MuSiQue (Trivedi et al. 2022)",
        aliases=("two_hop_recall@k",),
    ),
)
