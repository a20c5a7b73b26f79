"""Where the values of tool arguments come from: found in what the system had read, or invented.

A value that is only written in another way is found: a date, a number, a code, a choice of the schema.
Without that, 95 of 143 values that a plain search misses in tau-bench's airline runs are reformatted dates.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ragtriage.metrics.suites.items import Day, day_of, days_in, is_near

ValueKind = Literal["identifier", "date", "number", "code", "text"]
SHORTEST = 3  # characters of a text that can be told from chance
MOST_WORDS = 6  # of a text that is a value; a longer one is written by the system, such as a search query
MOST_DEPTH = 20
MOST_VALUES = 1000  # of one call
NUMBER = re.compile(
    r"(?<![\w.])[-+]?[$€£¥]?(\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,12})?|\d{1,15}(?:\.\d{1,12})?(?:e[-+]?\d{1,3})?)(k|m)?(?!\d)"
)
WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
ID_NAME = re.compile(
    r"(?:^|[_\W])(?:id|ids|uuid|guid|email|phone|iban|ssn|token|key|sku|isbn)$|[a-z](?:Id|ID|Ids|UUID|Key)$"
)
EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@]{1,255}\.[^\s@.]{2,24}")
CODE = re.compile(r"[A-Z]{2,5}")
MEASURE = re.compile(r"[\d.,:]{1,20}[A-Za-z]{1,4}")  # 10am, 5km
TOKEN = re.compile(r"[\w\-.:#/@]{3,200}")
EXPRESSION = re.compile(r"[\d\s.,+\-*/()%^=]+")
PUNCTUATION = str.maketrans("", "", " -./()+#,:")  # what identifiers are printed with, or without
SEPARATORS = r"[ \-./()+#,:]{0,2}"
WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b")
UNSPACED = str.maketrans("", "", " -_./,'")
MULTIPLES = {"k": 1e3, "m": 1e6, None: 1.0, "": 1.0}


@dataclass(frozen=True)
class ArgumentValue:
    """A plain value in the arguments of a call."""

    path: str  # where it stands, such as "flights.0.date"
    value: Any  # a text or a number
    kind: ValueKind  # what it is

    @property
    def argument(self) -> str:
        """Name of the argument that holds it."""
        return self.path.partition(".")[0]


def argument_values(arguments: Mapping[str, Any]) -> list[ArgumentValue]:
    """Return the values of arguments whose origin can be told: no truth values, short or long texts."""
    values: list[ArgumentValue] = []
    for path, value in _leaves(arguments, "", 0):
        kind = value_kind(path, value)
        if kind is not None:
            values.append(ArgumentValue(path, value, kind))
        if len(values) == MOST_VALUES:
            break
    return values


def _leaves(value: object, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _leaves(entry, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for place, entry in enumerate(value):
            yield from _leaves(entry, f"{path}.{place}", depth + 1)
    else:
        yield path, value


def value_kind(path: str, value: object) -> ValueKind | None:
    """Return what kind of value an argument holds; None where its origin cannot be told.

    An identifier mixes letters and digits, is a long number or an address, or stands in an argument named as
    one (`user_id`). A code is a few capitals, such as JFK. Texts of fewer than three characters, of more than
    six words, and arithmetic are written by the system and of no kind.
    """
    if isinstance(value, bool) or value is None:
        return None
    name = next((part for part in reversed(path.split(".")) if not part.isdigit()), "")
    if isinstance(value, int | float):
        named = isinstance(value, int) and bool(ID_NAME.search(name)) and abs(value) >= 100
        return "identifier" if named else "number"
    if not isinstance(value, str):
        return None
    text = value.strip()
    if day_of(text) is not None:
        return "date"
    if len(text.split()) > MOST_WORDS or len(text) < (2 if CODE.fullmatch(text) else SHORTEST):
        return None
    return _kind_of_text(name, text)


def _kind_of_text(name: str, text: str) -> ValueKind | None:
    digits = sum(character.isdigit() for character in text)
    compact = text.translate(PUNCTUATION)
    if EMAIL.fullmatch(text) or (digits >= 7 and compact.isdigit()):
        return "identifier"
    if NUMBER.fullmatch(text.rstrip("%")):
        return "identifier" if ID_NAME.search(name) else "number"
    if EXPRESSION.fullmatch(text):
        return None
    mixed = digits >= 2 and any(map(str.isalpha, text)) and not MEASURE.fullmatch(text)
    if TOKEN.fullmatch(text) and (mixed or ID_NAME.search(name)):
        return "identifier"
    return "code" if CODE.fullmatch(text) else "text"


class Reading:
    """What the system had read before a call: question, conversation, passages, earlier results."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Hold the texts; they are normalised as values ask for it."""
        self._text = "\n".join(texts)

    @cached_property
    def _lower(self) -> str:
        return self._text.casefold()

    @cached_property
    def _compact(self) -> str:
        return self._lower.translate(PUNCTUATION)

    @cached_property
    def _unspaced(self) -> str:
        return self._lower.translate(UNSPACED)

    @cached_property
    def _days(self) -> frozenset[Day]:
        return frozenset(days_in(self._text))

    @cached_property
    def _numbers(self) -> frozenset[float]:
        read = {float(WORDS.index(word)) for word in WORD.findall(self._lower)}
        for digits, multiple in NUMBER.findall(self._lower):
            number = float(digits.replace(",", ""))
            read |= {number, number * MULTIPLES[multiple]}  # 300K is a temperature, or three hundred thousand
        return frozenset(read)

    def holds(self, entry: ArgumentValue, known: Iterable[Any] = ()) -> bool:
        """Return whether a value of an argument was read, in this or another form.

        Args:
            entry: the value.
            known: values that the schema names: its enum and defaults.
        """
        plain = str(entry.value).strip().casefold()
        if any(str(option).strip().casefold() == plain for option in known):
            return True
        if entry.kind == "identifier":
            return self._holds_identifier(plain)
        if plain in self._lower and entry.kind != "number":
            return True
        if entry.kind == "date":
            return is_near(day_of(str(entry.value)), self._days)
        if entry.kind == "number":
            return self._holds_number(plain)
        return len(plain) >= SHORTEST and plain.translate(UNSPACED) in self._unspaced

    def _holds_identifier(self, plain: str) -> bool:
        """Return whether an identifier was read as a whole: no part of a longer one, nor put together."""
        if _stands_in(plain, self._lower):
            return True
        compact = plain.translate(PUNCTUATION)
        if len(compact) < SHORTEST or compact not in self._compact or not any(map(str.isdigit, compact)):
            return False
        spaced = SEPARATORS.join(map(re.escape, compact))  # a card number is printed in groups of four
        return re.search(rf"(?<!\w){spaced}(?!\w)", self._lower) is not None

    def _holds_number(self, plain: str) -> bool:
        match = NUMBER.fullmatch(plain.rstrip("%"))
        if match is None:
            try:
                value = abs(float(plain))
            except ValueError:
                return plain in self._lower
        else:
            value = float(match[1].replace(",", "")) * MULTIPLES[match[2]]
        forms = (value, value * 100, value / 100)  # a share as per cent, and back
        return any(
            abs(form - number) <= 1e-9 * max(1, abs(form)) for form in forms for number in self._numbers
        )


def _stands_in(token: str, text: str) -> bool:
    """Return whether a token stands in a text with no letter, digit or _ around it."""
    place = text.find(token)
    while place >= 0:
        before, after = text[place - 1 : place], text[place + len(token) : place + len(token) + 1]
        if not (before.isalnum() or before == "_") and not (after.isalnum() or after == "_"):
            return True
        place = text.find(token, place + 1)
    return False
