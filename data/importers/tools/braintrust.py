"""Braintrust: events of an experiment as its API and screens write them, and results of its SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.documents_in_json import value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import (
    answer_in,
    contexts_in,
    decoded,
    question_in,
    reference_in,
)
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.spans.samples import samples_of
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.importers.spans.values import (
    field_of,
    fields_in,
    kind_in,
    last_line,
    nanoseconds,
    number,
    question_id_in,
    tags_of,
    text_in,
    value_in,
    without_blanks,
)
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


def _read_events(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read events: one sample per root span, one run per experiment."""
    rows = rows_at(source, _path(source, "events"), errors)
    traces = Traces(errors, "Braintrust").read(rows, _spans, "event")
    runs = traces.runs(source, "braintrust", options.limit)
    several = len(runs) > 1
    return [
        replace(
            run,
            name=f"{source.stem} {run.name[:8]}" if several else source.stem,
            named_by_content=several,
            records=_with_contexts(run.records),
        )
        for run in runs
    ]


def _with_contexts(records: Any) -> Iterator[Record]:
    for line, record in records:
        stated = record.pop(CONTEXTS, None)
        yield line, record if stated is None else {"retrieved": stated, **record}


def _spans(row: Mapping[str, Any]) -> list[Span]:
    """Return the span of an event; that of a score repeats what its root says: no part of the pipeline."""
    return [] if fields_in(row.get("span_attributes")).get("type") == "score" else [_span(row)]


def _span(row: Mapping[str, Any]) -> Span:
    root_id, span_id = text_in(row.get("root_span_id")) or "", text_in(row.get("span_id")) or ""
    attributes, metrics = fields_in(row.get("span_attributes")), fields_in(row.get("metrics"))
    parents = decoded(row.get("span_parents"))
    is_root = decoded(row.get("is_root")) in (True, "true", "True") or span_id == root_id
    parent = text_in(parents[0]) if isinstance(parents, list) and parents else None
    output = decoded(row.get("output"))
    name = text_in(attributes.get("name")) or ""
    return Span(
        root_id,
        span_id,
        None if is_root else parent or root_id,
        name,
        "root" if is_root else kind_in(kind_of(attributes.get("type")), name, output),
        nanoseconds(metrics.get("start")),
        nanoseconds(metrics.get("end")),
        decoded(row.get("input")),
        output,
        error=last_line(decoded(row.get("error"))),
        input_tokens=number(metrics.get("prompt_tokens")),
        output_tokens=number(metrics.get("completion_tokens")),
        cost=number(metrics.get("estimated_cost")),
        model=text_in(fields_in(row.get("metadata")).get("model")),
        tools=fields_in(row.get("metadata")).get("tools"),
        run=text_in(row.get("experiment_id")) or text_in(row.get("project_id")) or "",
        **(_of_root(row) if is_root else {}),
    )


def _of_root(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a span that a root alone has: scores, tags, and fields of the sample."""
    metadata = fields_in(row.get("metadata"))
    # the time of a span; seconds since 1970 are exact to less than a thousandth in a float
    metrics = fields_in(row.get("metrics"))
    start, end = number(metrics.get("start")), number(metrics.get("end"))
    milliseconds = None if start is None or end is None or end < start else round((end - start) * 1000, 3)
    fields = {
        "question_id": question_id_in(metadata, fields_in(row.get("input"))),
        "reference_answer": reference_in(row.get("expected")),
        CONTEXTS: contexts_in(metadata),
        "observation_id": text_in(row.get("id")),
        "latency_ms": milliseconds,
    }
    return {
        "scores": _scores(row, metadata),
        "tags": tags_of(metadata, row.get("tags"), but=NOT_TAGS),
        "fields": without_blanks(fields),
    }


def _scores(row: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return scores; null is one that was not run, unless the metadata say that its scorer failed."""
    values = {
        metric_name(str(name))[0]: value_in(value) for name, value in fields_in(row.get("scores")).items()
    }
    scores: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    for name, error in fields_in(metadata.get("scorer_errors")).items():
        scores.setdefault(metric_name(str(name))[0], {"value": None, "reason": last_line(error) or "failed"})
    return scores


def _read_results(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    summary = value_at(source, "summary") if isinstance(Peek(source).keys.get("results"), list) else None
    name = text_in(field_of(fields_in(summary), "experiment_name", "experimentName"))
    return [
        ParsedRun(
            name or source.stem,
            islice(_results(source, errors), options.limit),
            source.name,
            "braintrust_results",
            named_by_content=name is not None,
            notes=(SUMMARY,) if summary else (),
        )
    ]


def _results(source: InputFile, errors: ValidationErrors) -> Iterator[Record]:
    rows = rows_at(source, _path(source, "results"), errors)
    return samples_of(rows, _result, errors, "a result without a question in its input")


def _result(row: Mapping[str, Any], _line: int) -> dict[str, Any]:
    metadata, output = fields_in(row.get("metadata")), decoded(row.get("output"))
    contexts, error = contexts_in(output), last_line(row.get("error"))
    tags = tags_of(metadata, row.get("tags"), but=NOT_TAGS)
    return {
        "question_id": question_id_in(metadata, fields_in(row.get("input"))),
        "question": question_in(row.get("input")),
        "answer": answer_in(output),
        "reference_answer": reference_in(row.get("expected")),
        "retrieved": contexts_in(metadata) if contexts is None else contexts,
        "scores": _scores(row, metadata),
        "tags": tags | ({"error": error} if error else {}),
        "tool": "Braintrust",
    }


IMPORTERS = (
    Importer(
        "braintrust",
        "Braintrust experiment",
        "events with root_span_id, input, output and scores: `{events: [...]}`, JSONL or CSV",
        lambda peek: any(row.keys() >= {*EVENT, "input"} for row in _rows(peek, "events")),
        _read_events,
        unit="trace",
        written_by="Braintrust 0.47",
        example="the answer of POST /v1/experiment/{id}/fetch, saved as JSON",
    ),
    Importer(
        "braintrust_results",
        "Braintrust SDK results",
        "a list of input, output, expected, scores and error, as `Eval(...).results`",
        _is_results,
        _read_results,
        written_by="Braintrust 0.47",
        example="json.dump([vars(result) for result in Eval(...).results], file, default=str)",
    ),
)
