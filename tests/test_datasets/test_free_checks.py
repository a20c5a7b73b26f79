"""The free checks of items: on the handbook's questions, on made ones, and against a plain computation."""

from dataclasses import replace
from typing import Any

import pytest
from handbook_items import handbook_corpus, handbook_items
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.checks import CHECKS, CheckResult, FreeChecks, longest_run
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.windows import CorpusWindows

PAGE = "# Badges\n\nNew badges are processed on Tuesdays. A lost badge costs 25 dollars to replace.\n"
CORPUS = Corpus("pages", (Document("badges", PAGE), Document("cars", "Cars are parked in row 7.")))
GOLD = GoldSpan("badges", 10, 49, PAGE[10:49])
ITEM = Item("q1", "On which day are new badges handled?", "On Tuesdays.", "single", (GOLD,))


def results(item: Item, *others: Item) -> dict[str, CheckResult]:
    checks = FreeChecks(CorpusWindows(CORPUS), [item, *others])
    return {result.key: result for result in checks.of(item)}


def test_the_handbook_has_the_marks_that_a_reader_would_look_at() -> None:
    checks = FreeChecks(CorpusWindows(handbook_corpus()), handbook_items())
    marked: dict[str, list[str]] = {key: [] for key in CHECKS}
    for item in handbook_items():
        for result in checks.of(item):
            if result.state == "marked":
                marked[result.key].append(item.question_id)
    elsewhere = marked.pop("elsewhere")
    assert marked.pop("round_trip") == ["q47", "q48"]
    assert not any(marked.values()), marked
    # "when does my comp time balance expire" is answered by travel comp time on the same page too
    assert "q43" in elsewhere
    assert "q37" not in elsewhere  # the other place has the words of the question, and nothing of the answer
    assert len(elsewhere) == 3


def test_a_good_item_has_no_mark_and_every_check_answers_once() -> None:
    assert [result for result in results(ITEM).values() if result.state == "marked"] == []
    assert list(results(ITEM)) == list(CHECKS)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"spans": (replace(GOLD, start=11, end=50),)}, "gold"),
        ({"spans": (replace(GOLD, doc_id="bikes"),)}, "gold"),
        ({"spans": ()}, "gold"),
        ({"question": "Badges when?"}, "form"),
        ({"question": "When are badges processed? And who does it?"}, "form"),
        (
            {"question": "New badges are processed on Tuesdays, and is that not every week of the month?"},
            "leak",
        ),
        ({"answer": "It costs 30 dollars."}, "grounded"),
        ({"question": "What does this passage say of new badges?"}, "alone"),
        ({"question": "And when are they processed?"}, "alone"),
    ],
)
def test_each_fault_is_marked_by_its_own_check(changes: dict[str, Any], key: str) -> None:
    assert results(replace(ITEM, **changes))[key].state == "marked"


def test_a_copied_question_is_marked_with_the_words_it_copies() -> None:
    page = "The office of the registrar opens at nine in the morning on every working day."
    corpus = Corpus("one", (Document("page", page),))
    item = Item("q", "When is it that the office of the registrar opens at nine in the morning?", "Daily.")
    item = replace(item, spans=(GoldSpan("page", 0, len(page), page),))
    result = {each.key: each for each in FreeChecks(CorpusWindows(corpus), [item]).of(item)}["copied"]
    assert (result.state, result.value) == ("marked", "11 words")
    assert result.detail in page.lower()


def test_a_twin_is_one_of_the_same_words_but_two_questions_of_one_form_are_not() -> None:
    twin = replace(ITEM, question_id="q2", question="On which day are the new badges handled?")
    assert results(ITEM, twin)["twin"].other == "q2"
    assert results(ITEM, twin)["twin"].state == "marked"
    paris = Item("a", "What is the population of Paris in the newest census?", "2 million")
    rome = Item("b", "What is the population of Rome in the newest census?", "2 million")
    assert results(paris, rome)["twin"].state == "passed"


def test_an_answer_elsewhere_is_shown_with_its_sentence() -> None:
    filler = " ".join(f"word{number}" for number in range(130))
    text = (
        f"Comp time expires one year after it is earned. {filler} Travel comp time expires one year after it."
    )
    corpus = Corpus("leave", (Document("leave", text),))
    end = text.index(".") + 1
    item = Item("q", "When does comp time expire?", "It expires one year after it is earned.", "single")
    item = replace(item, spans=(GoldSpan("leave", 0, end, text[:end]),))
    result = {each.key: each for each in FreeChecks(CorpusWindows(corpus), [item]).of(item)}["elsewhere"]
    assert result.state == "marked"
    assert result.place is not None
    assert text[result.place.start : result.place.end] == result.place.quote
    assert "Travel comp time" in result.place.quote


def test_a_place_that_only_repeats_the_question_does_not_answer_it() -> None:
    filler = " ".join(f"word{number}" for number in range(130))
    text = f"The laundry rule for travel names fourteen nights. {filler} The laundry rule for travel is new."
    corpus = Corpus("travel", (Document("travel", text),))
    end = text.index(".") + 1
    item = Item("q", "What does the laundry rule for travel name?", "The laundry rule for travel: fourteen.")
    item = replace(item, spans=(GoldSpan("travel", 0, end, text[:end]),))
    result = {each.key: each for each in FreeChecks(CorpusWindows(corpus), [item]).of(item)}["elsewhere"]
    assert result.state == "passed"


def test_an_unanswerable_item_is_not_asked_for_what_it_cannot_have() -> None:
    item = Item("q", "Does the company pay for bicycles?", "The pages do not say.", answerable="no")
    found = results(item)
    assert found["gold"].state == "passed"
    assert {found[key].state for key in ("copied", "leak", "grounded", "round_trip", "elsewhere")} == {
        "not checked"
    }


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_the_longest_run_is_that_of_a_plain_search(words: list[str], text: list[str]) -> None:
    run = longest_run(words, text)
    joined = " ".join(["", *text, ""])
    lengths = [
        end - start
        for start in range(len(words))
        for end in range(start + 1, len(words) + 1)
        if " ".join(["", *words[start:end], ""]) in joined
    ]
    assert len(run) == max(lengths, default=0)
    assert not run or " ".join(["", *run, ""]) in joined


def test_a_copy_by_rules_is_no_twin_of_what_it_was_made_of() -> None:
    copy = replace(ITEM, question_id="q1-keyword", question="new badges handled day", origin={"from": "q1"})
    other = replace(ITEM, question_id="q1-misspelt", question="new bagdes handled day", origin={"from": "q1"})
    for item in (ITEM, copy, other):
        checks = FreeChecks(CorpusWindows(CORPUS), [ITEM, copy, other])
        assert {each.key: each for each in checks.of(item)}["twin"].state == "passed"


def test_the_other_place_is_a_whole_sentence_over_line_breaks_and_window_borders() -> None:
    filler = " ".join(f"word{number}" for number in range(113))
    other = "On the day of travel you get 75 percent of\nthe meals allowance of the city that you fly to."
    text = f"You get 75 percent of the meals allowance. {filler}. {other} More."
    corpus = Corpus("pay", (Document("travel", text),))
    gold = GoldSpan("travel", 0, 42, text[:42])
    item = Item("q", "How much of the meals allowance do I get on the day of travel?", "75 percent of it.")
    checks = FreeChecks(CorpusWindows(corpus), [item])
    place = {each.key: each for each in checks.of(replace(item, spans=(gold,)))}["elsewhere"].place
    assert place is not None
    assert place.quote == other == text[place.start : place.end]
