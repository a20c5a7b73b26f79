"""Compiled: texts into numbered words with their sentences and clauses, as data.text.tokens does.

Texts are arrays of code points; what a code point is, is told by the bits of a table, see
data.text.compiled.vocabulary. A vocabulary is a hash table: its slots, of each word its hash and where it
begins in the pool, and the pool of code points. Imported only where numba is installed.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from ragtriage.data.text.compiled.vocabulary import (
    ABBREVIATION,
    CJK,
    CLAUSE,
    CLAUSE_BEFORE_SPACE,
    CLOSER,
    DIGIT,
    END,
    FULL_STOP,
    FULL_WIDTH,
    IN_WORD,
    LETTER,
    LOWER,
    NEWLINE,
    PRONOUN,
    SPACE,
    STOP,
    UPPER,
    WORD,
)
from ragtriage.data.text.context_attribution import POSTINGS
from ragtriage.data.text.tokens import AHEAD, CLOSERS, LOOK_BEHIND

Array = Any  # of NumPy; numba infers the element type
_Function = TypeVar("_Function")


def compiled(function: _Function) -> _Function:
    """Return a function of arrays that is compiled at its first call and cached for other processes."""
    return cast(_Function, njit(cache=True, nogil=True)(function))


_SEED = np.uint64(14695981039346656037)  # of the hash FNV-1a
_PRIME = np.uint64(1099511628211)
_HALF = np.uint64(32)


@compiled
def strange(codes: Array, kinds: Array) -> Array:
    """Return the code points that the table does not know yet, each once."""
    found = np.zeros(len(kinds), dtype=np.bool_)
    for code in codes:
        if kinds[code] == 0:
            found[code] = True
    return np.nonzero(found)[0]


@compiled
def _hash(codes: Array, start: int, end: int) -> Any:
    value = _SEED
    for at in range(start, end):
        value = (value ^ np.uint64(codes[at])) * _PRIME
    return value ^ (value >> _HALF)


@compiled
def _place(
    codes: Array, start: int, end: int, value: Any, slots: Array, hashes: Array, starts: Array, pool: Array
) -> Any:
    """Return the slot of a word with a hash value: where it is, or where it belongs."""
    mask = len(slots) - 1
    place = np.int64(value & np.uint64(mask))
    while slots[place] >= 0:
        word = slots[place]
        if hashes[word] == value and starts[word + 1] - starts[word] == end - start:
            first = starts[word]
            at = start
            while at < end and pool[first + at - start] == codes[at]:
                at += 1
            if at == end:
                return place
        place = (place + 1) & mask
    return place


@compiled
def _number(
    codes: Array, start: int, end: int, slots: Array, hashes: Array, starts: Array, pool: Array, count: Array
) -> Any:
    """Return the number of a word, which gets one if it is new."""
    value = _hash(codes, start, end)
    place = _place(codes, start, end, value, slots, hashes, starts, pool)
    word = slots[place]
    if word < 0:
        word = count[0]
        slots[place] = word
        hashes[word] = value
        first = starts[word]
        for at in range(end - start):
            pool[first + at] = codes[start + at]
        starts[word + 1] = first + end - start
        count[0] = word + 1
    return word


@compiled
def _marks_of(codes: Array, start: int, end: int, marks: Array, vocabulary: Any) -> Any:
    """Return the STOP and ABBREVIATION bits of a word that may be new."""
    slots, hashes, starts, pool = vocabulary
    value = _hash(codes, start, end)
    word = slots[_place(codes, start, end, value, slots, hashes, starts, pool)]
    return marks[word] if 0 <= word < len(marks) else 0


@compiled
def _roomy(slots: Array, hashes: Array, starts: Array, pool: Array, count: Array, more: int) -> Any:
    """Return the vocabulary with room for `more` words, each of two code points or from a text of `more`."""
    words, used = count[0], starts[count[0]]
    if 2 * (words + more + 1) > len(slots):
        size = len(slots)
        while 2 * (words + more + 1) > size:
            size *= 2
        slots = np.full(size, -1, dtype=np.int32)
        hashes = np.concatenate((hashes[:words], np.zeros(size // 2 + 1 - words, dtype=np.uint64)))
        starts = np.concatenate((starts[: words + 1], np.zeros(size // 2 + 1 - words, dtype=np.int64)))
        for word in range(words):
            place = np.int64(hashes[word] & np.uint64(size - 1))
            while slots[place] >= 0:
                place = (place + 1) & (size - 1)
            slots[place] = word
    if used + 2 * more + 2 > len(pool):
        pool = np.concatenate((pool[:used], np.zeros(used + 4 * more + 4, dtype=np.uint32)))
    return slots, hashes, starts, pool


@compiled
def add(codes: Array, vocabulary: Any, count: Array) -> None:
    """Put a word into a vocabulary that has room for it."""
    slots, hashes, starts, pool = vocabulary
    _number(codes, 0, len(codes), slots, hashes, starts, pool, count)


@compiled
def _is_number(original: Array, kinds: Array, start: int, end: int) -> bool:
    """Return whether there are digits only, surrounding white space aside."""
    while start < end and kinds[original[start]] & SPACE:
        start += 1
    while end > start and kinds[original[end - 1]] & SPACE:
        end -= 1
    for at in range(start, end):
        if not kinds[original[at]] & DIGIT:
            return False
    return end > start


@compiled
def _is_short_form(
    original: Array, lower: Array, kinds: Array, start: int, end: int, marks: Array, vocabulary: Any
) -> Any:
    """Return whether the text before a full stop ends with an abbreviation or an initial."""
    first = end
    while first > start and kinds[original[first - 1]] & IN_WORD:
        first -= 1
    while first < end and not kinds[original[first]] & LETTER:
        first += 1
    if first == end:
        return False
    if end - first == 1 and kinds[original[first]] & UPPER and original[first] != PRONOUN:
        return True
    return _marks_of(lower, first, end, marks, vocabulary) & ABBREVIATION != 0


@compiled
def _ends_sentence(
    original: Array,
    lower: Array,
    kinds: Array,
    span: Any,
    first: int,
    behind: int,
    end: int,
    marks: Array,
    vocabulary: Any,
) -> bool:
    """Return whether punctuation ends a sentence, as data.text.sentences does; `span` is what is left."""
    start, stop = span
    if kinds[original[behind - 1]] & FULL_WIDTH:
        return True
    if end < stop and not kinds[original[end]] & SPACE:
        return False
    if behind - first > 1 or original[first] != FULL_STOP:
        return True
    for at in range(end, min(end + AHEAD, stop)):
        if not kinds[original[at]] & SPACE:
            if kinds[original[at]] & LOWER:
                return False
            break
    left = max(start, first - LOOK_BEHIND)
    if first - start <= LOOK_BEHIND and _is_number(original, kinds, left, first):
        return False
    return not _is_short_form(original, lower, kinds, left, first, marks, vocabulary)


@compiled
def _run_end(codes: Array, kinds: Array, at: int, stop: int, kind: int) -> int:
    while at < stop and kinds[codes[at]] & kind:
        at += 1
    return at


@compiled
def _sentence_end(
    original: Array, lower: Array, kinds: Array, span: Any, at: int, marks: Array, vocabulary: Any
) -> int:
    """Return where the sentence ends whose last mark is at `at`, or -1 where it goes on."""
    _start, stop = span
    if kinds[original[at]] & NEWLINE:
        return _run_end(original, kinds, at, stop, NEWLINE)
    behind = _run_end(original, kinds, at, stop, END)
    end = _run_end(original, kinds, behind, min(stop, behind + CLOSERS), CLOSER)
    return end if _ends_sentence(original, lower, kinds, span, at, behind, end, marks, vocabulary) else -1


@compiled
def read(
    original: Array, lower: Array, borders: Array, kinds: Array, marks: Array, vocabulary: Any, count: Array
) -> Any:
    """Return the words of texts, and the vocabulary with the new ones.

    Args:
        original: code points of the texts, joined.
        lower: the same in lower case.
        borders: (n + 1,) where the texts begin.
        kinds: bits of each code point.
        marks: STOP and ABBREVIATION bits of the first words of the vocabulary.
        vocabulary: slots of the hash table; of each word its hash and its start in the pool; the pool.
        count: words in it, raised in place.

    Returns:
        first word of each text (n + 1,); and of each word its number, whether it is not a stop word, its
        sentence and its clause; the vocabulary.
    """
    slots, hashes, starts, pool = vocabulary
    size = len(lower) + 1
    firsts = np.zeros(len(borders), dtype=np.int64)
    words, kept = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.bool_)
    sentences, clauses = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    total = 0
    for text in range(len(borders) - 1):
        at, stop = borders[text], borders[text + 1]
        # room for a new word at each character: the table, which `known` holds, does not move inside a text
        slots, hashes, starts, pool = _roomy(slots, hashes, starts, pool, count, stop - at)
        known = slots, hashes, starts, pool
        start, sentence, clause = at, 0, 0
        while at < stop:
            kind = kinds[lower[at]] & (WORD | CJK)
            mark = kinds[original[at]]
            if kind:
                end = _run_end(lower, kinds, at, stop, kind)
                first = total
                if kind == WORD:
                    word = _number(lower, at, end, slots, hashes, starts, pool, count)
                    keep = word >= len(marks) or marks[word] & STOP == 0
                    words[total] = word
                    total += 1
                else:
                    keep = _marks_of(lower, at, end, marks, known) & STOP == 0
                    # scripts without spaces: each pair of neighbours is a word, and a mark on its own
                    for left in range(at, max(at + 1, end - 1)):
                        right = min(left + 2, end)
                        words[total] = _number(lower, left, right, slots, hashes, starts, pool, count)
                        total += 1
                for one in range(first, total):
                    kept[one], sentences[one], clauses[one] = keep, sentence, clause
                at = end
                continue
            if mark & (END | NEWLINE):
                end = _sentence_end(original, lower, kinds, (start, stop), at, marks, known)
                if end >= 0:
                    start, sentence = end, sentence + 1
                at = _run_end(original, kinds, at, stop, mark & (END | NEWLINE))
                continue
            before_space = at + 1 < stop and kinds[original[at + 1]] & SPACE
            if mark & CLAUSE or (mark & CLAUSE_BEFORE_SPACE and before_space):
                clause += 1
            at += 1
        firsts[text + 1] = total
    found = words[:total].copy(), kept[:total].copy(), sentences[:total].copy(), clauses[:total].copy()
    return firsts, found, (slots, hashes, starts, pool)


@compiled
def _distinct(firsts: Array, values: Array, size: int) -> Any:
    """Return of each text its values, each once, without -1; and where each text's begin."""
    seen = np.full(size, -1, dtype=np.int32)
    borders, found, total = np.zeros(len(firsts), dtype=np.int64), np.empty(len(values), dtype=np.int32), 0
    for text in range(len(firsts) - 1):
        for at in range(firsts[text], firsts[text + 1]):
            value = values[at]
            if value >= 0 and seen[value] != text:
                seen[value] = text
                found[total] = value
                total += 1
        borders[text + 1] = total
    return borders, found[:total].copy()


