"""Checks of an item that need no model: whether its gold stands, its wording, its twins, other answers.

Each is a hint by words and never a verdict; the limits are those at which sets written by people pass.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.windows import DEPTH, CorpusWindows, Passage
from ragtriage.data.text.answer_values import ComparedText, is_number
from ragtriage.data.text.tokens import (
    content_tokens,
    count_words,
    jaccard,
    split_sentences,
    surface_tokens,
)
from ragtriage.metrics.number_text import count, percent

LEAST_WORDS, MOST_WORDS = 4, 40
LEAST_KEYWORDS = 2  # words of a question typed as a search
MOST_COPIED = 7  # words in a row that a question may share with its gold; sets by people have at most 12
TWIN, TWIN_WITH_ANSWER = 0.8, 0.6  # Jaccard of stems; the second where the answers are the same too
AROUND = 300  # characters around a window in which a sentence of it may begin or end
ELSEWHERE = 0.6  # share of the answer's, and of the question's, content words in one window without gold
_LINE_GOES_ON = re.compile(r"(?<!\n)\n(?=[a-z])")
_QUESTION_MARKS = re.compile("[?？؟]+")
# words that point at a page which the asker of a question does not see
_POINTS = re.compile(
    r"\b(?:(?:this|the (?:above|following|given|provided)) (?:passage|paragraph|text|section|document|excerpt"
    r"|article|context|page)|(?:in|from|to) the (?:passage|text|excerpt|context|article)|the author"
    r"|mentioned above|as described above|according to the (?:passage|text|document|context|article))\b"
    r"|(?:本文|上文|该段|这段|文中|作者)|\b(?:dieser (?:Text|Abschnitt)|im Text|der Autor)\b",
    re.IGNORECASE,
)
_AUXILIARY = "(?:do|does|did|is|are|was|were|can|could|will|would|should|has|have)"
_LEANS = re.compile(
    r"^\W*(?:(?:and|but|so|ok|okay|then|und|aber|what about|how about|what if)\b\W*){0,3}"
    rf"(?:(?:what|when|where|why|how|who)\s+(?:{_AUXILIARY}\s+)?(?:they|them|their|he|she|those|these)"
    rf"|(?:{_AUXILIARY}\s+)?(?:it|its|they|them|their|he|she|his|her|those|these|that one|this one))\b"
    r"|^(?:它|他们|它们|她)",
    re.IGNORECASE,
)
State = Literal["passed", "marked", "not checked"]


@dataclass(frozen=True)
class CheckResult:
    """What one check says of an item."""

    key: str  # of CHECKS
    state: State
    value: str  # what was measured, e.g. "2 words"; "" where nothing was
    detail: str = ""  # what it refers to, or why it was not checked
    place: GoldSpan | None = None  # the passage it points to
    other: str = ""  # id of the other question it points to


@dataclass(frozen=True)
class Check:
    """A free check."""

    title: str  # as what passes is called
    limit: str  # what passes, in words
    run: Callable[[FreeChecks, Item], CheckResult]


class FreeChecks:
    """The checks of the items of one dataset on its corpus."""

    def __init__(self, windows: CorpusWindows, items: Sequence[Item]) -> None:
        self.windows, self.items = windows, list(items)

    def add(self, item: Item) -> None:
        """Add an item, with which those that are checked later are compared."""
        self.words[item.question_id] = _content(item.question)
        self.items.append(item)

    def of(self, item: Item) -> tuple[CheckResult, ...]:
        """Return the result of every check, in the order of CHECKS."""
        return tuple(check.run(self, item) for check in CHECKS.values())

    @cached_property
    def words(self) -> dict[str, frozenset[str]]:
        """The content words of each question, by id."""
        return {item.question_id: _content(item.question) for item in self.items}

    @cached_property
    def postings(self) -> Mapping[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """Content word -> the windows that hold it, in order."""
        places = defaultdict[str, list[int]](list)
        for at, window in enumerate(self.windows.windows):
            for word in _content(window.text):
                places[word].append(at)
        return {word: np.array(found, dtype=np.int64) for word, found in places.items()}

    def shares(self, words: frozenset[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return the share of some words that each window holds; (w,), 0 where there are no words."""
        totals = np.zeros(len(self.windows.windows))
        for word in words & self.postings.keys():
            totals[self.postings[word]] += 1
        return totals / len(words) if words else totals


def _content(text: str) -> frozenset[str]:
    return frozenset(content_tokens(text.lower()))


