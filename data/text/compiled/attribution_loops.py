"""Compiled: answers attributed to documents, as context_attribution does, and documents compared by words.

Imported only where numba is installed.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ragtriage.data.text.compiled.reading_loops import Array, compiled
from ragtriage.data.text.context_attribution import (
    CLAUSE_WORDS,
    EVIDENCE_SENTENCES,
    RELATIVE,
    SHARE_PARTS,
    SHARED_WORDS,
    SUPPORT,
)


@compiled
def _close(clauses: Array, borders: Array, count: int, first: int, end: int) -> int:
    """End a sentence whose clauses begin at `first`: its last words join the clause before."""
    begin = borders[count]
    if end == begin:
        return count
    if count == first:
        borders[count + 1] = end
        return count + 1
    kept = begin
    for at in range(begin, end):
        there = False
        for other in range(borders[count - 1], begin):
            if clauses[other] == clauses[at]:
                there = True
                break
        if not there:
            clauses[kept] = clauses[at]
            kept += 1
    borders[count] = kept
    return count


@compiled
def _clauses(numbers: Array, sentences: Array, parts: Array) -> Any:
    """Return the words of an answer by clause, and where each clause begins: short ones join the next.

    Args:
        numbers: of the answer's words in order, from 0.
        sentences: of each.
        parts: the clause of each as punctuation has it.
    """
    clauses, borders = np.empty(len(numbers), dtype=np.int32), np.zeros(len(numbers) + 2, dtype=np.int64)
    seen = np.full(len(numbers), -1, dtype=np.int64)
    count = first = pending = end = 0
    for at in range(len(numbers)):
        # a clause of few words would be found in any document: it stays open for the next of its sentence,
        # and what is left at the end of a sentence joins the clause before it
        if at and sentences[at] != sentences[at - 1]:
            if end - borders[count] >= CLAUSE_WORDS:
                count += 1
                borders[count] = end
            count = _close(clauses, borders, count, first, end)
            end, first, pending = borders[count], count, pending + 1
        elif at and parts[at] != parts[at - 1] and end - borders[count] >= CLAUSE_WORDS:
            count += 1
            borders[count] = end
            pending += 1
        if seen[numbers[at]] != pending:  # a word counts once in the clause that is being read
            seen[numbers[at]] = pending
            clauses[end] = numbers[at]
            end += 1
    if end - borders[count] >= CLAUSE_WORDS:
        count += 1
        borders[count] = end
    count = _close(clauses, borders, count, first, end)
    return clauses[: borders[count]], borders[: count + 1]


@compiled
def _numbered(contents: Array, sentences: Array, parts: Array, number_of: Array) -> Any:
    """Number the distinct content words of an answer from 0; return them, and the words in order."""
    distinct, numbers = np.empty(len(contents), dtype=np.int32), np.empty(len(contents), dtype=np.int32)
    where, of_part = np.empty(len(contents), dtype=np.int32), np.empty(len(contents), dtype=np.int32)
    count = total = 0
    for at in range(len(contents)):
        content = contents[at]
        if content < 0:
            continue
        if number_of[content] < 0:
            number_of[content] = count
            distinct[count] = content
            count += 1
        numbers[total], where[total], of_part[total] = number_of[content], sentences[at], parts[at]
        total += 1
    return distinct[:count], numbers[:total], where[:total], of_part[:total]


@compiled
def _hits(documents: Array, borders: Array, held: Array, places: Array, number_of: Array, words: int) -> Any:
    """Return where an answer's words stand: of each document (word, sentence); and which have which word."""
    size = 0
    for document in documents:
        size += borders[document + 1] - borders[document]
    firsts = np.zeros(len(documents) + 1, dtype=np.int64)
    word, place = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    has = np.zeros((words, len(documents)), dtype=np.bool_)
    total = 0
    for rank in range(len(documents)):
        document = documents[rank]
        for at in range(borders[document], borders[document + 1]):
            number = number_of[held[at]]
            if number >= 0:
                has[number, rank] = True
                word[total], place[total] = number, places[at]
                total += 1
        firsts[rank + 1] = total
    return firsts, word[:total], place[:total], has


@compiled
def _best_sentence(word: Array, place: Array, open_: Array, weights: Array, gains: Array) -> int:
    """Return the sentence whose open words weigh most, the first of equals; -1 where none has one."""
    best = -1
    for at in range(len(word)):
        if open_[word[at]]:
            gains[place[at]] += weights[word[at]]
    for at in range(len(word)):
        if open_[word[at]]:
            gain = gains[place[at]]
            if best < 0 or gain > gains[best] or (gain == gains[best] and place[at] < best):
                best = place[at]
    return best


