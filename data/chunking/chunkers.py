"""Splitting a text into chunks: a fixed size with overlap, or along its paragraphs, headings and sentences.

Every chunk is a half-open range of characters of the text as stored, so that gold given as character spans
holds for any way of splitting. Sizes are in tokens of the bundled tokenizer or in characters; the white space
behind a paragraph or a sentence belongs to its chunk and is not counted.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.metrics.schema.scores import IntArray

BLOCK = 100_000  # characters tokenized at once: bounds the memory that long texts take


@cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    packed = (files("ragtriage.data") / "tokenizer" / "bpe.json.gz").read_bytes()
    return Tokenizer.from_str(gzip.decompress(packed).decode("utf-8"))


def token_starts(text: str) -> IntArray:
    """Return the character at which each token of a text begins.

    A character that takes several tokens, as an emoji does, is that many times the start of one.

    Returns:
        (t,) ascending character offsets; empty for an empty text.
    """
    parts, at = [], 0
    while at < len(text):
        end = _block_end(text, at)
        offsets = _tokenizer().encode(text[at:end]).offsets
        parts.append(np.array([start for start, _ in offsets], dtype=np.int64) + at)
        at = end
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _block_end(text: str, at: int) -> int:
    """Return the end of a block: behind a line where there is one, so that no word is split."""
    if len(text) - at <= BLOCK:
        return len(text)
    line = text.rfind("\n", at, at + BLOCK)
    return line + 1 if line > at else at + BLOCK


def count_tokens(text: str) -> int:
    """Count the tokens of a text."""
    return len(token_starts(text))


Strategy = Literal["fixed", "paragraph", "heading", "recursive"]
Unit = Literal["tokens", "characters"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
UNITS: tuple[Unit, ...] = get_args(Unit)
_HEADING = re.compile(r"^(#{1,6})[ \t]+([^\r\n]+)", re.MULTILINE)
_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n\s*")
COUNTS_KEPT = 4096  # token counts that one splitting remembers
Range = tuple[int, int]


@dataclass(frozen=True)
class Chunking:
    """One way to split texts."""

    strategy: Strategy  # "fixed", or along "paragraph", "heading" or "recursive" boundaries up to the size
    size: int  # largest size of a chunk
    overlap: int = 0  # what a fixed chunk repeats of the one before; 0 for the other strategies
    unit: Unit = "tokens"  # what size and overlap count
    headings: bool = False  # whether title and headings stand before the text that is indexed

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
        """A name to show, e.g. "256 / 64 tokens" or "by paragraph (max 256 tokens)"."""
        repeated = ", headings repeated" if self.headings else ""
        if self.strategy == "fixed":
            return f"{self.size} / {self.overlap} {self.unit}{repeated}"
        by = self.strategy if self.strategy == "recursive" else f"by {self.strategy}"
        return f"{by} (max {self.size} {self.unit}{repeated})"


@dataclass(frozen=True)
class Chunk:
    """A range of a text."""

    start: int  # first character
    end: int  # character behind the last
    headings: tuple[str, ...] = ()  # the headings above its start, outermost first


class TokenizedText:
    """A text that is tokenized once, however often it is split."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def starts(self) -> IntArray:
        """(t,) first character of each token."""
        return token_starts(self.text)

    @cached_property
    def headings(self) -> list[tuple[int, int, str]]:
        """(character, level, words) of each Markdown heading, in order."""
        headings = [
            (match.start(), len(match[1]), _heading_words(match[2])) for match in _HEADING.finditer(self.text)
        ]
        return [heading for heading in headings if heading[2]]

    def size(self, start: int, end: int, unit: Unit) -> int:
        """Return the length of a range of the text."""
        if unit == "characters":
            return end - start
        return int(np.searchsorted(self.starts, end) - np.searchsorted(self.starts, start))


def _heading_words(line: str) -> str:
    """Strip the closing # of a Markdown heading, which follow a blank."""
    words = line.strip()
    bare = words.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else words


