"""Text with its whitespace folded, to compare passages that a loader or splitter has reflowed."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np

_WORD = re.compile(r"\S+")


def folded(text: str) -> str:
    """Return a text with every run of whitespace as one space, and none at its ends."""
    return " ".join(text.split())


def folded_question(text: str) -> str:
    """Return a question as it is compared: whitespace folded, and upper and lower case alike."""
    return folded(text).casefold()


class FoldedText:
    """A text searched without regard to its whitespace; offsets are those of the text as it stands."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _folded(self) -> str:
        return folded(self.text)

    @cached_property
    def _starts(self) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
        """Where each word starts: in the text, and in the folded text."""
        spans = [match.span() for match in _WORD.finditer(self.text)]
        lengths = np.array([end - start + 1 for start, end in spans], dtype=np.int64)
        in_text = np.array([start for start, _ in spans], dtype=np.int64)
        return in_text, np.concatenate(([0], np.cumsum(lengths)))[:-1].astype(np.int64)

    def find(self, passage: str) -> tuple[int, int] | None:
        """Return start and end of the first occurrence of a passage whose whitespace is folded already."""
        at = self._folded.find(passage) if passage else -1
        if at < 0:
            return None
        return self._offset(at), self._offset(at + len(passage) - 1) + 1

    def _offset(self, at: int) -> int:
        in_text, in_folded = self._starts
        word = int(np.searchsorted(in_folded, at, side="right")) - 1
        return int(in_text[word]) + at - int(in_folded[word])
