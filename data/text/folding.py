"""Text with its whitespace or its letters folded, to compare what is written in more than one way."""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property

import numpy as np

from ragtriage.data.text.tokens import lowered

_WORD = re.compile(r"\S+")
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
