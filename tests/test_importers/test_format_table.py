"""Every row of the table that benchmarks/format_table.py prints: what is read is what is expected."""

from __future__ import annotations

import pytest
from format_table import EXPORTS, FILES, Expected, differences


@pytest.mark.parametrize("expected", FILES, ids=lambda expected: " + ".join(expected.files))
def test_a_file_is_read_as_expected(expected: Expected) -> None:
    assert differences(EXPORTS, expected) == []


def test_a_difference_is_found() -> None:
    wrong = Expected(("ragas/evaluate.csv",), (11,), {"faithfulness": (0.5, 12, 0)}, contexts=44)
    found = differences(EXPORTS, wrong)
    assert [text.split()[0] for text in found] == ["samples", "45", "faithfulness"]
