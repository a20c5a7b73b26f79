"""The SQLite database of a Phoenix server: a run for each project with traces, and for each experiment."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import decoded
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.sqlite_file import open_sqlite, table_names
from ragtriage.data.importers.spans.traces import Traces, runs_of_spans
from ragtriage.data.importers.tools.facts import fields_in, moment
from ragtriage.data.importers.tools.phoenix.annotations import labels_of
from ragtriage.data.importers.tools.phoenix.experiments import sample_of_task
from ragtriage.data.importers.tools.phoenix.spans import span_of
from ragtriage.data.store.parsed_run import ParsedRun, Record

SPANS_INSTEAD = (
    "that of Phoenix 20, or spans written with client.spans.get_spans_dataframe(...).to_parquet(FILE)"
)
TABLES = {"projects", "spans", "traces"}
OF_EXPERIMENTS = {
    *(
        "datasets",
        "dataset_example_revisions",
        "experiment_run_annotations",
        "experiment_runs",
        "experiments",
    ),
}
SPANS = """
SELECT spans.*, traces.trace_id, projects.name AS project
FROM spans JOIN traces ON traces.id = spans.trace_rowid JOIN projects ON projects.id = traces.project_rowid
ORDER BY spans.id
"""
COSTS = "SELECT span_rowid, total_cost FROM span_costs WHERE total_cost IS NOT NULL"
ANNOTATIONS = {
    "span_annotations": """
SELECT span_annotations.*, spans.span_id FROM span_annotations JOIN spans ON spans.id = span_rowid
ORDER BY span_annotations.id""",
    "document_annotations": """
SELECT document_annotations.*, spans.span_id FROM document_annotations JOIN spans ON spans.id = span_rowid
ORDER BY document_annotations.id""",
    "trace_annotations": """
SELECT trace_annotations.*, traces.trace_id FROM trace_annotations JOIN traces ON traces.id = trace_rowid
ORDER BY trace_annotations.id""",
}
EXPERIMENTS = """
SELECT experiments.*, datasets.name AS dataset
FROM experiments JOIN datasets ON datasets.id = experiments.dataset_id
WHERE EXISTS (SELECT 1 FROM experiment_runs WHERE experiment_id = experiments.id)
ORDER BY experiments.id
"""
# The revision of an example that was current in the version of the data set that the experiment ran on.
TASKS = """
SELECT experiment_runs.*, revision.input AS example_input, revision.output AS reference_output,
       revision.metadata AS example_metadata
FROM experiment_runs JOIN dataset_example_revisions AS revision ON revision.id = (
    SELECT MAX(id) FROM dataset_example_revisions
    WHERE dataset_example_id = experiment_runs.dataset_example_id AND dataset_version_id <= :version
)
WHERE experiment_id = :experiment ORDER BY experiment_runs.id
"""
OF_RUN = "SELECT * FROM experiment_run_annotations WHERE experiment_run_id = ? ORDER BY id"


def is_database(peek: Peek) -> bool:
    """Return whether a file is the database of a Phoenix server."""
    return peek.tables >= TABLES and bool(peek.tables & {"span_annotations", "project_sessions"})


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read every project and experiment; the traces that an experiment wrote are those of its project."""
    tables = table_names(source)
    with open_sqlite(source) as connection:
        try:
            traces = _traces(connection, tables, errors)
            experiments = list(_rows(connection, EXPERIMENTS)) if tables >= OF_EXPERIMENTS else []
        except sqlite3.OperationalError as error:
            what = f"is a database of Phoenix of a version that is not read: {error}"
            raise source.error(what, SPANS_INSTEAD) from error
    runs = runs_of_spans(traces, ParsedRun(source.stem, (), source.name, "phoenix_database"), options.limit)
    for row in experiments:
        version = row["dataset_version_id"]
        records = islice(_tasks(source, row["id"], version, errors), options.limit)
        first = next(records, None)
        if first is not None:
            runs.append(
                ParsedRun(
                    *(str(row["name"]), chain([first], records), source.name, "phoenix_database"),
                    named_by_content=True,
                    dataset=str(row["dataset"]),
                    dataset_version=str(version),
                    created_at=moment(row["created_at"]),
                )
            )
    if not runs:
        what = "is a database of Phoenix, without a trace or an experiment that holds a question"
        raise source.error(what, "one in which a root span or an example has an input")
    return runs


def _traces(connection: sqlite3.Connection, tables: frozenset[str], errors: ValidationErrors) -> Traces:
    """Return the traces of all projects but those that experiments write."""
    traces = Traces(errors, {"tool": "phoenix"})
    query = "SELECT project_name FROM experiments WHERE project_name IS NOT NULL"
    apart = {row["project_name"] for row in _rows(connection, query)} if "experiments" in tables else set()
    costs = dict(map(tuple, connection.execute(COSTS))) if "span_costs" in tables else {}
    read: set[str] = set()
    for row in _rows(connection, SPANS):
        if row["project"] not in apart:
            attributes = {**fields_in(row["attributes"]), "llm.cost.total": costs.get(row["id"])}
            context = {"trace_id": row["trace_id"], "span_id": row["span_id"]}
            span = span_of({**row, "attributes": attributes, "context": context}, run=str(row["project"]))
            traces.add(int(row["id"]), span)
            read |= {f"span {span.span_id}", f"trace {span.trace_id}"}
    for table, query_of_table in ANNOTATIONS.items():
        for row in _rows(connection, query_of_table) if table in tables else ():
            span_id, trace_id = str(row.get("span_id") or ""), str(row.get("trace_id") or "")
            if (f"span {span_id}" if span_id else f"trace {trace_id}") in read:
                traces.attach(int(row["id"]), labels_of(row), span_id=span_id, trace_id=trace_id)
    return traces


def _tasks(source: InputFile, experiment: int, version: int, errors: ValidationErrors) -> Iterator[Record]:
    with open_sqlite(source) as connection:
        for row in _rows(connection, TASKS, {"experiment": experiment, "version": version}):
            output = decoded(row["output"])
            if isinstance(output, Mapping) and "task_output" in output:
                output = output["task_output"]
            task = {
                **row,
                "input": row["example_input"],
                "output": output,
                "metadata": row["example_metadata"],
                "example_id": _node_id("DatasetExample", row["dataset_example_id"]),
            }
            annotations = list(_rows(connection, OF_RUN, (row["id"],)))
            sample = sample_of_task(task, annotations, int(row["id"]), errors)
            if sample is not None:
                yield int(row["id"]), sample


def _node_id(kind: str, row: Any) -> str:
    """Return an id as Phoenix shows and exports it."""
    return base64.b64encode(f"{kind}:{row}".encode()).decode()


def _rows(connection: sqlite3.Connection, query: str, values: Any = ()) -> Iterator[dict[str, Any]]:
    for row in connection.execute(query, values):
        yield dict(row)
