"""Whether a quote that a judge gave as evidence stands in the document it names."""

from __future__ import annotations

import re
import unicodedata

FEWEST_WORDS, FEWEST_BYTES = 3, 8  # a shorter quote, such as "the", is evidence of nothing
_ELLIPSIS = re.compile(r"\[?(?:\.{3,}|…)\]?")
_WORD = re.compile(r"\w+")


def is_quoted(quote: str, text: str) -> bool:
    """Return whether a quote stands in a text, word for word.

    Case, spacing and punctuation may differ. Stretches around an ellipsis must follow one another, and none
    begins or ends within a number: "5 million people" is no quote from "15 million people".
    A quote of fewer than three words and eight bytes counts only where it is the whole text.
    """
    words = _words(text)
    stretches = [stretch for part in _ELLIPSIS.split(quote) if (stretch := _words(part))]
    quoted = " ".join(stretches)
    long_enough = len(quoted.split()) >= FEWEST_WORDS or len(quoted.encode()) >= FEWEST_BYTES
    if not quoted or not (long_enough or quoted == words):
        return False
    at = 0
    for stretch in stretches:
        found = _whole_numbers(stretch).search(words, at)
        if found is None:
            return False
        at = found.end()
    return True


def _whole_numbers(stretch: str) -> re.Pattern[str]:
    """Return the pattern of a stretch that does not begin or end within a number."""
    before = r"(?<!\d)" if stretch[0].isdecimal() else ""
    after = r"(?!\d)" if stretch[-1].isdecimal() else ""
    return re.compile(f"{before}{re.escape(stretch)}{after}")


def _words(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8")).casefold()
    return " ".join(_WORD.findall(plain))
