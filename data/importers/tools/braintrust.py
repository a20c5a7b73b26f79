"""Braintrust: events of an experiment as its API and screens write them, and results of its SDK."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, run_of
from ragtriage.data.importers.parsing.documents_in_json import value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.shapes import answer_in, contexts_in, decoded, question_in, reference_in
from ragtriage.data.importers.parsing.values import (
    Fields,
    error_tag,
    kind_in,
    last_line,
    question_id_in,
    tags_of,
    text_in,
    value_in,
    without_blanks,
)
from ragtriage.data.importers.spans.samples import samples_of
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.store.parsed_run import ParsedRun, Record

EVENT = {"root_span_id", "span_id"}
RESULT = {"input", "output", "expected", "scores", "error"}
CONTEXTS = "stated_contexts"  # of the metadata, which count where no span of the trace retrieved
NOT_TAGS = ("contexts", "context", "retrieved_contexts", "documents", "scorer_errors")
SUMMARY = "the summary of the SDK leaves failed rows out, so its means are of fewer questions: not compared"


def _is_results(peek: Peek) -> bool:
    """Return whether the rows are results of `Eval`; CSV has no objects, so scores are text there."""
    return any(
        row.keys() >= RESULT and not EVENT & row.keys() and isinstance(decoded(row["scores"]), dict)
        for row in _rows(peek, "results")
    )


def _rows(peek: Peek, key: str) -> tuple[dict[str, Any], ...]:
    return peek.rows_at(key) or peek.rows_at("data")


def _path(source: InputFile, key: str) -> str:
    return key if isinstance(Peek(source).keys.get(key), list) else "data"


def _read_events(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read events: one sample per root span, one run per experiment."""
    rows = rows_at(source, _path(source, "events"), errors)
    traces = Traces(errors, "Braintrust").read(rows, _spans, "event")
    runs = traces.runs(source, "braintrust")
    several = len(runs) > 1

    def with_contexts(records: Any) -> Iterator[Record]:
        for line, record in records:
            stated = record.pop(CONTEXTS, None)
            yield line, record if stated is None else {"retrieved": stated, **record}

    return [
        replace(
            run,
            name=f"{source.stem} {run.name[:8]}" if several else source.stem,
            named_by_content=several,
            records=with_contexts(run.records),
        )
        for run in runs
    ]


def _spans(value: Mapping[str, Any]) -> list[Span]:
    """Return the span of an event; that of a score repeats what its root says: no part of the pipeline."""
    row = Fields(value)
    return [] if row.fields("span_attributes").at("type") == "score" else [_span(row)]


def _span(row: Fields) -> Span:
    root_id, span_id = row.text("root_span_id") or "", row.text("span_id") or ""
    attributes, metrics, metadata = map(row.fields, ("span_attributes", "metrics", "metadata"))
    is_root = row.decoded("is_root") in (True, "true", "True") or span_id == root_id
    parents = row.decoded("span_parents")
    parent = text_in(parents[0]) if isinstance(parents, list) and parents else None
    name, output = attributes.text("name") or "", row.decoded("output")
    return Span(
        root_id,
        span_id,
        None if is_root else parent or root_id,
        name,
        "root" if is_root else kind_in(kind_of(attributes.at("type")), name, output),
        metrics.nanoseconds("start"),
        metrics.nanoseconds("end"),
        row.decoded("input"),
        output,
        error=last_line(row.decoded("error")),
        input_tokens=metrics.number("prompt_tokens"),
        output_tokens=metrics.number("completion_tokens"),
        cost=metrics.number("estimated_cost"),
        model=metadata.text("model"),
        tools=metadata.at("tools"),
        run=row.text("experiment_id") or row.text("project_id") or "",
        **(_of_root(row, metadata, metrics) if is_root else {}),
    )


def _of_root(row: Fields, metadata: Fields, metrics: Fields) -> dict[str, Any]:
    """Return the parts of a span that a root alone has: scores, tags, and fields of the sample."""
    # the time of a span; seconds since 1970 are exact to less than a thousandth in a float
    start, end = metrics.number("start"), metrics.number("end")
    milliseconds = None if start is None or end is None or end < start else round((end - start) * 1000, 3)
    fields = {
        "question_id": question_id_in(metadata.all, row.at("input")),
        "reference_answer": reference_in(row.at("expected")),
        CONTEXTS: contexts_in(metadata.all),
        "observation_id": row.text("id"),
        "latency_ms": milliseconds,
    }
    tags = tags_of(metadata.all, row.at("tags"), but=NOT_TAGS)
    return {"scores": _scores(row, metadata), "tags": tags, "fields": without_blanks(fields)}


def _scores(row: Fields, metadata: Fields) -> dict[str, Any]:
    """Return scores; null is one that was not run, unless the metadata say that its scorer failed."""
    listed = row.fields("scores").all.items()
    values = {metric_name(str(name))[0]: value_in(value) for name, value in listed}
    scores: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    for name, error in metadata.fields("scorer_errors").all.items():
        scores.setdefault(metric_name(str(name))[0], {"value": None, "reason": last_line(error) or "failed"})
    return scores


def _read_results(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    summary = value_at(source, "summary") if isinstance(Peek(source).keys.get("results"), list) else None
    rows = rows_at(source, _path(source, "results"), errors)
    records = samples_of(rows, _result, errors, "a result without a question in its input")
    name = Fields(summary).text("experiment_name", "experimentName")
    notes = (SUMMARY,) if summary else ()
    return [run_of(source, "braintrust_results", records, name, notes=notes)]


def _result(row: Fields, _line: int) -> dict[str, Any]:
    metadata, contexts = row.fields("metadata"), contexts_in(row.at("output"))
    tags = tags_of(metadata.all, row.at("tags"), but=NOT_TAGS)
    return {
        "question_id": question_id_in(metadata.all, row.at("input")),
        "question": question_in(row.at("input")),
        "answer": answer_in(row.decoded("output")),
        "reference_answer": reference_in(row.at("expected")),
        "retrieved": contexts_in(metadata.all) if contexts is None else contexts,
        "scores": _scores(row, metadata),
        "tags": tags | error_tag(row.at("error")),
        "tool": "Braintrust",
    }


READERS = {
    "braintrust": Reader(
        _read_events, lambda peek: any(row.keys() >= {*EVENT, "input"} for row in _rows(peek, "events"))
    ),
    "braintrust_results": Reader(_read_results, _is_results),
}
