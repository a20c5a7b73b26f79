"""Spans in the protobuf messages of OTLP: what is stored of each at once, and what is read of it later."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as OtlpSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from ragtriage.data.importers.spans.span import Span
from ragtriage.data.importers.tools.otlp import MAX_DEPTH, recorded_span, service_name
from ragtriage.data.live.redaction import USER_IDS

FACTS = {  # of a call -> the attributes that say it
    "user_id": USER_IDS,
    "release": ("release", "langfuse.release", "app.version"),
}


@dataclass(frozen=True)
class StoredSpan:
    """A span as it waits for the rest of its trace."""

    trace_id: str  # hexadecimal
    span_id: str
    service: str  # name of the service, with its version
    release: str  # version of the service, "" where it says none
    content: bytes  # the span as a protobuf message


def parsed_request(payload: bytes) -> ExportTraceServiceRequest:
    """Return the request in a record of the journal."""
    request = ExportTraceServiceRequest()
    request.ParseFromString(payload)
    return request


def stored_spans(request: ExportTraceServiceRequest) -> Iterator[StoredSpan]:
    """Yield the spans of a request; those without an id of their own or of a trace are left out."""
    for group in request.resource_spans:
        resource = _attributes(group.resource.attributes)
        service, release = service_name(resource), str(resource.get("service.version") or "")
        for scope in group.scope_spans:
            for span in scope.spans:
                if any(span.trace_id) and any(span.span_id):
                    content = span.SerializeToString()
                    yield StoredSpan(span.trace_id.hex(), span.span_id.hex(), service, release, content)


def read_span(stored: StoredSpan) -> Span:
    """Return a stored span in the form that all tracing tools are brought to."""
    span = OtlpSpan.FromString(stored.content)
    bare = Span(
        stored.trace_id,
        stored.span_id,
        span.parent_span_id.hex() if any(span.parent_span_id) else None,
        span.name,
        start=span.start_time_unix_nano or None,
        end=span.end_time_unix_nano or None,
        run=stored.service,
    )
    events = [(event.name, _attributes(event.attributes)) for event in span.events]
    failed = span.status.code == Status.STATUS_CODE_ERROR
    attributes = _attributes(span.attributes)
    read = recorded_span(bare, attributes, events, failed=failed, message=span.status.message)
    found = {
        name: next((str(attributes[key]) for key in keys if attributes.get(key) not in (None, "")), "")
        for name, keys in FACTS.items()
    }
    known = {name: fact for name, fact in found.items() if fact}
    return replace(read, attributes={**read.attributes, **known})


def _attributes(listed: Sequence[KeyValue]) -> dict[str, Any]:
    return {item.key: _value(item.value) for item in listed}


def _value(value: AnyValue, depth: int = 0) -> Any:
    """Return a typed value; None where it is nested too deeply or empty."""
    kind = value.WhichOneof("value")
    if kind is None or depth > MAX_DEPTH:
        return None
    if kind == "array_value":
        return [_value(item, depth + 1) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {item.key: _value(item.value, depth + 1) for item in value.kvlist_value.values}
    content = getattr(value, kind)
    return content.hex() if isinstance(content, bytes) else content
