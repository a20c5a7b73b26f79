"""What the data package refuses, said so that a person can act on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["DataError", "InputError", "ValidationError", "ValidationErrors", "WorkspaceError"]

SHOWN_PROBLEMS = 20


class DataError(Exception):
    """Base of every error of this package; the message says what, where, and what would be accepted."""


class WorkspaceError(DataError):
    """A workspace, a run in it or its ledger cannot be used as asked."""


@dataclass(frozen=True)
class ValidationError:
    """One thing wrong with an input file.

    Attributes:
        file: name of the file as the user gave it.
        line: 1-based line or row; None where the file as a whole is meant.
        field: path of the field, e.g. "retrieved[2].id"; "" where the line as a whole is meant.
        what: what is wrong, with the offending value shortened.
        accepted: what would be accepted.
    """

    file: str
    line: int | None
    field: str
    what: str
    accepted: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        subject = f"{self.field}: " if self.field else ""
        return f"{place}: {subject}{self.what}; accepted: {self.accepted}"


class InputError(DataError):
    """A file that cannot be loaded, with all that is wrong with it: the first twenty and a count."""

    def __init__(self, problems: Sequence[ValidationError], total: int | None = None) -> None:
        self.problems = tuple(problems[:SHOWN_PROBLEMS])
        self.total = len(problems) if total is None else total
        lines = [str(problem) for problem in self.problems]
        if self.total > len(self.problems):
            lines.append(f"... and {self.total - len(self.problems)} more problems")
        super().__init__("\n".join(lines))


class ValidationErrors:
    """Gathers the problems of one input, keeps the first twenty and counts the rest."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.first: list[ValidationError] = []
        self.total = 0

    def add(self, line: int | None, field: str, what: str, accepted: str) -> None:
        """Note one problem."""
        self.total += 1
        if len(self.first) < SHOWN_PROBLEMS:
            self.first.append(ValidationError(self.file, line, field, what, accepted))

    def raise_if_any(self) -> None:
        """Stop the import when something is wrong; nothing is loaded then."""
        if self.total:
            raise InputError(self.first, self.total)
