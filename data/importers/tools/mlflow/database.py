"""MLflow's database: its traces with their spans and assessments, read while the server runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.literals import LiteralError, read_literal
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import decoded
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.sqlite_file import RowsByKey, open_sqlite, rows_of, table_names
from ragtriage.data.importers.spans.traces import Traces, runs_of_spans
from ragtriage.data.importers.tools.mlflow.trace import spans_of
from ragtriage.data.store.parsed_run import ParsedRun

ACCEPTED = "traces as `mlflow.search_traces(return_type='list')` gives them, each written with `to_json()`"
APART = f"a trace whose spans are kept beside the database; accepted: {ACCEPTED}"
NEEDED = {"spans", "assessments", "trace_tags", "trace_request_metadata", "experiments", "runs", "params"}


def is_database(peek: Peek) -> bool:
    """Return whether a database is that of MLflow."""
    return "trace_info" in peek.tables or {"experiments", "latest_metrics"} <= peek.tables


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the traces of a database: a run for each run of MLflow, and one for each experiment without."""
    there = table_names(source)
    if lacking := sorted({"trace_info", *NEEDED} - there):
        raise source.error(
            f"is a database of MLflow without the tables of traces ({', '.join(lacking)})", ACCEPTED
        )
    traces = Traces(errors, {"tool": "MLflow"})
    with open_sqlite(source) as connection:
        rows = map(dict, rows_of(connection, "runs"))
        run_names = {str(row.get("run_uuid")): str(row.get("name") or row.get("run_uuid")) for row in rows}
        names, params = run_names, _params(connection)
        count = 0
        for count, trace in enumerate(_traces(connection), start=1):
            if not trace["data"]["spans"]:
                errors.leave_out(APART)
                continue
            metadata, experiment = trace["info"]["trace_metadata"], trace["info"]["experiment"]
            for span in spans_of(trace, "" if metadata.get("mlflow.sourceRun") else experiment):
                traces.add(count, span)
    if not traces.runs:
        what = "no trace" if not count else f"{count:,} traces and the spans of none"
        raise source.error(f"is a database of MLflow that holds {what}", ACCEPTED)
    base = ParsedRun(source.stem, (), source.name, "mlflow_database")
    runs = runs_of_spans(traces, base, options.limit)
    return [
        replace(run, name=names.get(run.name, run.name), config=dict(params.get(run.name, {})))
        for run in runs
    ]


def _params(connection: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    params: dict[str, dict[str, Any]] = {}
    for row in map(dict, rows_of(connection, "params")):
        params.setdefault(str(row.get("run_uuid")), {})[str(row.get("key"))] = setting(row.get("value"))
    return params


def setting(text: object) -> Any:
    """Return a parameter as the number that it is; all are stored as text."""
    try:
        value = read_literal(str(text))
    except LiteralError:
        return text
    return value if isinstance(value, int | float | bool) else text


def _traces(connection: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    """Yield the traces as their files have them; four tables are read side by side, in one order."""
    listed = map(dict, rows_of(connection, "experiments"))
    experiments = {str(row.get("experiment_id")): str(row.get("name") or "") for row in listed}
    tags = RowsByKey(connection, "trace_tags", "request_id")
    metadata = RowsByKey(connection, "trace_request_metadata", "request_id")
    spans = RowsByKey(connection, "spans", "trace_id")
    assessments = RowsByKey(connection, "assessments", "trace_id")
    for row in map(dict, rows_of(connection, "trace_info", "request_id")):
        key = str(row.get("request_id"))
        yield {
            "info": {
                "trace_id": key,
                "request_time": row.get("timestamp_ms"),
                "execution_duration_ms": row.get("execution_time_ms"),
                "state": row.get("status"),
                "experiment": experiments.get(str(row.get("experiment_id")), ""),
                "trace_metadata": {str(pair.get("key")): pair.get("value") for pair in metadata.of(key)},
                "tags": {str(pair.get("key")): pair.get("value") for pair in tags.of(key)},
                "assessments": [_assessment(entry) for entry in assessments.of(key)],
            },
            "data": {"spans": [decoded(span.get("content"), 1) for span in spans.of(key)]},
        }


def _assessment(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an assessment as the file of a trace has it."""
    value, error = decoded(row.get("value"), 1), decoded(row.get("error"), 1)
    stated = {"value": value, **({"error": error} if error else {})}
    return {
        "assessment_id": row.get("assessment_id"),
        "assessment_name": row.get("name"),
        "span_id": row.get("span_id"),
        "source": {"source_type": row.get("source_type"), "source_id": row.get("source_id")},
        str(row.get("assessment_type")): stated,
        "rationale": row.get("rationale"),
        "metadata": row.get("assessment_metadata"),
        "overrides": row.get("overrides"),
        "valid": row.get("valid") is None or bool(row.get("valid")),
    }
