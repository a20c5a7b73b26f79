"""A sample from the spans of one trace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.payloads import answer_in, decoded, question_in
from ragtriage.data.importers.spans.retrieval import STEPS, Retrieval, query_of, retrieval_of
from ragtriage.data.importers.spans.span import Span
from ragtriage.data.importers.spans.tool_calls import call_count, schemas_of, tool_checks
from ragtriage.data.importers.spans.trace import Trace
from ragtriage.data.importers.spans.values import documents_in, error_line

SCORED_WITHOUT_ANSWER = "scored although there is no answer"
PARTIAL = "the root span of a trace is not in the file: question and answer are those of the spans that are"
SEVERAL_SCORES = "a metric is scored on several spans of a trace: the root's score is read, else the last"
NO_ANSWER = ("retriever", "reranker", "embedding", "evaluator", "guardrail")
NO_OBJECT = {"role", "content", "tool_calls", "toolCalls", "messages", "choices", "parts"}
ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant"}


def sample_of_trace(
    spans: Iterable[Span],
    errors: ValidationErrors | None = None,
    line: int | None = None,
    *,
    null_is_empty: bool = True,
) -> dict[str, Any] | None:
    """Return the sample of a trace in the native form; None where it holds no question.

    Args:
        spans: the spans of one trace in any order.
        errors: takes remarks, and the count of traces that become no sample.
        line: line of the trace in its file, for the remarks.
        null_is_empty: see `retrieval_of`.
    """
    trace = Trace(spans)
    errors = errors if errors is not None else ValidationErrors("")
    unfit = _unfit(trace)
    question = None if unfit else _question(trace)
    if question is None:
        errors.leave_out(unfit or "a trace without a question")
        return None
    if trace.is_partial:
        errors.remark(PARTIAL, line)
    answer = _answer(trace)
    retrieval = retrieval_of(trace, answer, null_is_empty=null_is_empty)
    tools = schemas_of(trace)
    checks = tool_checks(trace, tools)
    sample = {
        "question": question,
        "answer": answer,
        "retrieved": retrieval.documents,
        "candidates": retrieval.candidates,
        "search_query": None if retrieval.query == question else retrieval.query,
        "history": _history(trace.root),
        "latency_ms": None if trace.is_partial else _milliseconds(trace.root),
        "retrieval_ms": retrieval.milliseconds,
        "input_tokens": trace.total("input_tokens"),
        "output_tokens": trace.total("output_tokens"),
        "cost_usd": trace.total("cost"),
        "checks": checks or None,
        "tools": tools,
        "scores": _scores(trace, errors, line),
        "human": [dict(label) for span in trace.spans for label in span.human] or None,
        "tags": _tags(trace, retrieval, answer, call_count(checks)),
        "trace_id": trace.root.trace_id,
        "span_id": trace.root.span_id or None,
        "started_at": _moment(trace.root.start),
        "attributes": dict(trace.root.attributes),
    }
    for span in (*trace.spans, trace.root):
        sample.update(span.fields)
    if sample["answer"] is None and sample["scores"]:
        errors.remark(SCORED_WITHOUT_ANSWER, line)
    return {key: value for key, value in sample.items() if value is not None and value not in ({}, "")} | (
        {"answer": None} if answer is None else {}
    )


def _unfit(trace: Trace) -> str:
    """Return why a trace is none of a pipeline that answers questions; "" where it may be one."""
    kinds = {span.kind for span in trace.spans}
    if trace.root.kind in ("evaluator", "guardrail"):
        return f"a trace of {'an' if trace.root.kind == 'evaluator' else 'a'} {trace.root.kind}"
    return "a trace of embeddings alone" if kinds == {"embedding"} else ""


def _question(trace: Trace) -> str | None:
    """Return the question: the input of the root; else the first query, then what a model was asked."""
    queries = [query_of(span) for span in trace.of_pipeline if span.kind in ("retriever", "reranker")]
    root = trace.root
    asked = query_of(root) if root.kind in ("retriever", "reranker") else question_in(root.input)
    # A prompt may hold the context: a query says more clearly what was asked. Not where the call retrieves.
    prompted = root.kind == "llm" and not trace.inside(root, *STEPS)
    calls = [question_in(span.input) for span in trace.of_pipeline if span.kind in ("agent", "chain", "llm")]
    found = (*queries, asked) if prompted else (asked, *queries, *calls)
    return next((question for question in found if question and question.strip()), None)


def _answer(trace: Trace) -> str | None:
    root = trace.root
    fragment = trace.is_partial and root.kind in ("tool", "llm")
    lists_documents = isinstance(decoded(root.output), list) and documents_in(root.output) is not None
    silent = root.kind in NO_ANSWER or fragment or lists_documents
    answer = None if silent else answer_in(root.output)
    if answer is None and root.error is None and root.kind not in NO_ANSWER[2:]:
        said = (_said(call) for call in reversed(trace.model_calls) if call.error is None)
        answer = next((text for text in said if text), None)
    return answer if answer and answer.strip() else None


def _said(call: Span) -> str | None:
    """Return the answer of a call of a model; an object that it was asked to write is its answer as JSON."""
    answer = answer_in(call.output)
    written = decoded(call.output)
    if answer is None and isinstance(written, Mapping) and not written.keys() & NO_OBJECT:
        return json.dumps(written, default=str, ensure_ascii=False) if written else None
    return answer


def _history(root: Span) -> list[dict[str, str]] | None:
    """Return the turns before the user's last message in the input of the root."""
    value = decoded(root.input)
    messages = value.get("messages") if isinstance(value, Mapping) else value
    messages = decoded(messages)
    if not isinstance(messages, list):
        return None
    turns = []
    for message in messages:
        if isinstance(message, Mapping):
            role = ROLES.get(str(message.get("role") or message.get("type")).lower())
            text = (answer_in if role == "assistant" else question_in)([message]) if role else None
            if role and text:
                turns.append({"role": role, "text": text})
    last = max((place for place, turn in enumerate(turns) if turn["role"] == "user"), default=0)
    return turns[:last] or None


