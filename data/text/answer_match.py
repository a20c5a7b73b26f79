"""Whether an answer holds one of the accepted answers: best-subspan exact match.

Source: SQuAD's normalisation (Rajpurkar et al. 2016) and the rule of Liu et al. 2024 (lost in the middle):
1 where any normalised accepted answer is a substring of the normalised answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """Return a text in lower case without punctuation and English articles, its white space folded."""
    lower = unicodedata.normalize("NFC", text).lower()
    plain = "".join(character for character in lower if not _is_punctuation(character))
    return " ".join(_ARTICLES.sub(" ", plain).split())


def _is_punctuation(character: str) -> bool:
    """Return whether it is punctuation: all of ASCII's, as SQuAD has it, and that of other scripts."""
    if character.isascii():
        return not character.isalnum() and not character.isspace() and character.isprintable()
    return unicodedata.category(character).startswith("P")


def holds_answer(text: str, accepted: Iterable[str]) -> bool:
    """Return whether a text holds any accepted answer; one that is empty once normalised never counts."""
    content = normalised(text)
    return any(wanted in content for wanted in map(normalised, accepted) if wanted)
