"""Detect answers that decline to answer, by a small grammar in nine languages (refusal_grammar.toml).

An estimate, and marked as one by its callers; a recorded refusal takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from ragtriage.data.text.folding import FoldedLetters, folded_letters
from ragtriage.data.text.patterns import first_match, rough_expression
from ragtriage.data.text.refusal_grammar import DECLINING, KINDS, Grammar, Kind, grammar_for, latin_grammar
from ragtriage.data.text.sentences import split_sentences
from ragtriage.data.text.tokens import count_words, lowered
from ragtriage.metrics.schema.scores import BoolArray

LEADING = 2  # a refusal declines in one of its first two sentences, greetings and topics of documents aside
SUBSTANCE = 15  # words on anything else: a remark in passing has fewer, a useful answer has more
CONTRAST = 3  # words after "but": what is not known, but this is, is an answer
_READ = 4000  # characters examined: a longer answer is no refusal, whatever follows
_UNIT = 500  # characters of a sentence that are searched
_QUOTED = re.compile(
    r"[“„]([^“”„\n]{1,300})[“”]|«([^«»\n]{1,300})»|「([^「」\n]{1,300})」|『([^『』\n]{1,300})』"
    r'|"([^"\n]{1,300})"'
)
_BLANK = re.compile(r"^#{1,6} [^\n]*$|\[[^\[\]\n]{1,200}\]|\([^()\n]{1,200}\)|（[^（）\n]{1,200}）|[*`#>_]", re.M)
_LETTER = re.compile(r"[^\W\d_]")
_PART = re.compile("[;；؛]")
_COLON = re.compile(r"[:：]\s*")


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

    kind: Kind | Literal["substance"]
    sentence: int
    words: int
    span: tuple[int, int]
    contrast: bool = False


def detect_refusal(answer: str) -> DetectedRefusal:
    """Detect whether an answer declines to answer.

    The rule: one of the first two sentences declines ("I cannot answer", "the documents do not mention"), not
    counting greetings and remarks on what the documents are about; apart from such sentences, the answer has
    at most 15 words of substance, at most 3 of them behind a "but"; and none of these come before the refusal,
    unless the system states that it cannot answer. So "The documents do not mention X. However, ..." followed
    by an answer is an answer. Quotations, brackets and conditions ("if there is no information") decline
    nothing. An empty answer is no refusal.
    """
    folded = FoldedLetters(answer[:_READ])
    grammar = grammar_for(folded.text)
    if not grammar.may_decline(folded.text):
        return DetectedRefusal(False, None, None)
    units = []
    for unit in _units(folded, grammar):
        units.append(unit)
        if sum(unit.words for unit in units) > SUBSTANCE:
            break
    declining = [unit for unit in units if unit.kind in DECLINING]
    if not declining:
        return DetectedRefusal(False, None, None)
    first = declining[0]
    span = folded.span(*first.span)
    refused = _declines(units, first) and len(answer) <= _READ
    return DetectedRefusal(refused, answer[slice(*span)], span)


def _declines(units: list[_Unit], first: _Unit) -> bool:
    """Return whether an answer is a refusal, by its units and the first of them that declines."""
    leading = sorted({unit.sentence for unit in units if unit.kind not in ("courtesy", "about")})[:LEADING]
    before = sum(unit.words for unit in units if unit.span < first.span)
    contrast = sum(unit.words for unit in units if unit.contrast and unit.span > first.span)
    plain = any(unit.kind == "unable" for unit in units)
    return (
        first.sentence in leading
        and sum(unit.words for unit in units) <= SUBSTANCE
        and contrast <= CONTRAST
        and (not before or (plain and not first.contrast))
    )


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


def _units(folded: FoldedLetters, grammar: Grammar) -> Iterator[_Unit]:
    """Yield the units of a text in order."""
    text, cased = folded.text, _readable(folded.cased)
    readable = folded_letters(lowered(cased))
    for number, (start, end) in enumerate(split_sentences(cased)):
        turns = {match.start(): match.end() for match in grammar.turn.finditer(readable, start, end)}
        parts = {match.start(): match.end() for match in _PART.finditer(readable, start, end)}
        borders = sorted({start, *turns, *parts, end})
        for a, b in pairwise(borders):
            begin = max(turns.get(a, a), parts.get(a, a))
            contrast = a in turns or grammar.opening.match(readable[begin:b]) is not None
            yield from _classified(text, readable, grammar, number, (begin, b), contrast)


def _classified(
    text: str, readable: str, grammar: Grammar, sentence: int, span: tuple[int, int], contrast: bool
) -> Iterator[_Unit]:
    """Yield the unit of a range; what a colon behind a refusal introduces is one of its own."""
    start, end = span
    part = readable[start:end][:_UNIT]
    start += len(part) - len(part.lstrip())
    part = part.strip()
    said = grammar.aside.sub(lambda match: "_" * len(match[0]), part)
    for kind in KINDS:
        match = first_match(grammar.phrases[kind], said if kind in DECLINING else part)
        if match is not None and match[0].strip("_ "):
            yield _Unit(kind, sentence, 0, (start + match.start(), start + match.end()), contrast)
            colon = _COLON.search(part, match.end()) if kind in DECLINING else None
            if colon is not None and colon.end() < len(part):
                after = start + colon.end()
                contrast = contrast or kind == "lacking"
                yield from _classified(text, readable, grammar, sentence, (after, end), contrast)
            return
    words = count_words(text[start:end])
    if part.endswith(("?", "？", "؟")):
        yield _Unit("courtesy", sentence, 0, (start, end))
    elif words:
        yield _Unit("substance", sentence, words, (start, end), contrast)


def _readable(text: str) -> str:
    """Blank what is quoted, in brackets, a heading or markup, unless nothing else is there."""
    readable = _BLANK.sub(lambda match: " " * len(match[0]), text)
    readable = _QUOTED.sub(lambda match: "_" * len(match[0]), readable)
    return readable if _LETTER.search(readable) else text


@cache
def _rough_declining() -> str:
    """Return an expression that is found in every text in ASCII with a declining phrase, in lower case."""
    phrases = [phrase for kind in DECLINING for phrase in latin_grammar().phrases[kind]]
    return "(?s)" + "|".join(rough_expression(phrase.expression) for phrase in phrases)
