"""Whole numbers in text from outside."""

from __future__ import annotations

MOST_DIGITS = 18  # what 64 bits hold


def whole_number(text: str) -> int | None:
    """Return the whole number that a text writes in decimal digits.

    None for any other text: a superscript two is a digit to Unicode and no number to Python, and thousands of
    digits are more than Python reads.
    """
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None
