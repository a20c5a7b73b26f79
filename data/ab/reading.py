"""Rows of a live test from files: which arm each belongs to, whose it is, and when it was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import plain_name
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.parsing.values import nanoseconds
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.schema.scores import FloatArray, IntArray

ARM_NAMES = (
    *("arm", "variant", "system_type", "experiment_group", "treatment_group", "test_group"),
    *("group", "treatment", "bucket", "system", "version"),
)
USER_NAMES = (
    *("user_id", "user", "userid", "respondent", "customer_id", "visitor_id", "account_id"),
    *("conversation_id", "session_id"),
)
TIME_NAMES = ("timestamp", "time", "date", "datetime", "created_at", "event_time", "ts")
BASE_NAMES = ("base", "baseline", "control", "a", "old", "current", "random")
ARM_FILES = (".csv", ".tsv", ".jsonl", ".ndjson")
MOST_ARMS = 10
MOSTLY = 0.9  # of the rows have a value that reads as what a column is taken for
SHOWN_COLUMNS = 12
DAY = 86_400
YEAR = re.compile(r"(19|20)\d\d")


@dataclass(frozen=True)
class TestRows:
    """The rows of a live test in the order of the files."""

    __test__ = False  # for pytest, which collects by name

    arms: tuple[str, ...]  # names; the base is the first
    arm: IntArray  # (n,) index of the arm of each row
    users: IntArray | None  # (n,) code of the user of each row; None where no user is recorded
    user_column: str  # "" for none
    times: FloatArray | None  # (n,) seconds since 1970; None where no time is recorded
    time_column: str  # "" for none
    cells: Mapping[str, Sequence[object]]  # the other columns
    in_both: int  # users with rows in more than one arm; their rows are left out
    left_out: Mapping[str, int]  # why rows were left out -> how many

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.arm)

    @property
    def units(self) -> IntArray:
        """(n,) code of the independent unit of each row: its user, or else the row itself."""
        return np.arange(self.n, dtype=np.int64) if self.users is None else self.users

    @property
    def randomised(self) -> bool:
        """Whether the arms may have been assigned at random: they are no years, and overlap in time."""
        if all(YEAR.fullmatch(name) for name in self.arms):
            return False
        if self.times is None:
            return True
        spans = [self.times[self.arm == code] for code in range(len(self.arms))]
        ends = [(float(np.nanmin(span)), float(np.nanmax(span))) for span in spans if np.isfinite(span).any()]
        return len(ends) < 2 or max(low for low, _ in ends) <= min(high for _, high in ends)

    def before(self, moment: float) -> TestRows:
        """Return the rows of before a moment, in seconds since 1970, and those without a time."""
        if self.times is None:
            return self
        index = np.flatnonzero(~(self.times >= moment))
        return replace(
            self,
            arm=self.arm[index],
            users=None if self.users is None else self.users[index],
            times=self.times[index],
            cells={name: [values[at] for at in index.tolist()] for name, values in self.cells.items()},
        )


@dataclass(frozen=True)
class _Source:
    name: str  # the arm, where each file is one
    columns: tuple[str, ...]
    rows: list[Mapping[str, object]]


def read_test(
    paths: Sequence[str | Path],
    by: str | None = None,
    user: str | None = None,
    time: str | None = None,
    base: str | None = None,
) -> TestRows:
    """Read the rows of a live test: one file with a column of arms, several files, or a folder of them.

    Args:
        paths: files (CSV, TSV, JSONL, JSON, Parquet, XLSX), or a folder whose CSV and JSONL files are arms.
        by: column that names the arm; of one file found by its name when left out.
        user: column that names the user; found by its name when left out.
        time: column of the time; found by its name when left out.
        base: arm that the others are compared with.

    Raises:
        DataError: a file cannot be read, a column is not there, or there are not 2 to 10 arms.
    """
    sources = _sources(paths)
    label = str(paths[0]) if len(paths) == 1 else "the files"
    columns = tuple(dict.fromkeys(column for source in sources for column in source.columns))
    cells = {column: [row.get(column) for source in sources for row in source.rows] for column in columns}
    names = _arm_names(sources, cells, by, label)
    by_column = names[0]
    arm_of = names[1]
    keep, left_out = np.array([bool(name) for name in arm_of]), Counter[str]()
    left_out["a row without an arm"] += int((~keep).sum())
    user_column = _column(cells, user, USER_NAMES, "--user", label)
    users = np.array([_text(cell) for cell in cells[user_column]], dtype=object) if user_column else None
    if users is not None and keep.any() and (users[keep] == "").mean() > 0.5 and user is None:
        users, user_column = None, ""
    if users is not None:
        left_out["a row without a user"] += int((keep & (users == "")).sum())
        keep &= users != ""
    arms = _ordered(arm_of, keep, base, label, by_column)
    codes = np.array([arms.index(name) if kept else -1 for name, kept in zip(arm_of, keep, strict=True)])
    in_both = 0
    if users is not None:
        in_both, shared = _in_several(users, codes)
        left_out["a row of a user who is in two arms"] += int((keep & shared).sum())
        keep &= ~shared
        if not keep.any():
            accepted = "each user in one arm; answers of two versions to the same questions go to `compare`"
            raise DataError(f"{label}: every user is in more than one arm; accepted: {accepted}")
    time_column, times, unread = _times(cells, time, keep, label)
    left_out["a time that could not be read, such as 03/01/2026"] += unread
    special = {by_column, user_column, time_column}
    index = np.flatnonzero(keep)
    return TestRows(
        arms=arms,
        arm=codes[index].astype(np.int64),
        users=None
        if users is None
        else np.unique(users[index].astype(str), return_inverse=True)[1].astype(np.int64),
        user_column=user_column,
        times=None if times is None else times[index],
        time_column=time_column,
        cells={name: [values[at] for at in index] for name, values in cells.items() if name not in special},
        in_both=in_both,
        left_out={why: n for why, n in left_out.items() if n},
    )


def _sources(paths: Sequence[str | Path]) -> list[_Source]:
    files = [file for path in paths for file in _files(Path(path))]
    read = [_read(file) for file in files]
    if len(read) == 1:
        return read
    first, last = min(source.name for source in read), max(source.name for source in read)
    alike = next((at for at, letter in enumerate(first) if last[at : at + 1] != letter), len(first))
    prefix = first[:alike]
    cut = max(prefix.rfind("_"), prefix.rfind("-")) + 1
    named = [_Source(source.name[cut:] or source.name, source.columns, source.rows) for source in read]
    if len({source.name for source in named}) < len(named):
        raise DataError(
            f"{', '.join(map(str, files[:4]))}: two files have one name; "
            "accepted: a file for each arm, named after it"
        )
    return named


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = [
        file
        for file in sorted(path.iterdir())
        if file.is_file()
        and not file.name.startswith(".")
        and file.name.lower().removesuffix(".gz").endswith(ARM_FILES)
    ]
    if not found:
        raise DataError(
            f"{path}: holds no CSV, TSV or JSONL file; accepted: a folder with a file for each arm"
        )
    return found


def _read(path: Path) -> _Source:
    file = InputFile.from_path(path)
    errors = ValidationErrors(file.name)
    table = open_table(file, errors)
    rows: list[Mapping[str, object]] = []
    columns: dict[str, None] = dict.fromkeys(table.columns)
    for line, row in table.rows():
        if not isinstance(row, Mapping):
            errors.add(line, "", "is no object", "a row with named values")
            continue
        rows.append(row)
        columns.update(dict.fromkeys(row))
        if len(columns) > file.limits.columns:
            raise file.error(f"has more than {file.limits.columns:,} columns", "fewer columns", line)
    errors.raise_if_any()
    if not rows:
        raise file.error("holds no row", "a table with a row for each answer or user")
    return _Source(file.stem, tuple(map(str, columns)), rows)


def _text(cell: object) -> str:
    """Return a name in a cell: text or a whole number; "" for anything else."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return str(cell).strip() if isinstance(cell, str | int) else ""


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(name[:40] for name in columns[:SHOWN_COLUMNS])
    return shown + (f" and {len(columns) - SHOWN_COLUMNS} more" if len(columns) > SHOWN_COLUMNS else "")


