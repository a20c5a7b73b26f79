"""Items of Langfuse experiments: input, output, expected output and scores in one row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import answer_in, contexts_in, question_in, reference_in
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.tools.facts import (
    field_of,
    fields_in,
    milliseconds_between,
    moment,
    objects_in,
    question_id_in,
    tags_of,
    text_in,
    without_blanks,
)
from ragtriage.data.importers.tools.langfuse.companions import Companions
from ragtriage.data.importers.tools.langfuse.scores import error_of, with_scores
from ragtriage.data.store.parsed_run import ParsedRun, Record

KEY = "langfuse_experiment"


def is_items(peek: Peek) -> bool:
    """Return whether the rows are items of an experiment."""
    return any({"experimentItemId", "traceId"} <= row.keys() for row in peek.rows_at("data"))


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
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
                KEY,
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
            record = _record(row)
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


def _record(row: Mapping[str, Any]) -> dict[str, Any] | None:
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
