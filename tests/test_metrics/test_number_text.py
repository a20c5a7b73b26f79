"""Numbers as text: one module writes them, and none says more than it knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import REPOSITORY

from ragtriage.metrics.number_text import (
    NOT_MEASURED,
    count,
    interval_text,
    number,
    percent,
    points,
    signed,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (-4.34e-19, "0.00"),
        (0.666, "0.67"),
        (12345.6, "12,346"),
        (None, NOT_MEASURED),
        (np.nan, NOT_MEASURED),
    ],
)
def test_numbers_are_rounded_and_missing_ones_are_a_dash(value: float | None, text: str) -> None:
    assert number(value) == text


def test_differences_carry_a_sign_and_counts_their_plural() -> None:
    assert [signed(value) for value in (0.123, -0.123, -0.0001, None)] == [
        "+0.12",
        "−0.12",
        "0.00",
        NOT_MEASURED,
    ]
    assert interval_text(-0.5, -0.001) == "[\u22120.50, 0.00]"  # one minus everywhere, no hyphen
    assert (number(-12345.6), percent(-0.5)) == ("\u221212,346", "\u221250 %")
    assert (percent(0.666), percent(None), interval_text(0.1, None)) == ("67 %", NOT_MEASURED, NOT_MEASURED)
    assert (count(1, "case"), count(2000, "case"), count(2, "query")) == (
        "1 case",
        "2,000 cases",
        "2 queries",
    )


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"), (1.0, "100 %"), (0.5, "50 %"), (599 / 600, "99.8 %"), (1 / 600, "0.2 %"),
        (0.005, "0.5 %"), (0.995, "99.5 %"), (9_999 / 10_000, "99.99 %"), (1e-7, "< 0.001 %"),
        (1 - 1e-7, "> 99.999 %"), (np.nan, NOT_MEASURED),
    ],
)  # fmt: skip
def test_only_all_reads_100_percent_and_only_none_0(share: float, text: str) -> None:
    assert percent(share) == text


@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.integers(0, 2))
def test_a_part_never_reads_as_all_or_none(part_of: tuple[int, int], digits: int) -> None:
    part, n = part_of
    text = percent(part / n, digits)
    assert (part == n) == text.startswith("100")
    assert (part == 0) == (not text.strip("0. %"))


def test_points_are_counted() -> None:
    assert [points(value) for value in (0.01, -0.01, 0.05, 0.0, None)] == [
        *("+1 point", "\u22121 point", "+5 points", "0 points"),
        NOT_MEASURED,
    ]


def _percentages(path: Path) -> Iterator[int]:
    """List the lines of a file that write a percentage: `{x:.0%}`, or `{100 * x:.0f} %`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, after in zip(node.values, [*node.values[1:], None], strict=True):
            if not isinstance(value, ast.FormattedValue):
                continue
            spec = ast.unparse(value.format_spec).strip("f'\"") if value.format_spec else ""
            sign = isinstance(after, ast.Constant) and str(after.value).startswith((" %", "%"))
            times_100 = any(
                isinstance(part, ast.Constant) and part.value == 100 for part in ast.walk(value.value)
            )
            if spec.endswith("%") or (sign and times_100):
                yield node.lineno


def test_percentages_are_written_in_one_module() -> None:
    files = [
        path for layer in ("metrics", "data", "dashboard") for path in (REPOSITORY / layer).rglob("*.py")
    ]
    strays = {
        path.relative_to(REPOSITORY).as_posix(): lines
        for path in files
        if path.name != "number_text.py" and (lines := list(_percentages(path)))
    }
    assert strays == {}
