"""Best-subspan exact match: the normalisation of SQuAD, and what it must not count."""

from __future__ import annotations

import pytest

from ragtriage.data.text.right_by_text import holds_answer, normalised


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The  Eiffel Tower!", "eiffel tower"),
        ("a.b-c", "abc"),
        ("an apple, a day", "apple day"),
        ("«Мир» — это “покой”.", "мир это покой"),
        ("北京。是首都！", "北京是首都"),
        ("theatre", "theatre"),  # no article inside a word
        ("1,000 km²", "1000 km²"),
    ],
)
def test_normalisation(text: str, plain: str) -> None:
    assert normalised(text) == plain


def test_an_accepted_answer_is_found_inside_the_answer() -> None:
    assert holds_answer("It was Wilhelm Conrad Röntgen, in 1901.", ["Wilhelm Conrad Röntgen"])
    assert holds_answer("Röntgen (1901)", ["nobody", "RÖNTGEN"])
    assert not holds_answer("It was Curie.", ["Wilhelm Conrad Röntgen"])


@pytest.mark.parametrize("empty", ["", "the", "...", " "])
def test_an_accepted_answer_without_words_never_counts(empty: str) -> None:
    assert not holds_answer("anything", [empty])
