"""Tokens, sentences and clauses of a text, and folded forms of what is written in more than one way.

The one tokenizer and stemmer that search and context attribution share. Latin words are stemmed as English,
Cyrillic ones as Russian. Runs of Chinese, Japanese and Korean characters are cut into overlapping pairs,
because spaces do not set their words, or the endings of words, apart. Borders of sentences and clauses are
those of English, Russian and Chinese, in time linear in the length of the text.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Set
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # kana, ideographs, Hangul
_CJK_WORD = 2  # characters in a Chinese word, on average
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
_WORD = re.compile(r"[^\W_]+")  # of a text without CJK characters
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_MARKED_WORD = re.compile(rf"[{_CJK}]{{1,{_CJK_WORD}}}|[^\s{_CJK}]+")
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


def jaccard(first: Set[Any], other: Set[Any]) -> float:
    """Return the share of the members of two sets that both have, in [0, 1]; 0 for two empty ones."""
    return len(first & other) / len(first | other) if first or other else 0.0


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


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of each word, its marks included; two CJK characters are one word."""
    return [match.span() for match in _MARKED_WORD.finditer(text)]


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


FULL_WIDTH_MARKS = "。！？"  # end a sentence anywhere
END_MARKS = f".!?…{FULL_WIDTH_MARKS}"
CLAUSE_MARKS = "(，；："
SPACED_CLAUSE_MARKS = ",;:—–"  # end a clause before white space
CLOSING = "\"'”’»)]）」』"
CLOSERS = 3  # brackets and quotation marks that belong to the sentence before them
AHEAD = 8  # characters looked at behind a full stop
LOOK_BEHIND = 16  # characters looked at before a full stop: the longest abbreviation and its bracket fit
_END = re.compile(rf"[{END_MARKS}]+|\n+")  # a run is matched whole and never tried again: no backtracking
_CLAUSE = re.compile(rf"[{SPACED_CLAUSE_MARKS}](?=\s)|[{CLAUSE_MARKS}]")
_LAST_WORD = re.compile(r"[^\W\d_][\w.]*$")
_ABBREVIATIONS = word_list("abbreviations")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return half-open character ranges of the sentences, without surrounding white space.

    A line break ends a sentence; so do 。！？ anywhere, and . ! ? … before white space or the end, except
    after an abbreviation, an initial or a list number, or before a lower-case letter.
    """
    return list(iter_sentences(text))


def iter_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of `split_sentences` one by one, for those who need the first few."""
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if end <= start:
            continue
        if text[match.start()] != "\n":
            while end < len(text) and end < match.end() + CLOSERS and text[end] in CLOSING:
                end += 1
            if not _ends_sentence(text, start, match.span(), end):
                continue
        left, right = _trim(text, start, end)
        if right > left:
            yield left, right
        start = end
    left, right = _trim(text, start, len(text))
    if right > left:
        yield left, right