def _gold_stands(checks: FreeChecks, item: Item) -> CheckResult:
    corpus = checks.windows.corpus
    if not item.spans:
        if item.answerable == "no":
            return CheckResult("gold", "passed", "none needed")
        return CheckResult("gold", "marked", "no gold", "it says that there is an answer, and not where")
    for span in item.spans:
        document = corpus.by_name.get(span.doc_id)
        if document is None:
            return CheckResult("gold", "marked", "no such page", span.doc_id)
        text = document.text[span.start : span.end]
        if not text.strip() or (span.quote and text != span.quote):
            place = f"{span.doc_id}, characters {span.start:,} to {span.end:,}"
            return CheckResult("gold", "marked", "other text there", place)
    return CheckResult("gold", "passed", count(len(item.spans), "span"))


def _form(_: FreeChecks, item: Item) -> CheckResult:
    words, marks = count_words(item.question), len(_QUESTION_MARKS.findall(item.question))
    least = LEAST_KEYWORDS if item.kind in ("keyword", "real") else LEAST_WORDS
    if marks > 1:
        return CheckResult("form", "marked", f"{marks} questions")
    fits = least <= words <= MOST_WORDS
    return CheckResult("form", "passed" if fits else "marked", count(words, "word"))


def _copied(_: FreeChecks, item: Item) -> CheckResult:
    question = surface_tokens(item.question)
    runs = [longest_run(question, surface_tokens(span.quote)) for span in item.spans if span.quote]
    if not runs:
        return CheckResult("copied", "not checked", "", "no gold to copy from")
    run = max(runs, key=len)
    state: State = "marked" if len(run) > MOST_COPIED else "passed"
    return CheckResult("copied", state, count(len(run), "word"), " ".join(run))


def longest_run(words: Sequence[str], text: Sequence[str]) -> list[str]:
    """Return the longest run of words that also stands in a text; the first of equally long ones."""
    places = defaultdict[str, list[int]](list)
    for at, word in enumerate(text):
        places[word].append(at)
    best, end, before = 0, 0, dict[int, int]()
    for at, word in enumerate(words):
        # the length of the run that ends here and at each place of the word in the text
        here = {place: before.get(place - 1, 0) + 1 for place in places.get(word, ())}
        longest = max(here.values(), default=0)
        if longest > best:
            best, end = longest, at + 1
        before = here
    return list(words[end - best : end])


def _leaked(_: FreeChecks, item: Item) -> CheckResult:
    answer, question = _content(item.answer), _content(item.question)
    if item.answerable == "no" or not answer:
        return CheckResult("leak", "not checked", "", "no answer that the question could hold")
    held = len(answer & question) / len(answer)
    return CheckResult("leak", "marked" if held == 1 else "passed", percent(held), "of the answer's words")


def _grounded(_: FreeChecks, item: Item) -> CheckResult:
    gold = ComparedText(" ".join([item.question, *(span.quote for span in item.spans)]))
    if item.answerable == "no" or not any(span.quote for span in item.spans):
        return CheckResult("grounded", "not checked", "", "no gold to take values from")
    # a number in words, as in "the first", need not stand in the gold
    values = [
        token
        for token in ComparedText(item.answer).tokens
        if is_number(token) and token[0].strip("#") in item.answer
    ]
    missing = [token[0].strip("#") for token in values if not gold.readings & set(token)]
    if missing:
        return CheckResult("grounded", "marked", f"not in the gold: {', '.join(missing[:3])}")
    return CheckResult("grounded", "passed", count(len(values), "number") if values else "no number")


def _alone(_: FreeChecks, item: Item) -> CheckResult:
    points = _POINTS.search(item.question)
    if points is not None:
        return CheckResult("alone", "marked", f"“{points.group()}”", "the asker does not see the page")
    if item.history:
        return CheckResult("alone", "passed", "with its turns", count(len(item.history), "earlier turn"))
    leans = _LEANS.search(item.question)
    if leans is not None:
        return CheckResult("alone", "marked", f"“{leans.group().strip()}”", "needs a turn before it")
    return CheckResult("alone", "passed", "")


def _twin(checks: FreeChecks, item: Item) -> CheckResult:
    own, answer = _content(item.question), _content(item.answer)
    best, other = 0.0, None
    for each in checks.items:
        if each.question_id == item.question_id or each.history != item.history or _derived(item, each):
            continue
        words = checks.words[each.question_id]
        likeness = jaccard(own, words)
        if likeness > best:
            best, other = likeness, each
    if other is None:
        return CheckResult("twin", "passed", "none near")
    same_answer = bool(answer) and answer == _content(other.answer)
    # other names or numbers in both make two questions of one form, as of two cities
    differ = (own - checks.words[other.question_id]) and (checks.words[other.question_id] - own)
    marked = best >= TWIN or (best >= TWIN_WITH_ANSWER and same_answer and not differ)
    state: State = "marked" if marked else "passed"
    return CheckResult("twin", state, f"{best:.2f}", other.question, other=other.question_id)