@compiled
def postings(
    firsts: Array, words: Array, contents: Array, sentences: Array, words_known: int, size: int
) -> Any:
    """Return what is kept of documents: distinct words, distinct content words, and where these stand.

    Args:
        firsts: (n + 1,) first word of each text.
        words: number of each word.
        contents: its number as a content word; -1 for a stop word.
        sentences: its sentence.
        words_known: size of the vocabulary.
        size: number of content words in all.

    Returns:
        three pairs of borders (n + 1,) and entries: words, content words, and (content word, sentence) with
        the first POSTINGS sentences of each content word; the entries of the last are a pair.
    """
    last = np.full((size, 2), -1, dtype=np.int32)  # text and sentence where a content word was seen last
    counts = np.zeros(size, dtype=np.int32)
    borders, total = np.zeros(len(firsts), dtype=np.int64), 0
    held, places = np.empty(len(words), dtype=np.int32), np.empty(len(words), dtype=np.int32)
    for text in range(len(firsts) - 1):
        for at in range(firsts[text], firsts[text + 1]):
            content = contents[at]
            if content < 0:
                continue
            if last[content, 0] != text:
                last[content, 0], last[content, 1], counts[content] = text, -1, 0
            if last[content, 1] != sentences[at] and counts[content] < POSTINGS:
                last[content, 1] = sentences[at]
                counts[content] += 1
                held[total], places[total] = content, sentences[at]
                total += 1
        borders[text + 1] = total
    return (
        _distinct(firsts, words, words_known),
        _distinct(firsts, contents, size),
        (borders, (held[:total].copy(), places[:total].copy())),
    )
