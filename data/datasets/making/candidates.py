"""Questions as a model wrote them as items whose gold stands in the corpus, and the filters that are free."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.data.datasets.checks import CHECKS, FreeChecks
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.making.quotas import TWO_PASSAGES, Writing
from ragtriage.data.datasets.making.requests import Candidate, Quote
from ragtriage.data.datasets.windows import CorpusWindows, Passage
from ragtriage.data.text.language import language_name, language_of
from ragtriage.data.text.tokens import count_words

NOT_ANSWERED = ("unanswerable", "false-premise")
SURE_WORDS = 6  # of a question whose language is told
LONG_QUOTE = 5  # words from which the same text elsewhere says the same
EASY, MEDIUM = 1, 10  # rank of the gold by BM25 up to which a question is easy, or medium
# what a free check that marks an item does: the others reject it
MARKING = ("copied", "elsewhere")  # shown to the reader; read beside the other place


def item_of(
    candidate: Candidate,
    writing: Writing,
    windows: CorpusWindows,
    question_id: str,
    origin: Mapping[str, Any],
) -> Item:
    """Return a question as an item; one whose gold does not stand in its passage is rejected."""
    places = [_places(windows, writing.passages[quote.passage - 1], quote) for quote in candidate.quotes]
    fact = candidate.fact.strip()
    item = Item(
        question_id,
        " ".join(candidate.question.split()),
        "" if writing.kind == "unanswerable" else candidate.answer.strip(),
        writing.kind,
        answerable="no" if writing.kind in NOT_ANSWERED else "yes",
        claims=(fact,) if fact and writing.kind not in NOT_ANSWERED else (),
        history=_history(candidate, writing),
        tags={"synthetic": "true"},
        distractors=tuple(passage.span() for passage in writing.similar),
        origin=origin,
    )
    if not all(places):
        missing = next(
            quote.quote for quote, found in zip(candidate.quotes, places, strict=True) if not found
        )
        return replace(
            item, rejected_by="verbatim", reason=f"not in the passage: {' '.join(missing.split())}"
        )
    if writing.kind in TWO_PASSAGES and _in_one_place(places, windows):
        return replace(item, rejected_by="hops", reason="its quotes stand in one place")
    if writing.kind == "follow-up" and not item.history:
        return replace(item, rejected_by="form", reason="no earlier turn")
    if writing.kind in NOT_ANSWERED:
        nearest = places[0][0]
        judged = {"missing": candidate.missing.strip(), "nearest": nearest.quote}
        return replace(item, distractors=(nearest, *item.distractors), judged=judged)
    return replace(item, spans=_spans(places))


def with_denying_gold(item: Item) -> Item:
    """Return a false premise that passed its checks with the passage that denies it as gold.

    Until then it is read like a question that no passage answers.
    """
    if item.kind != "false-premise" or item.rejected_by or item.answerable != "no":
        return item
    return replace(item, spans=item.distractors[:1], distractors=item.distractors[1:], answerable="yes")


def _in_one_place(places: list[list[GoldSpan]], windows: CorpusWindows) -> bool:
    """Return whether what surrounds the first quote holds all of them."""
    around = windows.around(places[0][0])
    return all(around.holds(found[0]) for found in places)


def _history(candidate: Candidate, writing: Writing) -> tuple[tuple[str, str], ...]:
    question, answer = candidate.earlier_question.strip(), candidate.earlier_answer.strip()
    if writing.kind != "follow-up" or not question:
        return ()
    return (("user", question), *((("assistant", answer),) if answer else ()))


def _places(windows: CorpusWindows, passage: Passage, quote: Quote) -> list[GoldSpan]:
    """Return where a quote of a passage stands: there first, then wherever else the same text does."""
    found = windows.locate(quote.quote, passage.doc_id)
    inside = [span for span in found if passage.holds(span)]
    if not inside:
        return []
    if count_words(inside[0].quote) < LONG_QUOTE:
        return inside[:1]
    others = [span for span in windows.locate(inside[0].quote) if span != inside[0]]
    return [inside[0], *others]


def _spans(places: list[list[GoldSpan]]) -> tuple[GoldSpan, ...]:
    """Return the gold: each quote is needed, and its places are alternatives."""
    needed = list({(found[0].doc_id, found[0].start, found[0].end): found for found in places}.values())
    if len(needed) == 1 and len(needed[0]) == 1:
        return (needed[0][0],)
    return tuple(replace(span, hop=str(hop)) for hop, found in enumerate(needed, start=1) for span in found)


class FreeFilters:
    """The filters that need no model, in order of cost."""

    def __init__(self, checks: FreeChecks, language: str = "") -> None:
        self.checks, self.language = checks, language
        self._corpus_languages: dict[str, str | None] = {}

    def filtered(self, item: Item, count: Callable[[str, bool], None]) -> Item:
        """Return an item with its tags; rejected by the first filter that it does not pass.

        `count` is told of each filter whether the item passed it.
        """
        before = ("verbatim", "hops") if item.kind in TWO_PASSAGES else ("verbatim",)
        for key in before:
            count(key, item.rejected_by != key)
            if item.rejected_by == key:
                return item
        if item.rejected_by:  # by its form, which the checks below count
            count(item.rejected_by, False)
            return item
        other = self._other_language(item)
        count("language", not other)
        if other:
            return replace(item, rejected_by="language", reason=f"in {other}")
        across = bool(self.language) and self.language != self._language_of_corpus(item)
        for key, check in CHECKS.items():
            if across and key in ("round_trip", "copied", "leak"):
                continue  # by words of one language alone
            result = check.run(self.checks, item)
            if result.state == "not checked" or key in MARKING:
                continue
            count(key, result.state == "passed")
            if result.state == "marked":
                between = " " if result.detail.startswith("of ") else ": "
                reason = between.join(filter(None, (result.value, result.detail)))
                return replace(item, rejected_by=key, reason=reason)
        self.checks.add(item)
        return replace(item, tags={**item.tags, **self._difficulty(item)})

    def _difficulty(self, item: Item) -> dict[str, str]:
        hops = list(item.hops.values())
        rank = self.checks.windows.rank(item.question, hops[0]) if hops else None
        if rank is None:
            return {}
        return {"difficulty": "easy" if rank <= EASY else "medium" if rank <= MEDIUM else "hard"}

    def _language_of_corpus(self, item: Item) -> str | None:
        doc_id = (item.spans or item.distractors)[0].doc_id
        if doc_id not in self._corpus_languages:
            text = self.checks.windows.corpus.by_name[doc_id].text
            self._corpus_languages[doc_id] = language_of(text)
        return self._corpus_languages[doc_id]

    def _other_language(self, item: Item) -> str:
        """Return the name of the question's language where it is not the one wanted; "" where it is."""
        if count_words(item.question) < SURE_WORDS or item.kind in ("keyword", "misspelt"):
            return ""
        wanted, told = self.language or self._language_of_corpus(item), language_of(item.question)
        return language_name(told) if told and wanted and told != wanted else ""
