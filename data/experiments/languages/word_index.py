"""BM25 over words as they stand: no stemming, so that no language is served better than another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["WordIndex", "word_tokens"]

K1, B = 0.9, 0.4  # Anserini's, as in the multilingual benchmarks
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{_CJK}]+|\w+")  # a number that runs into Chinese stays one word with it
_STARTS_CJK = re.compile(f"[{_CJK}]")
_NOTHING = "\x00"  # what no text holds


def word_tokens(text: str) -> list[str]:
    """Return the words of a text in lower case, Chinese, Japanese and Korean as overlapping pairs."""
    tokens: list[str] = []
    for run in _RUN.findall(text.lower()):
        if _STARTS_CJK.match(run):
            tokens += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
        else:
            tokens.append(run)
    return tokens


class WordIndex:
    """Passages ready to be searched (Lucene's BM25, k1 = 0.9, b = 0.4).

    Args:
        texts: of the passages; equal scores keep their order.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        tokens = [word_tokens(text) or [_NOTHING] for text in texts]
        self._vocabulary = frozenset(token for words in tokens for token in words)
        self._index: Any = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy")
        self._index.index(tokens, show_progress=False)

    def search(self, query: str, depth: int) -> list[tuple[int, float]]:
        """Return positions and scores of the best passages; none that shares no word with the query."""
        tokens = [token for token in word_tokens(query) if token in self._vocabulary]
        if not tokens:
            return []
        scores = np.asarray(self._index.get_scores(tokens), dtype=np.float64)
        hits = np.flatnonzero(scores > 0)
        best = hits[np.argsort(-scores[hits], kind="stable")][:depth]
        return [(int(at), float(scores[at])) for at in best]
