"""Goldens of DeepEval, as its synthesizer and its data sets save them: `context` is the gold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.cells import is_blank
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.question_files.gold_passages import (
    gold_passages,
    object_rows,
    others,
    question_set,
)
from ragtriage.data.store.parsed_run import ParsedRun, Record

KEY = "deepeval_goldens"
OF_A_TEST_CASE = ("actual_output", "actualOutput", "retrieval_context", "retrievalContext", "tools_called")
NAMES = {  # field -> the names of DeepEval's files in snake and camel case
    "question": ("input",),
    "reference_answer": ("expected_output", "expectedOutput"),
    "gold": ("context",),
    "file": ("source_file", "sourceFile"),
}
ACCEPTED = "goldens without an actual_output, or test cases that all have one"


def _value(row: Mapping[str, Any], field: str) -> Any:
    return next((row[name] for name in NAMES[field] if not is_blank(row.get(name), blank_text=True)), None)


def _answered(row: Mapping[str, Any]) -> str:
    """Return the field that only a test case has, if it is filled."""
    filled = (name for name in OF_A_TEST_CASE if row.get(name) not in (None, "", [], "[]", "None"))
    return next(filled, "")


def _detect(peek: Peek) -> bool:
    has_reference = peek.columns & {"expected_output", "expectedOutput", "source_file", "sourceFile"}
    has_names = "input" in peek.columns and "context" in peek.columns and bool(has_reference)
    return has_names and not any(map(_answered, peek.rows))


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    return question_set(source, KEY, _records(source, options, errors))


def _records(source: InputFile, options: Options, errors: ValidationErrors) -> Iterator[Record]:
    known = [*OF_A_TEST_CASE, *(name for names in NAMES.values() for name in names)]
    for line, row in object_rows(source, errors, options.limit):
        if answered := _answered(row):
            errors.add(line, answered, "is filled, among goldens of DeepEval that have none", ACCEPTED)
            continue
        record = {
            "question": _value(row, "question"),
            "reference_answer": _value(row, "reference_answer"),
            "relevant": gold_passages(_value(row, "gold")) or None,
            "tags": {"source_file": str(file)} if (file := _value(row, "file")) is not None else None,
        }
        yield line, {**others(row, known), **record}


IMPORTERS = (
    Importer(
        KEY,
        "DeepEval goldens",
        "JSON, JSONL or CSV with input, expected_output and context, and no actual_output",
        _detect,
        _read,
        holds="questions",
        written_by="DeepEval 4.3",
        example="`EvaluationDataset.save_as(file_type='json', directory=...)`",
    ),
)
