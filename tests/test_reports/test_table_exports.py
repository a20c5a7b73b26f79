"""Any table as CSV, Parquet and Markdown."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.dashboard.wording.table_files import TABLE_FORMS, cell_text, export_table, one_line
from ragtriage.data.errors import DataError
from ragtriage.data.text.printable import printable

ROWS: list[dict[str, Any]] = [
    {"Metric": "Faithfulness", "Mean": 0.8512345, "n": 1200, "ok": True, "note": "=1+1"},
    {"Metric": "版本 | поиск", "Mean": None, "n": np.int64(3), "ok": False, "note": "[a](http://x.org)"},
    {"Metric": "@user", "Mean": float("nan"), "n": None, "ok": None, "note": "two\nlines"},
]
STARTS = ("=", "+", "-", "@", "\t", "\r")


def _read(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def test_csv_keeps_numbers_whole_and_neutralises_text() -> None:
    assert _read(export_table(ROWS, "csv")) == [
        ["Metric", "Mean", "n", "ok", "note"],
        ["Faithfulness", "0.8512345", "1200", "True", "'=1+1"],
        ["版本 | поиск", "", "3", "False", "[a](http://x.org)"],
        ["'@user", "", "", "", "two\nlines"],
    ]


@given(
    st.lists(st.dictionaries(st.text(max_size=6), st.text(max_size=12), min_size=1), min_size=1, max_size=5)
)
def test_no_cell_of_a_csv_begins_as_a_formula(rows: list[dict[str, str]]) -> None:
    cells = [cell for line in _read(export_table(rows, "csv")) for cell in line]
    assert not [cell for cell in cells if cell.startswith(STARTS)]


def test_a_negative_number_stays_a_number() -> None:
    assert _read(export_table([{"gap": -0.25}, {"gap": np.float64(-1)}], "csv"))[1:] == [["-0.25"], ["-1.0"]]


def test_parquet_keeps_types_and_gives_the_same_cells() -> None:
    table = pq.read_table(io.BytesIO(export_table(ROWS, "parquet")))
    assert table.schema.field("Mean").type == pa.float64()
    assert table.schema.field("n").type == pa.int64()
    assert table.schema.field("ok").type == pa.bool_()
    assert table.column("Mean").to_pylist() == [0.8512345, None, None]
    assert table.column("note").to_pylist()[0] == "=1+1"  # no spreadsheet reads Parquet as formulas


def test_a_parquet_column_of_several_kinds_is_text() -> None:
    table = pq.read_table(io.BytesIO(export_table([{"a": 1}, {"a": "x"}, {"b": True}], "parquet")))
    assert table.to_pylist() == [{"a": "1", "b": None}, {"a": "x", "b": None}, {"a": None, "b": True}]


def test_markdown_is_a_table_in_which_nothing_else_is_markup() -> None:
    lines = export_table(ROWS, "markdown").decode().splitlines()
    assert lines[0] == "| Metric | Mean | n | ok | note |"
    assert lines[1] == "| --- | --- | --- | --- | --- |"
    assert lines[2] == r"| Faithfulness | 0.851 | 1,200 | yes | =1+1 |"
    assert lines[3].startswith(r"| 版本 \| поиск | – | 3 | no | \[a\](http:")
    assert "//x.org" not in lines[3].replace("\u2060//", "")
    assert lines[4].endswith("two lines |")
    assert len(lines) == 5


@pytest.mark.parametrize("form", TABLE_FORMS)
def test_an_empty_table_is_refused(form: str) -> None:
    with pytest.raises(DataError, match="no rows"):
        export_table([], form)


def test_an_unknown_form_names_those_that_are_known() -> None:
    with pytest.raises(DataError, match="csv, parquet, markdown"):
        export_table(ROWS, "xls")


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (None, "–"), (float("nan"), "–"), (0, "0"), (0.0, "0.000"), (1234567, "1,234,567"), (True, "yes"),
        (0.00001, "1e-05"), (-0.00004, "-4e-05"), (0.12345, "0.123"), ("a\x07b", "a\ufffdb"),
        (np.float64(0.5), "0.500"),
    ],
)  # fmt: skip
def test_cells_for_people(given: object, written: str) -> None:
    assert cell_text(given) == written


def test_a_label_of_several_lines_becomes_one_and_keeps_its_characters() -> None:
    assert one_line("1\n80 %  a <b> & c\x07") == "1 80 % a <b> & c\ufffd"
    assert printable("a\r\nb\u202ec\ud800") == "a\nb\ufffdc\ufffd"
