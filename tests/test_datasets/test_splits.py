"""Dev and test by hash, and examples of a prompt that give questions away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.split import DEV, leaks, part_of, with_parts


def test_the_share_is_kept_and_parts_do_not_depend_on_the_other_questions() -> None:
    items = [Item(f"q{at}", f"Question {at}?") for at in range(4_000)]
    dev = [part_of(item, 0.25) == DEV for item in items]
    assert abs(sum(dev) / len(dev) - 0.25) < 0.02
    assert dev[100:200] == [item.tags["split"] == DEV for item in with_parts(items[100:200], 0.25)]


@given(st.text(min_size=1), st.floats(0.01, 0.98), st.floats(0.001, 0.01))
def test_a_larger_share_keeps_every_dev_question(name: str, share: float, more: float) -> None:
    item = Item(name, "Which?")
    assert part_of(item, share) != DEV or part_of(item, share + more) == DEV


def test_a_question_made_of_another_is_in_its_part() -> None:
    for at in range(50):
        first = Item(f"q{at}", "Where is it?")
        copy = Item(f"q{at}-misspelt", "Wehre is it?", origin={"by": "rules", "from": f"q{at}"})
        assert part_of(first, 0.5) == part_of(copy, 0.5)


def test_without_a_share_no_tag_is_written() -> None:
    assert with_parts([Item("q", "Where?")], None)[0].tags == {}


def test_leaks_are_found_as_they_stand_folded_and_by_their_words() -> None:
    items = [
        Item("a", "How many days of leave does every employee have?"),
        Item("b", "May I take a taxi?"),
        Item("c", "Who keeps the spare keys on the third floor of the house?"),
        Item("d", "Which class do trains have?"),
    ]
    examples = [
        "How many days of leave does every employee have?",
        "may i take a TAXI",
        "Who keeps the spare keys on the third floor of this house, please?",
        "What does a hotel cost?",
    ]
    assert [(leak.item.question_id, leak.how) for leak in leaks(items, examples)] == [
        ("a", "exact"),
        ("b", "folded"),
        ("c", "near"),
    ]
