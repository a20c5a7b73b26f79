"""Observations of Langfuse: the spans of traces, alone or with the trace that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import decoded
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces, runs_of_spans
from ragtriage.data.importers.spans.values import nanoseconds, number
from ragtriage.data.importers.tools.facts import (
    field_of,
    fields_in,
    kind_in,
    objects_in,
    question_id_in,
    tags_of,
    text_in,
    without_blanks,
)
from ragtriage.data.importers.tools.langfuse.scores import (
    ScoresById,
    error_of,
    is_scores,
    url_of,
    with_scores,
)
from ragtriage.data.store.parsed_run import ParsedRun, Record

FILES_LOOKED_AT = 5
PARENTS = ("isRootObservation", "parentObservationId", "parent_observation_id")


def is_observations(peek: Peek) -> bool:
    """Return whether the rows are observations: of the API, of a screen, or of an export to storage."""
    return any(
        {"id", "type"} <= row.keys()
        and bool({"traceId", "trace_id"} & row.keys())
        and any(name in row for name in PARENTS)
        for row in peek.rows_at("data")
    )


def is_traces(peek: Peek) -> bool:
    """Return whether this is a trace with its observations, a list of such, or a folder of them."""
    if peek.folder is None:
        return _is_trace(peek.keys) or any(map(_is_trace, peek.rows_at("data")))
    files = islice(_files(peek.folder), FILES_LOOKED_AT)
    return any(_is_trace(Peek(InputFile.from_path(path)).keys) for path in files)


def _is_trace(fields: Mapping[str, Any]) -> bool:
    observations = fields.get("observations")
    if not isinstance(observations, list):
        return False
    if isinstance(fields.get("trace"), dict):
        return True
    whole = any(isinstance(one, dict) and "traceId" in one for one in observations)
    return whole and {"id", "input", "output"} <= fields.keys()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.suffix == ".json")


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read observations: one sample per trace."""
    traces = Traces(errors, {"tool": "Langfuse"})
    for line, row in rows_at(source, "data", errors):
        if isinstance(row, Mapping):
            traces.add(line, span_of(row))
        else:
            errors.leave_out("a row that is no observation")
    scores = ScoresById((file for file in options.companions if is_scores(Peek(file))), errors)
    return _runs(traces, scores, source, "langfuse_observations", options, errors)


def read_traces(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read traces with their observations and scores: one sample per trace."""
    traces, scores = Traces(errors, {"tool": "Langfuse"}), ScoresById(options.companions, errors)
    for line, document in _documents(source, errors):
        if not isinstance(document, Mapping) or not _is_trace(document):
            errors.leave_out("a document that is no trace with observations")
            continue
        trace = fields_in(document.get("trace")) or document
        root = _root(trace)
        traces.add(line, root)
        for row in objects_in(document.get("observations")):
            span = span_of(row)
            traces.add(line, replace(span, trace_id=root.trace_id, parent_id=span.parent_id or root.span_id))
        for score in objects_in(trace.get("scores")) or objects_in(document.get("scores")):
            scores.add(line, {**score, "traceId": root.trace_id})
    return _runs(traces, scores, source, "langfuse_trace", options, errors)


def _documents(source: InputFile, errors: ValidationErrors) -> Iterator[Record]:
    if source.is_folder and source.path is not None:
        for position, path in enumerate(_files(source.path), start=1):
            try:
                yield position, InputFile.from_path(path).document()
            except InputError:
                errors.leave_out("a file that cannot be read as a trace")
    elif Peek(source).kind == "json" and _is_trace(Peek(source).keys):
        yield 1, source.document()
    else:
        yield from rows_at(source, "data", errors)


def _runs(
    traces: Traces,
    scores: ScoresById,
    source: InputFile,
    key: str,
    options: Options,
    errors: ValidationErrors,
) -> list[ParsedRun]:
    def scored(records: Iterable[Any], declared: dict[str, Any]) -> Iterator[Record]:
        for line, record in records:
            yield line, with_scores(record, scores.of(record["trace_id"]), line, errors, declared)

    runs = runs_of_spans(traces, ParsedRun(source.stem, (), source.name, key), options.limit)
    declared: dict[str, Any] = {}  # filled while the records are read
    return [replace(run, records=scored(run.records, declared), metrics=declared) for run in runs]


def _root(trace: Mapping[str, Any]) -> Span:
    """Return a trace as the root of its observations."""
    trace_id = text_in(trace.get("id")) or ""
    begin, seconds = nanoseconds(trace.get("timestamp")), number(trace.get("latency"))
    metadata = fields_in(trace.get("metadata"))
    place = {name: text_in(trace.get(name)) for name in ("release", "version", "environment", "name")}
    fields = {
        "question_id": question_id_in(metadata),
        "conversation_id": text_in(trace.get("sessionId")),
        "trace_url": url_of(trace),
    }
    return Span(
        trace_id,
        f"trace {trace_id}",
        None,
        text_in(trace.get("name")) or "",
        "root",
        begin,
        None if begin is None or seconds is None else begin + round(seconds * 1e9),
        decoded(trace.get("input")),
        decoded(trace.get("output")),
        fields=without_blanks(fields),
        tags=tags_of(metadata, decoded(trace.get("tags")), place),
    )


def span_of(row: Mapping[str, Any]) -> Span:
    """Return an observation as a span."""
    metadata = fields_in(row.get("metadata"))
    parent = text_in(field_of(row, "parentObservationId", "parent_observation_id"))
    kind, name, output = kind_of(row.get("type")), text_in(row.get("name")) or "", decoded(row.get("output"))
    usage = fields_in(field_of(row, "usageDetails", "usage_details", "usage"))
    costs = fields_in(field_of(row, "costDetails", "cost_details"))
    is_root = parent is None
    fields = {
        "question_id": question_id_in(metadata),
        "conversation_id": text_in(field_of(row, "sessionId", "session_id")),
    }
    return Span(
        text_in(field_of(row, "traceId", "trace_id")) or "",
        text_in(row.get("id")) or "",
        parent,
        name,
        "root" if is_root and kind not in ("llm", "retriever") else kind_in(kind, name, output),
        nanoseconds(field_of(row, "startTime", "start_time")),
        nanoseconds(field_of(row, "endTime", "end_time")),
        decoded(row.get("input")),
        output,
        error=error_of(row),
        input_tokens=_amount(usage, "input", "promptTokens") or _amount(row, "inputUsage", "promptTokens"),
        output_tokens=_amount(usage, "output", "completionTokens")
        or _amount(row, "outputUsage", "completionTokens"),
        cost=_amount(costs, "total") or _amount(row, "totalCost", "total_cost", "calculatedTotalCost"),
        model=text_in(field_of(row, "model", "providedModelName", "provided_model_name")),
        fields=without_blanks(fields) if is_root else {},
        tags=tags_of(metadata) if is_root else {},
    )


def _amount(fields: Mapping[str, Any], *names: str) -> float | None:
    """Return the first amount under some names; 0 is written where nothing was counted."""
    return next((amount for name in names if (amount := number(fields.get(name)))), None)
