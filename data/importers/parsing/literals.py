"""Parse Python reprs in cells as data: lists, tuples, dicts, text, numbers, NumPy arrays, documents.

Nothing is evaluated. A call such as `Document(page_content='...', id='7')` becomes a dict of its named
arguments, `array([...], dtype=object)` and `np.float64(0.5)` become their first argument. As NumPy prints
lists without commas, two adjacent texts are two items, not one joined text as in Python.
"""

import ast
import math
import re
from datetime import datetime
from typing import Any

MAX_DEPTH = 32
SPACE = re.compile(r"\s*")
TEXT = re.compile(
    r"[rRuUbB]{0,2}"
    r"('''.*?'''|\"\"\".*?\"\"\"|'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\")",
    re.DOTALL,
)
NUMBER = re.compile(r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
NAME = re.compile(r"[A-Za-z_][\w.]*")
NAMES = {
    **dict.fromkeys(("None", "null")),
    **dict.fromkeys(("True", "true"), True),
    **dict.fromkeys(("False", "false"), False),
    **dict.fromkeys(("nan", "NaN"), math.nan),
    "inf": math.inf,
}
BEFORE_TEXT = frozenset("'\"rRuUbB")
BEFORE_NUMBER = frozenset("+-.0123456789")
CLOSING = {"[": "]", "(": ")", "{": "}"}


class LiteralError(ValueError):
    """A text is not a literal; the message says at which character."""


def read_literal(text: str) -> Any:
    """Return the value of a Python repr.

    Raises:
        LiteralError: the text is not a literal, is nested too deeply, or was shortened with "...".
    """
    reader = _Reader(text)
    value = reader.value(0)
    reader.skip()
    if reader.at < len(text):
        raise reader.fault("more text after the end")
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fault(self, what: str) -> LiteralError:
        return LiteralError(f"{what} at character {self.at + 1}")

    def skip(self) -> str:
        """Skip spaces and return the next character, or "" at the end."""
        character = self.text[self.at : self.at + 1]
        if character and not character.isspace():
            return character
        spaces = SPACE.match(self.text, self.at)
        self.at = spaces.end() if spaces else self.at
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Any:
        """Read one value; sequences and calls go one deeper."""
        if depth > MAX_DEPTH:
            raise self.fault("nested too deeply")
        character = self.skip()
        if character in CLOSING:
            self.at += 1
            return self.braces(depth) if character == "{" else self.items(CLOSING[character], depth)
        if character in BEFORE_TEXT and (text := TEXT.match(self.text, self.at)):
            self.at = text.end()
            return self.literal_text(text.group())
        if character in BEFORE_NUMBER and (number := NUMBER.match(self.text, self.at)):
            self.at = number.end()
            return self.number(number.group())
        if name := NAME.match(self.text, self.at):
            self.at = name.end()
            return self.name(name.group(), depth)
        shortened = self.text.startswith("...", self.at)
        raise self.fault("shortened with '...'" if shortened else f"unexpected {character or 'end'!r}")

    def literal_text(self, token: str) -> str:
        """Return a quoted token as text."""
        if token[0] in "'\"" and "\\" not in token and token[:3] not in ("'''", '"""'):
            return token[1:-1]
        try:
            value = ast.literal_eval(token)  # a single string token: nothing but its escapes is read
        except (ValueError, SyntaxError) as error:
            raise self.fault("a text with a bad escape") from error
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def number(self, token: str) -> int | float:
        """Return the number of a token."""
        try:
            return int(token) if re.fullmatch(r"[+-]?\d+", token) else float(token)
        except ValueError as error:
            raise self.fault("a number that cannot be read") from error

    def name(self, name: str, depth: int) -> Any:
        """Read a named constant or a call."""
        if self.skip() == "(":
            self.at += 1
            return self.call(name, depth)
        if name in NAMES:
            return NAMES[name]
        raise self.fault(f"the name {name[:40]!r}, which is not a constant")

    def items(self, closing: str, depth: int) -> list[Any]:
        """Read the items up to the closing bracket, separated by commas or, as in NumPy, by spaces."""
        items = []
        while (character := self.skip()) != closing:
            if character == ",":
                self.at += 1
                continue
            items.append(self.value(depth + 1))
        self.at += 1
        return items

    def braces(self, depth: int) -> dict[str, Any]:
        """Read a dict up to its closing brace; keys become text."""
        entries: dict[str, Any] = {}
        while (character := self.skip()) != "}":
            if character == ",":
                self.at += 1
                continue
            key = self.value(depth + 1)
            if self.skip() != ":":
                raise self.fault("no ':' after a key")
            self.at += 1
            entries[str(key)] = self.value(depth + 1)
        self.at += 1
        return entries

    def call(self, name: str, depth: int) -> Any:
        """Read a call: its keyword arguments as a dict, or its only positional argument."""
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        while (character := self.skip()) != ")":
            if character == ",":
                self.at += 1
                continue
            word = NAME.match(self.text, self.at)
            if word and self.text[word.end() : word.end() + 1] == "=":
                self.at = word.end() + 1
                keywords[word.group()] = self.dtype() if word.group() == "dtype" else self.value(depth + 1)
            else:
                positional.append(self.value(depth + 1))
        self.at += 1
        if len(positional) == 1 and keywords.keys() <= {"dtype"}:
            return positional[0]
        if name in ("datetime.datetime", "datetime.date", "datetime") and positional:
            return self.moment(positional)
        if keywords and not positional:
            return keywords
        raise self.fault(f"a call of {name[:40]!r} that is not a document or array")

    def moment(self, parts: list[Any]) -> str:
        """Return year, month, day and so on as ISO text; a time zone after them is left out."""
        try:
            numbers = [part for part in parts if isinstance(part, int)]
            year, month, day, hour, minute, second, part = (*numbers, 0, 0, 0, 0)[:7]
            return datetime(year, month, day, hour, minute, second, part).isoformat()  # noqa: DTZ001 - as the file has it, without a zone
        except (TypeError, ValueError, OverflowError) as error:
            raise self.fault("a moment that is none") from error

    def dtype(self) -> str:
        """Skip the dtype in a NumPy array's repr."""
        word = NAME.match(self.text, self.at) or TEXT.match(self.text, self.at)
        if word is None:
            raise self.fault("a dtype that cannot be read")
        self.at = word.end()
        return word.group()
