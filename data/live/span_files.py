"""Files of spans, taken in as those are that come over HTTP."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Peek
from ragtriage.data.importers.parsing.documents_in_json import items_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import container, json_lines
from ragtriage.data.importers.parsing.shapes import mapping, objects
from ragtriage.data.importers.tools.otlp import (
    LOGS,
    SCOPES,
    SPANS,
    WRAPPERS,
    exports,
    is_printed,
    printed_span,
)
from ragtriage.data.live.calls import Calls, name_list
from ragtriage.data.live.journal import Kind
from ragtriage.data.live.otlp_requests import WITHOUT_IDS, MalformedError, message_of, scores_in, span_count
from ragtriage.data.live.receiver import Intake
from ragtriage.data.live.windows import window_name

AT_ONCE = 200  # printed spans of a record of the journal


@dataclass(frozen=True)
class Taken:
    """What was taken of a file."""

    spans: int
    traces: frozenset[str]  # their ids, in hexadecimal
    left_out: Mapping[str, int]  # reason -> how many


def take_in_file(path: Path, intake: Intake) -> Taken:
    """Put the spans of a file into the journal: of OTLP as JSON, or as the SDKs print them.

    Raises:
        InputError: it is no such file, or holds no spans.
    """
    source = InputFile.from_path(path)
    errors = ValidationErrors(source.name)
    read = _printed if is_printed(Peek(source)) else _exported
    spans, traces, left_out = 0, set[str](), Counter[str]()
    for request in read(source, errors):
        payload, rejected = intake.traces(request)
        left_out[WITHOUT_IDS.removesuffix(" are left out")] += rejected
        if payload:
            intake.journal.append(Kind.TRACES, payload)
            spans += span_count(request)
            scopes = (scope for group in request.resource_spans for scope in group.scope_spans)
            traces |= {span.trace_id.hex() for scope in scopes for span in scope.spans}
    if not spans:
        accepted = (
            "OTLP as JSON (an export a line, a list of them, one document), or spans as SDKs print them"
        )
        raise source.error("holds no spans with ids", accepted)
    left_out["lines that are no spans"] += errors.total + sum(errors.left_out.values())
    return Taken(spans, frozenset(traces), {reason: n for reason, n in left_out.items() if n})


@dataclass(frozen=True)
class Among:
    """What became of some traces in a project."""

    calls: int
    runs: tuple[str, ...]  # names of the windows that hold one
    unpublished: int  # kept calls that are in none yet


_AMONG = "FROM calls WHERE trace_id IN (SELECT value FROM json_each(?))"
_WINDOWS = (
    "SELECT DISTINCT windows.first, windows.last FROM windows JOIN calls ON time >= first AND time < last"
    " WHERE windows.release = '' AND trace_id IN (SELECT value FROM json_each(?)) ORDER BY 1"
)


def calls_among(calls: Calls, traces: Iterable[str]) -> Among:
    """Return how many of some traces are calls of a project now, and which runs hold them."""
    listed = (name_list(traces),)
    count = f"SELECT count(*), coalesce(sum(kept AND NOT published), 0) {_AMONG}"
    with calls.open() as connection:
        n, waiting = connection.execute(count, listed).fetchone()
        runs = tuple(window_name(*ends) for ends in connection.execute(_WINDOWS, listed))
    return Among(n, runs, waiting)


def _exported(source: InputFile, errors: ValidationErrors) -> Iterator[ExportTraceServiceRequest]:
    for line, export in exports(source, errors):
        try:
            request = _request(export)
        except MalformedError as error:
            errors.add(line, "", error.what, error.accepted)
            continue
        if not request.resource_spans:
            errors.leave_out("no export")
        yield request


def _printed(source: InputFile, errors: ValidationErrors) -> Iterator[ExportTraceServiceRequest]:
    rows = items_at(source, "") if container(source) == "json" else json_lines(source, errors)
    groups = iter(_printed_group(row) for _, row in rows if isinstance(row, dict))
    while part := list(islice(groups, AT_ONCE)):
        yield message_of(ExportTraceServiceRequest, {"resourceSpans": part})


def _printed_group(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a printed span as OTLP has it, within its resource."""
    span = printed_span(row)
    return {
        "resource": {"attributes": _typed_items(mapping(row.get("resource")).get("attributes"))},
        "scopeSpans": [
            {
                "spans": [
                    {
                        "traceId": span.trace_id,
                        "spanId": span.span_id,
                        "parentSpanId": span.parent_id or "",
                        "name": span.name,
                        "startTimeUnixNano": str(span.start or 0),
                        "endTimeUnixNano": str(span.end or 0),
                        "attributes": _typed_items(row.get("attributes")),
                        "events": [
                            {
                                "name": str(event.get("name")),
                                "attributes": _typed_items(event.get("attributes")),
                            }
                            for event in objects(row.get("events"))
                        ],
                        "status": {} if span.error is None else {"code": 2, "message": span.error},
                    }
                ]
            }
        ],
    }


def _typed_items(values: Any) -> list[dict[str, Any]]:
    listed = values.items() if isinstance(values, dict) else ()
    return [{"key": str(key), "value": _typed(value)} for key, value in listed if value is not None]


def _typed(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and abs(value) < 1 << 63:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_typed(item) for item in value]}}
    return (
        {"kvlistValue": {"values": _typed_items(value)}}
        if isinstance(value, dict)
        else {"stringValue": str(value)}
    )


def _request(export: Any) -> ExportTraceServiceRequest:
    """Return the spans of an export under the names of OTLP, whatever version wrote it."""
    fields = export if isinstance(export, dict) else {}
    fields = next((fields[key] for key in WRAPPERS if isinstance(fields.get(key), dict)), fields)
    spans, logs = (
        [_group(group) for key in keys for group in objects(fields.get(key))] for keys in (SPANS, LOGS)
    )
    request = message_of(ExportTraceServiceRequest, {"resourceSpans": spans})
    if logs:
        scores = scores_in(message_of(ExportLogsServiceRequest, {"resourceLogs": logs}))
        request.resource_spans.extend(scores.resource_spans)
    return request


def _group(group: Mapping[str, Any]) -> dict[str, Any]:
    scopes = [dict(scope) for key in SCOPES for scope in objects(group.get(key))]
    of_logs = any("logRecords" in scope or "log_records" in scope for scope in scopes)
    return {"resource": group.get("resource") or {}, "scopeLogs" if of_logs else "scopeSpans": scopes}
