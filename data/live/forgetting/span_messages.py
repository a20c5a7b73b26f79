"""Spans of a user in messages of OTLP: which traces they are of, and a message without them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from ragtriage.data.live.otlp_spans import StoredSpan, read_span
from ragtriage.data.live.redaction import USER_KEYS


def user_of(row: tuple[Any, ...]) -> str:
    """Return the user that a span names, a row of the table of spans; "" for none."""
    with suppress(DecodeError):
        return str(read_span(StoredSpan(*row)).attributes.get("user_id", ""))
    return ""


def traces_naming(payload: bytes, ids: Collection[str]) -> set[str]:
    """Return the traces of a request in which a span names a user, in hexadecimal."""
    with suppress(DecodeError):
        scopes = _scopes(ExportTraceServiceRequest.FromString(payload))
        return {
            span.trace_id.hex() for scope in scopes for span in scope.spans if _names(span.attributes, ids)
        }
    return set()


def without_spans(payload: bytes, traces: Collection[bytes], ids: Collection[str]) -> bytes:
    """Return a request without the spans of traces and users; as it is where there are none.

    Raises:
        ValueError: it is no request.
    """
    try:
        request = ExportTraceServiceRequest.FromString(payload)
    except DecodeError as error:
        raise ValueError("no request of OTLP") from error
    any_gone = False
    for scope in _scopes(request):
        left = [it for it in scope.spans if it.trace_id not in traces and not _names(it.attributes, ids)]
        if len(left) < len(scope.spans):
            any_gone = True
            del scope.spans[:]
            scope.spans.extend(left)
    return request.SerializeToString() if any_gone else payload


def _scopes(request: ExportTraceServiceRequest) -> Iterator[Any]:
    return (scope for group in request.resource_spans for scope in group.scope_spans)


def _names(attributes: Iterable[KeyValue], ids: Collection[str]) -> bool:
    """Return whether attributes name one of the users."""
    for item in attributes:
        named = item.value.string_value or str(item.value.int_value)
        if item.key in USER_KEYS and named in ids:
            return True
    return False
