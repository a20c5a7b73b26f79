"""Hostile versions of an SQLite database: values of other types, in columns of its own."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

__all__ = ["hostile_databases", "with_changes"]

VALUES = (
    *(None, "", "text", "{", "[" * 2000, -1, 2**62, 1e308, b"\xff\x00", '{"a": [1, {}]}', "null", "[1, 2]"),
)


def with_changes(database: Path, folder: Path, *statements: str) -> Path:
    """Return a copy of a database in a folder, with statements run on it."""
    path = folder / database.name
    shutil.copy(database, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def hostile_databases(database: Path, folder: Path, seed: int = 7, times: int = 25) -> Iterator[Path]:
    """Yield a database cut in the middle, one that lacks columns, and some with other values in it."""
    path = with_changes(database, folder)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    yield path
    chance = random.Random(seed)
    with closing(sqlite3.connect(database)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = {
            name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')] for name in names
        }
    for count in range(times):
        path = with_changes(database, folder)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for _ in range(8):
                table = chance.choice(list(tables))
                column, share = chance.choice(tables[table]), chance.choice([1, 2, 5, 20])
                try:
                    if count % 5 == 4:
                        connection.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "{column}_2"')
                        continue
                    sql = f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE rowid % {share} = 0'
                    connection.execute(sql, [chance.choice(VALUES)])
                except sqlite3.Error:  # a constraint, a column that was renamed before
                    continue
        yield path
