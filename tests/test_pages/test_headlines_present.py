"""What the Present page and the slides of a deck conclude, in every state."""

from __future__ import annotations

import pytest

from ragtriage.dashboard.headlines.deck import (
    change_title,
    example_title,
    next_title,
    present_headline,
    users_title,
    why_title,
)
from ragtriage.dashboard.headlines.headline import State

LONG = "a very long name of a run that nobody would ever want to read on a slide"


@pytest.mark.parametrize(
    ("state", "statement", "shown"),
    [
        ("good", "5 slides are ready", "good"),
        ("bad", "5 slides are ready: do not ship", "bad"),
        ("cannot tell", "5 slides are ready: cannot tell yet", "cannot tell"),
        ("doubted", "5 slides are ready: cannot tell yet", "doubted"),
        ("not measured", "5 slides are ready, without a verdict", "not measured"),
        (None, "5 slides are ready, without a verdict", "not measured"),
    ],
)
def test_the_page_says_what_the_deck_says(state: State | None, statement: str, shown: str) -> None:
    headline = present_headline(5, state, "2 gates fail", ("One example",))
    assert (headline.statement, headline.state) == (statement, shown)
    assert headline.detail == "2 gates fail. Not measured, so without a slide: One example."


def test_without_a_deck_the_page_says_what_to_do() -> None:
    assert present_headline(0, None).state == "empty"
    assert "Choose an audience" in present_headline(0, None).detail
    assert present_headline(0, None, problem="gone").statement == "The run of this deck is gone"
    assert present_headline(0, None, problem="unreadable").statement == "This deck cannot be read"
    assert present_headline(0, None, problem="emptied").statement == "This deck has no slides"
    assert present_headline(1, "good").statement == "1 slide is ready"


@pytest.mark.parametrize(
    ("title", "said"),
    [
        (
            why_title(29, 30, "wrongly refused", 17),
            "29 of 30 answers are bad, most often wrongly refused (17)",
        ),
        (why_title(3, 30, "unfaithful", 3), "3 of 30 answers are bad, all unfaithful"),
        (why_title(3, 30), "3 of 30 answers are bad"),
        (why_title(0, 48), "All 48 measured answers are good"),
        (users_title(3, 48, "people who ask", 0, ""), "3 of 48 people who ask get no good answer"),
        (users_title(1, 48, "people who ask", 0, ""), "1 of 48 people who ask gets no good answer"),
        (
            users_title(3, 48, "people who ask", 5, "V1"),
            "3 of 48 people who ask get no good answer, 5 with V1",
        ),
        (
            users_title(3, 48, "people who ask", 3, "V1"),
            "3 of 48 people who ask get no good answer, as many as with V1",
        ),
        (users_title(0, 48, "people who ask", 0, ""), "All 48 people who ask get a good answer"),
        (users_title(3, 90, "answers", 0, ""), "3 of 90 answers are faulty"),
        (users_title(0, 90, "answers", 0, ""), "All 90 answers are good"),
        (
            change_title([], ["context precision"], "basic"),
            "One headline metric got worse beyond chance: context precision",
        ),
        (change_title(["recall@5"], [], "basic"), "One headline metric improved beyond chance: recall@5"),
        (change_title(["a", "b"], [], "basic"), "2 headline metrics improved beyond chance, none got worse"),
        (change_title([], ["a", "b"], "basic"), "2 headline metrics got worse beyond chance, none improved"),
        (change_title(["a"], ["b", "c"], "basic"), "1 headline metric improved beyond chance, 2 got worse"),
        (change_title([], [], "basic"), "No headline metric changed beyond chance since basic"),
    ],
)
def test_titles_are_made_from_the_numbers(title: str, said: str) -> None:
    assert title == said


@pytest.mark.parametrize(
    ("refused", "passes", "base_passes", "same", "said"),
    [
        (True, False, True, "the same 10 documents", "colbert gives every question the same 10 documents"),
        (True, False, True, "", "colbert refuses what basic answers"),
        (False, False, True, "", "colbert gets wrong what basic got right"),
        (False, True, False, "", "colbert answers what basic got wrong"),
        (False, True, None, "", "colbert: a good answer"),
        (False, False, None, "", "One bad case of colbert: unfaithful"),
        (False, False, False, "", "One bad case of colbert: unfaithful"),
    ],
)
def test_the_example_says_what_it_shows(
    refused: bool, passes: bool, base_passes: bool | None, same: str, said: str
) -> None:
    title = example_title(
        "colbert",
        "basic",
        refused=refused,
        passes=passes,
        base_passes=base_passes,
        stage="Unfaithful",
        same=same,
    )
    assert title == said


@pytest.mark.parametrize(
    ("state", "first", "said"),
    [
        ("doubted", "Check the retriever", "Next: check the retriever, then judge again"),
        ("bad", "Repair retrieval: 5 not retrieved", "Next: repair retrieval, then judge again"),
        ("cannot tell", "Ask more questions", "Next: ask more questions, then decide"),
        (
            "not measured",
            "Measure what the gates need",
            "Next: measure what the gates need, then judge again",
        ),
        ("bad", "", "Nothing has to be repaired first"),
        ("good", "Repair retrieval: 5 not retrieved", "After the release: repair retrieval"),
    ],
)
def test_the_last_slide_says_what_comes_next(state: State, first: str, said: str) -> None:
    assert next_title(state, first) == said


def test_long_names_leave_titles_short() -> None:
    titles = [
        change_title([], [], LONG),
        users_title(1_000, 1_000, "people who ask", 1_000, LONG),
        example_title(LONG, LONG, refused=False, passes=False, base_passes=True, stage="", same=""),
    ]
    assert all(len(title) <= 96 for title in titles)
