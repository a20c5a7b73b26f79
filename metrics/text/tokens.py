"""Content tokens of English, Russian and Chinese text: lower case, stop words out, inflection cut short."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib.resources import files

__all__ = ["content_tokens", "lowered", "word_list"]


def word_list(name: str) -> frozenset[str]:
    """The words of one list of lexicon.json ("stop_words" or "abbreviations"), all languages together."""
    lists = json.loads(files("metrics.text").joinpath("word_lists.json").read_text("utf-8"))[name]
    return frozenset(word for lines in lists.values() for line in lines for word in line.split())


_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORDS = re.compile(r"[^\W_]+")
_HAS_CJK = re.compile(f"[{_CJK}]")
_MIXED = re.compile(rf"[{_CJK}]+|(?:(?![{_CJK}])[^\W_])+")
_RUSSIAN_STEM = 5  # Russian endings fall behind the fifth letter of most content words
_LATIN_STEM = 7  # "symbolizes" meets "symbolism"; fewer letters merge unrelated words
_ASCII_WORDS = "".join(
    char if (char := chr(code)).isalnum() else " " for code in range(128)
)  # the same words
_STOP = word_list("stop_words")


def lowered(text: str) -> str:
    """The text in lower case, of the same length, so that offsets into the one hold for the other."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)


def content_tokens(lower: str) -> set[str]:
    """The distinct content tokens of a lower-case text.

    Words without stop words, plural s and endings; overlapping character pairs of Chinese and Japanese runs
    (a single character stands for itself).
    """
    if lower.isascii():
        tokens = set(map(_stem, set(lower.translate(_ASCII_WORDS).split())))
    elif _HAS_CJK.search(lower) is None:
        tokens = set(map(_stem, set(_WORDS.findall(lower))))
    else:
        tokens = set()
        for run in _MIXED.findall(lower):
            tokens.update(_pairs(run) if _HAS_CJK.match(run) else (_stem(run),))
    tokens.discard("")
    return tokens


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(max(1, len(run) - 1))]


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    if word in _STOP:
        return ""
    if "а" <= word[0] <= "я" or word[0] == "ё":
        return word[:_RUSSIAN_STEM]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-3] + "y" if word.endswith("ies") else word[:-1]
    return word[:_LATIN_STEM] if word.isalpha() else word
