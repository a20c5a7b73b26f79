"""Tables of MLflow: results of an evaluation, traces as a frame, results of `mlflow.evaluate` of 2.x."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.table import reader_of
from ragtriage.data.importers.formats.tool_rows import Row, ToolRows, each
from ragtriage.data.importers.parsing.documents_in_json import items_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.metric_names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import decoded, question_in
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import json_lines, open_table
from ragtriage.data.importers.spans.traces import Traces, runs_of_spans
from ragtriage.data.importers.spans.values import number
from ragtriage.data.importers.tools.facts import fields_in, text_in, value_in
from ragtriage.data.importers.tools.mlflow.trace import is_trace, newer_schema, spans_of
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
    records: Iterable[Record] = (
        [(1, source.document())] if is_trace(Peek(source).keys) else _listed(source, errors)
    )
    return _runs(source, options, errors, records, "mlflow_traces")


def _listed(source: InputFile, errors: ValidationErrors) -> Iterator[Record]:
    return json_lines(source, errors) if Peek(source).kind == "jsonl" else items_at(source, "")


def read_results(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read rows that hold a trace each, with its scores in columns of their own."""
    table = open_table(source, errors)
    rows = ((line, _trace_of(row) if isinstance(row, dict) else row) for line, row in table.rows())
    return _runs(source, options, errors, rows, "mlflow")


def _runs(
    source: InputFile, options: Options, errors: ValidationErrors, records: Iterable[Record], key: str
) -> list[ParsedRun]:
    traces, newer = Traces(errors, {"tool": "MLflow"}), ""
    for line, trace in records:
        if not isinstance(trace, dict) or not is_trace(trace):
            errors.leave_out("a row that is no trace")
            continue
        newer = newer or newer_schema(trace)
        for span in spans_of(trace):
            traces.add(line, span)
    runs = runs_of_spans(traces, ParsedRun(source.stem, (), source.name, key), options.limit)
    if not runs and newer:
        raise source.error(
            f"holds traces of MLflow in schema {newer}, without a question that is known", KNOWN
        )
    if not runs:
        raise source.error("holds traces of MLflow, none of them with a question", KNOWN)
    if len(runs) > 1:
        return runs
    return [replace(runs[0], name=source.stem, named_by_content=False)]  # the id of a run says nothing


def _trace_of(row: Row) -> Row:
    """Return the trace in a row; its columns in the place of one where they do not hold it."""
    trace = decoded(row.get("trace"), 1)
    info = dict(fields_in(trace.get("info"))) if isinstance(trace, Mapping) else {}
    data = fields_in(trace.get("data")) if isinstance(trace, Mapping) else {}
    if not info:
        info = {name: row.get(name) for name in ("trace_id", "request_id", "state", "status", "request_time")}
        info |= {"trace_metadata": row.get("trace_metadata") or row.get("request_metadata")}
        info |= {"tags": row.get("tags"), "assessments": row.get("assessments")}
        info["execution_duration_ms"] = row.get("execution_duration") or row.get("execution_time_ms")
    spans = data.get("spans") or decoded(row.get("spans"))
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
        if part != "value":
            continue
        error = text_in(row.get(f"{name}/error_message"))
        blank = value is None or value == "" or value != value  # NaN
        if name.startswith("expected_"):
            if not blank:
                yield {"assessment_name": name, "expectation": {"value": decoded(value)}}
        elif error or not blank:
            stated = {"value": value, **({"error": {"error_message": error}} if error else {})}
            yield {"assessment_name": name, "feedback": stated, "rationale": row.get(f"{name}/rationale")}


def is_legacy(peek: Peek) -> bool:
    """Return whether these are results of `mlflow.evaluate` of 2.x, also as columns and data in JSON."""
    columns = peek.keys.get("columns")
    names = set(map(str, columns)) if isinstance(columns, list) and "data" in peek.keys else set(peek.columns)
    return LEGACY.fits(names)


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
