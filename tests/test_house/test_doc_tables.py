"""The tables of the docs that are generated stand as the code says, and are renewed between their marks."""

from __future__ import annotations

import pytest
from doc_tables import TABLES, renewed
from places import DOCS


def test_every_generated_table_is_what_the_code_says() -> None:
    old = []
    for name, (mark, table) in TABLES.items():
        page = (DOCS / name).read_text(encoding="utf-8")
        if renewed(page, mark, table()) != page:
            old.append(name)
    assert old == [], "renew them: python docs/doc_tables.py"


@pytest.mark.parametrize(
    "marks", [("<!-- t -->", "<!-- /t -->"), ("<!-- t: begin -->", "<!-- t: end -->")], ids=["short", "long"]
)
def test_a_table_is_renewed_between_its_marks_alone(marks: tuple[str, str]) -> None:
    page = "a\n{}\n| %s |\n{}\nb\n".format(*marks)
    assert renewed(page % "old", "t", "| new |\n") == page % "new"


def test_a_page_without_the_marks_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match="no marks 't'"):
        renewed("a\n<!-- t -->\nnever closed\n", "t", "| new |")
