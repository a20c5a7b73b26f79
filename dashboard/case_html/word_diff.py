"""Two answers word by word: what the second adds and drops."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from markupsafe import Markup, escape

__all__ = ["diff_html"]

MOST_WORDS = 4000  # of one answer; longer ones are shown without a diff, which would be slow and unreadable
_WORDS = re.compile(r"\s+|[^\W_]+|.", re.DOTALL)
_DROPPED, _ADDED = Markup("<del>{}</del>"), Markup("<ins>{}</ins>")


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
