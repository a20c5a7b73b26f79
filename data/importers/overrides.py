"""The user's own mapping of columns to fields, checked against what there is."""

from __future__ import annotations

from collections.abc import Mapping

from data.errors import InputError, Problem
from data.fields import FIELDS
from data.importers.cells import PSEUDO_FIELDS

__all__ = ["check_overrides", "is_prefixed"]

PREFIXES = ("scores.", "tags.")


def check_overrides(columns: tuple[str, ...], overrides: Mapping[str, str], file: str) -> None:
    """Refuse a mapping that names a column or field that does not exist, or one field twice.

    Raises:
        InputError: with the columns and fields there are.
    """
    known = [*FIELDS, *PSEUDO_FIELDS]
    problems = []
    taken: dict[str, str] = {}
    for column, field in overrides.items():
        if column not in columns:
            problems.append(Problem(file, None, column, "no such column to map", ", ".join(columns)))
        if field and field not in known and not is_prefixed(field):
            accepted = f"{', '.join(known)}, scores.<metric>, tags.<key>, or nothing to keep it as extra"
            problems.append(Problem(file, None, column, f"mapped to {field!r}, which is no field", accepted))
        if field and field in taken:
            what = f"mapped to {field!r}, as {taken[field]!r} already is"
            problems.append(Problem(file, None, column, what, "each field once"))
        taken[field] = column
    if problems:
        raise InputError(problems)


def is_prefixed(field: str) -> bool:
    """Whether a field is `scores.<metric>` or `tags.<key>`."""
    return any(field.startswith(prefix) and field != prefix for prefix in PREFIXES)
