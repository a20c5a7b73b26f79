"""A trace as MLflow writes it, `{info, data}`, brought to spans with scores, labels and gold on its root."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.payloads import decoded, reference_in
from ragtriage.data.importers.parsing.values import (
    field_of,
    fields_in,
    last_line,
    nanoseconds,
    number,
    objects_in,
    question_id_in,
    tags_of,
    text_in,
    value_in,
)
from ragtriage.data.importers.spans.span import Span, kind_of

OWN = "mlflow."
SCHEMAS = {"", "1", "2", "3"}
REFERENCES = ("expected_response", "expected_answer", "expected_output", "ground_truth", "reference")
FAILED = "ERROR"
ATTRIBUTES = (
    *("mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs"),
    *("mlflow.chat.tokenUsage", "mlflow.llm.cost", "mlflow.llm.model", "mlflow.chat.tools"),
)


def is_trace(value: object) -> bool:
    """Return whether a value is a trace: `{info{trace_id}, data{spans}}`."""
    if not isinstance(value, Mapping):
        return False
    info, data = fields_in(value.get("info")), fields_in(value.get("data"))
    return bool({"trace_id", "request_id"} & info.keys()) and "spans" in data


def newer_schema(trace: Mapping[str, Any]) -> str:
    """Return the version of the schema of a trace where it is newer than the ones known; else ""."""
    version = str(_metadata(fields_in(trace.get("info"))).get("mlflow.trace_schema.version", ""))
    return "" if version in SCHEMAS else version[:20]


def spans_of(trace: Mapping[str, Any], run: str = "") -> list[Span]:
    """Return the spans of a trace; what is said of the trace as a whole stands on its root.

    Args:
        trace: `{info, data}` of MLflow 2.14 or later.
        run: name of its run; the id of its source run where it is "".
    """
    info = fields_in(trace.get("info"))
    trace_id = text_in(field_of(info, "trace_id", "request_id")) or ""
    assessments = list(_valid(info.get("assessments")))
    recorded = objects_in(fields_in(trace.get("data")).get("spans"))
    of_chunks = [assessment for assessment in assessments if _chunk(assessment) is not None]
    spans = [_with_relevance(_span(span, trace_id), of_chunks) for span in recorded]
    root = next((span for span in spans if not span.parent_id), None)
    if root is None:
        root = Span(trace_id, kind="root", start=nanoseconds(info.get("request_time")))
        spans.insert(0, root)
    labelled = _as_root(root, spans, info, assessments, run)
    spans[spans.index(root)] = labelled
    return _by_address(spans, {gold["id"] for gold in labelled.fields.get("relevant", ())})


def _span(span: Mapping[str, Any], trace_id: str) -> Span:
    """Return a span in the form of MLflow 3, or of 2 with a `context`."""
    recorded = fields_in(span.get("attributes"))
    attributes = {name: decoded(recorded[name], 1) for name in ATTRIBUTES if name in recorded}
    context, status = fields_in(span.get("context")), fields_in(span.get("status"))
    usage = fields_in(attributes.get("mlflow.chat.tokenUsage"))
    kind = kind_of(attributes.get("mlflow.spanType"))
    output = attributes.get("mlflow.spanOutputs")
    state = str(field_of(status, "code") or span.get("status_code") or "")
    return Span(
        trace_id,
        _hexadecimal(field_of(span, "span_id") or context.get("span_id")),
        _hexadecimal(field_of(span, "parent_span_id", "parent_id")) or None,
        text_in(span.get("name")) or "",
        kind,
        nanoseconds(field_of(span, "start_time_unix_nano", "start_time")),
        nanoseconds(field_of(span, "end_time_unix_nano", "end_time")),
        attributes.get("mlflow.spanInputs"),
        output,
        documents=_documents(output) if kind in ("retriever", "reranker") else None,
        error=_error(span, status) if state.upper().endswith(FAILED) else None,
        input_tokens=number(usage.get("input_tokens")),
        output_tokens=number(usage.get("output_tokens")),
        cost=number(fields_in(attributes.get("mlflow.llm.cost")).get("total_cost")),
        model=text_in(attributes.get("mlflow.llm.model")),
        tools=attributes.get("mlflow.chat.tools"),
    )


def _hexadecimal(identifier: object) -> str:
    """Return the id of a span as 16 hexadecimal digits; MLflow 3 writes its bytes in base64."""
    text = text_in(identifier) or ""
    if not text.endswith("="):
        return text.removeprefix("0x")
    try:
        return base64.b64decode(text, validate=True).hex()
    except (binascii.Error, ValueError):
        return text


def _error(span: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    message = field_of(status, "message", "description") or span.get("status_message")
    events = [fields_in(event.get("attributes")) for event in objects_in(span.get("events"))]
    raised = next((event["exception.message"] for event in events if event.get("exception.message")), None)
    return last_line(raised or message) or ""


def _documents(output: object) -> list[Any] | None:
    """Return what a retriever returned: id, or address of the document where it has none, text and score."""
    listed = decoded(output)
    return [_document(item) for item in listed] if isinstance(listed, list) else None


def _document(item: object) -> object:
    if not isinstance(item, dict):
        return item
    metadata = fields_in(item.get("metadata"))
    own = {"id", "metadata", "doc_uri", *item}
    document = {key: value for key, value in item.items() if key != "metadata"}
    document |= {key: value for key, value in metadata.items() if key not in own}
    uri = metadata.get("doc_uri")
    document["id"] = field_of(item, "id") or field_of(metadata, "doc_uri", "chunk_id")
    if text_in(uri) and uri != document["id"]:
        document["doc_id"] = uri
    return document


def _by_address(spans: list[Span], gold: set[str]) -> list[Span]:
    """Return spans whose documents have addresses as ids, where the gold names those and no id of theirs."""
    listed = [span.documents for span in spans if isinstance(span.documents, list)]
    documents = [item for items in listed for item in items if isinstance(item, dict)]
    if not gold & {item.get("doc_id") for item in documents if text_in(item.get("doc_id"))}:
        return spans
    if gold & {item.get("id") for item in documents if text_in(item.get("id"))}:
        return spans
    for item in documents:
        item["id"] = item.get("doc_id") or item.get("id")
    return spans


def _valid(listed: object) -> Iterator[Mapping[str, Any]]:
    """Yield the assessments that hold: no later one takes their place."""
    assessments = objects_in(listed)
    replaced = {text_in(assessment.get("overrides")) for assessment in assessments}
    for assessment in assessments:
        if assessment.get("valid") is not False and text_in(
            assessment.get("assessment_id")
        ) not in replaced - {None}:
            yield assessment


def _with_relevance(span: Span, assessments: list[Mapping[str, Any]]) -> Span:
    """Return a retriever with the relevance of single documents, as MLflow's own judge gives it."""
    if not assessments or not isinstance(span.documents, list):
        return span
    documents = [dict(item) if isinstance(item, Mapping) else item for item in span.documents]
    for assessment in assessments:
        position, value = _chunk(assessment), value_in(fields_in(assessment.get("feedback")).get("value"))
        of_span = _hexadecimal(assessment.get("span_id")) == span.span_id
        if not of_span or position is None or value is None or position >= len(documents):
            continue
        if isinstance(documents[position], dict):
            documents[position]["relevant"] = value > 0
    return replace(span, documents=documents)


