"""Requests of OTLP over HTTP: from bytes to messages, without what must not be stored, and the answers."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import orjson
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ragtriage.data.errors import DataError
from ragtriage.data.importers.spans.conventions import EVALUATION
from ragtriage.data.live.redaction import Redactor

M = TypeVar("M", bound=Message)
PROTOBUF, JSON = "application/x-protobuf", "application/json"
_NAMES = (  # of what has ids or attributes, or holds what has
    "resource_spans scope_spans spans events links resource_logs scope_logs log_records resource scope "
    "attributes trace_id span_id parent_span_id"
)
FIELDS = {name: name for name in _NAMES.split()}  # name, in either spelling -> field of the message
FIELDS |= {re.sub("_(.)", lambda letter: letter[1].upper(), name): name for name in FIELDS}
ID_BYTES = {"trace_id": 16, "span_id": 8, "parent_span_id": 8}
DEEPEST_VALUE = 32  # lists within lists; protobuf reads 100 messages within each other
UNKNOWN_PARENT = b"\xff" * 8  # of a score of a whole trace, which is no root of it
WITHOUT_IDS = (
    "spans that are malformed or lack the 16 bytes of a trace id or the 8 bytes of a span id are left out"
)
_ODD = (json_format.ParseError, ValueError, TypeError, RecursionError, AttributeError)
WITHOUT_TRACE = "evaluation results without the 16 bytes of a trace id are left out"
GRPC_CODES = {400: 3, 401: 16, 403: 7, 408: 4, 413: 8, 415: 3, 429: 8, 503: 14}  # of google.rpc.Status


class MalformedError(DataError):
    """A body that is not what its type says.

    Attributes:
        what: is wrong with it.
        accepted: what would be accepted.
    """

    def __init__(self, what: str, accepted: str) -> None:
        super().__init__(f"body: {what}; accepted: {accepted}")
        self.what, self.accepted = what, accepted


def message_in(message: type[M], body: bytes, media_type: str) -> M:
    """Return the message in a body.

    Raises:
        MalformedError: it is not of its type.
    """
    if media_type == PROTOBUF:
        try:
            read: M = message.FromString(body)
        except DecodeError as error:
            raise MalformedError(f"is no {message.__name__} in protobuf", "the one of OTLP") from error
        read.DiscardUnknownFields()
        return read
    try:
        return message_of(message, orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise MalformedError(f"is no JSON ({error})", "the JSON of OTLP") from error


def message_of(message: type[M], value: Any) -> M:
    """Return the message that a JSON value stands for; ids are hexadecimal, or base64 as some write them.

    A span that cannot be read becomes an empty one, and does not keep the others back.

    Raises:
        MalformedError: it stands for none.
    """
    if not isinstance(value, dict):
        raise MalformedError("is no object", f"{message.__name__} as JSON")
    try:
        try:
            return _parsed(message, value)
        except _ODD:
            return _parsed(message, _with_whole_spans(value))
    except _ODD as error:
        said = " ".join(str(error).split())[:200] if isinstance(error, json_format.ParseError) else ""
        reason = said or "has a value of a wrong type, or nested too deeply"
        raise MalformedError(reason, f"{message.__name__} as JSON") from error


def _parsed(message: type[M], value: Mapping[str, Any]) -> M:
    parsed: M = json_format.ParseDict(_skeleton(value), message(), ignore_unknown_fields=True)
    _add_attributes(parsed, value)
    return parsed


def _with_whole_spans(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with an empty span for each that cannot be read."""
    read = dict(value)
    for name, item in value.items():
        field = FIELDS.get(name)
        if field == "spans" and isinstance(item, list):
            read[name] = [entry if _is_span(entry) else {} for entry in item]
        elif field in ("resource_spans", "scope_spans") and isinstance(item, list):
            read[name] = [_with_whole_spans(entry) if isinstance(entry, dict) else entry for entry in item]
    return read


def _is_span(value: object) -> bool:
    try:
        return isinstance(value, dict) and bool(_parsed(Span, value))
    except _ODD:
        return False


