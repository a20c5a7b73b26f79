"""Two answers word by word: what the second adds and drops, and how many words they share."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher

from markupsafe import Markup, escape

MOST_WORDS = 4000  # of one answer; longer ones are shown without a diff, which would be slow and unreadable
LEAST_SHARED = 0.25  # below it two answers are different texts, and marks would cover nearly all of both
_WORDS = re.compile(r"\s+|[^\W_]+|.", re.DOTALL)
_WORD = re.compile(r"[^\W_]+")
_DROPPED, _ADDED = Markup("<del>{}</del>"), Markup("<ins>{}</ins>")


def shared_words(before: str, after: str) -> float:
    """Return the share of words that two texts have in common, of the words of both (Jaccard, with counts).

    Two texts without words share all.
    """
    left, right = (Counter(_WORD.findall(text.casefold())) for text in (before, after))
    either = (left | right).total()
    return (left & right).total() / either if either else 1.0


def diff_html(before: str, after: str) -> tuple[Markup, Markup]:
    """Return both texts as escaped HTML, with dropped words in <del> and added ones in <ins>."""
    left, right = _WORDS.findall(before), _WORDS.findall(after)
    if len(left) > MOST_WORDS or len(right) > MOST_WORDS:
        return escape(before), escape(after)
    dropped, added = Markup(), Markup()
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        old, new = "".join(left[a:b]), "".join(right[c:d])
        dropped += old if kind == "equal" or not old else _DROPPED.format(old)
        added += new if kind == "equal" or not new else _ADDED.format(new)
    return dropped, added
