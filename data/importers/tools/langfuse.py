"""Langfuse: experiment items and traces, completed by the scores and observations imported beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer, refuse, row_names
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
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER, sample_of_trace
from ragtriage.data.importers.spans.span import Span
from ragtriage.data.importers.spans.values import (
    field_of,
    fields_in,
    milliseconds_between,
    moment,
    number,
    objects_in,
    question_id_in,
    tags_of,
    text_in,
    value_in,
    without_blanks,
)
from ragtriage.data.importers.tools.langfuse_spans import (
    ScoresById,
    error_of,
    is_observations,
    is_scores,
    is_traces,
    read_observations,
    read_traces,
    span_of,
    url_of,
    with_scores,
)
from ragtriage.data.store.parsed_run import ParsedRun, Record

FROM_SPANS = (
    *("retrieved", "candidates", "search_query", "retrieval_ms", "history", "latency_ms", "checks"),
    *("input_tokens", "output_tokens", "cost_usd"),
)


class Companions:
    """What other files of one import hold on a trace: its scores, and its observations."""

    def __init__(self, files: Iterable[InputFile], errors: ValidationErrors) -> None:
        kinds = [(file, is_scores(Peek(file))) for file in files]
        self.scores = ScoresById((file for file, scores in kinds if scores), errors)
        self._spans = Spool()
        for file in (file for file, scores in kinds if not scores):
            for line, row in rows_at(file, "data", errors):
                span = span_of(row) if isinstance(row, Mapping) else None
                if span is not None and span.trace_id:
                    self._spans.add(span.trace_id, line, vars(span))

    def completed(self, record: dict[str, Any], trace: object, line: int) -> dict[str, Any]:
        """Return a record with what the observations of its trace tell beyond it."""
        spans = [Span(**value) for _, value in self._spans.rows(trace)] if isinstance(trace, str) else []
        # The question of the row stands where its observations have none.
        sample = sample_of_trace(spans, line=line) if spans else None
        if sample is None:
            return record
        added = {name: sample[name] for name in FROM_SPANS if name in sample and record.get(name) is None}
        tags = {**record.get("tags", {}), **sample.get("tags", {})}
        return {**record, **added, **({"tags": tags} if tags else {})}


ITEMS = "langfuse_experiment"


def _read_items(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the items of experiments: a run for each."""
    companions = Companions(options.companions, errors)
    spool, runs = Spool(), dict[str, ParsedRun]()
    for line, row in rows_at(source, "data", errors):
        if options.limit is not None and line > options.limit:
            break
        if not isinstance(row, Mapping) or not row.get("experimentItemId"):
            errors.leave_out("a row that is no experiment item")
            continue
        experiment = text_in(field_of(row, "experimentId", "experimentName")) or ""
        spool.add(experiment, line, row)
        if experiment not in runs:
            runs[experiment] = ParsedRun(
                text_in(row.get("experimentName")) or source.stem,
                (),
                source.name,
                ITEMS,
                named_by_content=text_in(row.get("experimentName")) is not None,
                dataset=text_in(row.get("experimentDatasetName")) or "",
                created_at=moment(row.get("startTime")),
            )
    return [_with_records(run, spool, key, companions, errors) for key, run in runs.items()]


def _with_records(
    run: ParsedRun, spool: Spool, experiment: str, companions: Companions, errors: ValidationErrors
) -> ParsedRun:
    declared: dict[str, Any] = {}  # filled while the records are read

    def records() -> Iterator[Record]:
        repeats: Counter[str] = Counter()
        for line, row in spool.rows(experiment):
            record = _of_item(row)
            if record is None:
                errors.leave_out("an item without a question in its input")
                continue
            question_id = record.get("question_id")
            if question_id is not None:
                record["repeat"] = repeats[question_id]
                repeats[question_id] += 1
            trace, item = row.get("traceId"), row.get("id")
            record = companions.completed(record, trace, line)
            scores = {
                str(score.get("id", at)): score for at, score in enumerate(objects_in(row.get("scores")))
            }
            scores |= {str(score.get("id")): score for score in companions.scores.of(trace, item)}
            yield line, with_scores(record, scores.values(), line, errors, declared)

    return replace(run, records=records(), metrics=declared)


def _of_item(row: Mapping[str, Any]) -> dict[str, Any] | None:
    question = question_in(row.get("input"))
    if not question or not question.strip():
        return None
    metadata = fields_in(row.get("metadata"))
    error = error_of(row)
    return without_blanks(
        {
            "question_id": question_id_in(metadata) or text_in(row.get("experimentItemId")),
            "question": question,
            "answer": answer_in(row.get("output")),
            "reference_answer": reference_in(row.get("expectedOutput")),
            "retrieved": contexts_in(row.get("output")),
            "latency_ms": milliseconds_between(row.get("startTime"), row.get("endTime")),
            "tags": {**tags_of(metadata), **({"error": error} if error else {})},
            "trace_id": text_in(row.get("traceId")),
            "observation_id": text_in(row.get("id")),
            "tool": "Langfuse",
        }
    )


TRACES = "langfuse_traces"
OWN = {"id", "timestamp", "input", "output", "metadata"}
SIGNS = {"bookmarked", "htmlPath", "errorCount", "observationCount"}
COLUMNS = {
    *OWN,
    *SIGNS,
    *("name", "userId", "sessionId", "release", "version", "environment", "tags", "public", "latency"),
    *("usage", "inputCost", "outputCost", "totalCost", "level", "warningCount", "defaultCount", "debugCount"),
    *("inputTokens", "outputTokens", "totalTokens", "projectId", "createdAt", "updatedAt", "externalId"),
    *("observations", "scores", "comments", "expectedOutput", "costDetails", "usageDetails", "statusMessage"),
}