@compiled
def _coverage(
    clause: Array, rank: int, hits: Any, has: Array, weights: Array, total: float, scratch: Any
) -> float:
    """Return the share of a clause's weight in a few sentences of a document; -1 where it is too little."""
    (word, place), (open_, gains) = hits, scratch
    shared, weight = 0, 0.0
    for number in clause:
        if has[number, rank]:
            shared += 1
            weight += weights[number]
            open_[number] = True
    covered = 0.0
    if shared >= min(SHARED_WORDS, len(clause)) and weight >= SUPPORT * total:
        for _ in range(EVIDENCE_SENTENCES):
            best = _best_sentence(word, place, open_, weights, gains)
            if best >= 0:
                covered += gains[best]
            for at in range(len(word)):
                gains[place[at]] = 0.0
            for at in range(len(word)):
                if place[at] == best:
                    open_[word[at]] = False
    for number in clause:
        open_[number] = False
    coverage = min(1.0, covered / total)
    return coverage if coverage >= SUPPORT else -1.0


@compiled
def _supporting(clauses: Array, borders: Array, hits: Any, weights: Array) -> Any:
    """Return which documents support each clause, (clauses, documents)."""
    firsts, word, place, has = hits
    documents = has.shape[1]
    last = 0
    for at in place:
        last = max(last, at)
    scratch = np.zeros(len(weights), dtype=np.bool_), np.zeros(last + 1, dtype=np.float64)
    supports = np.zeros((len(borders) - 1, documents), dtype=np.bool_)
    coverage = np.empty(documents, dtype=np.float64)
    for number in range(len(borders) - 1):
        clause = clauses[borders[number] : borders[number + 1]]
        total = 0.0
        for one in clause:
            total += weights[one]
        for rank in range(documents):
            mine = slice(firsts[rank], firsts[rank + 1])
            hits_there = word[mine], place[mine]
            coverage[rank] = _coverage(clause, rank, hits_there, has, weights, total, scratch)
        best = coverage.max()
        if best > 0:
            supports[number] = coverage >= RELATIVE * best
    return supports


@compiled
def _holders(clauses: Array, borders: Array, supports: Array, has: Array) -> Any:
    """Return (words, documents) whether a document supports the clause of a word and has the word."""
    holds = np.zeros((len(clauses), has.shape[1]), dtype=np.bool_)
    for number in range(len(borders) - 1):
        for at in range(borders[number], borders[number + 1]):
            holds[at] = supports[number] & has[clauses[at]]
    return holds


@compiled
def _shares(clauses: Array, holds: Array, weights: Array) -> Any:
    """Return each document's share of an answer; a word's weight is split among those that hold it."""
    documents = holds.shape[1]
    shares, held = np.zeros(documents), np.zeros(documents)
    counts = np.zeros(len(clauses), dtype=np.int64)
    total, most = 0.0, 0
    for at in range(len(clauses)):
        total += weights[clauses[at]]
        counts[at] = holds[at].sum()
        most = max(most, counts[at])
    for count in range(1, most + 1):  # in the order that ContextAttributor adds in
        held[:] = 0.0
        for at in range(len(clauses)):
            if counts[at] == count:
                held += weights[clauses[at]] * holds[at]
        shares += held / (count * total)
    return shares


@compiled
def attributed(
    answers: Any, lists: Array, documents: Array, stored: Any, frequencies: Any, size: int
) -> Array:
    """Return the share of each document in its answer, as ContextAttributor.attribute has it.

    Args:
        answers: first word of each of n answers (n + 1,); content word, sentence and clause of each word.
        lists: (n + 1,) where each answer's documents begin.
        documents: their text numbers, in rank order.
        stored: borders, content words and sentences of the documents' texts, see postings.
        frequencies: by number of documents, where its weights begin; the weights by documents with the word.
        size: number of content words in all.
    """
    firsts, contents, sentences, parts = answers
    borders, held, places = stored
    weights_from, weights_of = frequencies
    number_of = np.full(size, -1, dtype=np.int32)
    shares = np.zeros(len(documents))
    for row in range(len(lists) - 1):
        mine = slice(firsts[row], firsts[row + 1])
        ranked = documents[lists[row] : lists[row + 1]]
        distinct, numbers, where, of_part = _numbered(contents[mine], sentences[mine], parts[mine], number_of)
        if len(numbers) and len(ranked):
            hits = _hits(ranked, borders, held, places, number_of, len(distinct))
            weights = np.empty(len(distinct))
            for number in range(len(distinct)):
                weights[number] = weights_of[weights_from[len(ranked)] + hits[3][number].sum()]
            clauses, ends = _clauses(numbers, where, of_part)
            supports = _supporting(clauses, ends, hits, weights)
            found = _shares(clauses, _holders(clauses, ends, supports, hits[3]), weights)
            shares[lists[row] : lists[row + 1]] = np.rint(found * SHARE_PARTS) / SHARE_PARTS
        for content in distinct:
            number_of[content] = -1
    return shares


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
