"""Spans of Phoenix: rows of its data frame, objects of its API; with the columns of Arize AX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.documents_in_json import items_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import decoded
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import container, open_table
from ragtriage.data.importers.spans.span import Labels, Span
from ragtriage.data.importers.spans.traces import Traces, runs_of_spans, with_labels
from ragtriage.data.importers.spans.values import nanoseconds
from ragtriage.data.importers.tools.facts import objects_in, text_in
from ragtriage.data.importers.tools.opentelemetry.conventions import span_of_attributes
from ragtriage.data.importers.tools.phoenix.annotations import attach_annotations, labels_of
from ragtriage.data.store.parsed_run import ParsedRun

PREFIX = "attributes."
ARIZE = ("eval.", "annotation.")
NO_QUESTION = "spans with inputs: attributes.input.value of the root, or the query of a retriever"


def is_spans(peek: Peek) -> bool:
    """Return whether a file holds spans of Phoenix or Arize AX."""
    if {"context.span_id", "context.trace_id"} <= peek.columns:
        return any(name == "span_kind" or name.startswith(PREFIX) for name in peek.columns)
    listed = peek.keys.get("data")
    first = peek.first or next(iter(listed if isinstance(listed, list) else ()), {})
    if not isinstance(first, Mapping) or not isinstance(first.get("context"), Mapping):
        return False
    return "span_kind" in first and {"trace_id", "span_id"} <= first["context"].keys()


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read spans into one run; annotations in files beside them are joined."""
    traces = Traces(errors, {"tool": "phoenix"})
    count = 0
    for line, row in _rows(source, errors):
        count += 1
        span = span_of(row)
        traces.add(line, annotated_spans(span, row))
    attach_annotations(options.companions, traces, errors)
    runs = runs_of_spans(traces, ParsedRun(source.stem, (), source.name, "phoenix"), options.limit)
    if not runs and count:
        errors.raise_if_any()
        raise source.error(
            f"is Phoenix, {count:,} spans, none of which records a question or a query", NO_QUESTION
        )
    return runs


def _rows(source: InputFile, errors: ValidationErrors) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if container(source) == "json":
        rows = items_at(source, "data" if isinstance(Peek(source).document, dict) else "")
    else:
        rows = open_table(source, errors).rows()
    for line, row in rows:
        if isinstance(row, Mapping):
            yield line, row
        else:
            errors.add(line, "", "is no span", "an object with context and attributes")


def span_of(row: Mapping[str, Any], run: str = "") -> Span:
    """Return the span of a row of the data frame, or of an object of the API."""
    context = row.get("context")
    context = context if isinstance(context, Mapping) else {}
    attributes = row.get("attributes")
    attributes = dict(attributes) if isinstance(attributes, Mapping) else {}
    attributes |= {
        str(name).removeprefix(PREFIX): _structure(value)
        for name, value in row.items()
        if str(name).startswith(PREFIX) and value not in (None, "") and value == value  # NaN
    }
    attributes.setdefault("openinference.span.kind", row.get("span_kind"))
    span = Span(
        text_in(context.get("trace_id") or row.get("context.trace_id")) or "",
        text_in(context.get("span_id") or row.get("context.span_id")) or "",
        text_in(row.get("parent_id")),
        str(row.get("name") or ""),
        start=nanoseconds(row.get("start_time") or row.get("time")),
        end=nanoseconds(row.get("end_time")),
        error=_error(row),
        run=run,
    )
    return span_of_attributes(span, attributes)


def _structure(value: Any) -> Any:
    """Return the list or the object in a cell; JSON that is the text of an input or output stays text."""
    found = decoded(value, times=1)
    return found if isinstance(found, list | dict) else value


def _error(row: Mapping[str, Any]) -> str | None:
    if str(row.get("status_code")).upper() != "ERROR":
        return None
    thrown = [event.get("attributes") for event in objects_in(row.get("events"))]
    messages = [values.get("exception.message") for values in thrown if isinstance(values, Mapping)]
    return next((str(text) for text in (row.get("status_message"), *messages) if text), "")


def annotated_spans(span: Span, row: Mapping[str, Any]) -> Span:
    """Return a span with the evaluations and annotations that Arize AX keeps in columns of its row."""
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for column, value in row.items():
        source, _, rest = str(column).partition(".")
        name, _, part = rest.rpartition(".")
        if f"{source}." in ARIZE and name and part in ("label", "score", "explanation", "text", "updated_by"):
            entries.setdefault((source, name), {})[part] = value
    for (source, name), parts in entries.items():
        human = (
            {"annotator_kind": "HUMAN", "user_id": parts.get("updated_by")} if source == "annotation" else {}
        )
        explanation = parts.get("explanation") or parts.get("text")
        labels: Labels = labels_of({"name": name, **parts, "explanation": explanation, **human})
        span = with_labels(span, labels)
    return span
