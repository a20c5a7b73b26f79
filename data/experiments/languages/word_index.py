"""BM25 over words as they stand: no stemming, so that no language is served better than another."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragtriage.data.chunking.retrievers import Bm25Index

K1, B = 0.9, 0.4  # Anserini's, as in the multilingual benchmarks
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{_CJK}]+|\w+")  # a number that runs into Chinese stays one word with it
_STARTS_CJK = re.compile(f"[{_CJK}]")


def word_tokens(text: str) -> list[str]:
    """Return the words of a text in lower case, Chinese, Japanese and Korean as overlapping pairs."""
    tokens: list[str] = []
    for run in _RUN.findall(text.lower()):
        if _STARTS_CJK.match(run):
            tokens += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
        else:
            tokens.append(run)
    return tokens


def word_index(texts: Sequence[str]) -> Bm25Index:
    """Return passages ready to be searched by BM25 over `word_tokens` (k1 = 0.9, b = 0.4)."""
    return Bm25Index(texts, word_tokens, K1, B)
