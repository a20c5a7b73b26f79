"""A BM25 index over short texts in any language, in memory; ties are broken by the order of the texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from metrics.values import FloatArray, IntArray

__all__ = ["Bm25Index", "search_tokens"]

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKENS = re.compile(rf"[{_CJK}]+|(?:(?![{_CJK}])[^\W_])+")
_IS_CJK = re.compile(f"[{_CJK}]")
_IS_CYRILLIC = re.compile("[а-яё]")
_IS_LATIN = re.compile("[a-z]")
_NOTHING = "\x00"  # what no text holds: a query without known words finds nothing


@cache
def _stemmer(language: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(language)


def search_tokens(text: str) -> list[str]:
    """Split a text into what the index compares.

    Words in lower case, Latin ones stemmed as English and Cyrillic ones as Russian; runs of Chinese, Japanese
    and Korean characters, which carry no spaces, as their overlapping pairs.
    """
    found: list[str] = []
    for run in _TOKENS.findall(text.lower()):
        if _IS_CJK.match(run):
            found += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
        elif _IS_LATIN.search(run):
            found.append(_stemmer("english").stemWord(run))
        elif _IS_CYRILLIC.search(run):
            found.append(_stemmer("russian").stemWord(run))
        else:
            found.append(run)
    return found


class Bm25Index:
    """Texts ready to be searched by their words (Lucene's BM25, k1 = 1.5, b = 0.75).

    Args:
        texts: what to index; a text may be empty.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        self._n = len(texts)
        self._known = frozenset[str]()
        self._index: Any = None
        tokens = [search_tokens(text) for text in texts]
        self._known = frozenset(token for one in tokens for token in one)
        if self._known:
            self._index = bm25s.BM25(k1=1.5, b=0.75, method="lucene", backend="numpy")
            self._index.index([one or [_NOTHING] for one in tokens], show_progress=False)

    def search(self, queries: Sequence[str], depth: int) -> tuple[IntArray, FloatArray]:
        """Find the best texts for each query.

        Args:
            queries: what to look for.
            depth: texts to give, at most.

        Returns:
            (q, depth) positions of the texts, best first, -1 where fewer share a word with the query, and
            (q, depth) scores, 0 there. Equal scores stand in the order of the texts.
        """
        places = np.full((len(queries), depth), -1, dtype=np.int64)
        scores = np.zeros((len(queries), depth))
        for row, query in enumerate(queries):
            found = self._scores(query)
            hits = np.flatnonzero(found > 0)
            best = hits[np.argsort(-found[hits], kind="stable")][:depth]
            places[row, : len(best)], scores[row, : len(best)] = best, found[best]
        return places, scores

    def _scores(self, query: str) -> FloatArray:
        known = [token for token in search_tokens(query) if token in self._known]
        if self._index is None or not known:
            return np.zeros(self._n)
        return np.asarray(self._index.get_scores(known), dtype=np.float64)
