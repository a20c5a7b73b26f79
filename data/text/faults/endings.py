"""How a text ends: as a finished one does, without an end mark, or in the middle of something."""

from __future__ import annotations

import re

from ragtriage.data.text.tokens import count_words, word_list
from ragtriage.metrics.sanity.rule import BARE, DANGLING, OPEN, UNDECIDED, WHOLE

FEWEST_WORDS = 8  # a name, a number or a title needs no end mark
FEWEST_CHARACTERS = 16  # of a text without spaces
LONGEST_SHORT = 200  # characters among which so many words are counted
MOST_TEXT = 4_000  # characters of the end that are looked at
_MARKS = ".!?…。！？｡．؟۔।॥։።፧၊။។៕‽⸮"
_CITED = re.compile(r"(?:\[[^\[\]\n]{1,60}\]|【[^【】\n]{1,60}】|\^\d{1,3}|[¹²³⁰⁴-⁹])[,;]?\Z")
_DECORATION = re.compile(r"[\s*_~`\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+\Z")
_CLOSING = re.compile(r"[\"'”’»›)\]}）」』】〉》>|]\Z")
_INSIDE = re.compile(rf"[{re.escape(_MARKS)}][\"'”’»)\]]?\s+\S|[。！？]\S")
_UNFINISHED = re.compile(r"(?:[,，、،(\[{（「『«“„:：&+=/]|\s[-–—])\Z")
_ITEM = re.compile(r"\s*(?:[-*•·‣–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|#{1,6})\s")
# scripts that end no sentence by a mark: Thai, Lao, Tibetan, Burmese, Khmer
_UNMARKED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]\\Z")
_LAST_LETTERS = re.compile(r"\b[^\W\d_]{2,}\Z")
_LAST_WORD = re.compile(r"(?<![^\s(\"'“])[^\W\d_]+\Z")
_LINKS = word_list("linking_words")  # no sentence ends with: articles, conjunctions, some prepositions
_PARTICLES = re.compile("[的和与在把被对将从及或是为はがをにのともで]\\Z")


def ending_of(text: str | None) -> int:
    """Return how a text ends.

    Returns:
        UNDECIDED for a short one, or one in a script without end marks; WHOLE with an end mark, a closed
        bracket, quotation or code, or as the lines before it; DANGLING behind a comma, an open bracket or a
        word that no sentence ends with; else OPEN where its earlier sentences have end marks, BARE where
        they have none.
    """
    stripped = (text or "").rstrip()[-MOST_TEXT:]
    fences = stripped.count("```")
    if fences:
        return DANGLING if fences % 2 else WHOLE if stripped.endswith("```") else UNDECIDED
    end = _undecorated(stripped)
    tail = end[-LONGEST_SHORT:]
    if count_words(tail) < FEWEST_WORDS or len(end) < FEWEST_CHARACTERS or _UNMARKED.search(tail):
        return UNDECIDED
    lines = [line for line in end.splitlines() if line.strip()]
    last = lines[-1]
    if end[-1] in _MARKS or _CLOSING.search(tail) or _CITED.search(tail):
        return WHOLE
    if _UNFINISHED.search(tail) or last.count("(") > last.count(")") or _ends_on_a_link(last):
        return DANGLING
    before = [_undecorated(line) for line in lines[:-1]]
    if _ITEM.match(last) or len(before) > 1:
        alike = [line for line in before if bool(_ITEM.match(line)) == bool(_ITEM.match(last))]
        if any(line[-1:] not in _MARKS for line in alike) or not alike:
            return WHOLE
    return OPEN if _INSIDE.search(end) else BARE


def _undecorated(text: str) -> str:
    """Return a text without the spaces, emphasis and emojis at its end."""
    return text[:-LONGEST_SHORT] + _DECORATION.sub("", text[-LONGEST_SHORT:])


def _ends_on_a_link(line: str) -> bool:
    """Return whether the last word of a line is one that another has to follow."""
    word = _LAST_WORD.search(line)
    return (word is not None and word[0] in _LINKS) or bool(_PARTICLES.search(line))


def ends_in_a_word(text: str, others: str) -> bool:
    """Return whether the last word of a text is only the beginning of a word of other texts.

    Args:
        text: that ends without an end mark.
        others: where the word is looked up; where it stands there as it is, it is whole.
    """
    word = _LAST_LETTERS.search(text)
    if word is None:
        return False
    begun = re.compile(rf"\b{re.escape(word[0])}(\w?)", re.IGNORECASE)
    found = {match[1] != "" for match in begun.finditer(others)}
    return found == {True}
