"""MLflow: results of evaluations, traces as files, its database, and the folder that stands in its place."""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import yaml

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.formats.table import reader_of, table_reader
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, ToolRows, each
from ragtriage.data.importers.parsing.cells import is_blank
from ragtriage.data.importers.parsing.containers import RowsByKey, open_sqlite, rows_of, table_names
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.literals import LiteralError, read_literal
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import open_table, rows_at
from ragtriage.data.importers.parsing.shapes import decoded, question_in
from ragtriage.data.importers.parsing.values import Fields, fields_in, number, text_in, value_in
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.importers.tools.mlflow_traces import is_trace, newer_schema, spans_of
from ragtriage.data.store.parsed_run import ParsedRun, Record

FRAME = {"trace", "assessments", "state"}
FRAME_2 = {"trace", "request_id", "execution_time_ms"}
LEGACY_SCORE = re.compile(r"(?P<metric>.+?)(?:/v\d+)?/(?:score|value)")
KNOWN = "traces of MLflow 2.14 or later, in schema 1 to 3"


def is_traces(peek: Peek) -> bool:
    """Return whether a file holds traces: one, a list of them, or one a line."""
    return is_trace(peek.keys) or is_trace(peek.first)


def is_results(peek: Peek) -> bool:
    """Return whether these are rows of `mlflow.genai.evaluate` or of `mlflow.search_traces`."""
    names = peek.columns
    valued = "trace_id" in names and any(name.endswith("/value") for name in names)
    return valued or names >= FRAME or names >= FRAME_2