def _skeleton(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with its ids as the protobuf library reads them, and without attributes."""
    read = dict(value)
    for name, item in value.items():
        field = FIELDS.get(name)
        if field == "attributes":
            del read[name]
        elif field in ID_BYTES:
            read[name] = base64.b64encode(_id(item, ID_BYTES[field])).decode() if item else ""
        elif field and isinstance(item, list):
            read[name] = [_skeleton(entry) if isinstance(entry, dict) else entry for entry in item]
        elif field and isinstance(item, dict):
            read[name] = _skeleton(item)
    return read


def _add_attributes(message: Message, value: Mapping[str, Any]) -> None:
    """Add the attributes of an object, and of those within it, to the message of its skeleton.

    The protobuf library would read them as well, five times slower.
    """
    for name, item in value.items():
        field = FIELDS.get(name, "")
        inner = getattr(message, field, None)
        if inner is None:  # a name of another version in this place
            continue
        if field == "attributes":
            _add_items(inner, item or (), 0)
        elif isinstance(item, list):
            for part, entry in zip(inner, item, strict=True):
                _add_attributes(part, entry)
        elif isinstance(item, dict):
            _add_attributes(inner, item)


def _add_items(target: Any, items: Iterable[Mapping[str, Any]], depth: int) -> None:
    for item in items:
        added = target.add(key=item.get("key") or "")
        if item.get("value"):
            _set_value(added.value, item["value"], depth)


def _set_value(target: AnyValue, value: Mapping[str, Any], depth: int) -> None:
    if depth > DEEPEST_VALUE:
        raise ValueError("values are nested too deeply")
    for name, item in value.items():
        kind = name.removesuffix("Value").removesuffix("_value")
        if item is None:
            continue
        if kind in ("array", "kvlist"):
            inner = getattr(target, f"{kind}_value")
            inner.SetInParent()
            if kind == "kvlist":
                _add_items(inner.values, item.get("values") or (), depth + 1)
            for entry in item.get("values") or () if kind == "array" else ():
                _set_value(inner.values.add(), entry, depth + 1)
        elif kind in _SCALARS:
            setattr(target, f"{kind}_value", _SCALARS[kind](item))


_SCALARS: Mapping[str, Callable[[Any], Any]] = {
    "string": lambda item: item,
    "bool": lambda item: item,
    "int": lambda item: int(item) if isinstance(item, str) else item,
    "double": float,
    "bytes": lambda item: base64.b64decode(item, validate=True),
}


def _id(text: Any, size: int) -> bytes:
    """Return the bytes of an id, b"" where it is none."""
    try:
        if len(text) == 2 * size:
            return bytes.fromhex(text)
        content = base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        return b""
    return content if len(content) == size else b""


def take_out_spans(request: ExportTraceServiceRequest) -> int:
    """Remove the spans that cannot be told apart for want of an id; return how many."""
    taken = 0
    for group in request.resource_spans:
        for scope in group.scope_spans:
            for at in range(len(scope.spans) - 1, -1, -1):
                span = scope.spans[at]
                if not (_is_id(span.trace_id, 16) and _is_id(span.span_id, 8)):
                    del scope.spans[at]
                    taken += 1
    return taken


def _is_id(content: bytes, size: int) -> bool:
    return len(content) == size and any(content)


def span_count(request: ExportTraceServiceRequest) -> int:
    """Return how many spans a request holds."""
    return sum(len(scope.spans) for group in request.resource_spans for scope in group.scope_spans)


def redact(request: ExportTraceServiceRequest, redactor: Redactor) -> None:
    """Take personal data out of all texts of a request; ids, times and numbers stay."""
    for group in request.resource_spans:
        _redact_attributes(group.resource.attributes, redactor)
        for scope in group.scope_spans:
            _redact_attributes(scope.scope.attributes, redactor)
            for span in scope.spans:
                span.name = redactor.text(span.name)
                span.trace_state = redactor.text(span.trace_state)
                if span.status.message:
                    span.status.message = redactor.text(span.status.message)
                _redact_attributes(span.attributes, redactor)
                for event in span.events:
                    event.name = redactor.text(event.name)
                    _redact_attributes(event.attributes, redactor)
                for link in span.links:
                    link.trace_state = redactor.text(link.trace_state)
                    _redact_attributes(link.attributes, redactor)


def _redact_attributes(attributes: Iterable[KeyValue], redactor: Redactor) -> None:
    for item in attributes:
        _redact_value(item.value, item.key, redactor)


def _redact_value(value: AnyValue, name: str, redactor: Redactor) -> None:
    kind = value.WhichOneof("value")
    if kind in ("string_value", "int_value"):
        given = getattr(value, kind)
        clean = redactor.attribute(name, given)
        if clean != given:
            value.string_value = clean
    elif kind == "bytes_value":
        _redact_bytes(value, redactor)
    elif kind == "array_value":
        for item in value.array_value.values:
            _redact_value(item, name, redactor)
    elif kind == "kvlist_value":
        _redact_attributes(value.kvlist_value.values, redactor)


def _redact_bytes(value: AnyValue, redactor: Redactor) -> None:
    content = value.bytes_value
    try:
        text, encoding = content.decode(), "utf-8"
    except UnicodeDecodeError:  # what is ASCII among it is found all the same
        text, encoding = content.decode("latin-1"), "latin-1"
    clean = redactor.text(text)
    if clean != text:
        value.bytes_value = clean.encode(encoding)


def scores_in(request: ExportLogsServiceRequest) -> ExportTraceServiceRequest:
    """Return the evaluation results among log records as spans within those that they speak of.

    A span with the result as its event is how the conventions have it too; a record that comes again is the
    same span.
    """
    spans = ExportTraceServiceRequest()
    for group in request.resource_logs:
        records = [record for scope in group.scope_logs for record in scope.log_records if _is_score(record)]
        if not records:
            continue
        resource = spans.resource_spans.add()
        resource.resource.CopyFrom(group.resource)
        scope_spans = resource.scope_spans.add()
        for record in records:
            content = record.SerializeToString(deterministic=True)
            time = record.time_unix_nano or record.observed_time_unix_nano
            span = scope_spans.spans.add(
                trace_id=record.trace_id,
                span_id=hashlib.blake2b(content, digest_size=8).digest(),
                parent_span_id=record.span_id if _is_id(record.span_id, 8) else UNKNOWN_PARENT,
                name=EVALUATION,
                start_time_unix_nano=time,
                end_time_unix_nano=time,
            )
            values = [*_body_values(record.body), *record.attributes]
            span.events.add(name=EVALUATION, time_unix_nano=time, attributes=values)
    return spans


def scores_without_trace(request: ExportLogsServiceRequest) -> int:
    """Return how many evaluation results among log records do not say which trace they are of."""
    scopes = (scope for group in request.resource_logs for scope in group.scope_logs)
    records = (record for scope in scopes for record in scope.log_records)
    return sum(_is_evaluation(record) and not _is_score(record) for record in records)


def _is_score(record: LogRecord) -> bool:
    return _is_id(record.trace_id, 16) and _is_evaluation(record)


def _is_evaluation(record: LogRecord) -> bool:
    named = (item.value.string_value for item in record.attributes if item.key == "event.name")
    return EVALUATION in (record.event_name, *named)


def _body_values(body: AnyValue) -> Iterator[KeyValue]:
    if body.WhichOneof("value") == "kvlist_value":
        yield from body.kvlist_value.values


def answer(rejected: int, media_type: str, *, of_logs: bool = False) -> bytes:
    """Return the body of the answer to an export of spans or logs."""
    response = ExportLogsServiceResponse() if of_logs else ExportTraceServiceResponse()
    if rejected and isinstance(response, ExportLogsServiceResponse):
        response.partial_success.rejected_log_records = rejected
        response.partial_success.error_message = WITHOUT_TRACE
    elif rejected:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = WITHOUT_IDS
    if media_type == PROTOBUF:
        return bytes(response.SerializeToString())
    return orjson.dumps(json_format.MessageToDict(response))


def status(code: int, message: str, media_type: str) -> bytes:
    """Return a google.rpc.Status for the code of an answer of HTTP."""
    number = GRPC_CODES.get(code, 2)
    if media_type == JSON:
        return orjson.dumps({"code": number, "message": message})
    text = message.encode()
    return bytes((0x08, number, 0x12)) + _varint(len(text)) + text  # its fields 1 and 2


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes((low | 0x80,)) + _varint(rest) if rest else bytes((low,))
