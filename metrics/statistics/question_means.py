"""A mean is over questions: the repeats of a question are averaged first."""

from __future__ import annotations

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import same_length, sum_by


def question_means(values: FloatArray, question: IntArray) -> tuple[FloatArray, IntArray]:
    """Average the repeats of each question, leaving out unscored (NaN) ones.

    Args:
        values: (n,) or (n, M) values of the samples.
        question: (n,) codes 0..q-1 of the question of each sample.

    Returns:
        The means, (q,) or (q, M), NaN where no repeat is scored, and the counts of scored repeats.
    """
    same_length(values, question)
    size = int(question.max()) + 1 if len(question) else 0
    if size == len(question) and values.ndim == 1 and (np.bincount(question) == 1).all():
        single = np.empty(len(values))
        single[question] = values + 0.0  # a sum that starts at 0 has no -0
        scored = np.isfinite(single)
        return np.where(scored, single, np.nan), scored.astype(np.int64)
    columns = values.reshape(len(values), -1)
    sums, counts = sum_by(columns, question, size)
    means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    shape = (size, *values.shape[1:])
    return means.reshape(shape), counts.astype(np.int64).reshape(shape)