def _read_rows(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    companions = Companions(options.companions, errors)

    declared: dict[str, Any] = {}  # filled while the records are read

    def records() -> Iterator[Record]:
        for line, row in rows_at(source, "data", errors):
            if not isinstance(row, Mapping) or not row.get("id"):
                errors.leave_out("a row that is no trace")
                continue
            record = _of_trace(row)
            if record is None:
                errors.leave_out("a trace without a question in its input")
                continue
            scores = companions.scores.of(row.get("id"))
            named = {str(score.get("name")) for score in scores}
            record = _with_columns(record, row, named, line, errors)
            record = companions.completed(record, row.get("id"), line)
            yield line, with_scores(record, scores, line, errors, declared)

    return [ParsedRun(source.stem, records(), source.name, TRACES, metrics=declared)]


def _of_trace(row: Mapping[str, Any]) -> dict[str, Any] | None:
    question = question_in(decoded(row.get("input")))
    if not question or not question.strip():
        return None
    metadata, usage = fields_in(row.get("metadata")), fields_in(row.get("usage"))
    output, error, seconds = decoded(row.get("output")), error_of(row), number(row.get("latency"))
    place = {name: text_in(row.get(name)) for name in ("release", "version", "environment", "name")}
    return without_blanks(
        {
            "question_id": question_id_in(metadata),
            "question": question,
            "answer": answer_in(output) or None,
            "reference_answer": reference_in(row.get("expectedOutput")),
            "retrieved": contexts_in(output),
            "conversation_id": text_in(row.get("sessionId")),
            "latency_ms": None if seconds is None else seconds * 1000,
            "input_tokens": _first_number(
                row.get("inputTokens"), usage.get("promptTokens"), usage.get("input")
            ),
            "output_tokens": _first_number(
                row.get("outputTokens"), usage.get("completionTokens"), usage.get("output")
            ),
            "cost_usd": number(row.get("totalCost")),
            "tags": {
                **tags_of(metadata, row.get("tags")),
                **tags_of(place),
                **({"error": error} if error else {}),
            },
            "trace_id": text_in(row.get("id")),
            "trace_url": url_of(row),
            "tool": "Langfuse",
        }
    )


def _with_columns(
    record: dict[str, Any], row: Mapping[str, Any], named: set[str], line: int, errors: ValidationErrors
) -> dict[str, Any]:
    """Return a record with the scores of its columns: a list in each, of every evaluator's value."""
    scores: dict[str, Any] = {}
    words: dict[str, str] = {}
    for name, cell in row.items():
        values = decoded(cell) if name not in COLUMNS and name not in named else None
        if not isinstance(values, list) or not values:
            continue
        numbers = [number for number in map(value_in, values) if number is not None]
        if any(isinstance(value, str) and number(value) is None for value in values):
            words[name] = ", ".join(map(str, values))  # whether by a person is not told here
        elif numbers:
            scores[metric_name(name)[0]] = fmean(numbers)
            if len(numbers) > 1:
                errors.remark("several scores of one name on a trace are averaged", line)
    if scores and record.get("answer") is None:
        errors.remark(SCORED_WITHOUT_ANSWER, line)
    return (
        {**record, "scores": scores, "tags": {**record.get("tags", {}), **words}}
        if scores or words
        else record
    )


def _first_number(*values: object) -> float | None:
    return next((number for number in map(number, values) if number is not None), None)


WRITTEN_BY = "Langfuse 3"
HOSTS = ("langfuse_experiment", "langfuse_traces")
WITH_SPANS = ("langfuse_observations", "langfuse_trace")


IMPORTERS = (
    Importer(
        "langfuse_experiment",
        "Langfuse experiment items",
        "JSON of the API, `{data: [{experimentItemId, input, output, expectedOutput, scores}]}`",
        row_names("experimentItemId", "traceId", at="data"),
        _read_items,
        written_by=WRITTEN_BY,
        example="the answer of the API on the items of an experiment, saved as JSON",
    ),
    Importer(
        "langfuse_scores",
        "Langfuse scores",
        "JSON of the API or an export of the screen, one score per row: name, dataType and what it is about",
        is_scores,
        refuse(
            "holds Langfuse scores alone, without questions",
            "them in one command with the traces, observations or experiment items that they are about",
        ),
        written_by=WRITTEN_BY,
        companion_of=(*HOSTS, *WITH_SPANS),
        alone=False,
        example="the export button above the table of scores; imported together with the traces",
    ),
    Importer(
        "langfuse_trace",
        "Langfuse trace",
        "JSON with trace and observations, as a trace is downloaded; a list or a folder of such",
        is_traces,
        read_traces,
        written_by=WRITTEN_BY,
        unit="trace",
        example="Download JSON in the header of a trace",
        shares_folder=True,
    ),
    Importer(
        "langfuse_observations",
        "Langfuse observations",
        "JSON of the API, or CSV, JSON or JSONL of the screen: one span per row, with traceId and type",
        is_observations,
        read_observations,
        written_by=WRITTEN_BY,
        companion_of=HOSTS,
        unit="trace",
        example="the export button above the table of observations; alone or together with traces",
    ),
    Importer(
        "langfuse_traces",
        "Langfuse traces",
        "CSV, JSON or JSONL, a trace a row with input, output and a column for each score",
        lambda peek: any(row.keys() >= OWN and SIGNS & row.keys() for row in peek.rows_at("data")),
        _read_rows,
        written_by=WRITTEN_BY,
        example="the export button above the table of traces, as CSV, JSON or JSONL",
    ),
)
