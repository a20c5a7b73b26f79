"""Data sets of Phoenix: CSV with a column for each key, and JSON of the API. The output is the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.documents_in_json import items_at, value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import contexts_in, decoded, question_in, reference_in
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.question_files.gold_passages import gold_passages, object_rows, question_set
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_models import as_json

KEY = "phoenix_dataset"
PARTS = ("input", "output", "metadata")
ID_COLUMNS = ("id", "example_id")
OWN_IDS = ("qid", "question_id", "query_id")
MOST_TAG = 60
OF_SPANS = (
    "the examples were made from traced spans: their outputs, which stand as references, are what a system "
    "wrote, and nobody says that they are right"
)
NO_INPUT = "an example without an input is left out"


def _separator(columns: frozenset[str]) -> str:
    """Return what stands between part and key in the columns of a CSV file; "" where it is no data set."""
    for separator, name in ((".", "id"), ("_", "example_id")):
        parts = {part for part in PARTS if any(column.startswith(part + separator) for column in columns)}
        if name in columns and {"input", "output"} <= parts:
            return separator
    return ""


def _detect(peek: Peek) -> bool:
    data = peek.keys.get("data")
    if isinstance(data, Mapping):
        return isinstance(data.get("examples"), list) and bool({"dataset_id", "version_id"} & data.keys())
    of_an_experiment = any(name.startswith("annotation_") for name in peek.columns) | (
        "repetition_number" in peek.columns
    )
    return bool(_separator(peek.columns)) and not of_an_experiment


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    peek = Peek(source)
    if "data" in peek.keys:
        version = value_at(source, "data.version_id")
        facts = {"dataset_version": version} if isinstance(version, str) else {}
        examples: Iterator[tuple[int, Any]] = items_at(source, "data.examples")
        return question_set(source, KEY, _records(examples, options, errors), **facts)
    separator = _separator(peek.columns)
    notes = (OF_SPANS,) if f"metadata{separator}span_kind" in peek.columns else ()
    rows = ((line, _example(row, separator)) for line, row in object_rows(source, errors, options.limit))
    return question_set(source, KEY, _records(rows, options, errors), notes=notes)


def _example(row: Mapping[str, Any], separator: str) -> dict[str, Any]:
    """Return a row as the API has it: with an object for input, output and metadata."""
    example: dict[str, Any] = {"id": next((row[name] for name in ID_COLUMNS if row.get(name)), None)}
    for part in PARTS:
        prefix = part + separator
        example[part] = {
            name.removeprefix(prefix): decoded(value)
            for name, value in row.items()
            if name.startswith(prefix) and value not in (None, "")
        }
    return example


def _records(
    examples: Iterator[tuple[int, Any]], options: Options, errors: ValidationErrors
) -> Iterator[Record]:
    for line, example in examples:
        if options.limit is not None and line > options.limit + 1:
            return
        if not isinstance(example, Mapping):
            errors.add(line, "", f"found {type_name(example)}", "an example with input and output")
            continue
        question = question_in(example.get("input"))
        if not question or not question.strip():
            errors.remark(NO_INPUT, line)
            continue
        metadata = example.get("metadata")
        fields = metadata if isinstance(metadata, Mapping) else {}
        passages = [contexts_in(example.get(part)) for part in ("output", "metadata", "input")]
        name = next((str(fields[key]) for key in OWN_IDS if fields.get(key)), example.get("id"))
        record = {
            "question_id": name,
            "question": question,
            "reference_answer": _reference(example.get("output")),
            "relevant": gold_passages(next((found for found in passages if found), None)) or None,
            "tags": {key: text for key, value in fields.items() if (text := _tag(key, value))} or None,
        }
        yield line, {**record, "phoenix_example": example.get("id")}


def _reference(output: Any) -> str | None:
    """Return the text of an output, or what it holds as JSON where that is no text."""
    text = reference_in(output)
    if text is not None or not isinstance(output, Mapping) or len(output) != 1:
        return text
    (value,) = output.values()
    return None if value in (None, {}, []) else as_json(value)


def _tag(key: str, value: Any) -> str:
    """Return a short value of the metadata as a tag; "" for ids and for what is no label."""
    if key in OWN_IDS or value in (None, "", {}, []):
        return ""
    text = value if isinstance(value, str) else as_json(value)
    return text if len(text) <= MOST_TAG else ""


IMPORTERS = (
    Importer(
        KEY,
        "Phoenix data set",
        "CSV with input.*, output.* and metadata.* (or input_*, output_*), or JSON {data: {examples}}",
        _detect,
        _read,
        holds="questions",
        written_by="Phoenix 11 and 20.26",
    ),
)
