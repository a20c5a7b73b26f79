"""OpenTelemetry: exports of spans and logs as OTLP JSON, and spans as SDKs print them."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader
from ragtriage.data.importers.parsing.documents_in_json import items_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import container, json_lines
from ragtriage.data.importers.parsing.shapes import mapping, objects
from ragtriage.data.importers.parsing.values import Fields
from ragtriage.data.importers.spans.conventions import (
    Event,
    labels_of_event,
    messages_of_event,
    span_of_attributes,
)
from ragtriage.data.importers.spans.span import Span
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.store.parsed_run import ParsedRun

MAX_DEPTH = 16
SPANS = ("resourceSpans", "resource_spans", "batches")
LOGS = ("resourceLogs", "resource_logs")
CONTEXTS = ("context", "spanContext", "_spanContext")  # of a printed span, with its ids
METRICS = ("resourceMetrics", "resource_metrics")
WRAPPERS = ("ExportTraceServiceRequest", "ExportLogsServiceRequest", "trace", "data")
SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
NAMES_OF_RUNS = ("service.name", "service.version", "openinference.project.name")
NO_ID = {"", "0" * 16, "0" * 32}
NO_MESSAGES = "no messages are recorded, so that there are no answers: the capture of content was off"
CAPTURE = (
    "spans whose instrumentation captures the content of messages, or at least the query of the retrieval"
)


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read traces; a run is a service in a version. Evaluations may be logs in a file of their own."""
    reader = _Reader(errors)
    for file in (source, *options.companions):
        for line, export in exports(file, errors):
            reader.export(line, export)
    return reader.runs(source)


