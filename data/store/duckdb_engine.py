"""DuckDB over the files of a workspace: one engine per process, one cursor per call, no extensions."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb

from ragtriage.data.read_costs import add_costs
from ragtriage.data.store.stored_file import damaged

_LOCK = Lock()


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    )
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET parquet_metadata_cache = true")  # the files never change
    return connection


@cache
def statement(name: str) -> str:
    """Read a query from data/sql/<name>.sql."""
    return (files("ragtriage.data") / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def query(name: str, parameters: Sequence[Any] | Mapping[str, Any]) -> Any:
    """Return the result of a stored query with bound parameters as an Arrow table.

    Each call has a cursor of its own: a connection shared between threads mixes up results. The file that it
    reads is the first parameter, or the one called `samples`.
    """
    with _LOCK:
        cursor = _engine().cursor()
    path = parameters["samples"] if isinstance(parameters, Mapping) else parameters[0]
    with closing(cursor):
        try:
            table = cursor.sql(statement(name), params=parameters).to_arrow_table()
        except duckdb.Error as error:
            raise damaged(Path(path)) from error
    add_costs(queries=1, rows=table.num_rows)
    return table
