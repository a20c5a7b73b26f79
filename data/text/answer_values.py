"""Text as words and values that can be compared over wordings, and whether an answer gives another value.

A token is a tuple of readings, and two tokens agree where they share one: "1.234" may be 1,234 or 1.234. A
reading is a word, or begins with "#" for a number, "@" for a month, "~" for a unit. Chinese, Japanese,
Korean, Thai, Khmer, Lao and Burmese characters are overlapping pairs.

A value counts only against one of its own kind: euros against euros, a year against a year, chapters against
chapters. Where the answer has the value of the reference too, or nearly, nothing is said.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files

from ragtriage.data.text.tokens import split_sentences

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


LONGEST_REFERENCE, MOST_VALUES, MOST_GIVEN = (
    12,
    3,
    3,
)  # content words and values of a reference, values of an answer
_NEAR, _ROUGHLY = 0.02, 0.25  # how far apart two numbers may be; where the answer says "about"
_HEDGES = frozenset(
    (
        *("about", "approximately", "around", "roughly", "nearly", "almost", "over"),
        *("circa", "ca", "etwa", "rund", "ungefahr", "knapp", "environ", "unos"),
    )
)
_CURRENCIES = frozenset({"~$", "~eur", "~gbp"})
_PERIODS = {word: unit for unit in ("hour", "day", "week", "month", "year") for word in WORDS["units"][unit]}
_YES, _NO = frozenset(WORDS["yes"]), frozenset(WORDS["no"])
_FIRST_WORD = re.compile(r"\W*([^\W\d_]+)\s*(?:[,.;:!]|$)")
# units in which one number is never the same value; a day and a working day are one, meters may be minutes
_UNAMBIGUOUS_UNITS = frozenset(
    f"~{unit}" for unit in ("hour", "day", "week", "month", "year", "$", "eur", "gbp", "%", "km")
)
_TIME = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?![\d:])")
_HALF_DAY = 12 * 60  # minutes: 9:30 may be 21:30
_CONVERTIBLE = tuple(
    frozenset(f"~{unit}" for unit in units)
    for units in (("min", "hour", "day", "week", "month", "year"), ("km", "m", "mile", "ft"))
)
_Values = dict[str, set[float]]  # kind -> values


def gives_another_value(answer: ComparedText, reference: ComparedText, question: ComparedText) -> bool:
    """Return whether a short reference has a value that the answer lacks, and the answer another of its kind.

    Without the question it is not known which values were asked for and which were given with it.
    """
    if not question.tokens or len(reference.content) > LONGEST_REFERENCE:
        return False
    first, answered = _first_word(reference), _first_word(answer)
    if (first in _YES and answered in _NO) or (first in _NO and answered in _YES):
        return True
    wanted, given, asked = (_values_by_kind(text) for text in (reference, answer, question))
    if not 0 < sum(map(len, wanted.values())) <= MOST_VALUES or _other_period(answer, reference):
        return False
    hedged = not _HEDGES.isdisjoint(answer.readings)
    unshared = _UNAMBIGUOUS_UNITS - (answer.readings & reference.readings)
    return _in_another_unit(wanted, given, unshared, asked) or any(
        _conflict(kind, values, given, asked, hedged) for kind, values in wanted.items() if kind in given
    )


def in_other_units(answer: ComparedText, reference: ComparedText) -> bool:
    """Return whether both give a time or a length, and in other units: 14 days are two weeks."""
    return any(
        bool(units & answer.readings and units & reference.readings)
        and units & answer.readings != units & reference.readings
        for units in _CONVERTIBLE
    )


def _conflict(kind: str, values: set[float], given: _Values, asked: _Values, hedged: bool) -> bool:
    """Return whether the answer has values of a kind, and none that the reference has."""
    of_question = set().union(*asked.values())
    wanted, others = values - of_question, given[kind] - of_question
    anywhere = given[kind] if kind in ("month", "time") else set().union(*given.values())
    if not wanted or not 0 < len(others) <= MOST_GIVEN:
        return False
    exact = kind in ("day", "month", "year", "time")
    tolerance = 0.0 if exact else _ROUGHLY if hedged else _NEAR
    return not any(
        abs(value - other) <= tolerance * max(abs(value), abs(other))
        for value in wanted
        for other in anywhere
    )


def _in_another_unit(wanted: _Values, given: _Values, units: frozenset[str], asked: _Values) -> bool:
    """Return whether the answer has a number of the reference in another unit: weeks for days.

    Units that both texts name tell nothing: "$6 a month" has one of money and one of time.
    """
    of_question = set().union(*asked.values())
    return any(
        bool(values - of_question) and values - of_question <= given[other]
        for kind, values in wanted.items()
        for other in (units & given.keys()) - {kind}
        if kind in units
    )


def _values_by_kind(text: ComparedText) -> _Values:
    values: _Values = {}
    tokens = ComparedText(_TIME.sub(" ", text.text)).tokens
    for at, token in enumerate(tokens):
        if token[0].startswith("@"):
            values.setdefault("month", set()).add(float(token[0][1:]))
        elif is_number(token):
            kind = _kind(tokens, at)
            values.setdefault(kind, set()).update(float(each[1:]) for each in token if each[0] == "#")
    for hour, minute in _TIME.findall(text.folded):
        values.setdefault("time", set()).add((int(hour) * 60 + int(minute)) % _HALF_DAY)
    return values


def _kind(tokens: list[Token], at: int) -> str:
    """Return the kind of a number: its unit, a part of a date, a year, or the word that it counts."""
    after = tokens[at + 1][0] if at + 1 < len(tokens) else ""
    before = tokens[at - 1][0] if at else ""
    if after.startswith("~"):
        return after
    if before in _CURRENCIES:
        return before
    value = float(tokens[at][0][1:])
    is_year = len(tokens[at]) == 1 and value.is_integer() and 1000 <= value <= 2100
    nearby = [token[0] for token in tokens[max(0, at - 2) : at + 3]]
    if any(reading.startswith("@") for reading in nearby):
        return "year" if is_year else "day" if value <= 31 else "number"
    if after and after[0] not in "#@" and after not in FUNCTION_WORDS:
        return f"count of {after[:4]}"
    return "year" if is_year else "number"


def _other_period(answer: ComparedText, reference: ComparedText) -> bool:
    """Return whether amounts of money are for another time: 100 a month is 1,200 a year."""
    if _CURRENCIES.isdisjoint(reference.readings):
        return False
    periods = [{_PERIODS[word] for word in _PERIODS.keys() & text.readings} for text in (answer, reference)]
    return bool(periods[0] and periods[1] and periods[0] != periods[1])


def _first_word(text: ComparedText) -> str:
    """Return the word that a text begins with where a punctuation mark follows it."""
    match = _FIRST_WORD.match(text.folded)
    return match[1] if match else ""
