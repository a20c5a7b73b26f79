"""Phoenix and Arize AX: spans, and the annotations of spans, traces, documents and task outputs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.shapes import decoded, mapping, objects
from ragtriage.data.importers.parsing.values import Fields, number, text_in, value_in
from ragtriage.data.importers.spans.conventions import score_of, span_of_attributes
from ragtriage.data.importers.spans.span import Labels, Span
from ragtriage.data.importers.spans.traces import Traces, with_labels
from ragtriage.data.store.parsed_run import ParsedRun

UNJOINABLE = "holds annotations of Phoenix without the spans that they belong to: its index was lost"
RELEVANCE = {"relevant": 1.0, "irrelevant": 0.0, "unrelated": 0.0, "not relevant": 0.0}
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
        faults, shown, joined = ValidationErrors(file.name), Path(file.name).name, False
        try:
            for line, row in rows_at(file, "data", faults):
                ids = {name: Fields(row).text(name) or "" for name in ("span_id", "trace_id")}
                if isinstance(row, dict) and any(ids.values()):
                    joined = True
                    traces.attach(line, labels_of(row), **ids)
                elif isinstance(row, dict):
                    errors.remark("an annotation names no span", line)
            faults.raise_if_any()
        except InputError as error:
            errors.remark(f"annotations are left out or incomplete: {str(error).replace(file.name, shown)}")
            continue
        if not joined:
            errors.remark(f"{shown} is left out: it {UNJOINABLE}; accepted: {WITH_INDEX}")


def labels_of(annotation: Mapping[str, Any]) -> Labels:
    """Return what an annotation says: a score, a human label, or the relevance of a document.

    One with neither score, label nor error says nothing.
    """
    row, result = Fields(annotation), Fields(annotation.get("result"))
    score, label, explanation = (
        _filled(result.at(part), row.at(f"result.{part}"), row.at(part))
        for part in ("score", "label", "explanation")
    )
    name = text_in(_filled(row.at("annotation_name"), row.at("name"))) or "annotation"
    error = row.text("error")
    position = number(_filled(row.at("document_position"), row.at("position")))
    value = value_in(score) if score is not None else value_in(label) if label is not None else None
    if position is not None and position >= 0:
        relevant = value if score is not None else RELEVANCE.get(str(label).strip().lower(), value)
        return Labels() if relevant is None else Labels(relevant={int(position): relevant >= 0.5})
    if score is None and label is None and error is None:
        return Labels()
    if str(row.at("annotator_kind")).upper() == "HUMAN":
        annotator, note = row.text("identifier", "user_id") or "human", (text_in(label), text_in(explanation))
        entry = {"annotator": annotator, "metric": metric_name(name)[0], "value": value}
        entry["note"] = ": ".join(filter(None, note))
        return Labels(human=({key: item for key, item in entry.items() if item != ""},))
    return score_of(name, score, label=label, reason=explanation, error=error)


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
    traces, count = Traces(errors, "phoenix"), 0
    for line, row in rows_at(source, "data", errors):
        if isinstance(row, dict):
            count += 1
            traces.add(line, annotated_spans(span_of(row), row))
        else:
            errors.add(line, "", "is not a span", "an object with context and attributes")
    attach_annotations(options.companions, traces, errors)
    runs = traces.runs(source, "phoenix")
    if not runs and count:
        errors.raise_if_any()
        what = f"is Phoenix, {count:,} spans, none of which records a question or a query"
        raise source.error(what, NO_QUESTION)
    return runs


def span_of(record: Mapping[str, Any], run: str = "") -> Span:
    """Return the span of a row of the data frame, or of an object of the API."""
    row, context = Fields(record), Fields(record.get("context"))
    attributes = dict(mapping(record.get("attributes")))
    for name, value in record.items():
        if str(name).startswith(PREFIX) and value not in (None, "") and value == value:  # NaN
            structure = decoded(value, times=1)  # JSON that is the text of an input or output stays text
            cell = structure if isinstance(structure, list | dict) else value
            attributes[str(name).removeprefix(PREFIX)] = cell
    attributes.setdefault("openinference.span.kind", row.at("span_kind"))
    error = None
    if str(row.at("status_code")).upper() == "ERROR":
        thrown = (event.fields("attributes").at("exception.message") for event in row.objects("events"))
        error = next((str(text) for text in (row.at("status_message"), *thrown) if text), "")
    span = Span(
        context.text("trace_id") or row.text("context.trace_id") or "",
        context.text("span_id") or row.text("context.span_id") or "",
        row.text("parent_id"),
        str(row.at("name") or ""),
        start=row.nanoseconds("start_time", "time"),
        end=row.nanoseconds("end_time"),
        error=error,
        run=run,
    )
    return span_of_attributes(span, attributes)


def annotated_spans(span: Span, row: Mapping[str, Any]) -> Span:
    """Return a span with the evaluations and annotations that Arize AX keeps in columns of its row."""
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for column, value in row.items():
        source, _, rest = str(column).partition(".")
        name, _, part = rest.rpartition(".")
        if f"{source}." in ARIZE and name and part in ("label", "score", "explanation", "text", "updated_by"):
            entries.setdefault((source, name), {"name": name})[part] = value
    for (source, _), parts in entries.items():
        parts["explanation"] = parts.get("explanation") or parts.get("text")
        if source == "annotation":
            parts |= {"annotator_kind": "HUMAN", "user_id": parts.get("updated_by")}
        span = with_labels(span, labels_of(parts))
    return span


READERS = {"phoenix": Reader(read, is_spans), "phoenix_annotations": Reader(detect=is_annotations)}
