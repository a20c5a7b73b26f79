"""A mean is over questions: the repeats of a question are averaged first."""

from __future__ import annotations

import numpy as np

from metrics.schema.scores import FloatArray, IntArray
from metrics.statistics.intervals import same_length, sum_by

__all__ = ["question_means"]


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
    columns = values.reshape(len(values), -1)
    sums, counts = sum_by(columns, question, size)
    means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    shape = (size, *values.shape[1:])
    return means.reshape(shape), counts.astype(np.int64).reshape(shape)
