"""The cells of a table of results as text: counts stay numbers, and what was not measured is a dash."""

from __future__ import annotations

from math import nan

import pytest

from ragtriage.metrics.result_table import (
    Cell,
    Change,
    Count,
    Ends,
    Number,
    Of,
    PValue,
    ResultTable,
    Share,
    ShareEnds,
    cell_text,
    ends_of,
    plain_rows,
    text_rows,
)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "–"),
        (1200, 1200),
        ("as it is", "as it is"),
        (Count(1200), "1,200"),
        (Of(3, 1200), "3 of 1,200"),
        (Number(0.5), "0.500"),
        (Number(None, 2), "–"),
        (Share(0.5), "50 %"),
        (Change(0.25, 2), "+0.25"),
        (PValue(0.0004), "< 0.001"),
        (PValue(None), "–"),
        (Ends(0.1, 0.2, 2), "[0.10, 0.20]"),
        (ShareEnds(0.1, 0.2), "10 % to 20 %"),
        (ShareEnds(nan, nan), "–"),
        (ends_of(None), "–"),
        (ends_of(Ends(0.1, 0.2), 1), "[0.1, 0.2]"),
    ],
)
def test_a_cell_as_text(cell: Cell, text: str | int) -> None:
    assert cell_text(cell) == text


def test_rows_keep_their_columns() -> None:
    table = ResultTable("Runs", ({"Run": "V1", "n": 3, "Mean": None},))
    assert text_rows(table) == [{"Run": "V1", "n": 3, "Mean": "–"}]


def test_a_table_keeps_some_of_its_columns() -> None:
    table = ResultTable("Runs", ({"Run": "V1", "n": 3, "Mean": None},), "a note")
    assert table.only("Mean", "Run") == ResultTable("Runs", ({"Mean": None, "Run": "V1"},), "a note")


def test_plain_numbers_stay_unrounded_where_a_widget_draws_them() -> None:
    table = ResultTable("Runs", ({"Mean": 0.12345, "n": 3, "p": PValue(0.5), "Seconds": None},))
    assert plain_rows(table) == [{"Mean": 0.12345, "n": 3, "p": "0.500", "Seconds": None}]
