"""Events of TruLens 2.x: spans of records, and evaluations that are traces of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.metric_names import metric_name
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.spans.span import Labels, Span, kind_of
from ragtriage.data.importers.spans.traces import Traces, runs_of_spans
from ragtriage.data.importers.spans.values import nanoseconds, number
from ragtriage.data.importers.tools.facts import fields_in, last_line, text_in
from ragtriage.data.store.parsed_run import ParsedRun, Record

OWN = "ai.observability."
EVALUATIONS = ("eval", "eval_root")
RELEVANT_FROM = 0.5
OF_CONTEXTS = "context_relevance"
FAILED = "ERROR"
LOWER = {"direction": "lower"}
Event = Mapping[str, Any]


def runs_of_events(
    events: Iterable[Record], base: ParsedRun, errors: ValidationErrors, limit: int | None
) -> list[ParsedRun]:
    """Return a run for each app in a version.

    Args:
        events: (line, event) pairs in any order, with record, record_attributes and trace, also as text.
        base: file and format.
        errors: takes remarks and the count of what was left out.
        limit: number of samples, for a preview.
    """
    traces, relevance = Traces(errors, {"tool": "TruLens"}), Spool()
    lower: set[str] = set()
    for line, event in events:
        attributes = _attributes(event) if isinstance(event, Mapping) else {}
        kind, record_id = attributes.get("span_type"), text_in(attributes.get("record_id"))
        if not record_id or not isinstance(event, Mapping):
            errors.leave_out("an event of no record")
        elif kind not in EVALUATIONS:
            traces.add(line, _span(event, attributes, record_id))
        else:
            target = text_in(attributes.get("eval.target_record_id")) or record_id
            _keep_evaluation(traces, relevance, line, target, attributes)
            if attributes.get("eval_root.higher_is_better") is False:
                lower.add(_metric(attributes))
    runs = runs_of_spans(traces, base, limit)
    unknown = sorted(metric for metric in lower if declaration_fault(metric, LOWER) is None)
    return [
        replace(run, records=_with_relevance(run.records, relevance), metrics=dict.fromkeys(unknown, LOWER))
        for run in runs
    ]


def _attributes(event: Event) -> dict[str, Any]:
    """Return the attributes of an event without the prefix that all of TruLens' own have."""
    attributes = fields_in(event.get("record_attributes"))
    if f"{OWN}app_name" not in attributes:
        attributes = {**fields_in(event.get("resource_attributes")), **attributes}
    return {str(name).removeprefix(OWN): value for name, value in attributes.items()}


def _span(event: Event, attributes: Mapping[str, Any], record_id: str) -> Span:
    record, trace = fields_in(event.get("record")), fields_in(event.get("trace"))
    is_root = attributes.get("span_type") == "record_root"
    kind = kind_of(attributes.get("span_type"))
    error = attributes.get("record_root.error") or attributes.get("call.error")
    failed = bool(error) or str(record.get("status")).upper().endswith(FAILED)
    fields = {
        "reference_answer": text_in(attributes.get("record_root.ground_truth_output")),
        "question_id": text_in(attributes.get("input_id")),
        "conversation_id": text_in(attributes.get("conversation_id")),
    }
    return Span(
        record_id,
        text_in(trace.get("span_id")) or text_in(event.get("event_id")) or "",
        text_in(trace.get("parent_id")) or text_in(record.get("parent_span_id")),
        text_in(record.get("name")) or "",
        kind,
        nanoseconds(event.get("start_timestamp")),
        nanoseconds(event.get("timestamp")),
        attributes.get("record_root.input") if is_root else None,
        attributes.get("record_root.output") if is_root else attributes.get("call.return"),
        query=text_in(attributes.get("retrieval.query_text")),
        documents=_documents(attributes) if kind in ("retriever", "reranker") else None,
        error=(last_line(error) or "") if failed else None,
        input_tokens=_count(attributes.get("cost.num_prompt_tokens")),
        output_tokens=_count(attributes.get("cost.num_completion_tokens")),
        cost=_count(attributes.get("cost.cost")) if attributes.get("cost.cost_currency") == "USD" else None,
        model=text_in(attributes.get("cost.model")),
        run=_run(attributes),
        fields={name: value for name, value in fields.items() if value is not None},
    )


def _documents(attributes: Mapping[str, Any]) -> Any:
    for name in ("retrieval.retrieved_contexts", "reranking.contexts", "gen_ai.retrieval.documents"):
        if attributes.get(name) is not None:
            return attributes[name]
    return None


def _count(value: object) -> float | None:
    """Return a number of tokens or a cost; none of it is what TruLens writes where nothing was counted."""
    amount = number(value)
    return amount or None


def _run(attributes: Mapping[str, Any]) -> str:
    app = " ".join(filter(None, (text_in(attributes.get(name)) for name in ("app_name", "app_version"))))
    run = text_in(attributes.get("run.name"))
    return f"{app}: {run}" if run and app else app or run or ""


def _metric(attributes: Mapping[str, Any]) -> str:
    name = attributes.get("eval_root.metric_name") or attributes.get("eval.metric_name")
    return metric_name(text_in(name) or "score")[0]


def _keep_evaluation(
    traces: Traces, relevance: Spool, line: int, record_id: str, attributes: Mapping[str, Any]
) -> None:
    """Keep the score of an evaluation, or what it says of one context; while it runs it has neither."""
    metric = _metric(attributes)
    if attributes.get("span_type") == "eval":
        score, context = number(attributes.get("eval.score")), attributes.get("call.kwargs.context")
        if metric == OF_CONTEXTS and score is not None and isinstance(context, str):
            relevance.add(record_id, line, [context, score])
        return
    error, score = text_in(attributes.get("eval_root.error")), number(attributes.get("eval_root.score"))
    if error:  # with a score of -1 beside it
        value: dict[str, Any] = {"value": None, "reason": last_line(error)}
    elif score is not None:
        value = {"value": score, "reason": text_in(attributes.get("eval.explanation"))}
    else:
        return
    traces.attach(line, Labels(scores={metric: value}), trace_id=record_id)


def _with_relevance(records: Iterable[Record], relevance: Spool) -> Iterator[Record]:
    """Yield records whose passages are relevant where their own score is at least RELEVANT_FROM."""
    for line, record in records:
        if isinstance(record, dict):
            judged = dict(score for _, score in relevance.rows(str(record.get("trace_id"))))
            for document in record.get("retrieved") or () if judged else ():
                if document.get("text") in judged:
                    document["relevant"] = judged[document["text"]] >= RELEVANT_FROM
        yield line, record
