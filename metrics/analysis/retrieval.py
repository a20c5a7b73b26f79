"""Retrieval metrics over k, by hop, by query type, and before and after a reranker.

The values over k are those of `ragtriage.metrics.definitions` (retrieval, spans) at each k, computed for all
k in one pass.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.batch import Rankings, SpanRankings
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, MetricsError, Status
from ragtriage.metrics.statistics.distributions import normal_quantile
from ragtriage.metrics.statistics.intervals import MANY_CLUSTERS, Interval, intervals

LEAST_GAIN = 0.01  # what each further document must add on average to be worth its place


def curve_values(metric: str, lists: Rankings | SpanRankings, max_k: int) -> FloatArray:
    """(n, most) values of a metric at k = 1..most; NaN where the metric of the registry has no value.

    Args:
        metric: a key of DOCUMENT_CURVES for lists joined by id, of SPAN_CURVES for those joined by spans.
        lists: of n samples.
        max_k: largest k.

    Raises:
        MetricsError: no such curve for lists of this kind.
    """
    if isinstance(lists, Rankings) and metric in DOCUMENT_CURVES:
        values = DOCUMENT_CURVES[metric](lists, max_k)
    elif isinstance(lists, SpanRankings) and metric in SPAN_CURVES:
        values = SPAN_CURVES[metric](lists, max_k)
    else:
        curves = DOCUMENT_CURVES if isinstance(lists, Rankings) else SPAN_CURVES
        raise MetricsError(f"no curve of {metric!r}; known: {', '.join(curves)}")
    return np.where((lists.status == Status.SCORED)[:, None], values, np.nan)


def _widened(values: FloatArray, max_k: int) -> FloatArray:
    """Cut to the first columns, or fill with 0 after the last; NaN becomes 0."""
    widened = np.zeros((len(values), max_k))
    width = min(max_k, values.shape[1])
    widened[:, :width] = np.nan_to_num(values[:, :width])
    return widened


def _over(part: FloatArray, whole: FloatArray) -> FloatArray:
    share: FloatArray = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
    return share


def _gold(lists: Rankings) -> FloatArray:
    """(n, 1) NaN where no document is relevant, else 1."""
    return np.where((~np.isnan(lists.gold)).any(axis=1), 1.0, np.nan)[:, None]


def _recall(lists: Rankings, max_k: int) -> FloatArray:
    row, column = np.nonzero(lists.unit_rank <= max_k)
    rank = lists.unit_rank[row, column].astype(np.int64)
    size = len(lists.unit_rank) * max_k
    retrieved = np.bincount(row * max_k + rank - 1, minlength=size).reshape(-1, max_k).cumsum(axis=1)
    units = (~np.isnan(lists.unit_rank)).sum(axis=1, keepdims=True)
    return _over(retrieved.astype(np.float64), np.broadcast_to(units, retrieved.shape)) * _gold(lists)


def _precision(lists: Rankings, max_k: int) -> FloatArray:
    relevant = _widened(lists.grades, max_k) > 0
    share: FloatArray = relevant.cumsum(axis=1) / np.arange(1, max_k + 1)
    return share * _gold(lists)


def _reciprocal_rank(lists: Rankings, max_k: int) -> FloatArray:
    relevant = _widened(lists.grades, max_k) > 0
    first = np.where(relevant.any(axis=1), relevant.argmax(axis=1) + 1.0, np.inf)[:, None]
    return np.where(first <= np.arange(1, max_k + 1), 1.0 / first, 0.0) * _gold(lists)


def _ndcg(lists: Rankings, max_k: int) -> FloatArray:
    discount = np.log2(np.arange(2, max_k + 2))
    gained, ideal = (
        (_widened(grades, max_k) / discount).cumsum(axis=1) for grades in (lists.grades, lists.gold)
    )
    return _over(gained, ideal)


def _all_hops(lists: Rankings, max_k: int) -> FloatArray:
    ranks = np.where(np.isnan(lists.unit_rank), 0.0, lists.unit_rank)
    last = np.max(ranks, axis=1, initial=0.0)[:, None]
    return np.where(lists.has_hops[:, None], last <= np.arange(1, max_k + 1), np.nan)


def _covered(spans: SpanRankings, max_k: int) -> FloatArray:
    return _widened(spans.new_gold, max_k).cumsum(axis=1)


def _all_gold(spans: SpanRankings, max_k: int) -> FloatArray:
    return np.broadcast_to(spans.gold_chars[:, None], (len(spans.gold_chars), max_k))


def _span_precision(spans: SpanRankings, max_k: int) -> FloatArray:
    text_chars = _widened(spans.chunk_chars, max_k).cumsum(axis=1)
    return np.where(_all_gold(spans, max_k) > 0, _over(_covered(spans, max_k), text_chars), np.nan)


def _span_ndcg(spans: SpanRankings, max_k: int) -> FloatArray:
    gained = (_widened(spans.new_gold, max_k) / np.log2(np.arange(2, max_k + 2))).cumsum(axis=1)
    return _over(gained, _all_gold(spans, max_k))


DOCUMENT_CURVES: Mapping[str, Callable[[Rankings, int], FloatArray]] = {
    "recall": _recall,
    "precision": _precision,
    "ndcg": _ndcg,
    "mrr": _reciprocal_rank,
    "all_hops_recall": _all_hops,
}
SPAN_CURVES: Mapping[str, Callable[[SpanRankings, int], FloatArray]] = {
    "span_recall": lambda spans, max_k: _over(_covered(spans, max_k), _all_gold(spans, max_k)),
    "span_precision": _span_precision,
    "span_ndcg": _span_ndcg,
}


def curve_intervals(
    means: FloatArray,
    clusters: IntArray,
    bounds: tuple[float, float] = (0.0, 1.0),
    weights: FloatArray | None = None,
) -> list[Interval]:
    """Return the mean of each column with its 95 % interval, as `intervals` does.

    From MANY_CLUSTERS clusters on, every column gets the cluster-robust normal interval, computed for all
    columns at once; with that many it is indistinguishable from the Dirichlet interval or Wilson's.

    Args:
        means: (q, K) one value per question and k, NaN where not scored.
        clusters: (q,) codes of the independent group of each question.
        bounds: least and greatest possible value; -1 and 1 for differences of shares.
        weights: (q,) of each question; None where all weigh alike.
    """
    finite = np.isfinite(means)
    used = finite.any(axis=1)
    means, finite = means[used], finite[used]
    codes = np.unique(clusters[used], return_inverse=True)[1]
    size = int(codes.max(initial=-1)) + 1
    if size < MANY_CLUSTERS or not finite.all() or weights is not None:
        binary = [bool(np.isin(means[finite[:, at], at], (0.0, 1.0)).all()) for at in range(means.shape[1])]
        limits = [bounds] * means.shape[1]
        kept = None if weights is None else weights[used]
        return intervals(means, codes, finite.sum(axis=0).tolist(), binary, limits, kept)
    return _normal(means, codes, size, bounds)


def _normal(means: FloatArray, codes: IntArray, size: int, bounds: tuple[float, float]) -> list[Interval]:
    if size == len(means):  # every question is its own cluster: spares the sums
        sums, counts = means, np.ones(size)
    else:
        columns = [np.bincount(codes, weights=column, minlength=size) for column in means.T]
        sums, counts = np.stack(columns, axis=1), np.bincount(codes, minlength=size).astype(np.float64)
    centre = means.mean(axis=0)
    residuals = sums - centre * counts[:, None]
    error = np.sqrt(size / (size - 1) * (residuals**2).sum(axis=0)) / len(means)
    half_widths = normal_quantile(0.975) * error
    return [
        Interval(
            float(mean),
            float(max(mean - half_width, min(bounds[0], mean))),
            float(min(mean + half_width, max(bounds[1], mean))),
            len(means),
            len(means),
            size,
            "normal",
            bool(half_width == 0),
        )
        for mean, half_width in zip(centre, half_widths, strict=True)
    ]


def suggested_k(curve: FloatArray) -> int:
    """Return the smallest k beyond which no longer list gains LEAST_GAIN per document on average.

    Args:
        curve: (K,) mean of a metric that does not fall with k, at k = 1..K; NaN where not measured.

    Raises:
        MetricsError: the curve is empty or not measured.
    """
    if not len(curve) or np.isnan(curve).any():
        raise MetricsError("a suggested k needs a curve without gaps")
    for k in range(1, len(curve)):
        gains = (curve[k:] - curve[k - 1]) / np.arange(1, len(curve) - k + 1)
        if gains.max() < LEAST_GAIN:
            return k
    return len(curve)


@dataclass(frozen=True)
class HopOutcome:
    """The fate of the gold units of n questions."""

    asked: BoolArray  # (n,) True where the question names hops and its list was recorded
    complete: BoolArray  # (n,) True where every unit is in the top k
    missed: BoolArray  # (n, U) True where a unit is nowhere: neither in the list nor in the first pass
    below: BoolArray  # (n,) True where every unit was retrieved, some of them below the top k


def hop_outcomes(lists: Rankings, first_pass: Rankings | None, k: int) -> HopOutcome:
    """Classify every multi-hop question; "missed" takes precedence over "below".

    Args:
        lists: the ranked lists with the ranks of their gold units.
        first_pass: the longer lists before reranking, with the same units in the same order, or None.
        k: number of top ranks.
    """
    unit = ~np.isnan(lists.unit_rank)
    retrieved = np.isfinite(lists.unit_rank)
    if first_pass is not None:
        retrieved = retrieved | np.isfinite(first_pass.unit_rank)
    asked: BoolArray = lists.has_hops & (lists.status == Status.SCORED)
    in_top = np.where(unit, lists.unit_rank <= k, True).all(axis=1)
    missed = unit & ~retrieved & asked[:, None]
    complete = asked & in_top
    return HopOutcome(asked, complete, missed, asked & ~complete & ~missed.any(axis=1))


KINDS: Mapping[str, tuple[str, str]] = {
    "single fact": ("mrr", "one document answers it: how early is it ranked"),
    "broad coverage": ("recall", "several documents are needed: how many were retrieved"),
    "ranked quality": ("ndcg", "the best documents must be ranked first"),
    "multi-hop": ("all_hops_recall", "every step needs its document"),
}
_ONE_HOP = re.compile(r"(?<![a-z0-9])(?:single|one|1)[\W_]*hops?(?![a-z])")
_MANY_HOPS = re.compile(r"(?<![a-z])(?:(?:multi|two|three|four|five|many|n|\d+)[\W_]*)?hops?(?![a-z])")
_WORDS = {  # a trailing * matches any ending
    "multi-hop": "multihop bridge compar* compos* inference intersect* multistep",
    "single fact": "fact* single lookup simple entity who when where date number numeric short definition*",
    "broad coverage": "broad summar* list set overview aggregat* explor* coverage open survey exhaustive",
    "ranked quality": "rank* ranked recommend* best top quality relevance graded",
}


def query_type_named(name: str) -> str | None:
    """Return the key of KINDS that the name of a query type suggests; None where it suggests none.

    Whole words are matched, split at non-alphanumeric characters and between lower and upper case;
    the kinds are tried in the order multi-hop, single fact, broad coverage, ranked quality.
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    if _ONE_HOP.search(spaced):
        return "single fact"
    if _MANY_HOPS.search(spaced):
        return "multi-hop"
    words_in_name = re.findall(r"[^\W_]+", spaced)
    for kind, patterns in _WORDS.items():
        if any(_matches(word, pattern) for pattern in patterns.split() for word in words_in_name):
            return kind
    return None


