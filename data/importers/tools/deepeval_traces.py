"""DeepEval: traces with their spans in lists by kind, as its tracing records them; each becomes a sample."""

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Reader
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.values import Fields, documents_in, kind_in, tags_of, without_blanks
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.store.parsed_run import ParsedRun

LISTS = ("baseSpans", "agentSpans", "llmSpans", "retrieverSpans", "toolSpans")


def _is_trace(row: Mapping[str, Any]) -> bool:
    return sum(isinstance(row.get(name), list) for name in LISTS) >= 2  # one may be any file's


def read(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read traces: a sample for each, a run for each environment."""
    traces = Traces(errors, "DeepEval")
    for line, trace in rows_at(source, "", errors, alone=True):
        if isinstance(trace, Mapping):
            for span in spans_of(trace, line):
                traces.add(line, span)
        else:
            errors.leave_out("a row that is not a trace")
    return traces.runs(source, "deepeval_traces")


def spans_of(trace: Mapping[str, Any], line: int) -> Iterator[Span]:
    """Yield the spans of a trace, under one of its own where it records what was asked and answered."""
    row = Fields(trace)
    name, own = row.text("uuid") or f"line {line}", _of_trace(row)
    recorded = any(trace.get(key) is not None for key in ("input", "output"))
    if recorded:
        times = row.nanoseconds("startTime"), row.nanoseconds("endTime")
        title, ends = row.text("name") or "", (row.at("input"), row.at("output"))
        yield Span(name, name, None, title, "root", *times, *ends, **own)
    for span in (span for key in LISTS for span in row.objects(key)):
        parent = span.text("parentUuid") or (name if recorded else None)
        yield _span(span, name, parent, {} if parent else own)


def _of_trace(trace: Fields) -> dict[str, Any]:
    return {
        "run": trace.text("environment") or "",
        "scores": {
            metric_name(str(result.at("name")))[0]: {
                "value": None if result.at("error") else result.number("score"),
                "reason": result.text("error") or result.text("reason"),
            }
            for result in trace.objects("metricsData")
            if result.at("name")
        },
        "tags": tags_of(trace.at("metadata"), trace.at("tags")),
        "fields": without_blanks({"conversation_id": trace.text("threadId")}),
    }


def _span(span: Fields, trace: str, parent: str | None, own: Mapping[str, Any]) -> Span:
    title, output, texts = span.text("name") or "", span.at("output"), span.at("retrievalContext")
    stated = kind_of(span.at("type"))
    # A step of no stated kind may be a retriever; a tool is none, even one that searches.
    kind = kind_in(stated, title.strip("_"), _nodes(output)) if stated == "other" else stated
    of_kind: dict[str, Any] = {}
    if kind == "retriever":  # its output has ids and scores, which the texts alone have not
        documents = documents_in(_nodes(output))
        if not documents and isinstance(texts, list):
            documents = [{"text": text} for text in texts]
        of_kind = {"query": span.text("input"), "documents": documents}
    elif kind == "llm":
        of_kind = {"input_tokens": span.number("inputTokenCount"), "model": span.text("model")}
        of_kind["output_tokens"] = span.number("outputTokenCount")
    return Span(
        trace,
        span.text("uuid") or "",
        parent,
        title,
        kind,
        span.nanoseconds("startTime"),
        span.nanoseconds("endTime"),
        span.at("input"),
        output,
        error=span.error("error") or ("" if span.at("status") == "ERRORED" else None),
        **of_kind,
        **own,
    )


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


READERS = {
    "deepeval_traces": Reader(read, lambda peek: _is_trace(peek.keys) or any(map(_is_trace, peek.rows)))
}
