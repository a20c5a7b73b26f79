"""Live tests that are kept in a workspace: their rows, and what was decided before the start.

A test is a folder `live_tests/<id>` with its rows as Parquet and its facts, which never change: the id is a
hash of them. Of the rows only what metrics are made of is kept. A user is a number there, so that no id of
a person, and no question that one asked, comes into the workspace by a live test.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ragtriage.data.ab.ab_test import TestOptions, live_test
from ragtriage.data.ab.measures import measured_columns
from ragtriage.data.ab.reading import TestRows
from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.store.access import must_write
from ragtriage.data.store.sample_models import is_unicode
from ragtriage.data.store.stored_file import replace_file
from ragtriage.data.store.workspace import Run, Workspace, utc_now, writing

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_NAME, LONGEST_NOTE = 120, 300  # characters
MOST_NAMED = 8
FACTS, ROWS = "test.json", "rows.parquet"


@dataclass(frozen=True)
class StoredTest:
    """A live test of a workspace."""

    workspace: Workspace
    test_id: str  # beginning of the hash over its facts; the name of its folder
    name: str
    created_at: str  # ISO time in UTC
    origin: str  # the files that it was read from
    note: str  # what a reader must know of the data, such as "users drawn"
    arms: tuple[str, ...]  # the base first
    options: TestOptions
    runs: Mapping[str, str]  # arm -> id of the run of the same version
    facts: Mapping[str, Any]  # as stored

    @property
    def folder(self) -> Path:
        """Where its rows are."""
        return _root(self.workspace) / self.test_id

    @property
    def cache_key(self) -> tuple[str, str]:
        """What identifies its rows and options, for results that are kept."""
        return self.workspace.root.as_posix(), self.test_id

    def rows(self) -> TestRows:
        """Read the rows.

        Raises:
            WorkspaceError: they are missing or damaged.
        """
        import pyarrow.parquet as pq  # late: a command that stores no test needs none

        path = self.folder / ROWS
        try:
            content = path.read_bytes()
        except OSError as error:
            raise _damaged(path, f"cannot be read ({error.strerror})") from error
        if hashlib.sha256(content).hexdigest() != self.facts["rows"]:
            raise _damaged(path, "was changed")
        table = pq.read_table(BytesIO(content))
        names = list(self.facts["columns"])
        return TestRows(
            arms=self.arms,
            arm=table["arm"].to_numpy().astype(np.int64),
            users=table["user"].to_numpy().astype(np.int64) if "user" in table.column_names else None,
            user_column=self.facts["user_column"],
            times=table["time"].to_numpy().astype(np.float64) if "time" in table.column_names else None,
            time_column=self.facts["time_column"],
            cells={name: _cells(table[f"cell{at}"]) for at, name in enumerate(names)},
            in_both=self.facts["in_both"],
            left_out=self.facts["left_out"],
        )


def arm_runs(test: StoredTest, runs: Sequence[Run]) -> dict[str, Run]:
    """Return arm -> the run of the same version, that it was kept with.

    Without any, the runs that are named as the arms, where one project has just one of each name.
    """
    by_id = {run.run_id: run for run in runs}
    kept = {arm: by_id[run_id] for arm, run_id in test.runs.items() if run_id in by_id}
    if test.runs:
        return kept
    named: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        if run.name in test.arms and not run.means:
            named.setdefault(run.project, {}).setdefault(run.name, []).append(run)
    whole = [
        own
        for own in named.values()
        if set(own) == set(test.arms) and all(len(each) == 1 for each in own.values())
    ]
    return {arm: each[0] for arm, each in whole[0].items()} if len(whole) == 1 else {}


def chosen_options(options: TestOptions, **chosen: Any) -> TestOptions:
    """Return the options of a test with others chosen; the effect worth having is its own metric's."""
    metric = chosen.get("metric") or options.metric
    if metric != options.metric:
        guardrails = {name: margin for name, margin in options.guardrails.items() if name != metric}
        chosen = {"worth": None, "guardrails": guardrails, **chosen}
    return replace(options, **chosen)


def keep_test(
    workspace: Workspace,
    rows: TestRows,
    options: TestOptions,
    name: str,
    origin: str,
    note: str = "",
    runs: Mapping[str, str] | None = None,
) -> StoredTest:
    """Keep a live test; the same rows and options a second time are the same test, under its first name.

    Args:
        workspace: where.
        rows: of the test.
        options: what was decided before the start.
        name: of the test.
        origin: the files that the rows were read from.
        note: what a reader must know of the data.
        runs: arm -> id of the run of the same version.

    Raises:
        DataError: a name that is none, an option that does not fit the rows, or a run of an unknown arm.
    """
    name, note = _text(name, "name", LONGEST_NAME), " ".join(note.split())[:LONGEST_NOTE]
    live_test(rows, options)  # refuses options that do not fit
    runs = dict(runs or {})
    for arm in runs:
        if arm not in rows.arms:
            raise DataError(f"run of arm {arm[:40]!r}: no such arm; accepted: {', '.join(rows.arms)}")
    columns = measured_columns(rows, [*filter(None, [options.metric]), *options.guardrails])
    content = _parquet(rows, columns)
    facts = {
        "rows": hashlib.sha256(content).hexdigest(),
        "origin": origin,
        "note": note,
        "arms": rows.arms,
        "columns": columns,
        "user_column": rows.user_column,
        "time_column": rows.time_column,
        "in_both": rows.in_both,
        "left_out": dict(rows.left_out),
        "options": asdict(options),
        "runs": runs,
    }
    test_id = _id_of(facts)
    with workspace.staging(_root(workspace)) as stage:
        (stage / ROWS).write_bytes(content)
        stored = {"name": name, "created_at": utc_now().isoformat(), "test": facts}
        (stage / FACTS).write_text(json.dumps(stored), "utf-8")
        workspace.publish(stage, _root(workspace) / test_id)
    return _read(workspace, test_id)