def _scores(trace: Trace, errors: ValidationErrors, line: int | None) -> dict[str, Any]:
    """Return the scores of all spans; the root's come first, then those of later spans."""
    scores: dict[str, Any] = {}
    for span in (*(span for span in trace.spans if span is not trace.root), trace.root):
        if scores.keys() & span.scores.keys():
            errors.remark(SEVERAL_SCORES, line)
        scores.update(span.scores)
    return scores


def _tags(trace: Trace, retrieval: Retrieval, answer: str | None, calls: int) -> dict[str, Any]:
    tags: dict[str, Any] = {}
    for span in (*trace.spans, trace.root):
        tags.update({str(key): _tag(value) for key, value in span.tags.items()})
    models = [span.model for span in trace.model_calls if span.model]
    failed = [span.error for span in reversed(trace.of_pipeline) if span.error is not None]
    error = trace.root.error if trace.root.error is not None else next(iter(failed), None)
    return {
        **tags,
        **({"model": models[-1]} if models else {}),
        **({"tool_calls": calls} if calls else {}),
        **({"retrieval_calls": retrieval.calls} if retrieval.calls > 1 else {}),
        **({"retrieval_error": error_line(retrieval.error)} if retrieval.error is not None else {}),
        **({"error": error_line(error)} if error is not None and answer is None else {}),
    }


def _tag(value: Any) -> Any:
    plain = value is None or isinstance(value, str | int | float)
    return value if plain else json.dumps(value, default=str, ensure_ascii=False)


def _milliseconds(span: Span) -> float | None:
    return None if span.start is None or span.end is None else max(0, span.end - span.start) / 1e6


def _moment(nanoseconds: int | None) -> str | None:
    if nanoseconds is None:
        return None
    return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).isoformat().replace("+00:00", "Z")
