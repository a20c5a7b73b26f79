"""Python reprs found in cells, read as data: lists, tuples, dicts, text, numbers, NumPy arrays, documents.

Nothing is evaluated. A call such as `Document(page_content='...', id='7')` becomes a dict of its named
arguments, `array([...], dtype=object)` and `np.float64(0.5)` become their first argument. As NumPy prints
lists without commas, two texts side by side are two items, not one joined text as in Python.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any

__all__ = ["LiteralError", "read_literal"]

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
    "None": None,
    "null": None,
    "True": True,
    "true": True,
    "False": False,
    "false": False,
    "nan": math.nan,
    "NaN": math.nan,
    "inf": math.inf,
}
CLOSING = {"[": "]", "(": ")", "{": "}"}


class LiteralError(ValueError):
    """A text that is no literal; the message says at which character."""


def read_literal(text: str) -> Any:
    """Read a Python repr as data.

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
        """Go past spaces; the character that stands there, or "" at the end."""
        found = SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Any:
        """Read one value; sequences and calls go one deeper."""
        if depth > MAX_DEPTH:
            raise self.fault("nested too deeply")
        character = self.skip()
        if character in CLOSING:
            self.at += 1
            return self.braces(depth) if character == "{" else self.items(CLOSING[character], depth)
        if text := TEXT.match(self.text, self.at):
            self.at = text.end()
            return self.literal_text(text.group())
        if number := NUMBER.match(self.text, self.at):
            self.at = number.end()
            return self.number(number.group())
        if name := NAME.match(self.text, self.at):
            self.at = name.end()
            return self.named(name.group(), depth)
        shortened = self.text.startswith("...", self.at)
        raise self.fault("shortened with '...'" if shortened else f"unexpected {character or 'end'!r}")

    def literal_text(self, token: str) -> str:
        """A quoted token as text."""
        try:
            found = ast.literal_eval(token)  # a single string token: nothing but its escapes is read
        except (ValueError, SyntaxError) as error:
            raise self.fault("a text with a bad escape") from error
        return found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)

    def number(self, token: str) -> int | float:
        """A number token."""
        try:
            return int(token) if re.fullmatch(r"[+-]?\d+", token) else float(token)
        except ValueError as error:
            raise self.fault("a number that cannot be read") from error

    def named(self, name: str, depth: int) -> Any:
        """A constant by name, or a call."""
        if self.skip() == "(":
            self.at += 1
            return self.call(name, depth)
        if name in NAMES:
            return NAMES[name]
        raise self.fault(f"the name {name[:40]!r}, which is no constant")

    def items(self, closing: str, depth: int) -> list[Any]:
        """The items up to the closing bracket, parted by commas or, as NumPy prints them, by space."""
        found = []
        while (character := self.skip()) != closing:
            if character == ",":
                self.at += 1
                continue
            found.append(self.value(depth + 1))
        self.at += 1
        return found

    def braces(self, depth: int) -> dict[str, Any]:
        """A dict up to its closing brace; keys become text."""
        found: dict[str, Any] = {}
        while (character := self.skip()) != "}":
            if character == ",":
                self.at += 1
                continue
            key = self.value(depth + 1)
            if self.skip() != ":":
                raise self.fault("no ':' after a key")
            self.at += 1
            found[str(key)] = self.value(depth + 1)
        self.at += 1
        return found

    def call(self, name: str, depth: int) -> Any:
        """The named arguments of a call as a dict, or its first argument where none has a name."""
        places: list[Any] = []
        named: dict[str, Any] = {}
        while (character := self.skip()) != ")":
            if character == ",":
                self.at += 1
                continue
            word = NAME.match(self.text, self.at)
            if word and self.text[word.end() : word.end() + 1] == "=":
                self.at = word.end() + 1
                named[word.group()] = self.dtype() if word.group() == "dtype" else self.value(depth + 1)
            else:
                places.append(self.value(depth + 1))
        self.at += 1
        if len(places) == 1 and named.keys() <= {"dtype"}:
            return places[0]
        if named and not places:
            return named
        raise self.fault(f"a call of {name[:40]!r} that is no document or array")

    def dtype(self) -> str:
        """The type named in a NumPy array's repr, which is not needed."""
        word = NAME.match(self.text, self.at) or TEXT.match(self.text, self.at)
        if word is None:
            raise self.fault("a dtype that cannot be read")
        self.at = word.end()
        return word.group()