def _column(
    cells: Mapping[str, Sequence[object]], wanted: str | None, known: Sequence[str], option: str, label: str
) -> str:
    """Return the column that is asked for, else the first with a known name; "" for none."""
    if wanted is not None:
        if wanted not in cells:
            raise DataError(
                f"{label}: no column {wanted[:40]!r} for {option}; accepted: {_listed(list(cells))}"
            )
        return wanted
    plain = {plain_name(column): column for column in reversed(list(cells))}
    return next((plain[name] for name in known if name in plain), "")


def _arm_names(
    sources: Sequence[_Source], cells: Mapping[str, Sequence[object]], by: str | None, label: str
) -> tuple[str, list[str]]:
    """Return the column of the arms, "" where each file is one, and the arm of each row."""
    if by is None and len(sources) > 1:
        return "", [source.name for source in sources for _ in source.rows]
    column = _column(cells, by, ARM_NAMES, "--by", label)
    if not column:
        few = [
            name for name, values in cells.items() if 2 <= len({_text(cell) for cell in values}) <= MOST_ARMS
        ]
        fitting = _listed(few) if few else "a column with 2 to 10 names"
        raise DataError(
            f"{label}: no column names the arm; accepted: --by with one of {fitting}, or a file for each arm"
        )
    return column, [_text(cell) for cell in cells[column]]


