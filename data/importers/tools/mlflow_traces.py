"""A trace as MLflow writes it, `{info, data}`, brought to spans with scores, labels and gold on its root."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.shapes import decoded, reference_in
from ragtriage.data.importers.parsing.values import (
    Fields,
    fields_in,
    last_line,
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
    version = str(_metadata(Fields(trace.get("info"))).all.get("mlflow.trace_schema.version", ""))
    return "" if version in SCHEMAS else version[:20]


def spans_of(trace: Mapping[str, Any], run: str = "") -> list[Span]:
    """Return the spans of a trace; what is said of the trace as a whole stands on its root.

    The trace is `{info, data}` of MLflow 2.14 or later; its run is named `run`, or by the id of its source
    run where that is "".
    """
    info = Fields(trace.get("info"))
    trace_id, listed = info.text("trace_id", "request_id") or "", info.objects("assessments")
    replaced = {assessment.text("overrides") for assessment in listed} - {None}
    assessments = [  # that hold: no later one takes their place
        assessment
        for assessment in listed
        if assessment.at("valid") is not False and assessment.text("assessment_id") not in replaced
    ]
    of_chunks = [assessment for assessment in assessments if _chunk(assessment) is not None]
    recorded = Fields(trace.get("data")).objects("spans")
    spans = [_with_relevance(_span(span, trace_id), of_chunks) for span in recorded]
    root = next((span for span in spans if not span.parent_id), None)
    if root is None:
        root = Span(trace_id, kind="root", start=info.nanoseconds("request_time"))
        spans.insert(0, root)
    labelled = _as_root(root, spans, info, assessments, run)
    spans[spans.index(root)] = labelled
    return _by_address(spans, {gold["id"] for gold in labelled.fields.get("relevant", ())})


def _span(span: Fields, trace_id: str) -> Span:
    """Return a span in the form of MLflow 3, or of 2 with a `context`."""
    recorded = span.fields("attributes").all
    attributes = Fields({name: decoded(recorded[name], 1) for name in ATTRIBUTES if name in recorded})
    status, usage = span.fields("status"), attributes.fields("mlflow.chat.tokenUsage")
    kind, output = kind_of(attributes.at("mlflow.spanType")), attributes.at("mlflow.spanOutputs")
    state = str(status.at("code") or span.at("status_code") or "")
    listed = decoded(output) if kind in ("retriever", "reranker") else None
    return Span(
        trace_id,
        _hexadecimal(span.at("span_id") or span.fields("context").at("span_id")),
        _hexadecimal(span.at("parent_span_id", "parent_id")) or None,
        span.text("name") or "",
        kind,
        span.nanoseconds("start_time_unix_nano", "start_time"),
        span.nanoseconds("end_time_unix_nano", "end_time"),
        attributes.at("mlflow.spanInputs"),
        output,
        documents=[_document(item) for item in listed] if isinstance(listed, list) else None,
        error=_error(span, status) if state.upper().endswith(FAILED) else None,
        input_tokens=usage.number("input_tokens"),
        output_tokens=usage.number("output_tokens"),
        cost=attributes.fields("mlflow.llm.cost").number("total_cost"),
        model=attributes.text("mlflow.llm.model"),
        tools=attributes.at("mlflow.chat.tools"),
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


def _error(span: Fields, status: Fields) -> str:
    raised = (event.fields("attributes").at("exception.message") for event in span.objects("events"))
    message = status.at("message", "description") or span.at("status_message")
    return last_line(next(filter(None, raised), None) or message) or ""


def _document(item: object) -> object:
    """Return a document that a retriever returned: id, or its address where it has none, text and score."""
    if not isinstance(item, dict):
        return item
    metadata = Fields(item.get("metadata"))
    own = {"id", "metadata", "doc_uri", *item}
    document = {key: value for key, value in item.items() if key != "metadata"}
    document |= {key: value for key, value in metadata.all.items() if key not in own}
    uri = metadata.at("doc_uri")
    document["id"] = Fields(item).at("id") or metadata.at("doc_uri", "chunk_id")
    if text_in(uri) and uri != document["id"]:
        document["doc_id"] = uri
    return document


def _by_address(spans: list[Span], gold: set[str]) -> list[Span]:
    """Return spans whose documents have addresses as ids, where the gold names those and no id of theirs."""
    listed = [span.documents for span in spans if isinstance(span.documents, list)]
    documents = [item for items in listed for item in items if isinstance(item, dict)]
    ids, addresses = (
        {item.get(key) for item in documents if text_in(item.get(key))} for key in ("id", "doc_id")
    )
    if gold & addresses and not gold & ids:
        for item in documents:
            item["id"] = item.get("doc_id") or item.get("id")
    return spans


def _with_relevance(span: Span, assessments: list[Fields]) -> Span:
    """Return a retriever with the relevance of single documents, as MLflow's own judge gives it."""
    if not assessments or not isinstance(span.documents, list):
        return span
    documents = [dict(item) if isinstance(item, Mapping) else item for item in span.documents]
    for assessment in assessments:
        position, value = _chunk(assessment), value_in(assessment.fields("feedback").at("value"))
        of_span = _hexadecimal(assessment.at("span_id")) == span.span_id
        if not of_span or position is None or value is None or position >= len(documents):
            continue
        if isinstance(documents[position], dict):
            documents[position]["relevant"] = value > 0
    return replace(span, documents=documents)


