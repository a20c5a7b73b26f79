"""Formulas of parsed pages on tables worked by hand."""

import numpy as np
import pytest

from ragtriage.metrics.experiments.parsing import (
    Cell,
    OrderedTree,
    Table,
    check_cells,
    grid,
    heading_similarity,
    labelled_cells,
    matched_similarity,
    page_similarity,
    text_similarity,
    tree_edit_distance,
)
from ragtriage.metrics.schema.scores import MetricsError


def made(*rows: str) -> Table:
    return tuple(tuple(Cell(text.strip()) for text in row.split("|")) for row in rows)


PRICES = made("item|small|large", "tea|2|3", "milk|4|5")


@pytest.mark.parametrize(
    ("gold", "parsed", "expected"),
    [
        ("abcd", "abcd", 1.0),
        ("abcd", "abed", 0.75),  # one out, one in: 2 of 8 characters
        ("one  two\n", "one two", 1.0),
        ("ab cd", "cd ab", 0.4),  # "ab" is kept: 3 out and 3 in of 10
        ("abcd", "", 0.0),
        ("", "abcd", None),
    ],
)
def test_text_similarity_counts_what_is_deleted_and_inserted(
    gold: str, parsed: str, expected: float | None
) -> None:
    assert text_similarity(gold, parsed) == pytest.approx(expected)


def test_tree_edit_distance_deletes_an_inner_node() -> None:
    """f(d(a c(b)) e) against f(c(d(a b)) e): delete c, insert c above d: 2 (Zhang and Shasha 1989)."""
    first, second = OrderedTree(np.array([0, 1, 1, 0, 4, 0])), OrderedTree(np.array([0, 1, 0, 0, 4, 0]))
    names = np.array(list("abcdef")), np.array(list("abdcef"))
    rename = (names[0][:, None] != names[1][None, :]).astype(float)
    assert tree_edit_distance(first, second, rename) == 2.0


def test_tree_edit_distance_refuses_costs_of_other_trees() -> None:
    leaf = OrderedTree(np.array([0]))
    with pytest.raises(MetricsError, match=r"\(2, 1\); accepted: \(1, 1\)"):
        tree_edit_distance(leaf, leaf, np.zeros((2, 1)))


def test_one_changed_cell_costs_its_share_of_the_letters() -> None:
    """Nodes: 1 table + 3 rows + 9 cells = 13; "milk" to "mild" costs 1/4."""
    changed = made("item|small|large", "tea|2|3", "mild|4|5")
    assert page_similarity([PRICES], [changed]) == pytest.approx(1 - 0.25 / 13)
    assert page_similarity([PRICES], [changed], structure_only=True) == 1.0


def test_a_lost_row_costs_its_nodes() -> None:
    assert page_similarity([PRICES], [PRICES[:2]]) == pytest.approx(1 - 4 / 13)


def test_a_cell_that_covers_other_columns_is_another_cell() -> None:
    wide: Table = ((Cell("a", columns=2),),)
    assert page_similarity([wide], [((Cell("a"),),)], structure_only=True) == pytest.approx(1 - 1 / 3)


def test_no_table_in_the_parsed_page_is_0_and_none_in_truth_is_not_applicable() -> None:
    assert page_similarity([PRICES], []) == 0.0
    assert page_similarity([], [PRICES]) is None
    assert matched_similarity([PRICES], []) == 0.0
    assert matched_similarity([], [PRICES]) is None


def test_tables_are_matched_before_they_are_compared() -> None:
    """In the other order both are found; as one tree, the order costs."""
    other = made("x|y", "1|2")
    assert matched_similarity([PRICES, other], [other, PRICES]) == 1.0
    assert (page_similarity([PRICES, other], [other, PRICES]) or 0) < 1
    assert matched_similarity([PRICES], [PRICES, other]) == 0.5
    assert matched_similarity([PRICES, other], [PRICES]) == 0.5


def test_a_table_too_large_to_compare_is_not_measured() -> None:
    large: Table = tuple(tuple(Cell(str(i)) for i in range(40)) for _ in range(40))
    assert page_similarity([large], [large]) is None
    assert matched_similarity([large], [large]) is None


def test_a_covering_cell_is_written_in_each_of_its_places() -> None:
    table: Table = ((Cell("r", rows=2), Cell("h", columns=2)), (Cell("1"), Cell("2")))
    assert grid(table) == [["r", "h", "h"], ["r", "1", "2"]]


def test_labelled_cells_name_row_column_and_value() -> None:
    assert labelled_cells(PRICES) == [
        *[("tea", "small", "2"), ("tea", "large", "3")],
        *[("milk", "small", "4"), ("milk", "large", "5")],
    ]


def test_a_value_beside_the_wrong_header_is_not_found() -> None:
    """Of 4 cells, "5" stands in the wrong column and one is lost: 2 found of 4 and 3."""
    parsed = made("Item|Small|Large", "tea|2|3", "milk|5|")
    check = check_cells([PRICES], [parsed])
    assert (check.gold, check.parsed, check.found) == (4, 3, 2)
    assert check.recall == 0.5
    assert check.f1 == pytest.approx(4 / 7)


def test_lost_spaces_and_signs_count_in_values_alone_where_they_change_them() -> None:
    gold = made("a|Share (in %)", "New York|8.3")
    assert check_cells([gold], [made("a|Share(in%)", "NewYork|8.3")]).recall == 1.0
    assert check_cells([gold], [made("a|Share(in%)", "NewYork|83")]).recall == 0.0


def test_the_order_of_cells_is_that_of_pairs() -> None:
    """Rows swapped: of the 6 pairs of 4 cells the 2 within a row keep their order."""
    swapped = (PRICES[0], PRICES[2], PRICES[1])
    assert check_cells([PRICES], [swapped]).order == pytest.approx(2 / 6)
    assert np.isnan(check_cells([PRICES], []).order)


def test_cells_of_a_page_without_tables_are_not_applicable() -> None:
    check = check_cells([], [PRICES])
    assert (check.recall, check.f1) == (None, None)


def test_headings_are_compared_with_the_text_under_them() -> None:
    """Nodes: page, 2 headings, 2 texts = 5; "Body" to "Bodx" costs 1/4; a lost section its 2 nodes."""
    gold = [("", ""), ("One", "Text"), ("Two", "Body")]
    assert heading_similarity(gold, [("", ""), ("One", "Text"), ("Two", "Bodx")]) == pytest.approx(
        1 - 0.25 / 5
    )
    assert heading_similarity(gold, gold[:2], structure_only=True) == pytest.approx(1 - 2 / 5)
    assert heading_similarity(gold, [("", "One Text Two Body")]) == 0.0
    assert heading_similarity([("", "text")], gold) is None
