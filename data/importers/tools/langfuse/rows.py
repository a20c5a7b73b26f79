"""Traces of Langfuse as its screen exports them: one row per trace, and a column for each name of a score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.metric_names import metric_name
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
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER
from ragtriage.data.importers.spans.values import number
from ragtriage.data.importers.tools.facts import (
    fields_in,
    question_id_in,
    tags_of,
    text_in,
    value_in,
    without_blanks,
)
from ragtriage.data.importers.tools.langfuse.companions import Companions
from ragtriage.data.importers.tools.langfuse.scores import error_of, url_of, with_scores
from ragtriage.data.store.parsed_run import ParsedRun, Record

KEY = "langfuse_traces"
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


def is_trace_rows(peek: Peek) -> bool:
    """Return whether the rows are traces, of a screen or of the API."""
    return any(row.keys() >= OWN and SIGNS & row.keys() for row in peek.rows_at("data"))


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read traces as the samples of one run."""
    companions = Companions(options.companions, errors)

    declared: dict[str, Any] = {}  # filled while the records are read

    def records() -> Iterator[Record]:
        for line, row in rows_at(source, "data", errors):
            if not isinstance(row, Mapping) or not row.get("id"):
                errors.leave_out("a row that is no trace")
                continue
            record = _record(row)
            if record is None:
                errors.leave_out("a trace without a question in its input")
                continue
            scores = companions.scores.of(row.get("id"))
            named = {str(score.get("name")) for score in scores}
            record = _with_columns(record, row, named, line, errors)
            record = companions.completed(record, row.get("id"), line)
            yield line, with_scores(record, scores, line, errors, declared)

    return [ParsedRun(source.stem, records(), source.name, KEY, metrics=declared)]


def _record(row: Mapping[str, Any]) -> dict[str, Any] | None:
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
    record: dict[str, Any],
    row: Mapping[str, Any],
    named: set[str],
    line: int,
    errors: ValidationErrors,
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
