"""Detect answers that decline to answer, by a small grammar in nine languages (refusal_grammar.toml).

An estimate, and marked as one by its callers; a recorded refusal takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from ragtriage.data.text.folding import FoldedLetters, folded_letters
from ragtriage.data.text.patterns import first_match
from ragtriage.data.text.refusal_grammar import BESIDE, DECLINING, Grammar, Kind, grammar_for, signs
from ragtriage.data.text.sentences import split_sentences
from ragtriage.data.text.tokens import count_words, lowered
from ragtriage.metrics.schema.scores import BoolArray

LEADING = 2  # a refusal declines in one of its first two sentences, greetings and topics of documents aside
SUBSTANCE = 15  # words on anything else: a remark in passing has fewer, a useful answer has more
COURTESY = 30  # words of a greeting, of an apology, of advice: more of them are substance
ADVICE = 12  # and behind a "but"
CONTRAST = 3  # words after "but": what is not known, but this is, is an answer
REASON = 2  # words after "because" or "therefore": who knows why a document is silent knows of the matter
SENTENCES = 12  # that are looked at
_READ = 4000  # characters examined: a longer answer is no refusal, whatever follows
_UNIT = 500  # characters of a sentence that are searched
_QUOTED = re.compile(
    r"[“„]([^“”„\n]{1,300})[“”]|«([^«»\n]{1,300})»|「([^「」\n]{1,300})」|『([^『』\n]{1,300})』"
    r'|"([^"\n]{1,300})"'
)
_BLANK = re.compile(
    r"^#{1,6} [^\n]*$|\[[^\[\]\n]{1,200}\]|\([^()\n]{1,200}\)|（[^（）\n]{1,200}）|[*`#>_]", re.M
)
_LETTER = re.compile(r"[^\W\d_]")
_JOINT = re.compile("[;；؛]| [–—-] ")
Link = Literal["contrast", "reason"]  # how a part of a sentence goes on from the one before it
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
class _Part:
    """A sentence, or a part of one between turns such as ", but", and the range of the words that decline."""

    text: str
    sentence: int
    span: tuple[int, int]
    link: Link | None
    kind: Kind | None
    phrase: tuple[int, int] | None


@dataclass(frozen=True)
class _Unit:
    """A part with what it says; only substance counts its words."""

    kind: Kind | Literal["substance"]
    sentence: int
    words: int
    span: tuple[int, int]
    link: Link | None


def detect_refusal(answer: str) -> DetectedRefusal:
    """Detect whether an answer declines to answer.

    The rule: one of the first two sentences declines ("I cannot answer", "the documents do not mention"),
    greetings and remarks on what the documents are about aside; the answer has at most 15 words of substance
    beside such sentences, at most 3 of them behind a "but"; and none of these come before the refusal, unless
    the system states that it cannot answer. So "The documents do not mention X. However, ..." followed by an
    answer is an answer. Quotations, brackets and conditions ("if there is no information") decline nothing.
    An empty answer is no refusal.
    """
    folded = FoldedLetters(answer[:_READ])
    grammar = grammar_for(folded.text)
    if grammar is None:
        return DetectedRefusal(False, None, None)
    units: list[_Unit] = []
    for part in _parts(folded, grammar):
        units.append(_unit(part, grammar))
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
    plain = any(unit.kind == "unable" for unit in units)
    turned = [unit for unit in units if unit.link and unit.span > first.span]
    if first.kind == "unable":  # "I don't know. However, ..." goes on with what the sources have instead
        turned = [unit for unit in turned if unit.link == "contrast" and unit.sentence == first.sentence]
    return (
        first.sentence in leading
        and sum(unit.words for unit in units) <= SUBSTANCE
        and sum(unit.words for unit in turned) <= CONTRAST
        and sum(unit.words for unit in turned if unit.link == "reason") <= REASON
        and (not before or (plain and first.link != "contrast"))
    )


def refused_answers(answers: Any, wanted: BoolArray | None = None) -> BoolArray:
    """Return (n,) whether each text of an Arrow column is a refusal, as detect_refusal tells.

    It is False for null, and for the rows that are not wanted. Many answers have no sign of a refusal, which
    one search of the column tells.
    """
    possible = pc.fill_null(pc.match_substring_regex(pc.utf8_lower(answers), signs()), False)
    refused = np.zeros(len(answers), dtype=np.bool_)
    rows = possible.to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(rows if wanted is None else rows & wanted).tolist():
        refused[row] = detect_refusal(answers[row].as_py()).refused
    return refused


def _parts(folded: FoldedLetters, grammar: Grammar) -> Iterator[_Part]:
    """Yield the parts of a text in order, its first sentences only."""
    cased = outside_quotes(folded.cased)
    readable = folded_letters(lowered(cased))
    for number, (start, end) in enumerate(split_sentences(cased)[:SENTENCES]):
        joints: dict[int, tuple[int, Link | None]] = {start: (start, None)}
        links: tuple[tuple[re.Pattern[str], Link | None], ...]
        links = ((_JOINT, None), (grammar.reason, "reason"), (grammar.turn, "contrast"))
        for pattern, link in links:
            for match in pattern.finditer(readable, start, end):
                joints[match.start()] = (match.end(), link)
        for a, b in pairwise([*sorted(joints), end]):
            begin, link = joints[a]
            turned = "contrast" if grammar.opening.match(readable[begin:b]) else link
            yield from _split_at_colon(readable, number, (begin, b), turned, grammar)


def _split_at_colon(
    readable: str, sentence: int, span: tuple[int, int], link: Link | None, grammar: Grammar
) -> Iterator[_Part]:
    """Yield a range as a part; what a colon behind a refusal introduces is a part of its own."""
    start, end = span
    text = readable[start:end][:_UNIT]
    start += len(text) - len(text.lstrip())
    text = text.strip().rstrip(".。!！…～~ ")
    kind, phrase = _declining_phrase(text, grammar)
    yield _Part(text, sentence, (start, end), link, kind, phrase)
    colon = None if phrase is None else _COLON.search(text, phrase[1])
    if colon is not None and colon.end() < len(text):
        behind = (start + colon.end(), end)
        yield from _split_at_colon(
            readable, sentence, behind, "contrast" if kind == "lacking" else link, grammar
        )


def _declining_phrase(text: str, grammar: Grammar) -> tuple[Kind, tuple[int, int]] | tuple[None, None]:
    """Return the kind and the range of the words that decline."""
    if grammar.sign.search(text):
        said = grammar.aside.sub(lambda match: "_" * len(match[0]), text)
        for kind in DECLINING:
            match = first_match(grammar.phrases[kind], said)
            if match is not None and match[0].strip("_ "):
                return kind, match.span()
    return None, None


def _unit(part: _Part, grammar: Grammar) -> _Unit:
    """Return a part as a unit: what it is about, and its words of substance."""
    start = part.span[0]
    if part.kind is not None and part.phrase is not None:
        at, end = part.phrase
        return _Unit(part.kind, part.sentence, 0, (start + at, start + end), part.link)
    words = count_words(part.text)
    polite = words <= (ADVICE if part.link == "contrast" else COURTESY)
    if polite and part.text.endswith(("?", "？", "؟")):
        return _Unit("courtesy", part.sentence, 0, part.span, part.link)
    for kind in BESIDE:
        if (kind == "about" or polite) and first_match(grammar.phrases[kind], part.text) is not None:
            return _Unit(kind, part.sentence, 0, part.span, part.link)
    return _Unit("substance", part.sentence, words, part.span, part.link)


def outside_quotes(text: str) -> str:
    """Return a text with quotations, brackets, headings and markup blanked, unless nothing else is there."""
    readable = _BLANK.sub(lambda match: " " * len(match[0]), text)
    readable = _QUOTED.sub(lambda match: "_" * len(match[0]), readable)
    return readable if _LETTER.search(readable) else text
