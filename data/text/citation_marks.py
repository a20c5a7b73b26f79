"""Citation marks in an answer ([1], [1, 2], [doc id], [Source: page 3], declared forms), and their sentences.

A declared form is a template rather than a regular expression, so that no file can make the search hang:
every placeholder becomes a bounded class of characters between literal text. A mark belongs to the sentence
it stands in, or to the one before it where it follows the full stop; at the head of a line it belongs to the
sentence behind it. Marks in a list of references at the end belong to none.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ragtriage.data.text.refusal_detection import detect_refusal
from ragtriage.data.text.tokens import content_tokens, lowered, split_sentences

Kind = Literal["number", "id", "page"]

MOST_TEXT = 200_000  # characters of an answer that are searched
MOST_MARKS = 2_000  # marks of one answer
MOST_RANGE = 50  # documents that "[1-50]" may name
MOST_TEMPLATES, LONGEST_TEMPLATE = 8, 80
TEMPLATE_ACCEPTED = (
    "up to 8 texts of at most 80 characters, each with one of {n}, {id}, {page} between other characters, "
    'as "[{n}]", "[doc {id}]" or "[Source: page {page}]"'
)

_NUMBERS = r"\d{1,4}(?:[ \t]{0,2}(?:[,;，；、–-]|\band\b|&)[ \t]{0,2}\d{1,4}){0,31}"
_PAGES = r"[0-9ivxlcIVXLC]{1,8}(?:[ \t]{0,2}[,;–-][ \t]{0,2}[0-9ivxlcIVXLC]{1,8}){0,7}"
_PLACES = {"n": _NUMBERS, "id": r"[^\[\]\n]{1,200}?", "page": _PAGES}
_PLACE = re.compile(r"\{(n|id|page)\}")
_BRACKETS = re.compile(r"[\[【［]([^\[\]【】［］\n]{1,200})[\]】］]")
_NUMBER = re.compile(rf"\^?\s?({_NUMBERS})\Z")
_WORDS = (
    r"(?:documents?|docs?|contexts?|sources?|references?|refs?|passages?|chunks?|papers?|文档|来源|источник)"
)
_NUMBERED = re.compile(rf"{_WORDS}\s?[:#.]?\s?({_NUMBERS})\Z", re.IGNORECASE)
_NAMED = re.compile(rf"{_WORDS}\s?[:#]\s?(.{{1,180}})\Z", re.IGNORECASE)
_PAGED = re.compile(rf"(?:.{{0,120}}[\s,;:]|)(?:pages?|pp?|стр|页)\.?\s?({_PAGES})\Z", re.IGNORECASE)
_DATA = re.compile(rf"data\s?:[^()]{{0,80}}\bsources?\s?\(({_NUMBERS})(?:,? ?\+more)?\)", re.IGNORECASE)
_LOOKS = re.compile(rf"{_WORDS}\b|citation|\?\Z", re.IGNORECASE)
_YEARS = range(1000, 10_000)


@dataclass(frozen=True)
class CitationMark:
    """One mark in an answer."""

    start: int  # first character in the answer, of the bracket
    end: int  # character behind the last
    kind: Kind  # what it names: numbers of documents, their ids or their pages
    names: tuple[str, ...]  # what it names, one each; empty for a mark of no form that could name a document


def template_fault(templates: object) -> str | None:
    """Return what is wrong with declared forms of citations; None for nothing."""
    if isinstance(templates, str):
        templates = [templates]
    if not isinstance(templates, list | tuple) or not 1 <= len(templates) <= MOST_TEMPLATES:
        return f"found {str(templates)[:60]!r}"
    for template in templates:
        if not isinstance(template, str) or len(template) > LONGEST_TEMPLATE:
            return f"found {str(template)[:60]!r}"
        parts = _PLACE.split(template)
        if len(parts) != 3 or not parts[0].strip() or not parts[2].strip():
            return f"found {template!r}"
    return None


@lru_cache(maxsize=64)
def _compiled(templates: tuple[str, ...]) -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    return tuple(_pattern(template) for template in templates)


def _pattern(template: str) -> tuple[Kind, re.Pattern[str]]:
    before, kind, behind = _PLACE.split(template)
    text = f"{_literal(before)}({_PLACES[kind]}){_literal(behind)}"
    named: Kind = "id" if kind == "id" else "page" if kind == "page" else "number"
    return named, re.compile(text, re.IGNORECASE)


def _literal(text: str) -> str:
    """Return literal text as a pattern in which one or two spaces stand for a space."""
    return r"[ \t]{1,2}".join(re.escape(part) for part in text.split(" "))


def find_marks(
    answer: str, templates: Sequence[str] = (), ids: Collection[str] = frozenset()
) -> list[CitationMark]:
    """Return the citation marks of an answer in order, none inside code.

    Args:
        answer: the text; characters beyond the first 200,000 are not searched.
        templates: declared forms; without them the usual forms in square brackets are read.
        ids: of the documents of its context, which [id] may name.
    """
    text = answer[:MOST_TEXT]
    placed = _by_templates(text, tuple(templates)) if templates else _by_usual_forms(text, ids)
    code = _code(text)
    marks = [mark for mark in placed if not any(start <= mark.start < end for start, end in code)]
    return marks[:MOST_MARKS]


def _by_templates(text: str, templates: tuple[str, ...]) -> list[CitationMark]:
    marks: list[CitationMark] = []
    for kind, pattern in _compiled(templates):
        for match in pattern.finditer(text):
            names = _listed(match[1]) if kind != "id" else (match[1].strip(),)
            marks.append(CitationMark(match.start(), match.end(), kind, names))
    declared = sorted(_apart(marks), key=lambda mark: mark.start)
    taken = [(mark.start, mark.end) for mark in declared]
    others = [
        CitationMark(mark.start, mark.end, mark.kind, ())
        for mark in _by_usual_forms(text, frozenset())
        if not any(mark.start < end and start < mark.end for start, end in taken)
    ]
    return sorted([*declared, *others], key=lambda mark: mark.start)


def _apart(marks: Sequence[CitationMark]) -> Iterator[CitationMark]:
    """Yield the marks that overlap none of an earlier template."""
    taken: list[tuple[int, int]] = []
    for mark in marks:
        if not any(mark.start < end and start < mark.end for start, end in taken):
            taken.append((mark.start, mark.end))
            yield mark


def _by_usual_forms(text: str, ids: Collection[str]) -> list[CitationMark]:
    marks = []
    for match in _BRACKETS.finditer(text):
        if text[match.end() : match.end() + 1] == "(":  # the text of a Markdown link
            continue
        named = _usual(match[1].strip(), ids)
        if named is not None:
            marks.append(CitationMark(match.start(), match.end(), *named))
    return marks


def _usual(content: str, ids: Collection[str]) -> tuple[Kind, tuple[str, ...]] | None:
    """Return what the text between brackets names; None where it is not a citation."""
    if content in ids:
        return "id", (content,)
    data = _DATA.match(content)
    if data:  # as GraphRAG and benchmark-qed write them: ids of rows of the context
        names = _listed(data[1])
        return ("id" if ids and set(names) <= set(ids) else "number"), names
    numbers = _NUMBER.match(content) or _NUMBERED.match(content)
    if numbers:
        names = _listed(numbers[1])
        return None if all(int(name) in _YEARS for name in names) else ("number", names)
    parts = tuple(part.strip() for part in re.split(r"[,;]", content))
    if any(part in ids for part in parts):
        return "id", parts
    pages = _PAGED.match(content)
    if pages:
        return "page", _listed(pages[1])
    named = _NAMED.match(content)
    if named:
        return "id", (named[1].strip(),)
    return ("number", ()) if looks_like_a_mark(content) else None


def looks_like_a_mark(content: str) -> bool:
    """Return whether the text between brackets was meant as a citation, as in [citation needed]."""
    return len(content) <= 60 and _LOOKS.match(content) is not None


def _listed(text: str) -> tuple[str, ...]:
    """Return the numbers of "1, 3-5 and 7", ranges spelled out."""
    names: list[str] = []
    for part in re.split(r"[,;，；、&]|\band\b", text):
        low, dash, high = (end.strip() for end in re.sub("–", "-", part).partition("-"))
        if dash and low.isdigit() and high.isdigit() and 0 <= int(high) - int(low) < MOST_RANGE:
            names += [str(number) for number in range(int(low), int(high) + 1)]
        elif dash:
            names += [low, high]
        elif low:
            names.append(str(int(low)) if low.isdigit() else low)
    return tuple(dict.fromkeys(names))


def _code(text: str) -> list[tuple[int, int]]:
    """Return the ranges of code: between fences, else between single back-ticks of a line."""
    if "`" not in text:
        return []
    ranges, at = [], 0
    while (start := text.find("`", at)) >= 0:
        tick = "```" if text.startswith("```", start) else "`"
        end = text.find(tick, start + len(tick))
        if end < 0 or (tick == "`" and "\n" in text[start:end]):
            at = start + len(tick)
            continue
        ranges.append((start, end + len(tick)))
        at = end + len(tick)
    return ranges


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
