"""Requests of OTLP made with the official protobuf messages, one small RAG pipeline a trace."""

from __future__ import annotations

import hashlib
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

SECOND = 1_000_000_000


def _id(name: str, size: int) -> bytes:
    return hashlib.sha256(name.encode()).digest()[:size]


def trace_id(name: str) -> str:
    """Return the id of a trace in hexadecimal."""
    return _id(name, 16).hex()


def _attributes(values: dict[str, Any]) -> list[KeyValue]:
    kinds = {str: "string_value", int: "int_value", float: "double_value", bool: "bool_value"}
    return [KeyValue(key=key, value=AnyValue(**{kinds[type(value)]: value})) for key, value in values.items()]


def _span(
    trace: str, name: str, start: float, seconds: float, attributes: dict[str, Any], **facts: Any
) -> Span:
    return Span(
        trace_id=_id(trace, 16),
        span_id=_id(f"{trace}/{name}", 8),
        name=name,
        start_time_unix_nano=int(start * SECOND),
        end_time_unix_nano=int((start + seconds) * SECOND),
        attributes=_attributes(attributes),
        **facts,
    )


def pipeline(
    trace: str, time: float, question: str, answer: str | None, *, user: str = "", passage: str = "A passage."
) -> list[Span]:
    """Return the spans of a call, the root first: chain, retriever, model; without an answer it failed."""
    failed = (
        {} if answer is not None else {"status": Status(code=Status.STATUS_CODE_ERROR, message="timed out")}
    )
    output = {} if answer is None else {"output.value": answer}
    of_user = {"user.id": user} if user else {}
    parent = {"parent_span_id": _id(f"{trace}/chain", 8)}
    root = {"openinference.span.kind": "CHAIN", "input.value": question, **output, **of_user}
    documents = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": question,
        "retrieval.documents.0.document.id": "d1",
        "retrieval.documents.0.document.content": passage,
    }
    model = {
        "openinference.span.kind": "LLM",
        "llm.token_count.prompt": 900,
        "llm.token_count.completion": 40,
    }
    return [
        _span(trace, "chain", time, 2.0, root, **failed),
        _span(trace, "retrieve", time + 0.1, 0.3, documents, **parent),
        _span(trace, "answer", time + 0.5, 1.4, {**model, **output}, **parent),
    ]


def request(*spans: Span, release: str = "1.0") -> ExportTraceServiceRequest:
    """Return a request with spans of one service in a release."""
    resource = ResourceSpans(scope_spans=[ScopeSpans(spans=spans)])
    resource.resource.attributes.extend(_attributes({"service.name": "shop", "service.version": release}))
    return ExportTraceServiceRequest(resource_spans=[resource])