def _matches(word: str, pattern: str) -> bool:
    return word.startswith(pattern[:-1]) if pattern.endswith("*") else word == pattern


@dataclass(frozen=True)
class RankMoves:
    """Gold units of n questions before and after reranking."""

    compared: BoolArray  # (n,) True where both lists were recorded and gold exists
    lifted: IntArray  # (n,) units below k in the first pass and in the top k after it
    pushed_out: IntArray  # (n,) units in the top k of the first pass and not after it
    kept: IntArray  # (n,) units in the top k of both
    left_below: IntArray  # (n,) units that were retrieved but are in the top k of neither
    missed: IntArray  # (n,) units in neither list


def rank_moves(first_pass: Rankings, final: Rankings, k: int) -> RankMoves:
    """Follow every gold unit from the first pass to the final list.

    Args:
        first_pass: lists before reranking.
        final: lists after reranking, with the same units in the same order.
        k: number of top ranks.
    """
    compared: BoolArray = (first_pass.status == Status.SCORED) & (final.status == Status.SCORED)
    # lists are padded with NaN: only units that a sample has count, and only where both passes were recorded
    unit = ~np.isnan(final.unit_rank) & compared[:, None]
    before, after = first_pass.unit_rank <= k, final.unit_rank <= k
    retrieved = np.isfinite(first_pass.unit_rank) | np.isfinite(final.unit_rank)

    def count(mask: BoolArray) -> IntArray:
        total: IntArray = (unit & mask).sum(axis=1)
        return total

    return RankMoves(
        compared=compared,
        lifted=count(~before & after),
        pushed_out=count(before & ~after),
        kept=count(before & after),
        left_below=count(~before & ~after & retrieved),
        missed=count(~retrieved),
    )
