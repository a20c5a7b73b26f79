"""Errors of the data package: every message says what, where, and what would be accepted."""

import errno
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

SHOWN_ERRORS = 20
CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)


def type_name(value: object) -> str:
    """Return the type of a value as messages name it: null for None."""
    return "null" if value is None else type(value).__name__


def content_fault(error: Exception) -> str:
    """Return what is wrong with the content of a file, in words, from the exception that it caused."""
    if isinstance(error, KeyError):
        return f"{str(error.args[0])[:60]!r} is missing" if error.args else "a field is missing"
    if isinstance(error, OverflowError):
        return "a number in it is too large"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, IndexError):
        return "a list in it is too short"
    if isinstance(error, TypeError | AttributeError):
        return "a value in it has an unexpected type"
    return "a value in it is not accepted"


class DataError(Exception):
    """Base of every error of this package."""


class WorkspaceError(DataError):
    """A workspace, a run in it or its annotations database cannot be used in this way."""


@dataclass(frozen=True)
class ValidationError:
    """An error in an input file."""

    file: str  # name of the file as the user typed it
    line: int | None  # 1-based line or row; None for the file as a whole
    field: str  # path of the field, e.g. "retrieved[2].id"; "" for the line as a whole
    what: str  # what is wrong, with the invalid value shortened
    accepted: str  # what would be accepted

    def __str__(self) -> str:
        location = self.file if self.line is None else f"{self.file}:{self.line}"
        subject = f"{self.field}: " if self.field else ""
        text = f"{location}: {subject}{self.what}; accepted: {self.accepted}"
        return " ".join(text.splitlines())  # a name from a file must not break the sentence


class InputError(DataError):
    """A file that cannot be loaded: its first twenty validation errors, and how many there are."""

    def __init__(self, errors: Sequence[ValidationError], total: int | None = None) -> None:
        self.errors = tuple(errors[:SHOWN_ERRORS])
        self.total = len(errors) if total is None else total
        lines = [str(error) for error in self.errors]
        if self.total > len(self.errors):
            lines.append(f"... and {self.total - len(self.errors)} more problems")
        super().__init__("\n".join(lines))


class ValidationErrors:
    """Collector of the validation errors of one input: keeps the first twenty and counts all.

    It also gathers remarks: what a reader has to be told of an input that is loaded all the same, and how
    many of its rows were left out.

    Attributes:
        left_out: why rows were left out -> how many.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.first: list[ValidationError] = []
        self.total = 0
        self._remarks: dict[str, tuple[int | None, int]] = {}
        self.left_out: Counter[str] = Counter()

    def add(self, line: int | None, field: str, what: str, accepted: str) -> None:
        """Add an error."""
        self.total += 1
        if len(self.first) < SHOWN_ERRORS:
            self.first.append(ValidationError(self.file, line, field, what, accepted))

    def remark(self, text: str, line: int | None = None, times: int = 1) -> None:
        """Add a remark; one that is made again is counted, with the line where it was made first."""
        first_line, count = self._remarks.get(text, (line, 0))
        self._remarks[text] = (first_line, count + times)

    def leave_out(self, reason: str, rows: int = 1) -> None:
        """Count rows that become no sample, by the reason: "a row without a question"."""
        self.left_out[reason] += rows

    @property
    def notes(self) -> tuple[str, ...]:
        """The remarks so far, each with its first line and how often it was made."""
        return tuple(
            f"{text} ({'' if line is None else f'first on line {line:,}; '}{count:,} in all)"
            for text, (line, count) in self._remarks.items()
        )

    def raise_if_any(self) -> None:
        """Raise InputError if there is any error; nothing is loaded then."""
        if self.total:
            raise InputError(self.first, self.total)