def chunks_of(tokenized: TokenizedText, chunking: Chunking) -> list[Chunk]:
    """Split a text; chunks of nothing but white space are left out, and no two are the same.

    Returns:
        Chunks in the order of their start. Fixed chunks cover every character that is not in a chunk of
        white space; the others do so without overlap.
    """
    # Neighbouring windows may differ in the tokens of one character only: each range once.
    ranges = dict.fromkeys(_SPLITTERS[chunking.strategy](tokenized, chunking))
    text = tokenized.text
    kept = [(start, end) for start, end in ranges if start < end and not text[start:end].isspace()]
    return [Chunk(start, end, heading_path(tokenized.headings, start)) for start, end in kept]


def heading_path(headings: list[tuple[int, int, str]], at: int) -> tuple[str, ...]:
    """Return the headings above a character, outermost first."""
    path: list[tuple[int, str]] = []
    for start, level, words in headings:
        if start > at:
            break
        path = [outer for outer in path if outer[0] < level] + [(level, words)]
    return tuple(words for _, words in path)


def _fixed(tokenized: TokenizedText, chunking: Chunking) -> Iterator[Range]:
    """Split after every `size` units; each chunk begins `overlap` units before the end of the last one."""
    boundaries = _boundaries(tokenized, chunking.unit)
    units = len(boundaries) - 1
    for first in range(0, units, chunking.size - chunking.overlap):
        last = min(first + chunking.size, units)
        yield int(boundaries[first]), int(boundaries[last])
        if last == units:
            return


def _boundaries(tokenized: TokenizedText, unit: Unit) -> IntArray:
    """(u + 1,) characters at which units begin, and the end of the text."""
    if unit == "characters":
        return np.arange(len(tokenized.text) + 1, dtype=np.int64)
    return np.append(tokenized.starts, len(tokenized.text))


def _sections(tokenized: TokenizedText, chunking: Chunking) -> Iterator[Range]:
    starts = [0, *(start for start, _, _ in tokenized.headings if start > 0), len(tokenized.text)]
    for start, end in pairwise(starts):
        if tokenized.size(start, end, chunking.unit) <= chunking.size:
            yield start, end
        else:
            inside = _split_at(tokenized.text[start:end], _PARAGRAPH_END)
            paragraphs = [(start + first, start + last) for first, last in inside]
            yield from _packed(tokenized, paragraphs, chunking)


def _split_at(text: str, boundary: re.Pattern[str]) -> list[Range]:
    ends = [0, *(match.end() for match in boundary.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(ends) if start < end]


def _packed(tokenized: TokenizedText, parts: list[Range], chunking: Chunking) -> Iterator[Range]:
    """Join neighbouring parts up to the size; a part that is larger by itself is split at its sentences."""
    start = end = None
    for first, last in parts:
        if start is not None and end is not None:
            if tokenized.size(start, last, chunking.unit) <= chunking.size:
                end = last
                continue
            yield start, end
        if tokenized.size(first, last, chunking.unit) <= chunking.size:
            start, end = first, last
        else:
            start = end = None
            yield from _recursive_in(tokenized, first, last, chunking)
    if start is not None and end is not None:
        yield start, end


def _recursive_in(tokenized: TokenizedText, start: int, end: int, chunking: Chunking) -> Iterator[Range]:
    """Split at the strongest boundaries that semchunk finds; white space goes to the chunk before it."""
    from semchunk import semchunk

    # Token counts are cached for this text alone: semchunk's own cache grows without end.
    counter: Callable[[str], int] = (
        lru_cache(COUNTS_KEPT)(_tokens_at_least_one) if chunking.unit == "tokens" else len
    )
    text = tokenized.text[start:end]
    parts: Any = semchunk.chunk(text, chunking.size, counter, memoize=False, offsets=True)
    yield from pairwise([start, *(start + first for first, _ in parts[1][1:]), end])


def _tokens_at_least_one(text: str) -> int:
    """Count tokens, a single character as one: it cannot be split further, however many tokens it takes."""
    return count_tokens(text) if len(text) > 1 else 1


_SPLITTERS: dict[Strategy, Callable[[TokenizedText, Chunking], Iterator[Range]]] = {
    "fixed": _fixed,
    "paragraph": lambda text, chunking: _packed(text, _split_at(text.text, _PARAGRAPH_END), chunking),
    "heading": _sections,
    "recursive": lambda text, chunking: _recursive_in(text, 0, len(text.text), chunking),
}