def _derived(item: Item, other: Item) -> bool:
    """Return whether one of two items was made of the other, or both of a third, by rules."""
    sources = {each.question_id: str(each.origin.get("from") or "") for each in (item, other)}
    own, its = sources[item.question_id], sources[other.question_id]
    return other.question_id == own or item.question_id == its or bool(own and own == its)


def query_of(item: Item) -> str:
    """Return what is searched for: the question, with the user's turns before it."""
    turns = [text for role, text in item.history if role != "assistant"]
    return " ".join([*turns, item.question])


def _round_trip(checks: FreeChecks, item: Item) -> CheckResult:
    hops = list(item.hops.values())
    if not hops:
        return CheckResult("round_trip", "not checked", "", "no gold to find")
    # the later hops of a question are often named by the earlier ones alone, as written sets show
    rank = checks.windows.rank(query_of(item), hops[0] if item.kind == "multi-hop" else item.spans)
    total = f"of {count(len(checks.windows.windows), 'window')}"
    if rank is None:
        return CheckResult("round_trip", "marked", f"not in {DEPTH}", total)
    return CheckResult("round_trip", "passed", f"rank {rank}", total)


def _elsewhere(checks: FreeChecks, item: Item) -> CheckResult:
    answer, question = _content(item.answer), _content(query_of(item))
    if item.answerable == "no" or not answer or not item.spans:
        return CheckResult("elsewhere", "not checked", "", "no answer to look for")
    held, asked = checks.shares(answer), checks.shares(question)
    new = checks.shares(answer - question or answer)  # what the answer says and the question does not
    candidates = np.flatnonzero(np.minimum(np.minimum(held, new), asked) >= ELSEWHERE)
    windows = [
        int(at) for at in candidates if not any(map(checks.windows.windows[int(at)].overlaps, item.spans))
    ]
    if not windows:
        return CheckResult("elsewhere", "passed", "nowhere", "by words: a hint")
    best = max(windows, key=lambda at: (held[at], asked[at]))
    place = _best_sentence(checks.windows.corpus, checks.windows.windows[best], answer)
    detail = f"{place.doc_id}, character {place.start:,}: {percent(float(held[best]))} of the answer's words"
    return CheckResult("elsewhere", "marked", count(len(windows), "place"), detail, place)


def _best_sentence(corpus: Corpus, window: Passage, words: frozenset[str]) -> GoldSpan:
    """Return the sentence with most of some words, of those that a window holds any of."""
    text, first = corpus.by_name[window.doc_id].text, max(0, window.start - AROUND)
    # a line that goes on in small letters is no end of a sentence
    around = _LINE_GOES_ON.sub(" ", text[first : window.end + AROUND])
    inside = window.start - first, window.end - first
    sentences = [at for at in split_sentences(around) if at[0] < inside[1] and at[1] > inside[0]] or [inside]
    start, end = max(sentences, key=lambda at: len(words & _content(around[at[0] : at[1]])))
    return GoldSpan(window.doc_id, first + start, first + end, text[first + start : first + end])


# in order of cost
CHECKS: Mapping[str, Check] = {
    "gold": Check("Gold stands in its page", "every span, by offset", _gold_stands),
    "form": Check(
        "4 to 40 words, one question", f"{LEAST_WORDS} to {MOST_WORDS} words, one question mark", _form
    ),
    "copied": Check("Does not copy the gold", f"at most {MOST_COPIED} words in a row", _copied),
    "leak": Check("Answer not in the question", "not all words of the answer", _leaked),
    "grounded": Check("Numbers of the answer in the gold", "every number", _grounded),
    "alone": Check("Stands alone", "points at no page, leans on no turn", _alone),
    "twin": Check("No twin", f"nearest question below {TWIN}", _twin),
    "round_trip": Check(f"Found by BM25 in {DEPTH}", f"a window with gold in the first {DEPTH}", _round_trip),
    "elsewhere": Check(
        "Answered in one place", f"no other window with {percent(ELSEWHERE)} of the answer", _elsewhere
    ),
}


@dataclass(frozen=True)
class CheckedItem:
    """An item with what the free checks say of it."""

    item: Item
    results: tuple[CheckResult, ...] = field(default=())

    @property
    def marks(self) -> list[CheckResult]:
        """The results that a reader should look at first."""
        return [result for result in self.results if result.state == "marked"]
