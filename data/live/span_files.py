"""Files of spans, taken in as those are that come over HTTP."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.shapes import objects
from ragtriage.data.importers.tools.otlp import LOGS, SCOPES, SPANS, WRAPPERS, exports
from ragtriage.data.live.journal import Kind
from ragtriage.data.live.otlp_requests import WITHOUT_IDS, MalformedError, message_of, scores_in, span_count
from ragtriage.data.live.receiver import Intake


@dataclass(frozen=True)
class Taken:
    """What was taken of a file."""

    spans: int
    traces: int
    left_out: Mapping[str, int]  # reason -> how many


def take_in_file(path: Path, intake: Intake) -> Taken:
    """Put the spans of a file of OTLP as JSON into the journal.

    Raises:
        InputError: it is no such file, or holds no spans.
    """
    source = InputFile.from_path(path)
    errors = ValidationErrors(source.name)
    spans, traces, left_out = 0, set[bytes](), Counter[str]()
    for line, export in exports(source, errors):
        try:
            request = _request(export)
        except MalformedError as error:
            what, _, accepted = str(error).removeprefix("body: ").partition("; accepted: ")
            errors.add(line, "", what, accepted)
            continue
        payload, rejected = intake.traces(request)
        left_out[WITHOUT_IDS.removesuffix(" are left out")] += rejected
        if payload:
            intake.journal.append(Kind.TRACES, payload)
            spans += span_count(request)
            traces |= {
                span.trace_id
                for group in request.resource_spans
                for scope in group.scope_spans
                for span in scope.spans
            }
    if not spans:
        errors.raise_if_any()
        raise source.error(
            "holds no spans", "OTLP as JSON: an export a line, a list of them, or one document"
        )
    left_out["lines that are no export"] += errors.total
    return Taken(spans, len(traces), {reason: n for reason, n in left_out.items() if n})


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
    name = (
        "scopeLogs"
        if any("logRecords" in scope or "log_records" in scope for scope in scopes)
        else "scopeSpans"
    )
    return {"resource": group.get("resource") or {}, name: scopes}