def split_clauses(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges between commas, colons, dashes and brackets; together they cover text[start:end]."""
    borders = [start, *(match.end() for match in _CLAUSE.finditer(text, start, end)), end]
    return [(left, right) for left, right in pairwise(borders) if right > left]


def _ends_sentence(text: str, start: int, punctuation: tuple[int, int], end: int) -> bool:
    """Return whether the punctuation ends the sentence begun at `start`; `end` is behind closing quotes."""
    first, behind = punctuation
    if text[behind - 1] in FULL_WIDTH_MARKS:
        return True
    if end < len(text) and not text[end].isspace():
        return False
    if behind - first > 1 or text[first] != ".":
        return True
    if text[end : end + AHEAD].lstrip()[:1].islower():
        return False
    before = text[max(start, first - LOOK_BEHIND) : first]
    if before.strip().isdigit() and first - start <= LOOK_BEHIND:
        return False  # "1." at the head of a line numbers it
    word = _LAST_WORD.search(before)
    return word is None or not _is_shortened(word.group())


def _is_shortened(word: str) -> bool:
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper() and word != "I")


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    left = start + len(part) - len(part.lstrip())
    return left, max(left, start + len(part.rstrip()))


_SPACED_WORD = re.compile(r"\S+")
# the traditional characters that phrases of refusal_grammar.toml have, each before its simplified one
_TRADITIONAL = (
    "討讨沒没資资訊讯檔档無无關关於于為为從从這这個个們们對对還还據据題题問问給给應应庫库條条規规書书冊册裡里裏里報报約约網网頁页來来結结論论處处顯显標标寫写講讲談谈錄录數数尋寻檢检詢询請请謝谢歡欢議议聯联僅仅"
    "幫帮協协確确斷断準准難难曉晓詳详見见並并過过話话時时當当發发現现開开點点與与屬属隻只諒谅證证實实暫暂頭头麼么辦办測测讀读釋释號号參参項项類类訴诉線线該该節节細细體体夠够遺遗願愿復复雖虽卻却違违覽览匯汇"
    "納纳彙汇輯辑說说載载記记紀纪範范圍围內内語语簡简傳传單单訂订編编總总蓋盖盡尽敘叙闕阙諸诸罷罢專专亂乱瞭了後后聽听員员聲声學学導导將将師师幹干憑凭戶户撐撑滿满獲获稱称紹绍終终絕绝統统緒绪繫系觸触註注評评"
    "誌志認认誰谁諮咨識识轉转迴回邊边選选長长門门閉闭閱阅須须領领顧顾係系別别則则嘗尝執执妳你幾几換换會会樣样決决況况洩泄"
)
_OTHERS = {
    "أ": "ا",
    "إ": "ا",
    "آ": "ا",
    "ٱ": "ا",
    "ى": "ي",
    "ئ": "ي",
    "ؤ": "و",
    "ة": "ه",
    "’": "'",
    "‘": "'",
    "，": ",",
    "ё": "е",
}
MARKS = re.compile(
    "[\u0300-\u036f\u064b-\u0652\u0670\u0640\u200b-\u200f\u2060\ufe0f]"
)  # accents, vowel signs, no width


def _plain_letter(char: str) -> str:
    """Return a Latin letter without its accent, and ß as s; other characters as they are."""
    base = unicodedata.normalize("NFD", char)[0]
    return "s" if char == "ß" else base if base.isascii() else char


_FOLDED = str.maketrans(
    {chr(code): _plain_letter(chr(code)) for code in range(0xC0, 0x180)}
    | dict(zip(_TRADITIONAL[::2], _TRADITIONAL[1::2], strict=True))
    | _OTHERS
)


def folded_letters(text: str) -> str:
    """Return a text of the same length without accents, and in simplified Chinese characters."""
    return text if text.isascii() else text.translate(_FOLDED)


def folded(text: str) -> str:
    """Return a text with every run of whitespace as one space, and none at its ends."""
    return " ".join(text.split())


def folded_question(text: str) -> str:
    """Return a question as it is compared: whitespace folded, and upper and lower case alike."""
    return folded(text).casefold()


class FoldedLetters:
    """A text without Arabic vowel signs, and the same in lower case with its letters folded.

    Attributes:
        cased: the text.
        text: it in lower case and folded, of the same length.
    """

    def __init__(self, original: str) -> None:
        self._kept: list[int] | None = None  # places in the original, where characters are left out
        if not original.isascii() and MARKS.search(original):
            self._kept = [at for at, char in enumerate(original) if not MARKS.match(char)]
            original = "".join(original[at] for at in self._kept)
        self.cased = original
        self.text = folded_letters(lowered(original))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original that a range of the folded text, not empty, comes from."""
        return (start, end) if self._kept is None else (self._kept[start], self._kept[end - 1] + 1)


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
        spans = [match.span() for match in _SPACED_WORD.finditer(self.text)]
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