def _chunk(assessment: Mapping[str, Any]) -> int | None:
    position = number(fields_in(assessment.get("metadata")).get("chunk_index"))
    return None if position is None or position < 0 else int(position)


def _as_root(
    root: Span, spans: list[Span], info: Mapping[str, Any], assessments: list[Mapping[str, Any]], run: str
) -> Span:
    metadata, tags = _metadata(info), _pairs(info.get("tags"))
    usage = fields_in(metadata.get("mlflow.trace.tokenUsage"))
    stated = any(span.input_tokens is not None for span in spans)
    failed = str(field_of(info, "state", "status") or "").upper().endswith(FAILED)
    scores, human, labels = _feedback(assessments)
    source = text_in(metadata.get("mlflow.sourceRun")) or _run_of(assessments)
    fields = _expectations(assessments) | {
        "question_id": question_id_in(tags, metadata),
        "conversation_id": text_in(metadata.get("mlflow.trace.session")),
        "latency_ms": number(field_of(info, "execution_duration_ms", "execution_time_ms")),
        "run_id": source,
    }
    return replace(
        root,
        input=root.input if root.input is not None else _whole(metadata.get("mlflow.traceInputs")),
        output=root.output if root.output is not None else _whole(metadata.get("mlflow.traceOutputs")),
        error=root.error if root.error is not None or not failed else "",
        input_tokens=root.input_tokens if stated else number(usage.get("input_tokens")),
        output_tokens=root.output_tokens if stated else number(usage.get("output_tokens")),
        run=run or source or "",
        scores=scores,
        human=human,
        fields={name: value for name, value in fields.items() if value is not None},
        tags=labels | tags_of({key: value for key, value in tags.items() if not key.startswith(OWN)}),
    )


