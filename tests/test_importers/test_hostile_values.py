"""Values that no tool writes: whole numbers beyond a float, lists where objects belong, endless nesting."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import normalise
from ragtriage.data.store.question_sets import parsed_set

HUGE = 10**400
ROW = {"question": "Who?", "answer": "Ann."}


def samples(content: object, format: str = "auto") -> list[Any]:
    """Return the samples of a JSON document."""
    errors = ValidationErrors("f.json")
    source = InputFile.from_bytes("f.json", json.dumps(content).encode())
    runs = read_runs(source, Options(format=format), errors)
    read = [normalise(record, line, errors) for run in runs for line, record in run.records]
    errors.raise_if_any()
    return read


def refusal(content: object, format: str = "auto") -> str:
    """Return why a JSON document is refused; the reader itself says it, and did not fail."""
    with pytest.raises(InputError) as refused:
        samples(content, format)
    assert refused.value.__cause__ is None
    return str(refused.value)


def test_an_answer_of_too_many_digits_is_refused() -> None:
    assert "accepted: text" in refusal([{"question": "Who?", "answer": HUGE}], "native")


@pytest.mark.parametrize("score", [HUGE, [HUGE, 1]])
def test_a_score_beyond_a_float_is_no_number(score: object) -> None:
    row = {"user_input": "Who?", "response": "Ann.", "retrieved_contexts": ["a"]}
    (kept,) = samples([{**row, "faithfulness": 1.0}])
    assert kept["scores"][0]["value"] == 1
    said = refusal([{**row, "faithfulness": score}, {**row, "faithfulness": 0.5}])
    assert said.startswith("f.json:1: faithfulness")
    assert "accepted: number" in said.replace("a number", "number")


def test_an_evaluator_of_langsmith_with_such_a_score_failed() -> None:
    from ragtriage.data.importers.tools.langsmith import _evaluated

    scores, _ = _evaluated([{"key": "right", "score": HUGE}])
    assert scores["right"]["value"] is None


@pytest.mark.parametrize("tags", [5, HUGE])
def test_tags_that_are_a_number_beside_a_tag_are_refused(tags: object) -> None:
    assert "tags" in refusal(
        [{**ROW, "tags": tags, "topic": "x"}, {**ROW, "tags": tags, "topic": "y"}], "table"
    )


def test_a_row_that_is_null_is_called_so() -> None:
    assert (
        refusal([ROW, None], "table") == "f.json:2: found null; accepted: an object with one value per column"
    )


def test_documents_that_are_a_number_beside_gold_texts_are_refused() -> None:
    row = {"question": "Who?", "retrieved_contexts": ["text a"], "reference_contexts": ["text a"]}
    assert "retrieved" in refusal([row, {**row, "retrieved_contexts": 5}])


def test_labels_that_are_lists_are_refused() -> None:
    content = {"queries": {"q": "Who?"}, "corpus": {"a": "text"}, "relevant_docs": {"q": [["a"]]}}
    assert refusal(content).startswith("f.json:1: relevant[0].id: found a list of 1")


def test_a_question_set_keeps_a_whole_number_of_any_length() -> None:
    content = {
        "examples": [{"query": "Who?", "reference_contexts": ["a"], "reference_answer": "Ann", "n": HUGE}]
    }
    errors = ValidationErrors("f.json")
    (parsed,) = read_runs(InputFile.from_bytes("f.json", json.dumps(content).encode()), Options(), errors)
    assert parsed_set(parsed, errors).facts.n == 1


def test_an_answer_nested_without_end_is_refused() -> None:
    nested: object = "Ann."
    for _ in range(900):
        nested = [nested]
    errors = ValidationErrors("f")
    assert normalise({"question": "Who?", "answer": nested}, 1, errors) is None
    assert str(errors.first[0]) == "f:1: answer: found a list of 1; accepted: text"
    kept = normalise({"question": "Who?", "answer": [["Ann."], ["Bob."]]}, 1, errors)
    assert (kept or {})["answer"] == "Ann.\nBob."


def test_a_document_nested_too_deeply_is_not_called_cut_short() -> None:
    row = {
        "id": "1",
        "span_id": "1",
        "root_span_id": "1",
        "input": "Who?",
        "output": "Ann.",
        "expected": "Ann.",
    }
    whole = json.dumps(
        [{**row, "scores": {}, "metadata": {"deep": "HERE"}, "span_attributes": {"type": "eval"}}]
    )
    content = whole.replace('"HERE"', "[" * 5_000 + "]" * 5_000).encode()
    with pytest.raises(InputError) as refused:
        read_runs(InputFile.from_bytes("f.json", content), Options(), ValidationErrors("f.json"))
    assert "it is nested too deeply" in str(refused.value)