def stored_tests(workspace: Workspace) -> tuple[list[StoredTest], list[str]]:
    """Return the live tests of a workspace, oldest first, and what is wrong with the others."""
    folder, tests, problems = _root(workspace), [], []
    names = [path.name for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    for name in sorted(names):
        if name.startswith("."):
            continue
        try:
            tests.append(_read(workspace, name))
        except WorkspaceError as error:
            problems.append(str(error))
    return sorted(tests, key=lambda test: (test.created_at, test.name)), problems


def find_test(workspace: Workspace, wanted: str) -> StoredTest:
    """Find a live test by its name or id.

    Raises:
        WorkspaceError: there is none, or more than one.
    """
    every = stored_tests(workspace)[0]
    matches = [test for test in every if wanted in (test.name, test.test_id)]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(f"{test.name} ({test.test_id})" for test in (matches or every)[:MOST_NAMED])
    known = f"one of {names}" if names else "a test kept by `ragtriage ab DATA --save NAME`"
    what = f"{len(matches)} live tests" if matches else "no live test"
    raise WorkspaceError(f"{what} {wanted[:60]!r} in {workspace.root}; accepted: {known}")


def rename_test(test: StoredTest, name: str) -> None:
    """Give a test another name.

    Raises:
        DataError: a name that is none.
    """
    must_write(f"workspace {test.workspace.root}")
    name = _text(name, "name", LONGEST_NAME)
    stored = {"name": name, "created_at": test.created_at, "test": dict(test.facts)}
    with writing(test.workspace.name):
        replace_file(test.folder / FACTS, json.dumps(stored).encode())


def delete_test(test: StoredTest) -> None:
    """Delete a test with its rows."""
    must_write(f"workspace {test.workspace.root}")
    with writing(test.workspace.name):
        test.workspace.discard(test.folder)


def _root(workspace: Workspace) -> Path:
    return workspace.root / "live_tests"


def _id_of(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def _read(workspace: Workspace, test_id: str) -> StoredTest:
    path = _root(workspace) / test_id / FACTS
    try:
        stored = json.loads(path.read_text("utf-8"))
        facts, name, created_at = stored["test"], str(stored["name"]), str(stored["created_at"])
        if _id_of(facts) != test_id:
            raise _damaged(path, "was changed")
        options = facts["options"]
        shares = options["shares"]
        return StoredTest(
            workspace,
            test_id,
            name,
            created_at,
            facts["origin"],
            facts["note"],
            tuple(facts["arms"]),
            TestOptions(**{**options, "shares": None if shares is None else tuple(shares)}),
            facts["runs"],
            facts,
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(path, f"cannot be read ({type(error).__name__})") from error


def _damaged(path: Path, what: str) -> WorkspaceError:
    return WorkspaceError(
        f"{path}: {what}; accepted: the test as it was kept, or delete its folder and keep it again"
    )


def _text(text: str, what: str, longest: int) -> str:
    text = " ".join(text.split())
    if not text or len(text) > longest or not is_unicode(text):
        fault = "is empty" if not text else f"has {len(text):,} characters"
        fault = fault if is_unicode(text) else "is not UTF-8"
        raise DataError(f"live test: its {what} {fault}; accepted: text of at most {longest} characters")
    return text


def _parquet(rows: TestRows, columns: Sequence[str]) -> bytes:
    import pyarrow as pa  # late, as above
    import pyarrow.parquet as pq

    arrays: dict[str, Any] = {"arm": pa.array(rows.arm, pa.int8())}
    if rows.users is not None:
        arrays["user"] = pa.array(rows.users, pa.int64())
    if rows.times is not None:
        arrays["time"] = pa.array(rows.times, pa.float64())
    for at, column in enumerate(columns):
        texts = pa.array([_cell_text(cell) for cell in rows.cells[column]], pa.string())
        arrays[f"cell{at}"] = texts.dictionary_encode()
    sink = BytesIO()
    pq.write_table(pa.table(arrays), sink, compression="zstd")
    return sink.getvalue()


def _cell_text(cell: object) -> str | None:
    """Return a cell as JSON, so that a text of digits and a number stay two things; None for none."""
    if cell is None or cell != cell:
        return None
    return json.dumps(cell if isinstance(cell, str | int | float) else "?")  # lists and dates measure nothing


def _cells(column: pa.ChunkedArray) -> list[object]:
    """Return the cells of a column, each distinct one read once."""
    encoded = column.combine_chunks()
    values = [json.loads(text) for text in encoded.dictionary.to_pylist()]
    return [None if at is None else values[at] for at in encoded.indices.to_pylist()]
