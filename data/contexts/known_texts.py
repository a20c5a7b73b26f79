"""The texts of documents as numbered words: each distinct text is read once, whichever batches have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.contexts.passage_overlap import LONGEST
from ragtriage.data.text.compiled.characters import new_kinds
from ragtriage.data.text.compiled.vocabulary import Documents, Vocabulary
from ragtriage.metrics.schema.scores import IntArray

MOST_CHARACTERS = 32_000_000  # of the texts that are kept: about 100 MB with what is known of them
MOST_WORDS = 1_000_000  # different ones


@dataclass(frozen=True)
class ReadTexts:
    """m texts among the documents that were read.

    Attributes:
        documents: all that were read so far.
        texts: (m,) number of each text among them.
        contents: (m,) number of the text whose content words are compared; -1 for an empty text.
        words: (m,) the same of the text whose words are compared.
    """

    documents: Documents
    texts: IntArray
    contents: IntArray
    words: IntArray


class KnownTexts:
    """The texts that were read so far. Where they become too many, all are forgotten."""

    def __init__(self) -> None:
        self._documents: Documents | None = None
        self._numbers: dict[str, tuple[int, int, int]] = {}  # those that ReadTexts has, by text
        self._characters = 0

    def read(self, texts: Sequence[str], loops: ModuleType) -> ReadTexts:
        """Return distinct texts as numbers, those that are new read by the compiled loops."""
        documents = self._documents
        if documents is None or self._is_full(documents):
            documents = Vocabulary(loops, _kinds()).documents([])
            self._numbers, self._characters = {}, 0
        unread: list[str] = []
        for text in texts:
            if text not in self._numbers:
                self._numbers[text] = _numbered(text, len(documents) + len(unread), unread)
        if unread:
            self._characters += sum(map(len, unread))
            documents = documents.and_then(documents.vocabulary.documents(unread))
        self._documents = documents
        numbers = np.array([self._numbers[text] for text in texts], dtype=np.int64).reshape(-1, 3)
        return ReadTexts(documents, *numbers.T)

    def _is_full(self, documents: Documents) -> bool:
        return self._characters > MOST_CHARACTERS or documents.vocabulary.words_known > MOST_WORDS


def _numbered(text: str, number: int, unread: list[str]) -> tuple[int, int, int]:
    """Return the numbers of a text, the first of which is given; it is appended to the unread ones.

    So are what is compared of a long text, and a form of it that has other words.
    """
    first, compared = number - len(unread), text[:LONGEST]
    contents = words = number
    unread.append(text)
    if len(text) > LONGEST:
        contents = words = first + len(unread)
        unread.append(compared)
    if not text.isascii() and len(small := compared.lower()) != len(compared):
        words = first + len(unread)  # of which surface_tokens makes other words
        unread.append(small)
    return (number, contents, words) if text else (number, -1, -1)


@cache
def _kinds() -> NDArray[np.uint16]:
    return new_kinds()


_shared: ContextVar[KnownTexts | None] = ContextVar("shared", default=None)


@contextmanager
def sharing_texts() -> Iterator[None]:
    """Have the batches that are scored within share what is read of their documents."""
    token = _shared.set(KnownTexts())
    try:
        yield
    finally:
        _shared.reset(token)


def shared_texts() -> KnownTexts:
    """Return the texts that the batches share, or none yet."""
    return _shared.get() or KnownTexts()
