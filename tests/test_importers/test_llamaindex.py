"""LlamaIndex: lists of several evaluators, figures of a retriever evaluation, predictions over a data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exports_oracle import EXPORTS, expected, read, scores_of

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import normalise

FOLDER = EXPORTS / "llamaindex"
RESULT = {"query": "Who?", "response": "Ann.", "contexts": ["Ann wrote it."], "passing": True, "score": 1.0}


def written(folder: Path, document: Any) -> Path:
    path = folder / "t.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def notes_of(path: Path) -> tuple[str, ...]:
    errors = ValidationErrors(path.name)
    (run,) = read_runs(InputFile.from_path(path), Options(), errors)
    list(run.records)
    return (*run.notes, *errors.notes)


def test_the_passing_of_each_evaluator_is_a_check_and_an_invalid_result_is_a_failed_score() -> None:
    (samples,) = read(FOLDER / "batch_eval.json").values()
    (failed,) = (sample for sample in samples if scores_of(sample)["answer_relevancy"] is None)
    assert failed["question"].startswith("What type of investment")
    assert {score["reason"] for score in failed["scores"]} == {
        "because of faithfulness",
        "Unable to parse the output string.",
    }
    assert [check["name"] for check in failed["checks"]] == ["faithfulness"]


def test_lists_in_another_order_or_of_another_length_are_refused(tmp_path: Path) -> None:
    other = {**RESULT, "query": "When?"}
    with pytest.raises(InputError, match="query: differs between the evaluators; accepted: lists with the"):
        read(written(tmp_path, {"faithfulness": [RESULT, other], "relevancy": [other, RESULT]}))
    with pytest.raises(InputError, match="relevancy: has fewer results than other evaluators; accepted"):
        read(written(tmp_path, {"faithfulness": [RESULT, other], "relevancy": [RESULT]}))


def test_correctness_is_brought_to_0_to_1_and_a_bare_verdict_is_a_score(tmp_path: Path) -> None:
    graded = [{**RESULT, "score": 4.0}, {**RESULT, "query": "When?", "score": 1.0}]
    bare = [
        {**RESULT, "query": None, "score": None},
        {**RESULT, "query": None, "score": None, "passing": None},
    ]
    path = written(tmp_path, {"correctness": graded, "guideline": bare})
    ((first, second),) = read(path).values()
    assert scores_of(first) == {"correctness": 0.75, "guideline": 1.0}
    assert scores_of(second) == {"correctness": 0.0, "guideline": None}
    assert notes_of(path) == ("correctness is from 1 to 5 in LlamaIndex: read as (score - 1) / 4",)


def test_figures_of_a_retriever_evaluation_are_kept_compared_and_told() -> None:
    path = FOLDER / "retrieval_eval.json"
    (samples,) = read(path).values()
    rows = {row["question"]: row for row in expected()["rows"]}
    for sample in samples:
        row = rows[sample["question"]]
        assert [document["id"] for document in sample["retrieved"]] == row["ids"]
        assert [document["id"] for document in sample["relevant"]] == row["relevant"]
    sums = {
        name: sum(value for sample in samples if (value := scores_of(sample)[name]) is not None)
        for name in ("ndcg", "ap", "recall", "mrr")
    }
    assert sums["ndcg"] / 12 == pytest.approx(0.818127, abs=1e-6)
    assert sums["ap"] / 12 == pytest.approx(0.804167, abs=1e-6)
    assert sums["recall"] / 12 == pytest.approx(0.833333, abs=1e-6)
    assert sums["mrr"] / 12 == pytest.approx(0.770833, abs=1e-6)
    (empty,) = (sample for sample in samples if sample["retrieved"] == [])
    assert {score["value"] for score in empty["scores"]} == {None}, "failed, not 0"
    repeated = "it counts a repeated document again (first on line 4; 1 in all)"
    assert notes_of(path) == (
        f"ndcg of LlamaIndex is above 1 and not what its ids give: {repeated}",
        f"ap of LlamaIndex is above 1 and not what its ids give: {repeated}",
    )


def predictions(folder: Path = FOLDER) -> tuple[list[dict[str, Any]], ValidationErrors]:
    errors = ValidationErrors("predictions.json")
    options = Options(companions=(InputFile.from_path(FOLDER / "rag_dataset.json"),))
    (run,) = read_runs(InputFile.from_path(folder / "predictions.json"), options, errors)
    samples = [normalise(record, line, errors) for line, record in run.records]
    return [sample for sample in samples if sample is not None], errors


def test_predictions_are_joined_to_their_data_set_by_position() -> None:
    samples, _ = predictions()
    texts = expected()["texts"]
    assert [sample["question"] for sample in samples] == list(texts)
    for sample in samples:
        made = texts[sample["question"]]
        assert (sample["answer"], sample["reference_answer"]) == (made["answer"], made["reference"])
        assert len(sample["retrieved"]) == len(made["contexts"])
    relevant = [
        any(one["id"] == gold["id"] for gold in s["relevant"] for one in s["retrieved"]) for s in samples
    ]
    assert sum(relevant) == 10, "recall .8333 of 12 questions"


def test_predictions_alone_or_of_another_data_set_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="is the predictions of LlamaIndex, which hold no questions; accepted: it"
    ):
        read(FOLDER / "predictions.json")
    (tmp_path / "predictions.json").write_text(
        json.dumps({"predictions": [{"response": "a", "contexts": []}]}), encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"holds 1 predictions for 12 examples of .*rag_dataset"):
        predictions(tmp_path)
