"""The tokens of a text: the one tokenizer and stemmer that search and context attribution share.

Latin words are stemmed as English, Cyrillic ones as Russian. Runs of Chinese, Japanese and Korean characters
are cut into overlapping pairs, because spaces do not set their words, or the endings of words, apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from threading import Lock
from typing import Any

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # kana, ideographs, Hangul
_CJK_WORD = 2  # characters in a Chinese word, on average
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
_WORD = re.compile(r"[^\W_]+")  # of a text without CJK characters
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_LATIN = re.compile("[a-z]")
_CYRILLIC = re.compile("[а-яё]")
_ASCII_WORDS = "".join(char if (char := chr(code)).isalnum() else " " for code in range(128))
_stemming = Lock()  # a PyStemmer object must not be used by two threads at once


def word_list(name: str) -> frozenset[str]:
    """Return one list of word_lists.json, such as "stop_words", all languages together."""
    lists = json.loads(files("ragtriage.data.text").joinpath("word_lists.json").read_text("utf-8"))[name]
    return frozenset(word for lines in lists.values() for line in lines for word in line.split())


_STOP_WORDS = word_list("stop_words")


def is_cjk(char: str) -> bool:
    """Return whether a character is written without spaces between words: kana, an ideograph or Hangul."""
    return _CJK_CHARACTER.match(char) is not None


def lowered(text: str) -> str:
    """Return the text in lower case at the same length, so that offsets into one hold for the other."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)


def search_tokens(text: str) -> list[str]:
    """Return the tokens of a text in order, stop words included."""
    return [token for run in _RUN.findall(text.lower()) for token in _tokens_of(run)]


def search_runs(lower: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield start, end and tokens of each run of letters and digits of a lower-case text, in order.

    The tokens of all runs are search_tokens. A part of a text has the runs in it, those at its ends cut.
    """
    for match in _RUN.finditer(lower):
        yield match.start(), match.end(), _tokens_of(match[0])


def surface_tokens(text: str) -> list[str]:
    """Return the lower-case words of a text in order, unstemmed; CJK characters as overlapping pairs."""
    lower = text.lower()
    if _CJK_CHARACTER.search(lower) is None:
        return _WORD.findall(lower)
    runs = _RUN.findall(lower)
    return [token for run in runs for token in (_pairs(run) if _CJK_CHARACTER.match(run) else [run])]


def content_tokens(lower: str) -> set[str]:
    """Return the distinct tokens of a lower-case text without its stop words."""
    if lower.isascii():  # the same words as by the regular expression, several times faster
        words = lower.translate(_ASCII_WORDS).split()
    elif _CJK_CHARACTER.search(lower) is None:
        words = _WORD.findall(lower)
    else:
        return {token for run in set(_RUN.findall(lower)) - _STOP_WORDS for token in _tokens_of(run)}
    return set(map(stem, set(words) - _STOP_WORDS))


def count_words(text: str) -> int:
    """Count the words of a text; two CJK characters count as one word."""
    in_cjk = len(_CJK_CHARACTER.findall(text))
    return in_cjk // _CJK_WORD + len(_WORD.findall(_CJK_CHARACTER.sub(" ", text)))


def _tokens_of(run: str) -> list[str]:
    return _pairs(run) if _CJK_CHARACTER.match(run) else [stem(run)]


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of a lower-case word: Latin ones as English, Cyrillic ones as Russian."""
    language = "english" if _LATIN.search(word) else "russian" if _CYRILLIC.search(word) else None
    if language is None:
        return word
    with _stemming:
        return str(_stemmer(language).stemWord(word))


@cache
def _stemmer(language: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(language)
