"""The retrievers that a grid can use: BM25, or an embedding model on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.text.tokens import search_tokens
from ragtriage.metrics.schema.scores import FloatArray, IntArray

WORDS = "bm25"  # the retriever that searches by words
K1, B = 1.5, 0.75  # of BM25
_NOTHING = "\x00"  # what no text holds: a query without known words finds nothing


class Bm25Index:
    """Texts ready to be searched by their words (Lucene's BM25).

    `k1` is how soon repeats of a word stop to count, `b` how far long texts are held back.
    """

    def __init__(
        self,
        texts: Sequence[str],
        tokens_of: Callable[[str], Sequence[str]] = search_tokens,
        k1: float = K1,
        b: float = B,
    ) -> None:
        self._tokens_of = tokens_of
        self._build([tokens_of(text) for text in texts], k1, b)

    @classmethod
    def of_tokens(cls, tokens: Sequence[Sequence[str]]) -> Bm25Index:
        """Index texts whose search tokens are known."""
        index = cls([])
        index._build(tokens)
        return index

    def _build(self, tokens: Sequence[Sequence[str]], k1: float = K1, b: float = B) -> None:
        import bm25s

        self._n = len(tokens)
        self._index: Any = None
        self._vocabulary = frozenset(token for words in tokens for token in words)
        if self._vocabulary:
            self._index = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy")
            self._index.index([words or [_NOTHING] for words in tokens], show_progress=False)

    def search(self, queries: Sequence[str], depth: int) -> tuple[IntArray, FloatArray]:
        """Find the best texts for each query.

        Returns:
            (q, depth) positions of the texts, best first, -1 where fewer share a word with the query, and
            (q, depth) scores, 0 there. Texts with equal scores keep their order.
        """
        positions = np.full((len(queries), depth), -1, dtype=np.int64)
        scores = np.zeros((len(queries), depth))
        for row, query in enumerate(queries):
            text_scores = self._scores(query)
            hits = np.flatnonzero(text_scores > 0)
            best = hits[np.argsort(-text_scores[hits], kind="stable")][:depth]
            positions[row, : len(best)], scores[row, : len(best)] = best, text_scores[best]
        return positions, scores

    def _scores(self, query: str) -> FloatArray:
        tokens = [token for token in self._tokens_of(query) if token in self._vocabulary]
        if self._index is None or not tokens:
            return np.zeros(self._n)
        return np.asarray(self._index.get_scores(tokens), dtype=np.float64)


ACCEPTED = "bm25, or embedding:PATH with the folder of a sentence-transformers model on this machine"
Encode = Callable[[Sequence[str]], Any]


class Retriever(Protocol):
    """Texts ready to be searched."""

    def search(self, queries: Sequence[str], depth: int) -> tuple[IntArray, FloatArray]:
        """Return (q, depth) positions of the best texts, -1 where there are fewer, and their scores."""
        ...


class EmbeddingIndex:
    """Texts compared by the cosine of their embeddings.

    `encode` turns texts into (n, d) vectors.
    """

    def __init__(self, texts: Sequence[str], encode: Encode) -> None:
        self._encode = encode
        self._vectors = self._unit(texts) if texts else np.zeros((0, 1))

    def search(self, queries: Sequence[str], depth: int) -> tuple[IntArray, FloatArray]:
        """Find the nearest texts, equal ones in the order of the texts."""
        positions = np.full((len(queries), depth), -1, dtype=np.int64)
        scores = np.zeros((len(queries), depth))
        if not queries or not len(self._vectors):
            return positions, scores
        similarities = self._unit(queries) @ self._vectors.T
        best = np.argsort(-similarities, axis=1, kind="stable")[:, :depth]
        positions[:, : best.shape[1]] = best
        scores[:, : best.shape[1]] = np.take_along_axis(similarities, best, axis=1)
        return positions, scores

    def _unit(self, texts: Sequence[str]) -> FloatArray:
        vectors = np.asarray(self._encode(list(texts)), dtype=np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)


def open_retriever(name: str, texts: Sequence[str]) -> Retriever:
    """Index texts with the retriever named.

    Raises:
        DataError: there is no such retriever, or its model is not on this machine; nothing is downloaded.
    """
    kind, _, path = name.partition(":")
    if kind == WORDS and not path:
        return Bm25Index(texts)
    if kind == "embedding" and path:
        return EmbeddingIndex(texts, _encoder(path))
    raise DataError(f"retriever {name!r}; accepted: {ACCEPTED}")


def retriever_name(name: str) -> str:
    """Return the name of a retriever in a run; of a model the folder alone, not its path."""
    kind, _, path = name.partition(":")
    return f"{kind}:{Path(path).resolve().name}" if path else kind


def quiet_loading() -> None:
    """Let the library of the models neither ask the hub nor draw bars of its own."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with suppress(ImportError, AttributeError):
        import_module("transformers.utils.logging").disable_progress_bar()


@lru_cache(maxsize=4)  # every configuration of a grid uses the same model, arms of an experiment a few
def _encoder(path: str) -> Encode:
    if not Path(path).is_dir():
        raise DataError(f"embedding model {path!r} is not a folder; accepted: {ACCEPTED}; none is downloaded")
    quiet_loading()
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise DataError(
            "embedding models need an extra; accepted: pip install 'ragtriage[embedding]'"
        ) from error
    try:
        model = SentenceTransformer(path, local_files_only=True, device="cpu")
    except Exception as error:  # the libraries below raise errors of many kinds
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"embedding model {path!r} cannot be loaded ({reason}); accepted: {ACCEPTED}"
        ) from error
    return lambda texts: model.encode(list(texts), show_progress_bar=False)
