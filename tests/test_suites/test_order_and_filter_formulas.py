"""Order, filters, distances and memory on tables worked by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.suites.items import (
    Constraint,
    agreement,
    empty_result,
    gap_label,
    haversine_km,
    holds,
    kendall_tau_b,
    leak_of,
    ordering_of,
    violations,
)


@pytest.mark.parametrize(
    ("keys", "tau"),
    [
        ([1, 2, 3, 4], 1.0),
        ([4, 3, 2, 1], -1.0),
        ([1, 3, 2, 4], 4 / 6),  # 5 pairs in order, 1 not, of 6
        ([1, 1, 2], 2 / math.sqrt(3 * 2)),  # 2 in order, a tie: sqrt(3 (3 - 1))
        ([2, 1, 1, 3], (3 - 2) / math.sqrt(6 * 5)),
    ],
)
def test_kendall_tau_counts_pairs_and_corrects_for_ties(keys: list[float], tau: float) -> None:
    assert ordering_of(keys).tau == pytest.approx(tau)


def test_tau_of_a_table_with_ties_on_both_sides() -> None:
    """x = 12 2 1 12 2, y = 1 4 7 1 0: concordant 2, discordant 6, ties in x 2, in y 1, of 10 pairs."""
    x, y = np.array([12.0, 2, 1, 12, 2]), np.array([1.0, 4, 7, 1, 0])
    assert kendall_tau_b(x, y) == pytest.approx((2 - 6) / math.sqrt((10 - 2) * (10 - 1)))


def test_tau_is_undefined_where_nothing_can_be_ordered() -> None:
    assert all(math.isnan(ordering_of(keys).tau) for keys in ([], [1], [2, 2, 2]))
    with pytest.raises(MetricsError, match="not finite"):
        kendall_tau_b(np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    with pytest.raises(MetricsError, match="one shape"):
        kendall_tau_b(np.array([1.0]), np.array([1.0, 2.0]))


def test_the_first_inversion_is_the_first_item_that_comes_too_late() -> None:
    assert ordering_of([5, 4, 4, 3], descending=True).in_order
    assert ordering_of([5, 3, 4, 4], descending=True).first_inversion == 3
    assert ordering_of([1, 2, 2, 1]).first_inversion == 4
    assert ordering_of([]).in_order


def test_extracted_constraints_have_precision_and_recall() -> None:
    both = agreement({"area", "price", "stars"}, {"area", "price", "parking", "food"})
    assert (both.precision, both.recall, both.exact) == (2 / 3, 2 / 4, False)
    assert agreement({"area"}, {"area"}).exact
    assert math.isnan(agreement(set(), {"area"}).precision)
    assert math.isnan(agreement({"area"}, set()).recall)


def test_distance_is_along_the_great_circle() -> None:
    """A degree of latitude, and of longitude on the equator, is 2 pi R / 360 = 111.195 km."""
    degree = 2 * math.pi * 6371.0088 / 360
    assert haversine_km((0, 0), (1, 0)) == pytest.approx(degree)
    assert haversine_km((0, 0), (0, 1)) == pytest.approx(degree)
    assert haversine_km((60, 0), (60, 1)) == pytest.approx(degree / 2, rel=1e-4)
    assert haversine_km((0, 0), (0, 180)) == pytest.approx(math.pi * 6371.0088)


ITEM: dict[str, Any] = {
    "area": " North ",
    "stars": "4",
    "food": ["thai", "lao"],
    "location": [52.2157, 0.1335],
    "free": True,
}
CENTRE = (52.2053, 0.1218)


@pytest.mark.parametrize(
    ("constraint", "held"),
    [
        (Constraint("area", "=", "north"), True),
        (Constraint("area", "=", "south"), False),
        (Constraint("area", "in", ("south", "NORTH")), True),
        (Constraint("stars", "=", 4), True),
        (Constraint("stars", ">=", 4.5), False),
        (Constraint("stars", "<=", "4"), True),
        (Constraint("area", ">=", 1), False),
        (Constraint("food", "=", "Lao"), True),
        (Constraint("parking", "=", "yes"), False),
        (Constraint("free", "=", True), True),
        (Constraint("location", "near", CENTRE, 2), True),  # 1.40 km
        (Constraint("location", "near", CENTRE, 1), False),
        (Constraint("area", "near", CENTRE, 1), False),
    ],
)
def test_an_item_satisfies_a_constraint(constraint: Constraint, held: bool) -> None:
    assert holds(constraint, ITEM) is held


def test_violations_are_counted_for_each_constraint() -> None:
    north, stars = Constraint("area", "=", "north"), Constraint("stars", ">=", 4)
    items: list[dict[str, Any]] = [ITEM, {"area": "south", "stars": 3}, {"area": "north"}]
    assert violations(items, [north, stars]) == {north: 1, stars: 2}
    assert [each.text for each in (north, stars, Constraint("location", "near", CENTRE, 2))] == [
        "area = north",
        "stars >= 4",
        "location within 2 km",
    ]


def test_an_empty_result_has_three_ways_to_go() -> None:
    assert empty_result(0, 0) == "right empty"
    assert empty_result(0, 1) == "fabricated"
    assert empty_result(3, 0) == "false empty"
    assert empty_result(3, 2) == "not empty"


def test_ages_are_grouped_by_days() -> None:
    assert [gap_label(days) for days in (0, 1, 2, 3, 4, 7, 8, 31)] == [
        "same day",
        "1 day",
        "2 to 3 days",
        "2 to 3 days",
        "4 to 7 days",
        "4 to 7 days",
        "8 to 30 days",
        "over 30 days",
    ]


def test_a_leak_is_a_document_of_another_account() -> None:
    leak = leak_of("ann", ["ann", None, "bob", "cyd", "ann"])
    assert (leak.n_documents, leak.n_foreign, leak.first_rank) == (4, 2, 3)
    assert [leak.at(k) for k in (1, 2, 3)] == [False, False, True]
    assert leak_of("ann", [None, "ann"]).first_rank is None
