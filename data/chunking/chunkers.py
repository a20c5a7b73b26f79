"""Cutting a text into chunks: a fixed size with overlap, or along its paragraphs, headings and sentences.

Every chunk is a half-open range of characters of the text as stored, so that gold given as character spans
holds for any way of cutting. Sizes are in tokens of the bundled tokenizer or in characters; the white space
behind a paragraph or a sentence belongs to its chunk and is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from data.chunking.tokens import count_tokens, token_starts
from data.errors import DataError
from metrics.schema.scores import IntArray

__all__ = ["STRATEGIES", "UNITS", "Chunk", "Chunking", "Strategy", "TokenizedText", "Unit", "chunks_of"]

Strategy = Literal["fixed", "paragraph", "heading", "recursive"]
Unit = Literal["tokens", "characters"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
UNITS: tuple[Unit, ...] = get_args(Unit)
_HEADING = re.compile(r"^(#{1,6})[ \t]+([^\r\n]+)", re.MULTILINE)
_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n\s*")
COUNTS_KEPT = 4096  # token counts that one cutting remembers
Range = tuple[int, int]


@dataclass(frozen=True)
class Chunking:
    """One way to cut texts.

    Attributes:
        strategy: "fixed", or along "paragraph", "heading" or "recursive" borders up to the size.
        size: largest size of a chunk.
        overlap: what a fixed chunk repeats of the one before; 0 for the other strategies.
        unit: what size and overlap count.
        headings: whether title and headings stand before the text that is indexed.
    """

    strategy: Strategy
    size: int
    overlap: int = 0
    unit: Unit = "tokens"
    headings: bool = False

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise DataError(f"strategy {self.strategy!r}; accepted: {', '.join(STRATEGIES)}")
        if self.unit not in UNITS:
            raise DataError(f"unit {self.unit!r}; accepted: {', '.join(UNITS)}")
        if self.size < 1:
            raise DataError(f"size {self.size}; accepted: a whole number of 1 or more {self.unit}")
        if self.overlap < 0:
            raise DataError(f"overlap {self.overlap}; accepted: a whole number of 0 or more {self.unit}")
        if self.overlap >= self.size:
            raise DataError(
                f"overlap {self.overlap} is not smaller than size {self.size}; "
                f"accepted: an overlap from 0 to {self.size - 1} {self.unit}"
            )

    @property
    def title(self) -> str:
        """Name it for people, e.g. "256 / 64 tokens" or "paragraph up to 256 tokens"."""
        named = (
            f"{self.size} / {self.overlap} {self.unit}"
            if self.strategy == "fixed"
            else f"{self.strategy} up to {self.size} {self.unit}"
        )
        return f"{named} + headings" if self.headings else named


@dataclass(frozen=True)
class Chunk:
    """A range of a text.

    Attributes:
        start: first character.
        end: character behind the last.
        headings: the headings above its start, outermost first.
    """

    start: int
    end: int
    headings: tuple[str, ...] = ()


class TokenizedText:
    """A text whose tokens are found once, however often it is cut."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def starts(self) -> IntArray:
        """(t,) first character of each token."""
        return token_starts(self.text)

    @cached_property
    def headings(self) -> list[tuple[int, int, str]]:
        """(character, level, words) of each Markdown heading, in order."""
        found = [(one.start(), len(one[1]), _heading_words(one[2])) for one in _HEADING.finditer(self.text)]
        return [one for one in found if one[2]]

    def size(self, start: int, end: int, unit: Unit) -> int:
        """Measure a range of the text."""
        if unit == "characters":
            return end - start
        return int(np.searchsorted(self.starts, end) - np.searchsorted(self.starts, start))


def _heading_words(line: str) -> str:
    """Take the closing marks of a Markdown heading away: those that stand behind a blank."""
    words = line.strip()
    bare = words.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else words


