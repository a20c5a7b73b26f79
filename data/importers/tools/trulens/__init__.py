"""TruLens: its database, records with feedback as a frame, and events."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.parsing.sqlite_file import RowsByKey, open_sqlite, rows_of, table_names
from ragtriage.data.importers.tools.facts import fields_in, moment
from ragtriage.data.importers.tools.trulens.events import runs_of_events
from ragtriage.data.importers.tools.trulens.records import CALLS, runs_of_records
from ragtriage.data.store.parsed_run import ParsedRun, Record

__all__ = ["IMPORTERS"]

ACCEPTED = "a database of TruLens with records (1.x) or events (2.x), or session.get_records_and_feedback()"
FRAME = {"record_id", "app_id", "input", "output"}
EVENTS = {"record_attributes", "resource_attributes"}


def _prefix(tables: Iterable[str]) -> str | None:
    """Return the prefix of TruLens' tables, which its user may choose; None where they are none of its."""
    names = set(tables)
    prefixes = sorted(name.removesuffix("feedbacks") for name in names if name.endswith("feedbacks"))
    return next((prefix for prefix in prefixes if {f"{prefix}apps", f"{prefix}records"} <= names), None)


def _is_database(peek: Peek) -> bool:
    return bool({"trulens_events", "trulens_records"} & peek.tables) or _prefix(peek.tables) is not None


def _is_events(peek: Peek) -> bool:
    return peek.columns >= EVENTS


def _is_frame(peek: Peek) -> bool:
    return peek.columns >= FRAME and any(name.endswith(CALLS) for name in peek.columns)


def _read_database(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a database: events of 2.x, records of 1.x, or both."""
    tables = table_names(source)
    prefix = _prefix(tables)
    prefix = "trulens_" if prefix is None else prefix
    base = ParsedRun(source.stem, (), source.name, "trulens_database")
    runs = []
    with open_sqlite(source) as connection:
        if f"{prefix}events" in tables:
            rows = rows_of(connection, f"{prefix}events")
            events: Iterator[Record] = ((line, dict(row)) for line, row in enumerate(rows, start=1))
            runs += runs_of_events(events, base, errors, options.limit)
        if {f"{prefix}records", f"{prefix}feedbacks"} <= tables:
            runs += runs_of_records(_records(connection, prefix, tables), base, errors, options.limit)
    if not runs:
        raise source.error("is a database of TruLens that holds no record", ACCEPTED)
    return runs


def _records(connection: sqlite3.Connection, prefix: str, tables: Iterable[str]) -> Iterator[Record]:
    """Yield the records of 1.x with their feedback, as `get_records_and_feedback` gives them."""
    apps: dict[str, dict[str, Any]] = {}
    if f"{prefix}apps" in tables:
        listed = map(dict, rows_of(connection, f"{prefix}apps"))
        apps = {str(app.get("app_id")): app for app in listed}
    feedback = RowsByKey(connection, f"{prefix}feedbacks", "record_id")
    records = map(dict, rows_of(connection, f"{prefix}records", "record_id"))
    for line, record in enumerate(records, start=1):
        app = apps.get(str(record.get("app_id")), {})
        record |= {name: app[name] for name in ("app_name", "app_version") if app.get(name)}
        performed = fields_in(record.get("perf_json"))
        start = performed.get("start_time")
        end = performed.get("end_time")
        begun, ended = moment(start), moment(end)
        record["latency"] = (ended - begun).total_seconds() if begun and ended and ended >= begun else None
        for result in feedback.of(str(record.get("record_id"))):
            record |= _result(result)
        yield line, record


def _result(row: dict[str, Any]) -> dict[str, Any]:
    """Return a feedback as the columns of a frame; one that is still running has none."""
    name, status = str(row.get("name") or "feedback"), str(row.get("status") or "").rpartition(".")[2].lower()
    calls = fields_in(row.get("calls_json")).get("calls")
    if status in ("done", "") and row.get("result") is not None:
        return {name: row["result"], f"{name}{CALLS}": calls or []}
    if status == "failed" or row.get("error"):
        return {f"{name}{CALLS}": calls or [], f"{name}_error": row.get("error") or "failed"}
    return {}


def _read_events(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read events: spans of records, and their evaluations."""
    base = ParsedRun(source.stem, (), source.name, "trulens_events")
    runs = runs_of_events(open_table(source, errors).rows(), base, errors, options.limit)
    if not runs:
        raise source.error("holds events of TruLens and no record with a question among them", ACCEPTED)
    return runs


def _read_frame(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read records with their feedback."""
    base = ParsedRun(source.stem, (), source.name, "trulens")
    return runs_of_records(open_table(source, errors).rows(), base, errors, options.limit)


WRITTEN_BY = "TruLens 2.16"
IMPORTERS = (
    Importer(
        "trulens_database",
        "TruLens database",
        "default.sqlite with trulens_events (2.x) or trulens_records (1.x)",
        _is_database,
        _read_database,
        written_by=f"{WRITTEN_BY}, tables of 1.x",
    ),
    Importer(
        "trulens_events",
        "TruLens events",
        "CSV, JSONL or Parquet with record_attributes and resource_attributes",
        _is_events,
        _read_events,
        written_by=WRITTEN_BY,
    ),
    Importer(
        "trulens",
        "TruLens records",
        "CSV, JSONL or Parquet with record_id, app_id, input, output, <metric>, <metric>_calls",
        _is_frame,
        _read_frame,
        written_by=WRITTEN_BY,
        example="session.get_records_and_feedback()[0].to_json(FILE, orient='records', lines=True)",
    ),
)