def read_spans(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read spans as an SDK prints them, an object each."""
    reader = _Reader(errors)
    for line, row in items_at(source, "") if container(source) == "json" else json_lines(source, errors):
        reader.printed(line, row)
    return reader.runs(source)


class _Reader:
    """Reader of exports; it knows whether any content was recorded."""

    def __init__(self, errors: ValidationErrors) -> None:
        self._errors = errors
        self._traces = Traces(errors, "opentelemetry")
        self._spans = 0
        self._has_messages = False

    def runs(self, source: InputFile) -> list[ParsedRun]:
        """Return the runs of all that was read."""
        if not self._spans:
            self._errors.raise_if_any()
            raise source.error("is OpenTelemetry, and holds no spans", "an export of traces with its spans")
        runs = self._traces.runs(source, "otlp")
        if not runs:
            what = f"is OpenTelemetry, {self._spans:,} spans, none of which records a question or a query"
            raise source.error(what, CAPTURE)
        if not self._has_messages:
            self._errors.remark(NO_MESSAGES)
        return runs

    def export(self, line: int, export: Any) -> None:
        """Read the spans and logs of an export."""
        fields = mapping(export)
        if fields.keys().isdisjoint((*SPANS, *LOGS, *WRAPPERS)):
            of_metrics = not fields.keys().isdisjoint(METRICS)
            self._errors.leave_out(
                "a line of metrics" if of_metrics else "a line that is not an export of spans"
            )
            return
        fields = next((fields[key] for key in WRAPPERS if isinstance(fields.get(key), Mapping)), fields)
        for group in _objects(fields, *SPANS):
            # the name of the run of a resource; it is asked for every export, and a line is one
            recorded = mapping(group.get("resource")).get("attributes")
            if isinstance(recorded, list):
                recorded = [item for item in objects(recorded) if item.get("key") in NAMES_OF_RUNS]
            run = service_name(_attributes(recorded))
            for span in (span for scope in _objects(group, *SCOPES) for span in _objects(scope, "spans")):
                self._add(line, _with_attributes(_of_otlp(span, run), span))
        for scope in (scope for group in _objects(fields, *LOGS) for scope in _objects(group, *SCOPES)):
            for record in _objects(scope, "logRecords", "log_records"):
                self._log(line, record)

    def printed(self, line: int, row: Any) -> None:
        """Read a span as an SDK prints it."""
        if not isinstance(row, Mapping):
            self._errors.add(line, "", "is not a span", "an object with the ids and attributes of a span")
            return
        self._add(line, printed_span(row))

    def _add(self, line: int, span: Span) -> None:
        self._spans += 1
        self._has_messages |= span.output is not None
        self._traces.add(line, span)

    def _log(self, line: int, record: Mapping[str, Any]) -> None:
        """Join a log record that speaks of a span: an evaluation or a message."""
        attributes = _attributes(record.get("attributes"))
        name = str(record.get("eventName") or record.get("event_name") or attributes.get("event.name") or "")
        body = _value(record.get("body"))
        values = {**mapping(body), **attributes}
        labels = labels_of_event(name, values) or messages_of_event(name, values)
        row = Fields(record)
        span_id, trace_id = _id(row.at("spanId", "span_id")), _id(row.at("traceId", "trace_id"))
        if labels is not None and (span_id or trace_id):
            self._has_messages |= bool(labels.output)
            self._traces.attach(line, labels, span_id=span_id, trace_id=trace_id)


def exports(source: InputFile, errors: ValidationErrors) -> Iterator[tuple[int, Any]]:
    """Yield exports with their lines: one a line, a list of them, or a document with a list of resources."""
    if container(source) != "json":
        yield from json_lines(source, errors)
        return
    peek = Peek(source)
    if isinstance(peek.document, list):
        yield from items_at(source, "")
        return
    wrapper = next((key for key in WRAPPERS if key in peek.keys), "")
    for key in (*SPANS, *LOGS):
        for line, item in items_at(source, f"{wrapper}.{key}" if wrapper else key):
            yield line, {key: [item]}


def _objects(value: Mapping[str, Any], *keys: str) -> list[Mapping[str, Any]]:
    return [item for key in keys for item in objects(value.get(key))]


def _of_otlp(record: Mapping[str, Any], run: str) -> Span:
    span = Fields(record)
    return Span(
        _id(span.at("traceId", "trace_id")),
        _id(span.at("spanId", "span_id")),
        _id(span.at("parentSpanId", "parent_span_id")) or None,
        str(span.at("name") or ""),
        start=span.nanoseconds("startTimeUnixNano", "start_time_unix_nano"),
        end=span.nanoseconds("endTimeUnixNano", "end_time_unix_nano"),
        run=run,
    )


def printed_span(row: Mapping[str, Any]) -> Span:
    """Return a span from what an SDK prints of it."""
    run = service_name(_plain(mapping(row.get("resource")).get("attributes")))
    return _with_attributes(_of_sdk(row, run), row)


def _of_sdk(record: Mapping[str, Any], run: str) -> Span:
    """Return a span as the SDKs for Python (`context`) and JavaScript (`spanContext`) print it."""
    row = Fields(record)
    context, parent = row.at(*CONTEXTS), row.at("parent_id", "parentSpanId", "parentId", "parentSpanContext")
    ids = Fields(context) if isinstance(context, Mapping) else row
    parent = Fields(parent).at("spanId", "span_id") if isinstance(parent, Mapping) else parent
    return Span(
        _id(ids.at("trace_id", "traceId")),
        _id(ids.at("span_id", "spanId", "id")),
        _id(parent) or None,
        str(row.at("name") or ""),
        start=row.nanoseconds("start_time", "startTime", "timestamp"),
        end=row.nanoseconds("end_time", "endTime"),
        run=run,
    )


def _with_attributes(span: Span, record: Mapping[str, Any]) -> Span:
    listed = _objects(record, "events")
    events = [(str(event.get("name")), _attributes(event.get("attributes"))) for event in listed]
    status = record.get("status")
    fields = Fields(status if isinstance(status, Mapping) else {"code": status})
    failed = str(fields.at("code", "status_code")) in ("2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR")
    message = fields.at("message", "description")
    return recorded_span(span, _attributes(record.get("attributes")), events, failed=failed, message=message)


def recorded_span(
    span: Span, attributes: Mapping[str, Any], events: Sequence[Event], *, failed: bool, message: object
) -> Span:
    """Return a span with what its attributes, events and status say; the message is why it failed."""
    read = span_of_attributes(span, attributes, events)
    if not failed:
        return read
    raised = [values.get("exception.message") for name, values in events if name == "exception"]
    messages = (message, *raised, attributes.get("error.type"))
    return replace(read, error=next((str(message) for message in messages if message), ""))


def _attributes(value: Any) -> dict[str, Any]:
    """Return attributes as name -> value, from OTLP's list of keys and typed values or from an object."""
    if isinstance(value, list):
        pairs = [item for item in value if isinstance(item, dict) and isinstance(item.get("key"), str)]
        return {item["key"]: _value(item.get("value")) for item in pairs}
    return _plain(value)


def _plain(value: Any) -> dict[str, Any]:
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def _value(value: Any, depth: int = 0) -> Any:
    """Return a typed value of OTLP; None where it is nested too deeply or of no known type."""
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return None
    text = value.get("stringValue")
    if text is not None:
        return text
    for key, item in value.items():
        kind = str(key).replace("_value", "Value")
        if kind == "intValue":
            text = str(item)
            return int(text) if len(text) <= 20 and text.lstrip("-").isdecimal() else item
        if kind in ("stringValue", "doubleValue", "boolValue", "bytesValue"):
            return item
        if kind == "arrayValue" and isinstance(item, dict):
            return [_value(entry, depth + 1) for entry in _objects(item, "values")]
        if kind == "kvlistValue" and isinstance(item, dict):
            return {
                str(entry.get("key")): _value(entry.get("value"), depth + 1)
                for entry in _objects(item, "values")
            }
    return None


def _id(value: Any) -> str:
    """Return the id of a trace or span in hexadecimal, "" where there is none; MLflow writes base64."""
    text = str(value or "").strip().removeprefix("0x")
    if len(text) in (12, 24) and text.endswith("="):
        try:
            text = base64.b64decode(text, validate=True).hex()
        except (binascii.Error, ValueError):
            return text
    return "" if text in NO_ID else text.lower() if len(text) in (16, 32) else text


def service_name(attributes: Mapping[str, Any]) -> str:
    """Return the service with its version, or the project that the spans are sent to."""
    names = [str(attributes[key]) for key in ("service.name", "service.version") if attributes.get(key)]
    if not names or names[0].startswith("unknown_service"):
        return str(attributes.get("openinference.project.name") or "")
    return " ".join(names)


def _looks(peek: Peek) -> list[Mapping[str, Any]]:
    if peek.kind not in ("json", "jsonl"):
        return []
    looks = [peek.keys, *peek.rows]
    return looks + [look[key] for look in looks for key in WRAPPERS if isinstance(look.get(key), Mapping)]


def _holds(look: Mapping[str, Any], keys: Iterable[str]) -> bool:
    return any("resource" in group or not group.keys().isdisjoint(SCOPES) for group in _objects(look, *keys))


def is_printed(peek: Peek) -> bool:
    """Return whether rows are spans as the SDKs print them; those of Phoenix have `span_kind`."""
    if peek.kind not in ("json", "jsonl") or not {"attributes", "name"} <= peek.first.keys():
        return False
    context = mapping(Fields(peek.first).at(*CONTEXTS))
    return bool({"trace_id", "traceId"} & context.keys()) and "span_kind" not in peek.first


READERS = {
    "otlp": Reader(read, lambda peek: any(_holds(look, SPANS) for look in _looks(peek))),
    "otlp_logs": Reader(read, lambda peek: any(_holds(look, LOGS) for look in _looks(peek))),
    "otel_spans": Reader(read_spans, is_printed),
}
