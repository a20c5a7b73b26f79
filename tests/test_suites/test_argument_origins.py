"""Where the values of arguments come from: a reformatted value is found, the rest is told by kind."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.metrics.suites.grounding import ArgumentValue, Reading, argument_values, value_kind
from ragtriage.metrics.suites.items import day_of, days_in, is_near


@pytest.mark.parametrize(
    ("path", "value", "kind"),
    [
        ("payment_id", "credit_card_7334", "identifier"),
        ("email", "mia.li3818@example.com", "identifier"),
        ("flight", "HAT136", "identifier"),
        ("order", "#W2378156", "identifier"),
        ("user_id", 48213, "identifier"),
        ("user_id", "mia", "identifier"),
        ("phone", "+1 555 010 9999", "identifier"),
        ("date", "2024-05-20", "date"),
        ("passengers.0.dob", "1990-04-05", "date"),
        ("flights.1.date", "May 24, 2024", "date"),
        ("origin", "JFK", "code"),
        ("flight_type", "one_way", "text"),
        ("time", "10am", "text"),
        ("amount", 250, "number"),
        ("amount", "1,250.50", "number"),
        ("expression", "152 + 103", None),
        ("insurance", True, None),
        ("note", None, None),
        ("query", "the cheapest flight from New York to Seattle on Monday", None),
        ("x", "no", None),
    ],
)
def test_kinds_of_values(path: str, value: object, kind: str | None) -> None:
    assert value_kind(path, value) == kind


READ = (
    "I am mia_li_3668, born on April 5, 1990. Fly from JFK to Seattle on May 20th, one way, for $1,250.50, "
    "three bags, 15% off. My card is 4111 1111 1111 1111 (credit card 7334), order W-2378 156."
)


@pytest.mark.parametrize(
    ("path", "value", "held"),
    [
        ("user_id", "mia_li_3668", True),
        ("user_id", "MIA_LI_3668", True),
        ("user_id", "mia_li_366", False),  # a part of another identifier is none
        ("date", "2024-05-20", True),  # the year was not said
        ("date", "2024-05-21", False),
        ("dob", "1990-04-05", True),
        ("dob", "1991-04-05", False),
        ("origin", "JFK", True),
        ("destination", "SEA", True),  # within Seattle
        ("destination", "LAX", False),
        ("flight_type", "one_way", True),
        ("flight_type", "round_trip", False),
        ("price", 1250.5, True),
        ("price", 1250, False),
        ("bags", 3, True),
        ("discount", 0.15, True),
        ("card_number", "4111111111111111", True),
        ("order_id", "W2378156", True),
        ("payment_id", "credit_card_7334", False),  # put together from what was said
    ],
)
def test_values_are_found_in_another_form(path: str, value: object, held: bool) -> None:
    kind = value_kind(path, value)
    assert kind is not None
    assert Reading([READ]).holds(ArgumentValue(path, value, kind)) is held


def test_values_that_the_schema_names_are_found() -> None:
    value = ArgumentValue("cabin", "basic_economy", "text")
    assert not Reading(["hello"]).holds(value)
    assert Reading(["hello"]).holds(value, ["business", "basic_economy"])


def test_values_of_nested_arguments_have_their_path() -> None:
    arguments: dict[str, Any] = {
        "flights": [{"flight_number": "HAT136", "date": "2024-05-20"}],
        "insurance": False,
    }
    assert [(value.path, value.kind) for value in argument_values(arguments)] == [
        ("flights.0.flight_number", "identifier"),
        ("flights.0.date", "date"),
    ]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-05-20", (2024, 5, 20)),
        ("2024-05-20T10:30:00Z", (2024, 5, 20)),
        ("5/20/2024", (2024, 5, 20)),
        ("20.05.2024", (2024, 5, 20)),
        ("20.05.85", (1985, 5, 20)),
        ("May 20th", (None, 5, 20)),
        ("20 Sept. 2024", (2024, 9, 20)),
        ("2024年5月20日", (2024, 5, 20)),
        ("2024-13-40", None),
        ("May", None),
        ("order 5", None),
    ],
)
def test_a_date_is_read_in_many_forms(text: str, day: tuple[int | None, int, int] | None) -> None:
    assert day_of(text) == day


def test_a_day_written_in_two_ways_is_read_as_both() -> None:
    assert set(days_in("on 5/4/2024")) == {(2024, 5, 4), (2024, 4, 5)}
    assert is_near((2024, 5, 4), {(None, 5, 4)})
    assert not is_near((2024, 5, 4), {(2023, 5, 4)})


def test_hostile_texts_are_read_in_linear_steps() -> None:
    reading = Reading(["1" * 50_000 + ",111" * 20_000 + "a-" * 50_000 + "May " * 20_000])
    assert not reading.holds(ArgumentValue("id", "zz99", "identifier"))
    assert not reading.holds(ArgumentValue("date", "2024-05-20", "date"))
    assert not reading.holds(ArgumentValue("n", 7.25, "number"))
