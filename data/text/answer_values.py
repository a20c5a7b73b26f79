"""Text as words and values that can be compared over wordings: numbers, dates, units, folded words.

A token is a tuple of readings, and two tokens agree where they share one: "1.234" may be 1,234 or 1.234. A
reading is a word, or begins with "#" for a number, "@" for a month, "~" for a unit. Chinese, Japanese,
Korean, Thai, Khmer, Lao and Burmese characters are overlapping pairs.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files

from ragtriage.data.text.sentences import split_sentences

Token = tuple[str, ...]
WORDS = json.loads(files("ragtriage.data.text").joinpath("right_words.json").read_text("utf-8"))
LONGEST = 8_000  # characters read of a text
FUNCTION_WORDS = frozenset(WORDS["function_words"])
_NUMBERS: dict[str, int] = WORDS["number_words"]
_SCALES: dict[str, float] = WORDS["scale_words"]
_MONTHS = {name: f"@{month}" for month, names in WORDS["months"].items() for name in names}
_UNITS = {name: f"~{unit}" for unit, names in WORDS["units"].items() for name in names}
_AMBIGUOUS_MONTHS = (FUNCTION_WORDS | set(_NUMBERS) | set(WORDS["negation"])) & set(_MONTHS)
_ORDINALS = {"first", "second", "third", "once", "twice"} | {word for word in _NUMBERS if word.endswith("th")}
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
_MARKUP = re.compile(r"https?://\S+|www\.\S+|\[\^?\d+(?:\s*,\s*\d+)*\]|\]\([^)\s]*\)|[*_`#|>~\[\]]+")
_DIACRITICS = re.compile("([a-z])[\u0300-\u036f]+")
_NUMERALS = "零〇一二两兩三四五六七八九十百千"
_COUNTED = re.compile(
    f"([{_NUMERALS}]+)(?=[万萬亿億]?[%人名个個元年月日天次岁歲位家台种種件条條项項页頁号號层層倍小分秒周週米公斤吨块届章节節本张張只辆輛])"
)
_SCALED = re.compile(r"(\d+(?:\.\d+)?)([千万萬亿億兆])")
_DIGITS = dict(zip("零〇一二两兩三四五六七八九", (0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_PARTS = re.compile(
    r"(?<!\d)(?P<year>\d{4})(?P<sign1>[-/.])(?P<month>\d{1,2})(?P=sign1)(?P<day>\d{1,2})(?!\d)"
    r"|(?<!\d)(?P<first>\d{1,2})(?P<sign2>[-/.])(?P<second>\d{1,2})(?P=sign2)(?P<last>\d{4}|\d\d)(?!\d)"
    r"|(?P<year_cjk>\d{4})年(?P<month_cjk>\d{1,2})月(?:(?P<day_cjk>\d{1,2})[日号號])?"
    r"|(?P<number>(?<!\d)\d{1,3}(?:[ \u202f]\d{3})+(?!\d)|\d+(?:[.,']\d+)*)(?:(?:st|nd|rd|th)\b)?"
    rf"|(?P<unspaced>[{_UNSPACED}]+)|(?P<word>[^\W\d_{_UNSPACED}][^\W_{_UNSPACED}]*)|(?P<unit>[%$€£])"
)


def fold(text: str) -> str:
    """Return a text without markup, links and citation numbers, in one case, and Latin without diacritics."""
    plain = unicodedata.normalize("NFKC", text[:LONGEST]).replace("’", "'")
    plain = _MARKUP.sub(" ", plain).casefold()
    if plain.isascii():
        return plain
    return unicodedata.normalize("NFC", _DIACRITICS.sub(r"\1", unicodedata.normalize("NFD", plain)))


class ComparedText:
    """A text as what it is compared by, each part made when it is asked for."""

    def __init__(self, text: str) -> None:
        self.text = text[:LONGEST]

    @cached_property
    def folded(self) -> str:
        """The text as `fold` returns it."""
        return fold(self.text)

    @cached_property
    def tokens(self) -> list[Token]:
        """Its tokens in order."""
        return _joined_numbers([token for piece in self._pieces for token in _tokens_of(piece)])

    @cached_property
    def run(self) -> str:
        """Its words and values without spaces and punctuation, for scripts that do not space words."""
        return "".join(
            piece if isinstance(piece, str) else "".join(f"{token[0]};" for token in piece)
            for piece in self._pieces
        )

    @cached_property
    def readings(self) -> frozenset[str]:
        """Every reading of every token."""
        return frozenset(reading for token in self.tokens for reading in token)

    @cached_property
    def content(self) -> list[Token]:
        """Its distinct tokens without function words; with them where nothing else remains."""
        distinct = dict.fromkeys(self.tokens)
        return [token for token in distinct if token[0] not in FUNCTION_WORDS] or list(distinct)

    @cached_property
    def sentences(self) -> list[ComparedText]:
        """Its sentences."""
        return [ComparedText(self.text[start:end]) for start, end in split_sentences(self.text)]

    @property
    def unspaced(self) -> bool:
        """Whether any of it is in a script that does not space words."""
        return any(isinstance(piece, str) and is_unspaced(piece) for piece in self._pieces)

    @cached_property
    def _pieces(self) -> list[str | tuple[Token, ...]]:
        """Words and runs of unspaced characters as texts; numbers, dates and signs as tokens."""
        text = self.folded.replace("can't", "can not").replace("n't", " not")
        if not text.isascii():
            text = _SCALED.sub(_scaled, _COUNTED.sub(_counted, text))
        return list(_pieces(text))


def is_unspaced(word: str) -> bool:
    """Return whether a word is in a script that does not space words."""
    return _UNSPACED_CHARACTER.match(word) is not None


def is_number(token: Token) -> bool:
    """Return whether a token is first of all a number."""
    return token[0].startswith("#")


def _pieces(text: str) -> Iterator[str | tuple[Token, ...]]:
    for match in _PARTS.finditer(text):
        if match["year"]:
            yield _number(match["year"]), _month(match["month"]), _number(match["day"])
        elif match["first"]:
            yield _day_first(match["first"], match["second"], match["last"], match["sign2"])
        elif match["year_cjk"]:
            day = match["day_cjk"]
            yield _number(match["year_cjk"]), _month(match["month_cjk"]), *([_number(day)] if day else [])
        elif match["number"]:
            yield (_number(match["number"]),)
        elif match["unit"]:
            yield ((_UNITS[match["unit"]],),)
        else:
            yield match[0]


def _day_first(first: str, second: str, year: str, sign: str) -> tuple[Token, ...]:
    """Return the tokens of 12.03.2020; with slashes or hyphens 3/4/1999 may be either order."""
    if int(second) > 12:
        return _month(first), _number(second), _number(year)
    if sign == "." or int(first) > 12:
        return _number(first), _month(second), _number(year)
    return (*_number(first), *_month(first)), (*_number(second), *_month(second)), _number(year)


def _month(digits: str) -> Token:
    return (f"@{int(digits)}",)


def _number(digits: str) -> Token:
    """Return the readings of a number: a single separator before three digits may be of either kind."""
    plain = re.sub(r"[ \u202f']", "", digits)
    marks = re.sub(r"\d", "", plain)
    if len(set(marks)) == 2:
        thousands, decimal = marks[0], marks[-1]
        if thousands == decimal or marks.count(decimal) > 1:  # a list or a version, such as 1,2.3.4
            return (_value(re.sub("[.,]", "", plain)),)
        return (_value(plain.replace(thousands, "").replace(decimal, ".")),)
    whole = _value(plain.replace(",", "").replace(".", ""))
    if len(marks) != 1:
        return (whole,)
    before, after = re.split("[.,]", plain)
    decimal = _value(f"{before}.{after}")
    return (whole, decimal) if len(after) == 3 and len(before) <= 3 and before[0] != "0" else (decimal,)


def _value(number: str | float) -> str:
    return f"#{float(number):.12g}"


def _tokens_of(piece: str | tuple[Token, ...]) -> Iterator[Token]:
    if not isinstance(piece, str):
        yield from piece
    elif is_unspaced(piece):
        yield from ((piece[at : at + 2],) for at in range(max(1, len(piece) - 1)))
    elif piece in _NUMBERS:
        number = _value(_NUMBERS[piece])
        yield (piece, number) if piece in _ORDINALS or piece in FUNCTION_WORDS else (number, piece)
    else:
        yield (piece,)


def _joined_numbers(tokens: list[Token]) -> list[Token]:
    """Return the tokens with "2.5 million" and "twenty seven" as one number, units and months as codes."""
    joined: list[Token] = []
    for at, token in enumerate(tokens):
        word, before = token[-1], joined[-1] if joined else ("",)
        if is_number(before) and word in _SCALES:
            joined[-1] = tuple(_value(float(r[1:]) * _SCALES[word]) for r in before if r.startswith("#"))
        elif is_number(before) and len(token) == len(before) == 2 and (number := _sum(before, token)):
            joined[-1] = (number, f"{before[1]} {word}")
        elif is_number(before) and word in _UNITS:
            joined.append((_UNITS[word], word))
        elif word in _MONTHS and (word not in _AMBIGUOUS_MONTHS or _beside_number(tokens, at)):
            joined.append((_MONTHS[word],))
        else:
            joined.append(token)
    return joined


def _sum(before: Token, token: Token) -> str | None:
    """Return the number that two number words are together, as "twenty" and "seven", or None."""
    left, right = _NUMBERS.get(before[1]), _NUMBERS.get(token[-1])
    if left is None or right is None:
        return None
    if right == 100 and left < 10:
        return _value(left * 100)
    return _value(left + right) if left in range(20, 100, 10) and 0 < right < 10 else None


def _beside_number(tokens: list[Token], at: int) -> bool:
    return any(is_number(token) and token[-1].startswith("#") for token in tokens[max(0, at - 2) : at + 3])


def _counted(match: re.Match[str]) -> str:
    """Return Chinese numerals before a counter in digits."""
    total, digit = 0, 0
    for character in match[1]:
        if character in _DIGITS:
            digit = (
                10 * digit + _DIGITS[character] if digit and character not in "十百千" else _DIGITS[character]
            )
        else:
            total += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[character]
            digit = 0
    return str(total + digit)


def _scaled(match: re.Match[str]) -> str:
    return f"{float(match[1]) * _SCALES[match[2]]:.12g}"