def read_traces(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read traces: a run for each run of MLflow in which they were recorded."""
    return _runs(source, options, errors, rows_at(source, "", errors, alone=True), "mlflow_traces")


def read_results(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read rows that hold a trace each, with its scores in columns of their own."""
    table = open_table(source, errors)
    rows = ((line, _trace_of(row) if isinstance(row, dict) else row) for line, row in table.rows())
    return _runs(source, options, errors, rows, "mlflow")


def _runs(
    source: InputFile, _options: Options, errors: ValidationErrors, records: Iterable[Record], key: str
) -> list[ParsedRun]:
    traces, newer = Traces(errors, "MLflow"), ""
    for line, trace in records:
        if not isinstance(trace, dict) or not is_trace(trace):
            errors.leave_out("a row that is not a trace")
            continue
        newer = newer or newer_schema(trace)
        for span in spans_of(trace):
            traces.add(line, span)
    runs = traces.runs(source, key)
    if not runs and newer:
        what = f"holds traces of MLflow in schema {newer}, without a question that is known"
        raise source.error(what, KNOWN)
    if not runs:
        raise source.error("holds traces of MLflow, none of them with a question", KNOWN)
    if len(runs) > 1:
        return runs
    return [replace(runs[0], name=source.stem, named_by_content=False)]  # the id of a run says nothing


def _trace_of(row: Row) -> Row:
    """Return the trace in a row; its columns in the place of one where they do not hold it."""
    cells = Fields(row)
    trace = Fields(decoded(row.get("trace"), 1))
    info = dict(trace.fields("info").all)
    if not info:
        info = {name: row.get(name) for name in ("trace_id", "request_id", "state", "status", "request_time")}
        info |= {"tags": row.get("tags"), "assessments": row.get("assessments")}
        info["trace_metadata"] = cells.at("trace_metadata", "request_metadata")
        info["execution_duration_ms"] = cells.at("execution_duration", "execution_time_ms")
    spans = trace.fields("data").at("spans") or cells.decoded("spans")
    if not isinstance(spans, list) or not spans:
        ends = {"mlflow.spanInputs": row.get("request"), "mlflow.spanOutputs": row.get("response")}
        spans = [{"span_id": "root", "attributes": ends, "start_time": info.get("request_time")}]
    if not decoded(info.get("assessments")):
        info["assessments"] = list(_assessments(row))
    return {"info": info, "data": {"spans": spans}}


def _assessments(row: Row) -> Iterator[Row]:
    """Yield the columns `<name>/value`, `<name>/rationale` and `<name>/error_message` as assessments."""
    for column, value in row.items():
        name, _, part = column.rpartition("/")
        error = text_in(row.get(f"{name}/error_message"))
        blank = is_blank(value, blank_text=False) or value == ""
        if part != "value" or (blank and (not error or name.startswith("expected_"))):
            continue
        if name.startswith("expected_"):
            yield {"assessment_name": name, "expectation": {"value": decoded(value)}}
        else:
            stated = {"value": value, **({"error": {"error_message": error}} if error else {})}
            yield {"assessment_name": name, "feedback": stated, "rationale": row.get(f"{name}/rationale")}


def is_legacy(peek: Peek) -> bool:
    """Return whether these are results of `mlflow.evaluate` of 2.x, also as columns and data in JSON."""
    columns = peek.keys.get("columns") if "data" in peek.keys else None
    return LEGACY.fits(set(map(str, columns if isinstance(columns, list) else peek.columns)))


def _is_legacy_columns(names: set[str]) -> bool:
    scored = {name.removesuffix("/score") for name in names if name.endswith("/score")}
    versioned = any(re.fullmatch(r".+/v\d+", name) for name in scored)
    justified = any(f"{name}/justification" in names for name in scored)
    return versioned or justified or bool(scored and {"inputs", "outputs"} <= names)


def _legacy(row: Row) -> Row:
    """Return a row with its metrics as scores and justifications as their reasons."""
    scores, sample = {}, {}
    for name, value in row.items():
        match = LEGACY_SCORE.fullmatch(name)
        amount = value_in(value)
        if match is not None and (amount is not None or value in (None, "")):
            reason = row.get(f"{name.rpartition('/')[0]}/justification")
            scores[metric_name(match["metric"])[0]] = {"value": amount, "reason": text_in(reason)}
        elif not name.endswith("/justification"):
            sample[name] = value
    inputs = sample.pop("inputs", None)
    if "question" not in sample and inputs is not None:
        sample["question"] = question_in(inputs)
    if "outputs" in sample:
        sample["answer"] = sample.pop("outputs")
    if number(sample.get("latency")) is not None:
        sample["latency_s"] = sample.pop("latency")
    return {**sample, "scores": scores}


LEGACY = ToolRows(
    _is_legacy_columns,
    each(_legacy),
    "read as results of mlflow.evaluate: `/score` columns are scores, `/justification` columns their reasons",
)
read_legacy = reader_of(LEGACY, "mlflow_2")


ACCEPTED = "traces as `mlflow.search_traces(return_type='list')` gives them, each written with `to_json()`"
APART = f"a trace whose spans are kept beside the database; accepted: {ACCEPTED}"
NEEDED = {"spans", "assessments", "trace_tags", "trace_request_metadata", "experiments", "runs", "params"}


def _read_database(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the traces of a database: a run for each run of MLflow, and one for each experiment without."""
    there = table_names(source)
    if lacking := sorted({"trace_info", *NEEDED} - there):
        what = f"is a database of MLflow without the tables of traces ({', '.join(lacking)})"
        raise source.error(what, ACCEPTED)
    traces = Traces(errors, "MLflow")
    params: dict[str, dict[str, Any]] = {}
    with open_sqlite(source) as connection:
        rows = map(dict, rows_of(connection, "runs"))
        run_names = {str(row.get("run_uuid")): str(row.get("name") or row.get("run_uuid")) for row in rows}
        for row in map(dict, rows_of(connection, "params")):
            params.setdefault(str(row.get("run_uuid")), {})[str(row.get("key"))] = setting(row.get("value"))
        count = 0
        for count, trace in enumerate(_traces(connection), start=1):
            if not trace["data"]["spans"]:
                errors.leave_out(APART)
                continue
            metadata, experiment = trace["info"]["trace_metadata"], trace["info"]["experiment"]
            for span in spans_of(trace, "" if metadata.get("mlflow.sourceRun") else experiment):
                traces.add(count, span)
    if errors.left_out[APART] == count:
        what = "no trace" if not count else f"{count:,} traces and the spans of none"
        raise source.error(f"is a database of MLflow that holds {what}", ACCEPTED)
    return [
        replace(run, name=run_names.get(run.name, run.name), config=dict(params.get(run.name, {})))
        for run in traces.runs(source, "mlflow_database")
    ]


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
    value, error = decoded(row.get("value"), 1), decoded(row.get("error"), 1)
    return {
        **{name: row.get(name) for name in ("assessment_id", "span_id", "rationale", "overrides")},
        "assessment_name": row.get("name"),
        "source": {"source_type": row.get("source_type"), "source_id": row.get("source_id")},
        str(row.get("assessment_type")): {"value": value, **({"error": error} if error else {})},
        "metadata": row.get("assessment_metadata"),
        "valid": row.get("valid") is None or bool(row.get("valid")),
    }


FOLDERS = "the folder mlruns, or that of an experiment, a run or its artifacts in it"
BELOW = ("", "*/", "*/*/")  # of the folder of an experiment: mlruns and its parent lie above
SPANS = "artifacts/traces.json"
TABLES = ("eval_results*.json", "eval_results*.jsonl", "eval_results*.csv", "eval_results*.parquet")
MOST_FILES = 100_000
SMALL = 1 << 20


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """A loader of plain data that follows no alias, of which a few can stand for any amount."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node.

        Raises:
            yaml.YAMLError: it is an alias.
        """
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("holds an alias")
        return super().compose_node(parent, index)


def is_folder(peek: Peek) -> bool:
    """Return whether a folder holds traces or tables of evaluations as MLflow lays them out."""
    with suppress(OSError):
        return peek.folder is not None and any(chain(_trace_folders(peek.folder), _tables(peek.folder)))
    return False


def _trace_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders of traces, which have their spans in `artifacts/traces.json`."""
    patterns = [f"{below}traces/*/{SPANS}" for below in BELOW]
    if folder.name == "traces":
        patterns.insert(0, f"*/{SPANS}")
    for pattern in patterns:
        yield from (path.parent.parent for path in islice(folder.glob(pattern), MOST_FILES))


def _tables(folder: Path) -> Iterator[Path]:
    """Yield the tables of evaluations among the artifacts of runs."""
    patterns = [f"{below}artifacts/{name}" for below in BELOW for name in TABLES]
    if folder.name == "artifacts":
        patterns += TABLES
    for pattern in patterns:
        yield from sorted(islice(folder.glob(pattern), MOST_FILES))


def _read_folder(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the traces of a folder, a run for each run of MLflow, and the tables of evaluations in it."""
    folder = source.path or Path()
    traces = Traces(errors, "MLflow")
    for count, path in enumerate(sorted(set(_trace_folders(folder))), start=1):
        try:
            spans = spans_of(_trace(path))
        except (InputError, OSError):
            errors.leave_out("a trace whose files cannot be read")
            continue
        for span in spans:
            traces.add(count, span)
    runs = [_named(run, folder) for run in traces.runs(source, "mlflow_folder")]
    for path in dict.fromkeys(_tables(folder)):
        runs += _of_table(path, options, errors)
    if not runs:
        raise source.error("is a folder of MLflow with no trace and no table that holds a question", FOLDERS)
    return runs


def _trace(path: Path) -> dict[str, Any]:
    """Return the trace in a folder as its file would have it.

    Raises:
        InputError: its spans cannot be read.
        OSError: a file cannot be read.
    """
    assessments = sorted((path / "assessments").glob("*.yaml"))[:SMALL]
    info: dict[str, Any] = {"trace_id": path.name, **_yaml(path / "trace_info.yaml")}
    info["trace_metadata"] = _texts(path / "request_metadata") or info.get("trace_metadata")
    info["tags"] = _texts(path / "tags") or info.get("tags")
    info["assessments"] = [_yaml(file) for file in assessments]
    return {"info": info, "data": fields_in(InputFile.from_path(path / SPANS).document())}


def _yaml(path: Path) -> dict[str, Any]:
    """Return the fields of a small YAML file; none where it is damaged or too large."""
    if not path.is_file() or path.stat().st_size > SMALL:
        return {}
    try:
        content = yaml.load(path.read_text(encoding="utf-8", errors="replace"), _Loader)  # noqa: S506 # a SafeLoader
        plain = json.loads(json.dumps(content, default=str))
    except (yaml.YAMLError, RecursionError, TypeError, ValueError):
        return {}
    return plain if isinstance(plain, dict) else {}


def _texts(folder: Path) -> dict[str, str]:
    """Return the contents of the files in a folder by their names: so MLflow keeps tags and parameters."""
    listed = islice(folder.glob("*"), 1_000)
    files = (path for path in listed if path.is_file() and path.stat().st_size < SMALL)
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in files}


def _named(run: ParsedRun, folder: Path) -> ParsedRun:
    """Return a run with the name and the parameters that its own folder gives it."""
    if not run.name.isalnum():  # the id of a run is hexadecimal
        return run
    places = (place for below in BELOW for place in folder.glob(f"{below}{run.name}"))
    place = next((place for place in places if (place / "meta.yaml").is_file()), None)
    if place is None and (folder.parent / run.name / "meta.yaml").is_file():
        place = folder.parent / run.name
    if place is None:
        return run
    params = {name: setting(text) for name, text in sorted(_texts(place / "params").items())}
    return replace(run, name=str(_yaml(place / "meta.yaml").get("run_name") or run.name), config=params)


def _of_table(path: Path, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Return the runs of a table among the artifacts; [] where it is none of the known ones."""
    file = InputFile.from_path(path)
    readers = ((is_traces, read_traces), (is_results, read_results), (is_legacy, read_legacy))
    read = next((read for detect, read in readers if detect(Peek(file))), None)
    return [] if read is None else read(file, options, errors)


READERS = {
    "mlflow_database": Reader(
        _read_database,
        lambda peek: "trace_info" in peek.tables or {"experiments", "latest_metrics"} <= peek.tables,
    ),
    "mlflow_folder": Reader(_read_folder, is_folder),
    "mlflow_traces": Reader(read_traces, is_traces),
    "mlflow": Reader(read_results, is_results),
    "mlflow_2": table_reader("mlflow_2", LEGACY, read_legacy, detect=is_legacy),
}
