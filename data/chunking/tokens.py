"""Token offsets and counts of a text, by the bundled tokenizer."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

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
