"""Two answers word by word: what the second adds and drops."""

from __future__ import annotations

import html
import re
from difflib import SequenceMatcher

__all__ = ["diff_html"]

MOST_WORDS = 4000  # beyond this the answers are shown whole: a diff would neither be quick nor be read
_WORDS = re.compile(r"\s+|[^\W_]+|.", re.DOTALL)


def diff_html(before: str, after: str) -> tuple[str, str]:
    """Give both texts as escaped HTML: dropped words in <del> on the left, new ones in <ins> on the right."""
    left, right = _WORDS.findall(before), _WORDS.findall(after)
    if len(left) > MOST_WORDS or len(right) > MOST_WORDS:
        return _safe(before), _safe(after)
    one, two = [], []
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        old, new = _safe("".join(left[a:b])), _safe("".join(right[c:d]))
        one.append(old if kind == "equal" or not old else f"<del>{old}</del>")
        two.append(new if kind == "equal" or not new else f"<ins>{new}</ins>")
    return "".join(one), "".join(two)


def _safe(text: str) -> str:
    return html.escape(text, quote=True)
