"""What became of the gold of a dataset in another version of its corpus: same, moved, changed or gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.text.quotes import occurrences
from ragtriage.data.text.tokens import FoldedText, folded

Fate = Literal["same", "moved", "changed", "gone"]
FATES: tuple[Fate, ...] = ("same", "moved", "changed", "gone")
KEPT = 0.6  # share of a span that its changed text must keep, else it is gone
AROUND = 400  # characters looked at before and behind the place where a span should be


@dataclass(frozen=True)
class SpanChange:
    """What became of a span."""

    question_id: str
    span: GoldSpan  # as it was
    fate: Fate
    now: GoldSpan | None  # where it stands now; None where it is gone
    kept: float = 1.0  # share of its text that is kept, in [0, 1]


@dataclass(frozen=True)
class CorpusChange:
    """What became of the gold of items between two versions of a corpus."""

    old_version: str
    new_version: str
    spans: tuple[SpanChange, ...]

    @property
    def counts(self) -> dict[Fate, int]:
        """Spans by what became of them, in the order of FATES."""
        counts = Counter(change.fate for change in self.spans)
        return {fate: counts[fate] for fate in FATES}

    @property
    def to_read(self) -> list[str]:
        """The questions whose gold changed or is gone, in their order: only these return to review."""
        return list(
            dict.fromkeys(each.question_id for each in self.spans if each.fate in ("changed", "gone"))
        )

    def of(self, question_ids: Collection[str]) -> CorpusChange:
        """Return what became of the gold of some of the questions."""
        return replace(self, spans=tuple(each for each in self.spans if each.question_id in question_ids))

    @property
    def gone(self) -> frozenset[str]:
        """The questions of which a span is gone."""
        return frozenset(each.question_id for each in self.spans if each.fate == "gone")


def span_changes(items: Sequence[Item], old: Corpus, new: Corpus) -> CorpusChange:
    """Look for the gold of items in a new version of their corpus.

    The exact text is looked for first, in its own document and then in the others; only where that fails a
    text like it, and only near the place where it stood: over a whole page another passage of the same words
    would be taken for it.
    """
    changes = [
        SpanChange(item.question_id, *_followed(_with_quote(span, old), old, new))
        for item in items
        for span in item.spans
    ]
    return CorpusChange(old.version, new.version, tuple(changes))


def moved_items(items: Sequence[Item], change: CorpusChange) -> list[Item]:
    """Return the items whose spans stand elsewhere, read otherwise or are gone, with them as they are now.

    A span that is gone keeps its old place, which no longer holds its text: the check of the gold marks it.
    """
    by_item: dict[str, list[SpanChange]] = {}
    for each in change.spans:
        by_item.setdefault(each.question_id, []).append(each)
    moved = []
    for item in items:
        spans = tuple(each.now or each.span for each in by_item.get(item.question_id, ()))
        if spans and (spans != item.spans or item.question_id in change.gone):
            moved.append(replace(item, spans=spans))
    return moved


def _with_quote(span: GoldSpan, corpus: Corpus) -> GoldSpan:
    document = corpus.by_name.get(span.doc_id)
    if span.quote or document is None:
        return span
    return replace(span, quote=document.text[span.start : span.end])


def _followed(span: GoldSpan, old: Corpus, new: Corpus) -> tuple[GoldSpan, Fate, GoldSpan | None, float]:
    document = new.by_name.get(span.doc_id)
    if document is not None and document.text[span.start : span.end] == span.quote:
        return span, "same", span, 1.0
    before = old.by_name.get(span.doc_id)
    expected = _expected(span, before.text if before else "", document.text if document else "")
    exact = _exact(span, new, expected)
    if exact is not None:
        return span, "moved", exact, 1.0
    if document is None:
        return span, "gone", None, 0.0
    place, kept = _like(span.quote, document.text, expected)
    if place is None:
        return span, "gone", None, kept
    now = replace(span, start=place[0], end=place[1], quote=document.text[place[0] : place[1]])
    # only line breaks and spaces differ: a reader would call it the same text elsewhere
    same = folded(now.quote) == folded(span.quote)
    return (span, "moved", now, 1.0) if same else (span, "changed", now, kept)


def _expected(span: GoldSpan, old: str, new: str) -> int:
    """Return where a span should start now, from the text before it that both documents share."""
    before = old[max(0, span.start - AROUND) : span.start]
    for length in (len(before), 120, 40):
        tail = before[-length:] if length else ""
        at = new.find(tail) if tail.strip() else -1
        if at >= 0 and new.find(tail, at + 1) < 0:
            return at + len(tail)
    return span.start


def _exact(span: GoldSpan, new: Corpus, expected: int) -> GoldSpan | None:
    """Return the place of the same text nearest to where it should be, else in another document."""
    own = new.by_name.get(span.doc_id)
    for document in [
        *([own] if own is not None else []),
        *(each for each in new.documents if each is not own),
    ]:
        if places := occurrences(document.text, span.quote):
            start = min(places, key=lambda place: abs(place - expected))
            return replace(span, doc_id=document.doc_id, start=start, end=start + len(span.quote))
    return None


def _like(quote: str, text: str, expected: int) -> tuple[tuple[int, int] | None, float]:
    """Return where a changed text stands near a place, and how much of it is kept; None below KEPT."""
    start, end = max(0, expected - AROUND), min(len(text), expected + len(quote) + AROUND)
    near = text[start:end]
    place = FoldedText(near).find(folded(quote))
    if place is not None:
        return (start + place[0], start + place[1]), 1.0
    words, known = _words(quote), _words(near)
    matcher = SequenceMatcher(None, [word for word, _, _ in words], [word for word, _, _ in known], False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    total = sum(len(word) for word, _, _ in words)
    kept = sum(len(words[at][0]) for block in blocks for at in range(block.a, block.a + block.size))
    share = kept / total if total else 0.0
    if share < KEPT:
        return None, share
    first, last = blocks[0], blocks[-1]
    # what was put before the first word that is kept, and behind the last one, up to as much as was lost
    begin = max(0, first.b - first.a)
    finish = min(len(known), last.b + last.size + len(words) - last.a - last.size)
    return (start + known[begin][1], start + known[finish - 1][2]), share


def _words(text: str) -> list[tuple[str, int, int]]:
    words, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        words.append((word, start, at))
    return words
