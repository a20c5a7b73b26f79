"""Phoenix and Arize AX: spans, and the annotations of spans, traces, documents and task outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.importer import Importer, refuse
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import decoded
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.shapes import mapping, objects
from ragtriage.data.importers.parsing.values import (
    fields_in,
    nanoseconds,
    number,
    objects_in,
    text_in,
    value_in,
)
from ragtriage.data.importers.spans.span import Labels, Span
from ragtriage.data.importers.spans.traces import Traces, with_labels
from ragtriage.data.importers.tools.otel_conventions import score_of, span_of_attributes
from ragtriage.data.store.parsed_run import ParsedRun

UNJOINABLE = "holds annotations of Phoenix without the spans that they belong to: its index was lost"
WITH_INDEX = "a file written with to_csv, or after reset_index(), so that it has a column span_id"


def is_annotations(peek: Peek) -> bool:
    """Return whether a file holds annotations: rows with a name, a kind of annotator and a result."""
    first = peek.first or next(iter(objects(peek.keys.get("data"))), {})
    named = "annotation_name" in first or ("name" in first and ("result" in first or "result.score" in first))
    return named and "annotator_kind" in first


def attach_annotations(files: Sequence[InputFile], traces: Traces, errors: ValidationErrors) -> None:
    """Join the annotations of files to the spans or traces that they name; remark files that cannot be.

    Spans are worth reading without their annotations, so nothing in such a file refuses them.
    """
    for file in files:
        faults = ValidationErrors(file.name)
        shown = Path(file.name).name
        try:
            joined = _attached(file, traces, errors, faults)
            faults.raise_if_any()
        except InputError as error:
            errors.remark(f"annotations are left out or incomplete: {str(error).replace(file.name, shown)}")
            continue
        if not joined:
            errors.remark(f"{shown} is left out: it {UNJOINABLE}; accepted: {WITH_INDEX}")


def _attached(source: InputFile, traces: Traces, errors: ValidationErrors, faults: ValidationErrors) -> bool:
    """Join the annotations of a file; return whether a row names a span or trace."""
    joined = False
    for line, row in rows_at(source, "data", faults):
        if not isinstance(row, dict):
            continue
        span_id, trace_id = text_in(row.get("span_id")), text_in(row.get("trace_id"))
        if span_id or trace_id:
            joined = True
            traces.attach(line, labels_of(row), span_id=span_id or "", trace_id=trace_id or "")
        else:
            errors.remark("an annotation names no span", line)
    return joined


def labels_of(row: Mapping[str, Any]) -> Labels:
    """Return what an annotation says: a score, a human label, or the relevance of a document.

    One with neither score, label nor error says nothing.
    """
    result = fields_in(row.get("result"))
    score, label, explanation = (
        _filled(result.get(part), row.get(f"result.{part}"), row.get(part))
        for part in ("score", "label", "explanation")
    )
    name = text_in(_filled(row.get("annotation_name"), row.get("name"))) or "annotation"
    error = text_in(row.get("error"))
    position = number(_filled(row.get("document_position"), row.get("position")))
    if position is not None and position >= 0:
        relevant = value_in(score) if score is not None else _relevance(label)
        return Labels() if relevant is None else Labels(relevant={int(position): relevant >= 0.5})
    if score is None and label is None and error is None:
        return Labels()
    if str(row.get("annotator_kind")).upper() == "HUMAN":
        annotator = text_in(row.get("identifier")) or text_in(row.get("user_id")) or "human"
        value = value_in(score) if score is not None else value_in(label) if label is not None else None
        notes = [text for text in (text_in(label), text_in(explanation)) if text]
        entry = {
            "annotator": annotator,
            "metric": metric_name(name)[0],
            "value": value,
            "note": ": ".join(notes),
        }
        return Labels(human=({key: item for key, item in entry.items() if item != ""},))
    return score_of(name, score, label=label, reason=explanation, error=error)


def _relevance(label: Any) -> float | None:
    words = {"relevant": 1.0, "irrelevant": 0.0, "unrelated": 0.0, "not relevant": 0.0}
    return words.get(str(label).strip().lower(), value_in(label) if label is not None else None)


def _filled(*values: Any) -> Any:
    """Return the first value that is filled; NaN, as data frames write it, is not."""
    return next((value for value in values if value not in (None, "") and value == value), None)  # NaN


PREFIX = "attributes."
ARIZE = ("eval.", "annotation.")
NO_QUESTION = "spans with inputs: attributes.input.value of the root, or the query of a retriever"


def is_spans(peek: Peek) -> bool:
    """Return whether a file holds spans of Phoenix or Arize AX."""
    if {"context.span_id", "context.trace_id"} <= peek.columns:
        return any(name == "span_kind" or name.startswith(PREFIX) for name in peek.columns)
    first = peek.first or next(iter(objects(peek.keys.get("data"))), {})
    return "span_kind" in first and {"trace_id", "span_id"} <= mapping(first.get("context")).keys()


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read spans into one run; annotations in files beside them are joined."""
    traces = Traces(errors, "phoenix")
    count = 0
    for line, row in rows_at(source, "data", errors):
        if isinstance(row, dict):
            count += 1
            traces.add(line, annotated_spans(span_of(row), row))
        else:
            errors.add(line, "", "is no span", "an object with context and attributes")
    attach_annotations(options.companions, traces, errors)
    runs = traces.runs(source, "phoenix", options.limit)
    if not runs and count:
        errors.raise_if_any()
        raise source.error(
            f"is Phoenix, {count:,} spans, none of which records a question or a query", NO_QUESTION
        )
    return runs


def span_of(row: Mapping[str, Any], run: str = "") -> Span:
    """Return the span of a row of the data frame, or of an object of the API."""
    context = mapping(row.get("context"))
    attributes = dict(mapping(row.get("attributes")))
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
    structure = decoded(value, times=1)
    return structure if isinstance(structure, list | dict) else value


def _error(row: Mapping[str, Any]) -> str | None:
    if str(row.get("status_code")).upper() != "ERROR":
        return None
    thrown = [mapping(event.get("attributes")) for event in objects_in(row.get("events"))]
    messages = [values.get("exception.message") for values in thrown]
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


TRIED = "Phoenix 20.26 (client 3.5)"


IMPORTERS = (
    Importer(
        "phoenix",
        "Phoenix spans",
        "JSONL, CSV or Parquet of the data frame of spans, or JSON of the API; also of Arize AX",
        is_spans,
        read,
        written_by=TRIED,
        example="client.spans.get_spans_dataframe(...).to_parquet(FILE)",
        unit="trace",
    ),
    Importer(
        "phoenix_annotations",
        "Phoenix annotations",
        "CSV, JSONL, Parquet or JSON of the API: annotation_name, annotator_kind, result, span_id",
        is_annotations,
        refuse("holds annotations of Phoenix, without the questions", "them in one command with the spans"),
        written_by=TRIED,
        companion_of=("phoenix",),
        alone=False,
        example="client.spans.get_span_annotations_dataframe(...).to_csv(FILE)",
    ),
)
