"""Questions that are asked otherwise: in other words (stability) and in other languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.intervals import Interval, interval, mean_over_questions


@dataclass(frozen=True)
class Flips:
    """Questions whose verdict depends on how they are asked."""

    rate: Interval  # share of questions with a pass and a fail among their variants
    # (q,) True for such a question; False also where fewer than two variants have a verdict
    flipped: BoolArray
    compared: int  # questions with two verdicts or more
    pass_rate: Interval  # mean over questions of the share of variants that pass
    always: int  # questions that pass in every variant
    never: int  # questions that fail in every one


def flips(values: FloatArray, threshold: float = 0.5) -> Flips:
    """Return how many questions get different verdicts for their variants.

    Args:
        values: (q, v) a metric's value for each variant of a question, higher is better, NaN where not
            measured.
        threshold: a value at or above it passes.

    Raises:
        MetricsError: the values are not a table.
    """
    if values.ndim != 2:
        raise MetricsError(f"flips takes one row a question and one column a variant, not {values.shape}")
    known: BoolArray = np.isfinite(values)
    passes = (known & (values >= threshold)).sum(axis=1)
    asked = known.sum(axis=1)
    compared: BoolArray = asked > 1
    flipped: BoolArray = compared & (passes > 0) & (passes < asked)
    # one variant alone cannot flip
    share = np.where(compared, passes / np.maximum(asked, 1), np.nan)
    clusters = np.arange(len(values))
    return Flips(
        rate=interval(
            np.where(compared, flipped.astype(np.float64), np.nan), clusters, int(compared.sum()), binary=True
        ),
        flipped=flipped,
        compared=int(compared.sum()),
        pass_rate=interval(share, clusters, int(compared.sum())),
        always=int((compared & (passes == asked)).sum()),
        never=int((compared & (passes == 0)).sum()),
    )


@dataclass(frozen=True)
class RankedLists:
    """The results of n questions, the best first."""

    # (n, k) code of each document's language; -1 beyond the end of a list, -2 where not known
    language: IntArray
    relevant: BoolArray  # (n, k) whether each document is relevant
    relevant_count: IntArray  # (n,) relevant documents in the corpus

    def __post_init__(self) -> None:
        if self.language.shape != self.relevant.shape or len(self.relevant_count) != len(self.relevant):
            raise MetricsError(
                f"languages {self.language.shape}, relevance {self.relevant.shape} and "
                f"{len(self.relevant_count)} counts; accepted: (n, k), (n, k) and n"
            )

    @property
    def empty(self) -> BoolArray:
        """(n,) True where nothing was found."""
        listed: BoolArray = (self.language != -1).any(axis=1)
        return ~listed

    def first(self, k: int) -> RankedLists:
        """Return the top k of each list."""
        return RankedLists(self.language[:, :k], self.relevant[:, :k], self.relevant_count)


def reciprocal_rank(lists: RankedLists) -> FloatArray:
    """Return (n,) 1 / rank of the first relevant document, 0 where none is listed."""
    first = np.argmax(lists.relevant, axis=1) + 1.0
    return np.asarray(np.where(lists.relevant.any(axis=1), 1.0 / first, 0.0), dtype=np.float64)


def average_precision(lists: RankedLists, k: int) -> FloatArray:
    """Return (n,) average precision in the top k: precision at each relevant one, over all relevant ones.

    With every parallel passage relevant, a list in one language alone stays low however good it is.

    Source: Roy et al. 2020, "LAReQA: Language-agnostic answer retrieval from a multilingual pool".
    """
    relevant = lists.relevant[:, :k]
    precision = np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1)
    total = (precision * relevant).sum(axis=1)
    known = lists.relevant_count > 0
    return np.asarray(np.where(known, total / np.maximum(lists.relevant_count, 1), np.nan), dtype=np.float64)


@dataclass(frozen=True)
class LanguageShare:
    """How far results keep to the language of the question."""

    results: Interval  # mean share of a list in the language of its question, over lists that are not empty
    relevant: Interval  # that language's mean share among the relevant documents


def language_shares(
    lists: RankedLists, question_language: IntArray, relevant_in_language: IntArray, clusters: IntArray
) -> LanguageShare:
    """Return the share of the results in the question's language, and its share among the relevant ones.

    Args:
        lists: of n questions, cut to the top k.
        question_language: (n,) code of the language of each question.
        relevant_in_language: (n,) relevant documents in that language.
        clusters: (n,) codes of the independent group of each question.
    """
    listed = (lists.language != -1).sum(axis=1)
    own = (lists.language == question_language[:, None]).sum(axis=1)
    results = np.where(listed > 0, own / np.maximum(listed, 1), np.nan)
    counts = lists.relevant_count
    relevant = np.where(counts > 0, relevant_in_language / np.maximum(counts, 1), np.nan)
    return LanguageShare(mean_over_questions(results, clusters), mean_over_questions(relevant, clusters))


def transfer_ratio(values: Sequence[Sequence[float]]) -> float:
    """Return the mean off the diagonal over the mean on it: 1 where crossing languages costs nothing.

    Args:
        values: (languages, languages) quality by question (row) and passage language (column), NaN where not
            measured; both in one order.

    Returns:
        NaN where either side has no value, or the diagonal is 0.
    """
    matrix = np.asarray(values, dtype=np.float64)
    same = np.eye(len(matrix), dtype=np.bool_)
    diagonal, other = matrix[same], matrix[~same]
    diagonal, other = diagonal[np.isfinite(diagonal)], other[np.isfinite(other)]
    if not len(diagonal) or not len(other) or not diagonal.mean():
        return float("nan")
    return float(other.mean() / diagonal.mean())
