"""Detect answers that decline to answer, by phrases in English, Russian and Chinese (refusal_phrases.json).

An estimate, and marked as one by its callers; a recorded refusal takes precedence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from ragtriage.data.text.patterns import Phrase, first_match, rough_expression
from ragtriage.data.text.sentences import split_sentences
from ragtriage.data.text.tokens import count_words, lowered
from ragtriage.metrics.schema.scores import BoolArray

LEADING = 2  # a refusal declines in one of its first two sentences, greetings and topics of documents aside
SUBSTANCE = 15  # words on anything else: a remark in passing has fewer, a useful answer has more
_READ = 4000  # characters examined: a longer answer is no refusal, whatever follows
_Kind = Literal["unable", "lacking", "about", "courtesy", "substance"]
DECLINING: tuple[_Kind, ...] = ("unable", "lacking")
_KINDS: tuple[_Kind, ...] = (*DECLINING, "courtesy", "about")


@dataclass(frozen=True)
class DetectedRefusal:
    """The outcome of refusal detection for one answer.

    Attributes:
        refused: True for a refusal.
        phrase: the declining words, also where an answer follows them; None where there are none.
        span: half-open character range of the phrase in the answer, or None.
    """

    refused: bool
    phrase: str | None
    span: tuple[int, int] | None


@dataclass(frozen=True)
class _Unit:
    """A sentence, or a part of one between turns such as ", but"; only substance counts its words."""

    kind: _Kind
    sentence: int
    words: int
    span: tuple[int, int]


def detect_refusal(answer: str) -> DetectedRefusal:
    """Detect whether an answer declines to answer.

    The rule: one of the first two sentences declines ("I cannot answer", "the documents do not mention"), not
    counting greetings and remarks on what the documents are about; apart from such sentences, the answer has
    at most 15 words of substance; and none of these come before the refusal, unless the system states that it
    cannot answer. So "The documents do not mention X. However, ..." followed by an answer is an answer. An
    empty answer is no refusal.
    """
    text = answer[:_READ]
    lower = lowered(text).replace("’", "'")
    if not any(phrase.possible_in(lower) for kind in DECLINING for phrase in _phrases(kind)):
        return DetectedRefusal(False, None, None)
    units = []
    for unit in _units(text, lower):
        units.append(unit)
        if sum(unit.words for unit in units) > SUBSTANCE:
            break
    declining = [unit for unit in units if unit.kind in DECLINING]
    if not declining:
        return DetectedRefusal(False, None, None)
    first = declining[0]
    phrase = answer[slice(*first.span)]
    leading = sorted({unit.sentence for unit in units if unit.kind not in ("courtesy", "about")})[:LEADING]
    before = sum(unit.words for unit in units if unit.span < first.span)
    substance = sum(unit.words for unit in units)
    plain = any(unit.kind == "unable" for unit in declining)
    refused = first.sentence in leading and substance <= SUBSTANCE and (plain or not before)
    return DetectedRefusal(refused and len(answer) <= _READ, phrase, first.span)


def refused_answers(answers: Any, wanted: BoolArray | None = None) -> BoolArray:
    """Return (n,) whether each text of an Arrow column is a refusal, as detect_refusal tells.

    It is False for null, and for the rows that are not wanted. Most answers have no declining
    words in them, which one search of the column tells.
    """
    rough = pc.match_substring_regex(pc.ascii_lower(answers), _rough_declining())
    possible = pc.fill_null(pc.or_(rough, pc.invert(pc.string_is_ascii(answers))), False)
    refused = np.zeros(len(answers), dtype=np.bool_)
    rows = possible.to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(rows if wanted is None else rows & wanted).tolist():
        refused[row] = detect_refusal(answers[row].as_py()).refused
    return refused


def _units(text: str, lower: str) -> Iterator[_Unit]:
    """Yield the units of a text in order."""
    for number, (start, end) in enumerate(split_sentences(text)):
        borders = [start, *(match.start() for match in _turn().finditer(lower, start, end)), end]
        for a, b in pairwise(borders):
            yield _unit(lower, number, a, b)


def _unit(lower: str, sentence: int, start: int, end: int) -> _Unit:
    part = lower[start:end]
    body = _turn().sub("", f"{part} ", count=1).strip()
    for kind in _KINDS:
        match = first_match(_phrases(kind), body)
        if match is not None:
            at = max(start, lower.find(match.group(), start, end))
            return _Unit(kind, sentence, 0, (at, at + len(match.group())))
    return _Unit("substance", sentence, count_words(body), (start, end))


@cache
def _phrases(kind: str) -> list[Phrase]:
    """Return all phrases of a kind, in every language."""
    lists = json.loads(files("ragtriage.data.text").joinpath("refusal_phrases.json").read_text("utf-8"))
    phrases = [
        phrase for language in lists.values() if isinstance(language, dict) for phrase in language[kind]
    ]
    return [Phrase(phrase.replace(" ", r"\s+")) for phrase in phrases]


@cache
def _rough_declining() -> str:
    """Return an expression that is found in every text in ASCII with a declining phrase, in lower case."""
    phrases = [phrase for kind in DECLINING for phrase in _phrases(kind) if not phrase.beyond_ascii]
    return "(?s)" + "|".join(rough_expression(phrase.expression) for phrase in phrases)


@cache
def _turn() -> re.Pattern[str]:
    return re.compile("|".join(phrase.expression for phrase in _phrases("turn")))
