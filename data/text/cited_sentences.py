"""The sentences of an answer with the citation marks that belong to each.

A mark belongs to the sentence it stands in, or to the one before it where it follows the full stop; at the
head of a line it belongs to the sentence behind it. Marks in a list of references at the end belong to none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragtriage.data.text.citation_marks import CitationMark
from ragtriage.data.text.refusal_detection import detect_refusal
from ragtriage.data.text.sentences import split_sentences
from ragtriage.data.text.tokens import content_tokens, lowered

DECLINES_EARLY = 40  # characters before which a sentence declines as a whole
FEWEST_WORDS = 3  # content words of a sentence that states something
_LISTS = (
    r"references?|sources?|bibliography|works cited|citations?|footnotes|参考文献|参考资料|来源|"
    r"источники|список литературы|литература|quellen|literatur|références|fuentes|referencias"
)
_HEADING = re.compile(
    r"^[ \t]{0,4}(?:#{1,6}[ \t]{0,2}|\*{2}|__)?"
    rf"(?:{_LISTS})[ \t]{{0,2}}[:：]?(?:\*{{2}}|__)?[:：]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE = re.compile(
    rf"(?:^|(?<=[.!?。！？\]\n]))[ \t]{{0,4}}(?:{_LISTS})[ \t]{{0,2}}[:：][ \t]{{0,4}}(?=[\[【［])",
    re.IGNORECASE,
)
_HEAD = re.compile(r"\A[ \t]*(?:#{1,6}[ \t]|(?:\*\*|__)[^*_\n]{1,120}(?:\*\*|__):?[ \t]*\Z)")
_LACKS = re.compile(
    r"\A(?:(?:however|but|unfortunately),? )?(?:the|this|these|no)(?: [a-z]{1,12}){0,2}? "
    r"(?:documents?|context|passages?|sources?|texts?|excerpts?|handbook|information)\b.{0,30}?"
    r"(?:\b(?:do|does|did|is|are)(?: not|n't)\b|\bmentions? nothing\b)",
    re.IGNORECASE,
)
_BEFORE_STOP = re.compile(r" (?=[.,;:!?。！？，；：])")
_COURTESY = re.compile(
    r"\A(?:(?:i )?hope (?:this|that)|let me know|please (?:let|feel|note that i)|feel free|"
    r"if you (?:have|need|would like)|here (?:is|are) (?:the|a|an|some|what)\b.{0,80}:?\Z|"
    r"sure[,!.]|certainly[,!.]|of course[,!.]|"
    r"based on the (?:provided |given )?(?:context|documents|passages)[,:]?\Z|"
    r"希望|如果您|надеюсь|если у вас)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class MarkedSentence:
    """A sentence of an answer."""

    start: int  # first character in the answer
    end: int  # character behind the last, marks behind the full stop included
    marks: tuple[CitationMark, ...]  # the marks that belong to it, in order
    text: str  # the sentence without its marks


def reference_list(answer: str, marks: Sequence[CitationMark] = ()) -> int:
    """Return where the list of references at the end of an answer begins; its length where there is none.

    A list is headed by a line such as "References:", or it is lines at the end that begin with a mark, of
    which the text above already has marks.
    """
    start = len(answer)
    for match in _HEADING.finditer(answer):
        # whether another heading follows, so that the list of references does not end the answer
        if not (re.search(r"^[ \t]{0,3}#{1,6}[ \t]", answer[match.end() :], re.MULTILINE) is not None):
            start = min(start, match.start())
            break
    inline = [match.start() for match in _INLINE.finditer(answer)]
    if inline and len(content_tokens(lowered(_without(answer, marks, inline[-1])))) <= FEWEST_WORDS:
        start = min(start, inline[-1])
    return min(start, _numbered_lines(answer, marks))


def _without(answer: str, marks: Sequence[CitationMark], start: int) -> str:
    """Return the text from a place on, without marks and without the heading of its first line."""
    text = _masked(answer, marks)[start:]
    return re.sub(rf"\A[ \t]*(?:{_LISTS})[ \t]*[:：]", "", text, flags=re.IGNORECASE)


def _numbered_lines(answer: str, marks: Sequence[CitationMark]) -> int:
    """Return where lines at the end begin that each start with a mark seen above; the length for none."""
    start, cut = len(answer), len(answer.rstrip())
    heads = {mark.start: mark for mark in marks}
    while cut > 0:
        line = answer.rfind("\n", 0, cut) + 1
        if line == 0:
            break
        mark = heads.get(line + len(answer[line:cut]) - len(answer[line:cut].lstrip()))
        above = {name for other in marks if other.start < line for name in other.names}
        if mark is None or not answer[mark.end : cut].strip(" :.-") or not set(mark.names) <= above:
            break
        start, cut = line, len(answer[:line].rstrip())
    return start


def _masked(answer: str, marks: Sequence[CitationMark]) -> str:
    """Return the answer with its marks blanked, at the same length."""
    parts, at = [], 0
    for mark in marks:
        parts += [answer[at : mark.start], " " * (mark.end - mark.start)]
        at = mark.end
    return "".join([*parts, answer[at:]])


def marked_sentences(answer: str, marks: Sequence[CitationMark]) -> list[MarkedSentence]:
    """Return the sentences of an answer up to its list of references, each with its marks."""
    end = reference_list(answer, marks)
    marks = [mark for mark in marks if mark.end <= end]
    masked = _masked(answer[:end], marks)
    ranges = split_sentences(masked)
    of_sentence: list[list[CitationMark]] = [[] for _ in ranges]
    for mark in marks:
        at = _sentence_of(mark, ranges, answer, masked)
        if at is not None:
            of_sentence[at].append(mark)
    return [
        MarkedSentence(
            min([left, *(mark.start for mark in mine)]),
            max([right, *(mark.end for mark in mine)]),
            tuple(mine),
            _BEFORE_STOP.sub("", " ".join(masked[left:right].split())),
        )
        for (left, right), mine in zip(ranges, of_sentence, strict=True)
    ]


def _sentence_of(
    mark: CitationMark, ranges: Sequence[tuple[int, int]], answer: str, masked: str
) -> int | None:
    """Return the sentence that a mark belongs to; None where the answer has no sentence."""
    before = None
    for at, (left, right) in enumerate(ranges):
        if left <= mark.start < right:
            return at
        if left > mark.start:
            line = answer.rfind("\n", 0, mark.start) + 1
            leads = not masked[line : mark.start].strip() and "\n" not in masked[mark.end : left]
            return at if before is None or leads else before
        before = at
    return before


def needs_citation(sentence: str) -> bool:
    """Return whether a sentence states something that a document can support.

    Refusals, remarks on what the documents lack, questions, headings, lead-ins that end in a colon,
    courtesies and sentences of fewer than three content words do not.
    """
    text = sentence.strip()
    if not text or text.endswith((":", "：", "?", "？")) or _HEAD.match(text) or _COURTESY.match(text):
        return False
    if len(content_tokens(lowered(text))) < FEWEST_WORDS:
        return False
    declined = detect_refusal(text)
    return not _LACKS.match(text) and (declined.span is None or declined.span[0] > DECLINES_EARLY)
