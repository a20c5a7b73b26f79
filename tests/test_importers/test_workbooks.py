"""Sheets of Excel workbooks as rows."""

from __future__ import annotations

from typing import Any

import pytest
from places import FIXTURES
from workbooks import cells, workbook

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.containers import sheets_of
from ragtriage.data.importers.parsing.documents_in_json import SeveralListsError
from ragtriage.data.importers.parsing.input_file import InputFile, Limits

TITLED = FIXTURES / "exports2" / "excel" / "qa_with_title_row_and_three_sheets.xlsx"


def read(content: bytes, limits: Limits | None = None, **options: str) -> dict[str, list[Any]]:
    source = InputFile.from_bytes("book.xlsx", content, limits)
    errors = ValidationErrors("book.xlsx")
    runs = read_runs(source, Options(**options), errors)  # type: ignore[arg-type]  # texts alone
    records = {run.name: [record for _, record in run.records] for run in runs}
    errors.raise_if_any()
    return records


def test_a_header_below_a_title_is_found_and_totals_and_hidden_sheets_are_left_out() -> None:
    source = InputFile.from_path(TITLED)
    errors = ValidationErrors(source.name)
    [run] = read_runs(source, Options(), errors)
    records: list[tuple[int, Any]] = list(run.records)
    errors.raise_if_any()
    assert [line for line, _ in records] == list(range(4, 16))  # rows of the sheet
    answers = [record.get("answer") for _, record in records]
    assert answers[2] == "0"  # a number that is an answer stays one
    assert sum(answer is None for answer in answers) == 1
    values = [float(record["scores"]["faithfulness"]) for _, record in records if record.get("scores")]
    known = [value for value in values if value == value]
    assert (len(known), round(sum(known) / len(known), 4)) == (11, 0.7273)
    assert {
        "rows are read from 'Test 2026-01'; lists of rows that are left out: 'Passages' (10)",
        "not read above the header: 2 rows",
        "not read at the end, as totals: 1 row",
        "not read: hidden sheet 'Notes'",
    } <= set(run.all_notes)


BOTH = workbook(
    may=cells(("question", "answer"), ("q1?", "a")),
    june=cells(("question", "answer"), ("q1?", "b"), ("q2?", "c")),
    notes=cells(("what", "who"), ("x", "y")),
)


def test_of_several_sheets_with_questions_one_is_asked_for() -> None:
    with pytest.raises(SeveralListsError, match=r"'may' \(1\), 'june' \(2\)"):
        read(BOTH)
    assert [record["answer"] for record in read(BOTH, rows="june")["book"]] == ["b", "c"]
    with pytest.raises(InputError, match=r"no list of rows named 'july'; accepted: 'may' \(1\), 'june'"):
        read(BOTH, rows="july")


@pytest.mark.parametrize(("total", "left"), [("1 of 2", 2), ("50 %", 2), ("ask the desk", 3)])
def test_a_total_may_be_written_as_a_text(total: str, left: int) -> None:
    rows = (("No", "question", "answer"), ("1", "q?", "a"), ("2", "r?", "b"), ("Total", "", total))
    (table,) = sheets_of(InputFile.from_bytes("book.xlsx", workbook(may=cells(*rows)))).values()
    assert len(table.rows) == left


def test_sheets_that_are_read_are_not_said_to_be_left_out() -> None:
    source = InputFile.from_bytes("book.xlsx", BOTH)
    for run in read_runs(source, Options(rows="*"), ValidationErrors("book.xlsx")):
        assert run.notes == (
            f"rows are read from {run.name!r}; lists of rows that are left out: 'notes' (1)",
        )


def test_every_sheet_with_questions_is_a_run() -> None:
    runs = read(BOTH, rows="*")
    assert {name: len(records) for name, records in runs.items()} == {"may": 1, "june": 2}
    assert list(read(BOTH, rows="*", name="bot")) == ["bot may", "bot june"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (TITLED.read_bytes()[:3000], "a zip archive"),
        (workbook(a="<row><c"), "an Excel workbook that cannot be read"),
        (workbook(a=""), "a workbook without a table"),
        (workbook(a=cells(("name", "age"), ("x", "3"))), "no question column found"),
        (
            workbook(
                a=cells(("question",), ("q?",)) + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
            ),
            "reaches to column 16,384 and row 1,048,576",
        ),
    ],
)
def test_a_workbook_that_cannot_be_read_is_refused(content: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read(content)


def test_a_workbook_that_unpacks_to_too_much_is_refused() -> None:
    content = workbook(a=cells(*[("question", "answer"), *[("q?", "a" * 1000)] * 50]))
    with pytest.raises(InputError, match="unpacks to more than 20,000 bytes"):
        read(content, Limits(document_bytes=20_000))
