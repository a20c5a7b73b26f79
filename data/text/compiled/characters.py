"""What a code point is, told by Python's own str methods: so the compiled loops follow the same rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.text.sentences import (
    CLAUSE_MARKS,
    CLOSING,
    END_MARKS,
    FULL_WIDTH_MARKS,
    SPACED_CLAUSE_MARKS,
)
from ragtriage.data.text.tokens import is_cjk

KNOWN, WORD, CJK, SPACE, DIGIT, LOWER, UPPER, IN_WORD = (1 << bit for bit in range(8))
LETTER, END, NEWLINE, FULL_WIDTH, CLOSER, CLAUSE, CLAUSE_BEFORE_SPACE = (1 << bit for bit in range(8, 15))
STOP, ABBREVIATION = 1, 2  # bits of the words known from the start
FULL_STOP, PRONOUN = ord("."), ord("I")
_CODE_POINTS = 0x110000


def new_kinds() -> NDArray[np.uint16]:
    """Return the table of what each code point is, 0 where it is not told yet."""
    kinds = np.zeros(_CODE_POINTS, dtype=np.uint16)
    fill_kinds(kinds, range(0x250))
    return kinds


def fill_kinds(kinds: NDArray[np.uint16], codes: Iterable[int]) -> None:
    """Tell in a table what some code points are."""
    for code in codes:
        kinds[code] = _kind(chr(code))


def code_points(text: str) -> NDArray[Any]:
    """Return the code points of a text, lone surrogates included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _kind(char: str) -> int:
    is_word = char.isalnum()  # with "_", what \w is in a regular expression
    facts = {
        CJK: is_cjk(char),
        WORD: is_word and not is_cjk(char),
        SPACE: char.isspace(),
        DIGIT: char.isdigit(),
        LOWER: char.islower(),
        UPPER: char.isupper(),
        IN_WORD: is_word or char in "_.",
        LETTER: is_word and not char.isdecimal(),
        END: char in END_MARKS,
        NEWLINE: char == "\n",
        FULL_WIDTH: char in FULL_WIDTH_MARKS,
        CLOSER: char in CLOSING,
        CLAUSE: char in CLAUSE_MARKS,
        CLAUSE_BEFORE_SPACE: char in SPACED_CLAUSE_MARKS,
    }
    return KNOWN | sum(bit for bit, holds in facts.items() if holds)