def _chunk(assessment: Fields) -> int | None:
    position = assessment.fields("metadata").number("chunk_index")
    return None if position is None or position < 0 else int(position)


def _as_root(root: Span, spans: list[Span], info: Fields, assessments: list[Fields], run: str) -> Span:
    metadata, tags = _metadata(info), _pairs(info.at("tags"))
    usage = metadata.fields("mlflow.trace.tokenUsage")
    stated = any(span.input_tokens is not None for span in spans)
    failed = str(info.at("state", "status") or "").upper().endswith(FAILED)
    scores, human, labels = _feedback(assessments)
    recorded = (assessment.fields("metadata") for assessment in assessments)
    runs = (fields.text("mlflow.assessment.sourceRunId") for fields in recorded)
    source = metadata.text("mlflow.sourceRun") or next(filter(None, runs), None)
    fields = _expectations(assessments) | {
        "question_id": question_id_in(tags.all, metadata.all),
        "conversation_id": metadata.text("mlflow.trace.session"),
        "latency_ms": info.number("execution_duration_ms", "execution_time_ms"),
        "run_id": source,
    }
    return replace(
        root,
        input=root.input if root.input is not None else _whole(metadata.at("mlflow.traceInputs")),
        output=root.output if root.output is not None else _whole(metadata.at("mlflow.traceOutputs")),
        error=root.error if root.error is not None or not failed else "",
        input_tokens=root.input_tokens if stated else usage.number("input_tokens"),
        output_tokens=root.output_tokens if stated else usage.number("output_tokens"),
        run=run or source or "",
        scores=scores,
        human=human,
        fields={name: value for name, value in fields.items() if value is not None},
        tags=labels | tags_of({key: value for key, value in tags.all.items() if not key.startswith(OWN)}),
    )


def _metadata(info: Fields) -> Fields:
    return _pairs(info.at("trace_metadata", "request_metadata"))


def _pairs(value: object) -> Fields:
    """Return an object, or a list of {key, value}, as an object."""
    pairs = decoded(value)
    if isinstance(pairs, list):
        return Fields({str(pair.at("key")): pair.at("value") for pair in map(Fields, objects_in(pairs))})
    return Fields({str(key): entry for key, entry in fields_in(pairs).items()})


def _whole(text: object) -> Any:
    """Return the value of inputs or outputs in the metadata; None where they were cut, as long ones are."""
    value = decoded(text, 1)
    return None if isinstance(value, str) and value == text and value.endswith("...") else value


def _feedback(assessments: list[Fields]) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """Return the scores of judges and code, the labels of people, and what is a category as tags."""
    scores: dict[str, Any] = {}
    human: list[dict[str, Any]] = []
    tags: dict[str, Any] = {}
    for assessment in assessments:
        if "feedback" not in assessment.all or _chunk(assessment) is not None:
            continue
        feedback, source = assessment.fields("feedback"), assessment.fields("source")
        name, reason = assessment.text("assessment_name") or "feedback", assessment.text("rationale")
        if error := feedback.fields("error"):
            failure = error.text("error_message", "error_code") or "failed"
            scores[metric_name(name)[0]] = {"value": None, "reason": failure}
            continue
        value = feedback.at("value")
        parts = decoded(value, 1) if isinstance(value, str) and value[:1] == "{" else value
        named = {f"{name}_{key}": part for key, part in parts.items()} if isinstance(parts, Mapping) else {}
        for title, part in named.items() if isinstance(parts, Mapping) else [(name, parts)]:
            metric, amount = metric_name(title)[0], value_in(part)
            if amount is None and text_in(part):
                tags[metric] = text_in(part)
            elif source.at("source_type") != "HUMAN":
                scores[metric] = {"value": amount, "reason": reason}
            elif amount is not None:
                annotator = source.text("source_id") or "human"
                human.append({"annotator": annotator, "metric": metric, "value": amount, "note": reason})
    return scores, human, tags


def _expectations(assessments: list[Fields]) -> dict[str, Any]:
    """Return reference answer, gold documents and facts that are expected; anything else as extra."""
    fields: dict[str, Any] = {}
    for assessment in assessments:
        if "expectation" not in assessment.all:
            continue
        stated = assessment.fields("expectation")
        serialized = stated.fields("serialized_value").at("value")
        value = decoded(serialized, 1) if serialized is not None else stated.at("value")
        name = assessment.text("assessment_name") or "expectation"
        if name in REFERENCES:
            fields["reference_answer"] = reference_in(value)
        elif name == "expected_retrieved_context":
            ids = (gold.text("doc_uri", "id", "chunk_id") for gold in map(Fields, objects_in(value)))
            fields["relevant"] = [{"id": identifier} for identifier in dict.fromkeys(ids) if identifier]
        elif name == "expected_facts" and isinstance(value, list):
            fields["reference_claims"] = [{"text": fact} for fact in value if isinstance(fact, str) and fact]
        elif value is not None:
            fields[name if name.startswith("expected_") else f"expected_{name}"] = value
    return fields
