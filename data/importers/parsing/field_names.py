"""Common names for the fields of a sample, in tables of other tools."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

from ragtriage.data.errors import InputError, ValidationError
from ragtriage.data.importers.parsing.metric_names import plain_name
from ragtriage.data.store.sample_schema import FIELDS

MAP_QUESTION = "`--map question=COLUMN`"


class NoQuestionError(InputError):
    """A table is refused because none of its columns reads as the question; the user may name one.

    Attributes:
        columns: the columns of the table.
    """

    def __init__(self, error: ValidationError, columns: Sequence[str]) -> None:
        super().__init__([error])
        self.columns = tuple(columns)


@cache
def synonyms() -> dict[str, list[str]]:
    """Return field -> the plain names that are read as it, the most certain first."""
    text = Path(__file__).with_name("columns.json").read_text(encoding="utf-8")
    names: dict[str, list[str]] = json.loads(text)
    return {**names, **{field: [field] for field in FIELDS if field not in names}}


def guessed_fields(columns: Iterable[str]) -> set[str]:
    """Return the fields that these column names are common names for."""
    plain = {plain_name(column) for column in columns}
    return {
        field
        for field, names in synonyms().items()
        if any(name in plain and not is_option(name, plain) for name in names)
    }


def is_option(name: str, plain: Collection[str]) -> bool:
    """Return whether a column is an option of a multiple choice: `a` beside `b` is no answer."""
    return name == "a" and "b" in plain
