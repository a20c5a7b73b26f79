"""Hostile versions of the files of evaluation tools end in a run or in a sentence, never in a traceback."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from mutated_files import mutations
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import normalise

FILES = (
    "exports/deepeval/test_run_v4.3.1.json",
    "exports/deepeval/latest_test_run_wrapped_v4.3.1.json",
    "exports/deepeval/evaluation_result_v4.3.1.json",
    "deepeval/test_run_sample.json",
    "deepeval/llama_index_rag_llama_schema.json",
    "exports/promptfoo/results_v0.121.20.json",
    "exports/promptfoo/results_v0.121.20.jsonl",
    "exports/promptfoo/results_v0.121.20.csv",
    "promptfoo_tests/tests.json",
    "exports/otel/genai.otlp.jsonl",
    "exports/otel/openinference.otlp.jsonl",
    "opentelemetry/vercel-v6-all-spans.json",
    "exports/langsmith/results.csv",
    "exports/langsmith/results.jsonl",
    "exports/langsmith/runs.jsonl",
    "exports/phoenix/spans.jsonl",
    "exports/phoenix/spans.csv",
    "exports/phoenix/spans_api.json",
    "exports/phoenix/experiment.json",
    "exports/phoenix/experiment.csv",
    "phoenix/retriever_spans.jsonl",
    "exports/llamaindex/batch_eval.json",
    "exports/llamaindex/retrieval_eval.json",
)

VALUES: tuple[Any, ...] = ([], {}, None, "x", 7, [[]], [{}])


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_ends_in_a_run_or_in_a_sentence(name: str) -> None:
    content = (FIXTURES / name).read_bytes()
    outcomes = {outcome(name.rpartition("/")[2], changed) for changed in mutations(name, content)}
    assert outcomes == {"run", "sentence"}


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".json")])
def test_a_document_of_another_shape_ends_in_a_run_or_in_a_sentence(name: str) -> None:
    document = json.loads((FIXTURES / name).read_bytes())
    shapes: list[Any] = [[document], {"data": document}, [[document]]]
    if isinstance(document, dict):
        shapes += [{**document, key: value} for key in document for value in VALUES]
        shapes += [{**document, "version": 99, "schema": {"version": "99.0"}}]
    for shape in shapes:
        assert outcome("t.json", json.dumps(shape).encode()) in ("run", "sentence")


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".jsonl")])
def test_rows_of_several_tools_in_one_file_end_in_a_run_or_in_a_sentence(name: str) -> None:
    lines = (FIXTURES / name).read_text("utf-8").splitlines()
    for other in (name for name in FILES if name.endswith(".jsonl")):
        others = (FIXTURES / other).read_text("utf-8").splitlines()
        mixed = [line for pair in zip(lines, others, strict=False) for line in pair]
        for rows in (mixed, [*lines, *others], [*lines, "[]", "7", "null"]):
            assert outcome("t.jsonl", "\n".join(rows).encode()) in ("run", "sentence")


def outcome(name: str, content: bytes) -> str:
    """Return "run" or "sentence"; any other exception fails the test."""
    errors = ValidationErrors(name)
    try:
        for run in read_runs(InputFile.from_bytes(name, content), Options(), errors):
            orjson.dumps([run.name, run.config, run.metrics])  # as the store takes its identity
            for line, record in run.records:
                normalise(record, line, errors)
        errors.raise_if_any()
    except InputError as error:
        return "sentence" if str(error).startswith(name) and "; accepted: " in str(error) else str(error)
    return "run"
