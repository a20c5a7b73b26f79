"""Whether an answer says the opposite of a short reference, or names somebody else.

Only where the two say it of the same: an answer that gives both sides, or a condition, is not decided.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from rapidfuzz import fuzz

from ragtriage.data.text.answer_values import FUNCTION_WORDS, WORDS, ComparedText, fold

LONGEST, LONGEST_ANSWER = 12, 25  # content words of a reference and an answer that are short
SHARED = 0.5  # share of the other content of the reference that the answer must have
ALIKE = 60  # ratio from which two names may be spellings of one
_SIDES = [
    {word: side for side, words in ((1, pair[0]), (-1, pair[1])) for word in words}
    for pair in WORDS["opposites"]
]
# words that are opposite only before the same word: before May, after May
_LEADING = [
    {word: side for side, words in ((1, pair[0]), (-1, pair[1])) for word in words}
    for pair in WORDS["leading_opposites"]
]
FEWEST_NEGATED = 3  # words of a reference that is a sentence and not a name
_FORM = 4  # letters that two forms of a word share
_CONDITIONS = frozenset(WORDS["conditions"])
_AMBIGUOUS = frozenset({"no", "non", "ne", "ni", "mai", "cap", "nor", "neither", "without"})
_NEGATION = (frozenset(WORDS["negation"]) | {"cannot"}) - _AMBIGUOUS
_NOT_COMPARED = (
    {word for sides in (*_SIDES, *_LEADING) for word in sides} | _NEGATION | _AMBIGUOUS | {"longer"}
)
_WHO = re.compile(r"\W*(?:who|whom|whose|which person|wer|wen|wem|wessen|qui|quien|quienes|chi|quem)\b")
_NAME_WORD = r"[^\W\d_a-z][^\W\d_]{2,}(?:-[^\W\d_]+)*"
_NAME = re.compile(rf"{_NAME_WORD}(?: (?:(?:von|van|de|der|den|da|di|del|la|le) )?{_NAME_WORD})+")
_QUOTED = re.compile(r"[\"“„«][^\"”“»]*[\"”“»]")  # titles
_NO_NAMES = frozenset({"two", "three", "four", "five", "iii", "vii", "viii", "xii", "mrs"})
_Name = tuple[str, ...]


def says_the_opposite(answer: ComparedText, reference: ComparedText) -> bool:
    """Return whether an answer says the opposite of a short reference of one sentence, or negates it."""
    texts = answer, reference
    if len(reference.content) > LONGEST or len(answer.content) > LONGEST_ANSWER:
        return False
    if any(len(text.sentences) > 1 or not _CONDITIONS.isdisjoint(text.readings) for text in texts):
        return False
    if any(
        len({sides.get(token[-1]) for token in text.tokens} - {None}) > 1
        for sides in _LEADING
        for text in texts
    ):
        return False
    sides_of = [[_poles(text, sides) for text in texts] for sides in _SIDES]
    if any(mine & theirs or 0 in mine | theirs for mine, theirs in sides_of):
        return False
    words = [token for token in reference.content if token[-1] not in _NOT_COMPARED]
    has = [any(_related(reading, other) for reading in token for other in answer.readings) for token in words]
    if not words or sum(has) < SHARED * len(words):
        return False
    opposed = any(len(mine) == len(theirs) == 1 for mine, theirs in sides_of) or _led_otherwise(*texts)
    negated = len(words) >= FEWEST_NEGATED and all(has) and _negations(answer) ^ _negations(reference) == 1
    return opposed or negated


def _related(word: str, other: str) -> bool:
    """Return whether two readings are one, or forms of one word."""
    return word == other or (
        len(word) >= _FORM and word[:_FORM] == other[:_FORM] and abs(len(word) - len(other)) < _FORM
    )


def _poles(text: ComparedText, sides: dict[str, int]) -> set[int]:
    """Return the sides of a pair of opposites that a text takes; 0 where a "no" leaves it open."""
    words = [token[-1] for token in text.tokens]
    found = set()
    for at, word in enumerate(words):
        if word in sides:
            before = set(words[max(0, at - 4) : at])
            ambiguous = bool(before & _AMBIGUOUS - ({words[0]} if at > 1 else set()))
            found.add(0 if ambiguous else -sides[word] if before & _NEGATION else sides[word])
    return found


def _leading(text: ComparedText, sides: dict[str, int]) -> set[tuple[str, int]]:
    """Return (word, side) of each word that one side alone of a pair of opposites leads."""
    words = [token[-1] for token in text.tokens]
    led: dict[str, set[int]] = defaultdict(set)
    for at, word in enumerate(words):
        if word in sides:
            behind = next((each for each in words[at + 1 :] if each not in FUNCTION_WORDS), "")
            led[behind].add(sides[word])
    return {(word, sides_of.pop()) for word, sides_of in led.items() if word and len(sides_of) == 1}


def _led_otherwise(answer: ComparedText, reference: ComparedText) -> bool:
    """Return whether opposites lead one word: before May, after May."""
    pairs = [(_leading(answer, sides), _leading(reference, sides)) for sides in _LEADING]
    return any((word, -side) in theirs for mine, theirs in pairs for word, side in mine)


def _negations(text: ComparedText) -> int:
    """Return 0 for no negation in a text, 1 for one, 2 where more or a "no" leave it open."""
    words = [token[-1] for token in text.tokens]
    longer = sum(pair == ("no", "longer") for pair in pairwise(words))
    open_ones = sum(word in _AMBIGUOUS for word in words) - longer
    n = sum(word in _NEGATION for word in words) + longer
    return 2 if open_ones or n > 1 else n


def names_somebody_else(answer: ComparedText, reference: ComparedText, question: ComparedText) -> bool:
    """Return whether an answer names another person or place than its reference.

    It gives the first word of the name another last one; or, of a question for a person, a whole other name.
    Names in the question were not asked for; one whose last word the answer has is not another.
    """
    asked = _WHO.match(question.folded.strip()) is not None
    wanted, given = [*_names(reference, question)], [*_names(answer, question)]
    if len(wanted) != 1 or not given or max(len(reference.content), len(answer.content)) > LONGEST_ANSWER:
        return False
    name, own = wanted[0], [word for word in re.findall(r"[^\W\d_]+", answer.folded) if len(word) > 2]
    if any(fuzz.ratio(name[-1], word) >= ALIKE for word in own):
        return False
    if any(name[0] == other[0] for other in given):
        return True
    return asked and not any(fuzz.ratio(word, other) >= ALIKE for word in name for other in own)


def _names(text: ComparedText, question: ComparedText) -> Iterator[_Name]:
    """Yield the names of two words and more in a text that the question has no word of, folded."""
    for match in _NAME.finditer(_QUOTED.sub(" ", text.text)):
        words = tuple(fold(match[0]).split())
        start = 1 if words[0] in FUNCTION_WORDS else 0
        name = words[start:]
        if len(name) > 1 and question.readings.isdisjoint(name) and _NO_NAMES.isdisjoint(name):
            yield name