def chunks_of(measured: TokenizedText, chunking: Chunking) -> list[Chunk]:
    """Cut a text; chunks of nothing but white space are left out, and no two are the same.

    Returns:
        Chunks in the order of their start. Fixed chunks cover every character that is not in a chunk of
        white space; the others do so without overlap.
    """
    # a character of several tokens can be all that neighbouring windows differ in: each range once
    ranges = dict.fromkeys(_CUTS[chunking.strategy](measured, chunking))
    text = measured.text
    kept = [(start, end) for start, end in ranges if start < end and not text[start:end].isspace()]
    return [Chunk(start, end, _path(measured.headings, start)) for start, end in kept]


def _path(headings: list[tuple[int, int, str]], at: int) -> tuple[str, ...]:
    """Name the headings that a character stands under."""
    found: list[tuple[int, str]] = []
    for start, level, words in headings:
        if start > at:
            break
        found = [one for one in found if one[0] < level] + [(level, words)]
    return tuple(words for _, words in found)


def _fixed(measured: TokenizedText, chunking: Chunking) -> Iterator[Range]:
    """Cut after every `size` units, each chunk beginning `overlap` units before the last one's end."""
    borders = _borders(measured, chunking.unit)
    units = len(borders) - 1
    for first in range(0, units, chunking.size - chunking.overlap):
        last = min(first + chunking.size, units)
        yield int(borders[first]), int(borders[last])
        if last == units:
            return


def _borders(measured: TokenizedText, unit: Unit) -> IntArray:
    """(u + 1,) characters at which units begin, and the end of the text."""
    if unit == "characters":
        return np.arange(len(measured.text) + 1, dtype=np.int64)
    return np.append(measured.starts, len(measured.text))


def _paragraphs(measured: TokenizedText, chunking: Chunking) -> Iterator[Range]:
    return _packed(measured, _split_at(measured.text, _PARAGRAPH_END), chunking)


def _sections(measured: TokenizedText, chunking: Chunking) -> Iterator[Range]:
    starts = [0, *(start for start, _, _ in measured.headings if start > 0), len(measured.text)]
    for start, end in pairwise(starts):
        if measured.size(start, end, chunking.unit) <= chunking.size:
            yield start, end
        else:
            inside = _split_at(measured.text[start:end], _PARAGRAPH_END)
            moved = [(start + one, start + other) for one, other in inside]
            yield from _packed(measured, moved, chunking)


def _split_at(text: str, border: re.Pattern[str]) -> list[Range]:
    ends = [0, *(found.end() for found in border.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(ends) if start < end]


def _packed(measured: TokenizedText, parts: list[Range], chunking: Chunking) -> Iterator[Range]:
    """Join neighbouring parts up to the size; a part that is larger by itself is cut at its sentences."""
    start = end = None
    for first, last in parts:
        if start is not None and end is not None:
            if measured.size(start, last, chunking.unit) <= chunking.size:
                end = last
                continue
            yield start, end
        if measured.size(first, last, chunking.unit) <= chunking.size:
            start, end = first, last
        else:
            start = end = None
            yield from _recursive_in(measured, first, last, chunking)
    if start is not None and end is not None:
        yield start, end


def _recursive(measured: TokenizedText, chunking: Chunking) -> Iterator[Range]:
    return _recursive_in(measured, 0, len(measured.text), chunking)


def _recursive_in(measured: TokenizedText, start: int, end: int, chunking: Chunking) -> Iterator[Range]:
    """Cut at the strongest borders that semchunk finds; the white space between goes to the chunk before."""
    from semchunk import semchunk

    # counts are kept for this text alone: semchunk's own memory of them never ends
    counter: Callable[[str], int] = (
        lru_cache(COUNTS_KEPT)(_tokens_at_least_one) if chunking.unit == "tokens" else len
    )
    text = measured.text[start:end]
    found: Any = semchunk.chunk(text, chunking.size, counter, memoize=False, offsets=True)
    yield from pairwise([start, *(start + first for first, _ in found[1][1:]), end])


def _tokens_at_least_one(text: str) -> int:
    """Count tokens, a single character as one: it cannot be cut further, however many tokens it takes."""
    return count_tokens(text) if len(text) > 1 else 1


_CUTS: dict[Strategy, Callable[[TokenizedText, Chunking], Iterator[Range]]] = {
    "fixed": _fixed,
    "paragraph": _paragraphs,
    "heading": _sections,
    "recursive": _recursive,
}
