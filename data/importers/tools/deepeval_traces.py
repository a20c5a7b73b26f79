"""DeepEval: traces with their spans in lists by kind, as its tracing records them; each becomes a sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.values import (
    documents_in,
    kind_in,
    last_line,
    nanoseconds,
    number,
    objects_in,
    tags_of,
    text_in,
    without_blanks,
)
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.store.parsed_run import ParsedRun

LISTS = ("baseSpans", "agentSpans", "llmSpans", "retrieverSpans", "toolSpans")


def _is_trace(row: Mapping[str, Any]) -> bool:
    return sum(isinstance(row.get(name), list) for name in LISTS) >= 2  # one may be any file's


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read traces: a sample for each, a run for each environment."""
    traces = Traces(errors, "DeepEval")
    for line, trace in rows_at(source, "", errors, alone=True):
        if isinstance(trace, Mapping):
            for span in spans_of(trace, line):
                traces.add(line, span)
        else:
            errors.leave_out("a row that is no trace")
    return traces.runs(source, "deepeval_traces", options.limit)


def spans_of(trace: Mapping[str, Any], line: int) -> Iterator[Span]:
    """Yield the spans of a trace, under one of its own where it records what was asked and answered."""
    name = text_in(trace.get("uuid")) or f"line {line}"
    recorded = any(trace.get(key) is not None for key in ("input", "output"))
    own = _of_trace(trace)
    if recorded:
        start, end = (nanoseconds(trace.get(key)) for key in ("startTime", "endTime"))
        title = text_in(trace.get("name")) or ""
        yield Span(
            name, name, None, title, "root", start, end, trace.get("input"), trace.get("output"), **own
        )
    for key in LISTS:
        for span in objects_in(trace.get(key)):
            parent = text_in(span.get("parentUuid")) or (name if recorded else None)
            yield _span(span, name, parent, {} if parent else own)


def _of_trace(trace: Mapping[str, Any]) -> dict[str, Any]:
    results = [result for result in objects_in(trace.get("metricsData")) if result.get("name")]
    fields = {"conversation_id": text_in(trace.get("threadId"))}
    return {
        "run": text_in(trace.get("environment")) or "",
        "scores": {
            metric_name(str(result["name"]))[0]: {
                "value": None if result.get("error") else number(result.get("score")),
                "reason": text_in(result.get("error")) or text_in(result.get("reason")),
            }
            for result in results
        },
        "tags": tags_of(trace.get("metadata"), trace.get("tags")),
        "fields": without_blanks(fields),
    }


def _span(span: Mapping[str, Any], trace: str, parent: str | None, own: Mapping[str, Any]) -> Span:
    title, output = text_in(span.get("name")) or "", span.get("output")
    stated = kind_of(span.get("type"))
    # A step of no stated kind may be a retriever; a tool is none, even one that searches.
    kind = kind_in(stated, title.strip("_"), _nodes(output)) if stated == "other" else stated
    retrieves, is_model = kind == "retriever", kind == "llm"
    failed = span.get("status") == "ERRORED"
    return Span(
        trace,
        text_in(span.get("uuid")) or "",
        parent,
        title,
        kind,
        nanoseconds(span.get("startTime")),
        nanoseconds(span.get("endTime")),
        span.get("input"),
        output,
        query=text_in(span.get("input")) if retrieves else None,
        documents=_documents(span) if retrieves else None,
        error=last_line(span.get("error")) or ("" if failed else None),
        input_tokens=number(span.get("inputTokenCount")) if is_model else None,
        output_tokens=number(span.get("outputTokenCount")) if is_model else None,
        model=text_in(span.get("model")) if is_model else None,
        **own,
    )


def _documents(span: Mapping[str, Any]) -> Any:
    """Return what a retriever returned: its output, which has ids and scores, before the texts alone."""
    documents = documents_in(_nodes(span.get("output")))
    texts = span.get("retrievalContext")
    return documents or ([{"text": text} for text in texts] if isinstance(texts, list) else documents)


def _nodes(output: Any) -> Any:
    """Return documents out of the nodes of LlamaIndex, {node, score}; others as they are."""
    if not isinstance(output, list):
        return output
    return [
        {**item["node"], "score": item.get("score")}
        if isinstance(item, Mapping) and isinstance(item.get("node"), Mapping)
        else item
        for item in output
    ]


IMPORTERS = (
    Importer(
        "deepeval_traces",
        "DeepEval traces",
        "traces with baseSpans, llmSpans, retrieverSpans: one, a list, or one per line",
        lambda peek: _is_trace(peek.keys) or any(map(_is_trace, peek.rows)),
        read,
        written_by="DeepEval 4.3",
    ),
)
