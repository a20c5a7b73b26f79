"""Settings by their path, and the ranks that marks name."""

from __future__ import annotations

import pytest

from ragtriage.data.cases.cohort import parse_rank
from ragtriage.data.store.workspace import flat_settings, setting_text


def test_settings_are_named_by_their_path() -> None:
    config = {"retriever": {"name": "bm25", "more": {}}, "sizes": [1, 2], "reported_means": {"recall": 1.0}}
    assert flat_settings(config) == {"retriever.name": "bm25", "retriever.more": {}, "sizes": [1, 2]}


@pytest.mark.parametrize(("value", "text"), [("é", "é"), (["é", 1], '["é", 1]'), (None, "null"), (5, "5")])
def test_values_are_written_as_text(value: object, text: str) -> None:
    assert setting_text(value) == text


@pytest.mark.parametrize("value", ["0", "-1", "x", "", "1000001", "²"])
def test_a_mark_names_a_rank(value: str) -> None:
    assert parse_rank("7") == 7
    with pytest.raises(ValueError, match="a rank of 1 or more"):
        parse_rank(value)
