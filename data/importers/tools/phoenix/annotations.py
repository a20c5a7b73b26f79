"""Annotations of Phoenix: scores and human labels of spans, traces, documents and task outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.parsing.documents_in_json import items_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.metric_names import metric_name
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.records.shapes import objects
from ragtriage.data.importers.parsing.rows import container, open_table
from ragtriage.data.importers.spans.span import Labels
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.importers.spans.values import number
from ragtriage.data.importers.tools.facts import fields_in, text_in, value_in
from ragtriage.data.importers.tools.opentelemetry.conventions import score_of

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
    for line, row in _rows(source, faults):
        span_id, trace_id = text_in(row.get("span_id")), text_in(row.get("trace_id"))
        if span_id or trace_id:
            joined = True
            traces.attach(line, labels_of(row), span_id=span_id or "", trace_id=trace_id or "")
        else:
            errors.remark("an annotation names no span", line)
    return joined


def _rows(source: InputFile, errors: ValidationErrors) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if container(source) == "json":
        rows = items_at(source, "data" if isinstance(Peek(source).document, dict) else "")
    else:
        rows = open_table(source, errors).rows()
    yield from ((line, row) for line, row in rows if isinstance(row, Mapping))


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
