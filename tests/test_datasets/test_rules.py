"""Questions made by rules: what they change, what they leave alone, and that the seed decides."""

from __future__ import annotations

import random
import re

import pytest
from dataset_texts import LEAVE, TRAVEL, corpus
from handbook_items import handbook_corpus, handbook_items
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.checks import FreeChecks
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.rules import (
    RULES,
    CorpusRules,
    RuleKind,
    derive,
    entities_in,
    hold_out,
    mistyped,
)
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.errors import DataError

DAY = "Every employee has 28 days of paid leave in a calendar year."
BAKERY = "# Bakery\n\nBread is sold on Friday. A roll costs 12 cents, and 40 days pass until the next fair.\n"


def _item(question: str, doc_id: str = "leave", text: str = LEAVE, quote: str = DAY) -> Item:
    start = text.index(quote)
    span = GoldSpan(doc_id, start, start + len(quote), quote)
    return Item("q1", question, "28 days", "single", (span,), claims=("28 days",), tags={"topic": "leave"})


def _rules() -> CorpusRules:
    return CorpusRules(CorpusWindows(corpus(bakery=BAKERY)))


def _one(kind: RuleKind, item: Item, seed: int = 0) -> Item:
    (made,) = derive(_rules(), [item], kind, 1, seed)
    return made


def test_a_number_of_the_question_becomes_another_of_the_corpus_and_the_answer_says_so() -> None:
    made = _one("false-premise", _item("Are 28 days of paid leave given to every employee each year?"))
    assert made.question == "Are 40 days of paid leave given to every employee each year?"
    assert made.answer == f"Not 40 but 28: {DAY}"
    assert (made.kind, made.answerable, made.spans, made.claims) == (
        "false-premise",
        "yes",
        _item("?").spans,
        (),
    )
    assert made.origin == {"by": "rules", "rule": "false-premise", "seed": 0, "from": "q1"}
    assert made.tags == {"topic": "leave", "synthetic": "true"}


def test_without_an_entity_in_the_question_the_sentence_of_the_gold_is_asked_about() -> None:
    made = _one("false-premise", _item("How long is the leave of an employee?"))
    assert made.question == "Is it true that every employee has 40 days of paid leave in a calendar year?"


def test_what_the_documents_of_the_gold_speak_of_takes_no_place() -> None:
    house = "# House\n\nThe door code changes every Monday, and on Friday the lift is checked.\n"
    rules = CorpusRules(CorpusWindows(corpus(house=house, bakery=BAKERY)))
    item = _item(
        "Does the door code change every Monday?", "house", house, "The door code changes every Monday"
    )
    assert derive(rules, [item], "false-premise", 1, 0) == []


def test_entities_are_told_by_kind_and_neighbour() -> None:
    found = {
        (each.kind, each.text, each.key)
        for each in entities_in("On Monday, 3 May, $1,200 for Ada Byron in Bremen.")
    }
    assert {("day", "Monday", ""), ("month", "May", ""), ("number", "1,200", "$for")} <= found
    assert {("name", "Ada Byron", "for"), ("name", "Bremen", "in")} <= found


@given(st.integers(0, 10_000))
def test_typing_errors_stay_out_of_names_and_numbers_and_keep_the_letters_count(seed: int) -> None:
    question = "When did Martha Keller approve the 28 days of annual leave for Bremen in HR-Links?"
    (made,) = derive(_rules(), [_item(question)], "misspelt", 1, seed)
    before, after = question.split(), made.question.split()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert 1 <= len(changed) <= 3
    assert all(old.islower() and old.isalpha() and len(old) == len(new) for old, new in changed)
    assert (made.spans, made.answer, made.answerable) == (_item("?").spans, "28 days", "yes")


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=12), st.integers(0, 999))
def test_a_mistyped_word_differs_by_one_key_or_one_swap(word: str, seed: int) -> None:
    typed = mistyped(word, random.Random(seed))
    differing = [at for at in range(len(word)) if word[at] != typed[at]]
    swap = len(differing) == 2 and [typed[at] for at in differing] == [word[at] for at in reversed(differing)]
    assert len(differing) == 1 or (swap and differing[1] == differing[0] + 1)
    assert typed[0] == word[0]


def test_a_search_has_the_content_words_in_their_order() -> None:
    made = _one("keyword", _item("What's the number of days that an employee has, up to 1,200 euros?"))
    assert made.question == "number days employee 1,200 euros"


@pytest.mark.parametrize("kind", RULES)
def test_the_seed_decides_and_no_question_is_used_twice(kind: RuleKind) -> None:
    items = handbook_items()
    rules = CorpusRules(CorpusWindows(handbook_corpus()))
    first = derive(rules, items, kind, 3, 5)
    assert first == derive(rules, items, kind, 3, 5)
    assert first
    more = derive(rules, [*items, *first], kind, 100, 5)
    assert not {item.origin["from"] for item in first} & {item.origin["from"] for item in more}
    assert all(item.origin["from"] in {each.question_id for each in items} for item in more)


def test_no_window_of_the_handbook_says_what_a_false_premise_takes_for_granted() -> None:
    windows = CorpusWindows(handbook_corpus())
    made = derive(CorpusRules(windows), handbook_items(), "false-premise", 100, 5)
    assert len(made) >= 3
    for item in made:
        wrong = re.match(r"Not (.+?) but ", item.answer)
        assert wrong is not None
        assert wrong[1] in item.question
        documents = {span.doc_id for span in item.spans}
        texts = " ".join(windows.corpus.by_name[doc_id].text for doc_id in documents)
        assert not re.search(rf"(?<!\w){re.escape(wrong[1])}(?!\w)", texts)


def test_held_out_questions_have_no_document_left_that_answers() -> None:
    windows = CorpusWindows(handbook_corpus())
    held = hold_out(handbook_items(), windows, 5, 1)
    by_id = {item.question_id: item for item in handbook_items()}
    assert len(held.items) == 5
    assert set(held.documents) == {by_id[item.origin["from"]].spans[0].doc_id for item in held.items}
    assert not set(held.documents) & set(held.corpus.by_name)
    assert all((item.answerable, item.kind, item.spans) == ("no", "unanswerable", ()) for item in held.items)
    marked = FreeChecks(CorpusWindows(held.corpus), ()).of(by_id[held.items[0].origin["from"]])
    assert next(result.state for result in marked if result.key == "gold") == "marked"


def test_a_question_that_other_documents_answer_is_not_held_out() -> None:
    twin = "\n\n".join([TRAVEL, DAY])
    item = _item("How many days of paid leave has every employee?")
    for text, n in ((twin, 0), (TRAVEL, 1)):
        documents = (*corpus().documents, Document("twin", text), Document("bakery", BAKERY))
        held = hold_out([item], CorpusWindows(Corpus("c", documents)), 1, 0)
        assert (len(held.items), len(held.documents)) == (n, n)


def test_a_corpus_of_few_documents_is_left_whole() -> None:
    with pytest.raises(DataError, match="has 3 documents; accepted: at least 4"):
        hold_out([_item("How many days?")], CorpusWindows(corpus()), 1, 0)
