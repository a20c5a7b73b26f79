"""Common names for the fields of a sample, in tables of other tools."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from data.importers.parsing.metric_names import plain_name
from data.store.sample_schema import FIELDS

__all__ = ["guessed_fields", "synonyms"]


@cache
def synonyms() -> dict[str, list[str]]:
    """Return field -> the plain names that are read as it, the most certain first."""
    text = Path(__file__).with_name("columns.json").read_text(encoding="utf-8")
    names: dict[str, list[str]] = json.loads(text)
    return {**names, **{field: [field] for field in FIELDS if field not in names}}


def guessed_fields(columns: Iterable[str]) -> set[str]:
    """Return the fields that these column names are common names for."""
    plain = {plain_name(column) for column in columns}
    return {field for field, names in synonyms().items() if plain & set(names)}
