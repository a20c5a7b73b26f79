"""Other words for a question: its own paraphrases, else plain rewordings that keep its meaning."""

from __future__ import annotations

import re
from collections.abc import Callable

_PREFIX = re.compile(r"^(what|who|when|where|which|how|why)\b", re.IGNORECASE)


def _polite(question: str) -> str:
    return f"Could you tell me: {question}"


def _lower_without_mark(question: str) -> str:
    return question.lower().rstrip(" ?？.")


def _statement(question: str) -> str:
    bare = question.strip().rstrip(" ?？.")
    bare = bare[:1].lower() + bare[1:] if _PREFIX.match(bare) else bare
    return f"I need to know this: {bare}."


REWORDINGS: dict[str, Callable[[str], str]] = {
    "polite": _polite,
    "lower case, no question mark": _lower_without_mark,
    "as a statement": _statement,
}


def rewordings(question: str) -> list[tuple[str, str]]:
    """Return plain rewordings of a question as (name, text), those alone that differ from it.

    They change its form and not its words: a system that flips on them would flip on less than a paraphrase.
    """
    made = [(name, reword(question)) for name, reword in REWORDINGS.items()]
    return [(name, text) for name, text in made if text != question]
