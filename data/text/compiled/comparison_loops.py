"""Compiled: documents compared with a question and with each other, as suites.contexts does."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ragtriage.data.text.compiled.compiling import Array, compiled


@compiled
def _marked(entries: Array, marks: Array, mark: int) -> int:
    count = 0
    for entry in entries:
        if marks[entry] == mark:
            count += 1
    return count


@compiled
def _mean_pair(start: int, stop: int, words_of: Any, marks: Array, near: float, duplicate: Array) -> float:
    """Return the mean similarity of the documents from `start` to `stop`; mark the near-duplicates."""
    documents, borders, words = words_of
    total, pairs = 0.0, 0
    for one in range(start, stop):
        if documents[one] < 0:
            continue
        mine = words[borders[documents[one]] : borders[documents[one] + 1]]
        marks[mine] = one
        for other in range(one + 1, stop):
            if documents[other] >= 0:
                theirs = words[borders[documents[other]] : borders[documents[other] + 1]]
                shared = _marked(theirs, marks, one)
                whole = len(mine) + len(theirs) - shared
                value = shared / whole if whole else 1.0
                total += value
                pairs += 1
                duplicate[other] = duplicate[other] or value >= near
    return total / pairs if pairs else np.nan


@compiled
def compared(questions: Any, lists: Array, contents_of: Any, words_of: Any, limits: Any, sizes: Any) -> Any:
    """Compare the documents of each question with it, and its first ones with each other.

    Args:
        questions: borders (n + 1,) and content words of the questions.
        lists: (n + 1,) where each question's documents begin.
        contents_of: their text numbers, -1 for none; borders and content words of these texts.
        words_of: the same with all words.
        limits: documents of a question that are compared with each other; similarity of near-duplicates.
        sizes: numbers of content words and of words in all.

    Returns:
        of each document its cosine with the question, NaN for none; of each question the mean Jaccard
        similarity of its pairs, in the order of itertools.combinations, NaN without one; of each document
        whether it is a near-duplicate of one above it.
    """
    documents, borders, contents = contents_of
    first_words, asked = questions
    cosines, means = np.full(len(documents), np.nan), np.full(len(lists) - 1, np.nan)
    duplicate = np.zeros(len(documents), dtype=np.bool_)
    marks, word_marks = np.full(sizes[0], -1, dtype=np.int64), np.full(sizes[1], -1, dtype=np.int64)
    for row in range(len(lists) - 1):
        question = asked[first_words[row] : first_words[row + 1]]
        marks[question] = row
        for place in range(lists[row], lists[row + 1]):
            if documents[place] >= 0:
                words = contents[borders[documents[place]] : borders[documents[place] + 1]]
                product = len(question) * len(words)
                cosines[place] = _marked(words, marks, row) / sqrt(product) if product else 0.0
        stop = min(lists[row + 1], lists[row] + limits[0])
        means[row] = _mean_pair(lists[row], stop, words_of, word_marks, limits[1], duplicate)
    return cosines, means, duplicate


@compiled
def covered(
    references: Any, lists: Array, documents: Array, borders: Array, contents: Array, size: int
) -> Array:
    """Return how many content words of each reference its documents have.

    Args:
        references: borders (n + 1,) and content words of the references.
        lists: (n + 1,) where each reference's documents begin.
        documents: their text numbers; -1 for none.
        borders: where the content words of each document's text begin.
        contents: these.
        size: number of content words in all.
    """
    firsts, wanted = references
    marked, counts = np.full(size, -1, dtype=np.int64), np.zeros(len(lists) - 1, dtype=np.int64)
    for row in range(len(lists) - 1):
        marked[wanted[firsts[row] : firsts[row + 1]]] = row
        for text in documents[lists[row] : lists[row + 1]]:
            if text >= 0:
                for at in range(borders[text], borders[text + 1]):
                    if marked[contents[at]] == row:
                        marked[contents[at]] = -1
                        counts[row] += 1
    return counts
