"""Sentence borders in English, Russian and Chinese text, in time linear in its length."""

from __future__ import annotations

import re
from itertools import pairwise

from metrics.text.tokens import word_list

__all__ = ["split_clauses", "split_sentences"]

_END = re.compile(r"[.!?…。！？]+|\n+")  # a run is matched whole and never tried again: no backtracking
_CLAUSE = re.compile(r"[,;:—–](?=\s)|[(，；：]")
_CLOSERS = "\"'”’»)]）」』"
_WIDE = "。！？"
_BEFORE = 16  # characters looked at before a full stop: the longest abbreviation and its bracket fit
_WORD = re.compile(r"[^\W\d_][\w.]*$")
_ABBREVIATIONS = word_list("abbreviations")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Half-open character ranges of the sentences, without surrounding white space.

    A line break ends a sentence; so do 。！？ anywhere, and . ! ? … before white space or the end, save after
    an abbreviation, an initial or a list number, or before a small letter.
    """
    found, start = [], 0
    for match in _END.finditer(text):
        end = match.end()
        if end <= start:
            continue
        if text[match.start()] != "\n":
            while end < len(text) and end < match.end() + 3 and text[end] in _CLOSERS:
                end += 1
            if not _ends_here(text, start, match.start(), match.end(), end):
                continue
        found.append((start, end))
        start = end
    found.append((start, len(text)))
    trimmed = [_trim(text, a, b) for a, b in found]
    return [(a, b) for a, b in trimmed if b > a]


def split_clauses(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Ranges between the commas, colons, dashes and brackets of text[start:end]; together they cover it."""
    borders = [start, *(match.end() for match in _CLAUSE.finditer(text, start, end)), end]
    return [(a, b) for a, b in pairwise(borders) if b > a]


def _ends_here(text: str, start: int, mark: int, mark_end: int, end: int) -> bool:
    if text[mark_end - 1] in _WIDE:
        return True
    if end < len(text) and not text[end].isspace():
        return False
    if mark_end - mark > 1 or text[mark] != ".":
        return True
    after = text[end : end + 8].lstrip()
    if after[:1].islower():
        return False
    before = text[max(start, mark - _BEFORE) : mark]
    if before.strip().isdigit() and mark - start <= _BEFORE:
        return False  # "1." at the head of a line numbers it
    word = _WORD.search(before)
    return word is None or not _shortened(word.group())


def _shortened(word: str) -> bool:
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper() and word != "I")


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    return left, max(left, start + len(piece.rstrip()))
