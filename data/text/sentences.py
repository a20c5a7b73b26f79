"""Sentence and clause borders in English, Russian and Chinese text, in time linear in its length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ragtriage.data.text.tokens import word_list

FULL_WIDTH_MARKS = "。！？"  # end a sentence anywhere
END_MARKS = f".!?…{FULL_WIDTH_MARKS}"
CLAUSE_MARKS = "(，；："
SPACED_CLAUSE_MARKS = ",;:—–"  # end a clause before white space
CLOSING = "\"'”’»)]）」』"
CLOSERS = 3  # brackets and quotation marks that belong to the sentence before them
AHEAD = 8  # characters looked at behind a full stop
LOOK_BEHIND = 16  # characters looked at before a full stop: the longest abbreviation and its bracket fit
_END = re.compile(rf"[{END_MARKS}]+|\n+")  # a run is matched whole and never tried again: no backtracking
_CLAUSE = re.compile(rf"[{SPACED_CLAUSE_MARKS}](?=\s)|[{CLAUSE_MARKS}]")
_LAST_WORD = re.compile(r"[^\W\d_][\w.]*$")
_ABBREVIATIONS = word_list("abbreviations")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return half-open character ranges of the sentences, without surrounding white space.

    A line break ends a sentence; so do 。！？ anywhere, and . ! ? … before white space or the end, except
    after an abbreviation, an initial or a list number, or before a lower-case letter.
    """
    return list(iter_sentences(text))


def iter_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of `split_sentences` one by one, for those who need the first few."""
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if end <= start:
            continue
        if text[match.start()] != "\n":
            while end < len(text) and end < match.end() + CLOSERS and text[end] in CLOSING:
                end += 1
            if not _ends_sentence(text, start, match.span(), end):
                continue
        left, right = _trim(text, start, end)
        if right > left:
            yield left, right
        start = end
    left, right = _trim(text, start, len(text))
    if right > left:
        yield left, right


def split_clauses(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges between commas, colons, dashes and brackets; together they cover text[start:end]."""
    borders = [start, *(match.end() for match in _CLAUSE.finditer(text, start, end)), end]
    return [(left, right) for left, right in pairwise(borders) if right > left]


def _ends_sentence(text: str, start: int, punctuation: tuple[int, int], end: int) -> bool:
    """Return whether the punctuation ends the sentence begun at `start`; `end` is behind closing quotes."""
    first, behind = punctuation
    if text[behind - 1] in FULL_WIDTH_MARKS:
        return True
    if end < len(text) and not text[end].isspace():
        return False
    if behind - first > 1 or text[first] != ".":
        return True
    if text[end : end + AHEAD].lstrip()[:1].islower():
        return False
    before = text[max(start, first - LOOK_BEHIND) : first]
    if before.strip().isdigit() and first - start <= LOOK_BEHIND:
        return False  # "1." at the head of a line numbers it
    word = _LAST_WORD.search(before)
    return word is None or not _is_shortened(word.group())


def _is_shortened(word: str) -> bool:
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper() and word != "I")


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    left = start + len(part) - len(part.lstrip())
    return left, max(left, start + len(part.rstrip()))
