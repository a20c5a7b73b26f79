"""Experiments of Phoenix, as its server exports them: JSON with lists of annotations, CSV with columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.documents_in_json import items_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import answer_in, contexts_in, question_in, reference_in
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import container, open_table
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER
from ragtriage.data.importers.spans.values import error_line, number, ranked
from ragtriage.data.importers.tools.facts import (
    fields_in,
    milliseconds_between,
    objects_in,
    question_id_in,
    tags_of,
    text_in,
    without_blanks,
)
from ragtriage.data.importers.tools.phoenix.annotations import labels_of
from ragtriage.data.store.parsed_run import ParsedRun, Record

SIGNS = {"example_id", "input", "output"}
PARTS = (
    *("label", "score", "explanation", "metadata", "annotator_kind", "trace_id", "error"),
    *("start_time", "end_time"),
)
ANNOTATION = "annotation_"


def is_experiment(peek: Peek) -> bool:
    """Return whether rows are the outputs of the task of an experiment."""
    return peek.columns >= SIGNS and bool(
        peek.columns & {"reference_output", "repetition_number", "annotations"}
    )


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read an experiment into one run, a sample for each example and repetition."""
    is_json = container(source) == "json"
    rows = items_at(source, "") if is_json else open_table(source, errors).rows()
    records = islice(_records(rows, errors), options.limit)
    return [ParsedRun(source.stem, records, source.name, "phoenix_experiment")]


def _records(rows: Iterator[Record], errors: ValidationErrors) -> Iterator[Record]:
    for line, row in rows:
        if not isinstance(row, Mapping):
            errors.add(
                line, "", "is no result of an experiment", "an object with input, output and annotations"
            )
            continue
        sample = sample_of_task(row, [*objects_in(row.get("annotations")), *_in_columns(row)], line, errors)
        if sample is not None:
            yield line, sample


def sample_of_task(
    row: Mapping[str, Any], annotations: Sequence[Mapping[str, Any]], line: int, errors: ValidationErrors
) -> dict[str, Any] | None:
    """Return the sample of an output of a task with its annotations; None where there is no question."""
    question = question_in(row.get("input"))
    if not question or not question.strip():
        errors.leave_out("an example without a question")
        return None
    error, output = text_in(row.get("error")), row.get("output")
    answer = answer_in(output) if output not in (None, "") else None
    documents = contexts_in(output)
    metadata = fields_in(row.get("metadata"))
    repetition = number(row.get("repetition_number"))
    labels = [labels_of(annotation) for annotation in annotations]
    annotated = {
        "scores": {name: score for label in labels for name, score in label.scores.items()},
        "human": [dict(entry) for label in labels for entry in label.human] or None,
        "tags": {name: tag for label in labels for name, tag in label.tags.items()},
    }
    sample: dict[str, Any] = {
        "question_id": question_id_in(metadata) or text_in(row.get("example_id")),
        "repeat": max(0, int(repetition) - 1) if repetition is not None else None,
        "question": question,
        "answer": answer,
        "reference_answer": reference_in(row.get("reference_output")),
        "retrieved": None if documents is None else ranked(documents),
        "latency_ms": number(row.get("latency_ms"))
        or milliseconds_between(row.get("start_time"), row.get("end_time")),
        "input_tokens": number(row.get("prompt_token_count")),
        "output_tokens": number(row.get("completion_token_count")),
        **annotated,
        "example_id": text_in(row.get("example_id")),
        "trace_id": text_in(row.get("trace_id")),
        "tool": "phoenix",
    }
    failed = {"error": error_line(error)} if error and answer is None else {}
    sample["tags"] = {**tags_of(metadata), **sample["tags"], **failed}
    if answer is None and sample["scores"]:
        errors.remark(SCORED_WITHOUT_ANSWER, line)
    return {**without_blanks(sample), "answer": answer}


def _in_columns(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the annotations that stand in columns `annotation_<name>_<part>`."""
    annotations: dict[str, dict[str, Any]] = {}
    for column, value in row.items():
        rest = str(column).removeprefix(ANNOTATION)
        part = next((part for part in PARTS if rest.endswith(f"_{part}")), None)
        if part is not None and rest != column:
            name = rest.removesuffix(f"_{part}")
            annotations.setdefault(name, {"name": name})[part] = value
    return list(annotations.values())