def _ordered(
    arm_of: Sequence[str], keep: np.ndarray, base: str | None, label: str, by: str
) -> tuple[str, ...]:
    """Return the arms, the base first: the one asked for, else one named like a base, else the first."""
    names = list(dict.fromkeys(name for name, kept in zip(arm_of, keep, strict=True) if kept))
    if by:
        names.sort()
    if not 2 <= len(names) <= MOST_ARMS:
        where = f"column {by[:40]!r} names" if by else "there are"
        raise DataError(f"{label}: {where} {len(names):,} arms; accepted: 2 to {MOST_ARMS}")
    if base is not None and base not in names:
        raise DataError(f"{label}: no arm {base[:40]!r}; accepted: {_listed(names)}")
    first = base or next((name for known in BASE_NAMES for name in names if name.lower() == known), names[0])
    return (first, *(name for name in names if name != first))


def _in_several(users: np.ndarray, codes: np.ndarray) -> tuple[int, np.ndarray]:
    """Return how many users have rows in more than one arm, and which rows are theirs."""
    person = np.unique(users.astype(str), return_inverse=True)[1]
    valid = codes >= 0
    lowest = np.full(person.max() + 1, MOST_ARMS)
    highest = np.full(person.max() + 1, -1)
    np.minimum.at(lowest, person[valid], codes[valid])
    np.maximum.at(highest, person[valid], codes[valid])
    shared = lowest < highest
    return int(shared.sum()), shared[person]


def _times(
    cells: Mapping[str, Sequence[object]], wanted: str | None, keep: np.ndarray, label: str
) -> tuple[str, FloatArray | None, int]:
    """Return the column of the times, the times where most can be read, and how many cannot."""
    column = _column(cells, wanted, TIME_NAMES, "--time", label)
    if not column:
        return "", None, 0
    moments = [nanoseconds(cell) for cell in cells[column]]
    times = np.array([np.nan if moment is None else moment / 1e9 for moment in moments])
    kept = (cell for cell, is_kept in zip(cells[column], keep, strict=True) if is_kept)
    given = sum(cell is not None and cell == cell and str(cell).strip() != "" for cell in kept)
    unread = given - int(np.isfinite(times[keep]).sum())
    known = np.isfinite(times[keep]).mean() if keep.any() else 0.0
    if known >= MOSTLY:
        return column, times, unread
    if wanted is None:
        return "", None, unread
    accepted = "ISO text such as 2026-05-01T09:00, or seconds since 1970"
    raise DataError(
        f"{label}: {percent(float(known))} of column {column[:40]!r} read as times; accepted: {accepted}"
    )
