"""Columns `expected_X` and `actual_X` of a table, which together are a check of kind X."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from ragtriage.data.importers.parsing.cells import CellError, is_blank, parse_structure
from ragtriage.data.importers.parsing.field_names import synonyms
from ragtriage.data.importers.parsing.metric_names import plain_name
from ragtriage.metrics.diagnosis.check_kinds import is_known_kind, suite_of

FIELD = re.compile(r"checks\.(.+)\.(expected|actual)")
COLUMN = re.compile(r"(expected|actual)_(.+)")
QUALITY = re.compile(r"(?:score|quality)_.+|.+_(?:score|quality)")


def is_check_field(field: str) -> bool:
    """Return whether a field is `checks.<kind>.expected` or `checks.<kind>.actual`."""
    return FIELD.fullmatch(field) is not None


def check_columns(columns: Iterable[str]) -> dict[str, str]:
    """Return the columns that make checks -> their field, as expected_route -> checks.route.expected.

    An expected column without its actual one counts where the kind is known: its checks are then not
    measured. Names that common fields go by, such as expected_output, are none.
    """
    taken = {name for names in synonyms().values() for name in names}
    sides: dict[str, dict[str, str]] = {}
    for column in columns:
        plain = plain_name(column)
        found = COLUMN.fullmatch(plain)
        if found and plain not in taken:
            sides.setdefault(found[2], {}).setdefault(found[1], column)
    return {
        column: f"checks.{kind}.{side}"
        for kind, both in sides.items()
        if "expected" in both and ("actual" in both or is_known_kind(kind))
        for side, column in both.items()
    }


def holds_pairs(columns: Iterable[str]) -> bool:
    """Return whether some columns make checks."""
    return bool(check_columns(columns))


def is_route_quality(column: str, fields: Collection[str]) -> bool:
    """Return whether a column of numbers beside a router's checks is the quality of an answer.

    Args:
        column: its name; score_strong or unify_score is one.
        fields: the fields that other columns of the table fill.
    """
    kinds = [found[1] for found in map(FIELD.fullmatch, fields) if found]
    return any(suite_of(kind) == "router" for kind in kinds) and bool(QUALITY.fullmatch(plain_name(column)))


def put_check(record: dict[str, Any], field: str, value: object, *, blank_text: bool) -> None:
    """Add one side of a check to the checks of a record; a blank cell adds nothing."""
    found = FIELD.fullmatch(field)
    if found is None or is_blank(value, blank_text=blank_text):
        return
    checks = record.setdefault("checks", [])
    if not isinstance(checks, list):  # validation says what is accepted
        return
    kind, side = found[1], found[2]
    check = next((one for one in checks if isinstance(one, dict) and one.get("name") == kind), None)
    if check is None:
        check = {"name": kind, "kind": kind}
        checks.append(check)
    check[side] = _value(value)


def _value(value: object) -> object:
    """Return a cell, parsed where its text is a list or an object."""
    try:
        return parse_structure(value)
    except CellError:
        return value