def _metadata(info: Mapping[str, Any]) -> dict[str, Any]:
    return _pairs(field_of(info, "trace_metadata", "request_metadata"))


def _pairs(value: object) -> dict[str, Any]:
    """Return an object, or a list of {key, value}, as an object."""
    pairs = decoded(value)
    if isinstance(pairs, list):
        return {str(pair.get("key")): pair.get("value") for pair in objects_in(pairs)}
    return {str(key): entry for key, entry in pairs.items()} if isinstance(pairs, Mapping) else {}


def _whole(text: object) -> Any:
    """Return the value of inputs or outputs in the metadata; None where they were cut, as long ones are."""
    value = decoded(text, 1)
    return None if isinstance(value, str) and value == text and value.endswith("...") else value


def _run_of(assessments: list[Mapping[str, Any]]) -> str | None:
    runs = (
        fields_in(assessment.get("metadata")).get("mlflow.assessment.sourceRunId")
        for assessment in assessments
    )
    return next((run for run in map(text_in, runs) if run), None)


def _feedback(
    assessments: list[Mapping[str, Any]],
) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """Return the scores of judges and code, the labels of people, and what is a category as tags."""
    scores: dict[str, Any] = {}
    human: list[dict[str, Any]] = []
    tags: dict[str, Any] = {}
    for assessment in assessments:
        if "feedback" not in assessment or _chunk(assessment) is not None:
            continue
        feedback, source = fields_in(assessment["feedback"]), fields_in(assessment.get("source"))
        name, reason = (
            text_in(assessment.get("assessment_name")) or "feedback",
            text_in(assessment.get("rationale")),
        )
        by_person = source.get("source_type") == "HUMAN"
        error = fields_in(feedback.get("error"))
        if error:
            failure = text_in(field_of(error, "error_message", "error_code")) or "failed"
            scores[metric_name(name)[0]] = {"value": None, "reason": failure}
            continue
        for metric, value in _values(name, feedback.get("value")):
            amount = value_in(value)
            if amount is None and text_in(value):
                tags[metric] = text_in(value)
            elif by_person and amount is not None:
                annotator = text_in(source.get("source_id")) or "human"
                human.append({"annotator": annotator, "metric": metric, "value": amount, "note": reason})
            elif not by_person:
                scores[metric] = {"value": amount, "reason": reason}
    return scores, human, tags


def _values(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the values of a feedback: one, or those under the names in an object."""
    parts = decoded(value, 1) if isinstance(value, str) and value[:1] == "{" else value
    if isinstance(parts, Mapping):
        yield from ((metric_name(f"{name}_{key}")[0], entry) for key, entry in parts.items())
    else:
        yield metric_name(name)[0], parts


def _expectations(assessments: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return reference answer, gold documents and facts that are expected; anything else as extra."""
    fields: dict[str, Any] = {}
    for assessment in assessments:
        if "expectation" not in assessment:
            continue
        stated = fields_in(assessment["expectation"])
        serialized = fields_in(stated.get("serialized_value")).get("value")
        value = decoded(serialized, 1) if serialized is not None else stated.get("value")
        name = text_in(assessment.get("assessment_name")) or "expectation"
        if name in REFERENCES:
            fields["reference_answer"] = reference_in(value)
        elif name == "expected_retrieved_context":
            ids = (
                text_in(field_of(assessment, "doc_uri", "id", "chunk_id")) for assessment in objects_in(value)
            )
            fields["relevant"] = [{"id": identifier} for identifier in dict.fromkeys(ids) if identifier]
        elif name == "expected_facts" and isinstance(value, list):
            fields["reference_claims"] = [{"text": fact} for fact in value if isinstance(fact, str) and fact]
        elif value is not None:
            fields[name if name.startswith("expected_") else f"expected_{name}"] = value
    return fields
