"""LangSmith experiments: failed evaluators and runs, repetitions, categories, several experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exports_oracle import EXPORTS, read, scores_of

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile

FOLDER = EXPORTS / "langsmith"


def result(**changed: Any) -> dict[str, Any]:
    run = {
        "id": "r1",
        "inputs": {"question": "Who?", "tone": "dry"},
        "outputs": {"answer": "Ann.", "documents": [{"page_content": "Ann wrote it.", "metadata": {}}]},
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:01.500000Z",
        "session_name": "first",
        "error": None,
    }
    example = {
        "id": "e1",
        "inputs": {"question": "Who?"},
        "outputs": {"answer": "Ann"},
        "metadata": {"team": "a"},
    }
    return {
        "run": run | changed.pop("run", {}),
        "example": example,
        "evaluation_results": {"results": []},
    } | changed


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def reason_of(samples: list[dict[str, Any]], metric: str) -> str:
    (reason,) = (
        score["reason"]
        for sample in samples
        for score in sample["scores"] or ()
        if score["metric"] == metric and score["value"] is None
    )
    return str(reason)


def test_only_the_lines_say_why_an_evaluator_failed() -> None:
    (in_lines,) = read(FOLDER / "runs.jsonl").values()
    (in_table,) = read(FOLDER / "results.csv").values()
    assert reason_of(in_lines, "answer_relevancy") == "ValueError('judge returned invalid JSON')"
    assert (
        reason_of(in_table, "answer_relevancy") == "the evaluator gave no score; this file does not say why"
    )


@pytest.mark.parametrize("name", ["runs.jsonl", "results.csv", "results.jsonl"])
def test_of_a_traceback_the_last_line_is_kept_and_scores_without_answer_are_told(name: str) -> None:
    (samples,) = read(FOLDER / name).values()
    (failed,) = (sample for sample in samples if any(tag["key"] == "error" for tag in sample["tags"] or ()))
    assert {"key": "error", "value": "RuntimeError: upstream timed out"} in failed["tags"]
    assert scores_of(failed) == {"faithfulness": 1.0, "answer_relevancy": 0.0667}
    errors = ValidationErrors(name)
    for run in read_runs(InputFile.from_path(FOLDER / name), Options(), errors):
        list(run.records)
    assert [note.partition(" (")[0] for note in errors.notes] == ["scored although there is no answer"]


def test_the_experiment_is_the_run_and_its_ids_are_kept() -> None:
    ((name, samples),) = read(FOLDER / "runs.jsonl").items()
    assert name == "sparkling-pencil-3"
    assert samples[0]["question_id"] == "00000000-0000-0000-0000-000000000001"
    extra = json.loads(samples[0]["extra"])
    assert extra["run_id"] == extra["trace_id"] == "01a1fff5-4061-781f-b23b-f1b4cee3cdf0"
    assert samples[0]["latency_ms"] == 0.252
    ((name, samples),) = read(FOLDER / "results.csv").items()
    assert (name, samples[0]["latency_ms"]) == ("results", 0.252)


def test_repetitions_share_an_example_and_experiments_are_runs(tmp_path: Path) -> None:
    runs = read(written(tmp_path, result(), result(), result(run={"session_name": "second"})))
    assert {
        name: [(one["question_id"], one["repeat"]) for one in samples] for name, samples in runs.items()
    } == {
        "first": [("e1", 0), ("e1", 1)],
        "second": [("e1", 0)],
    }
    sample = runs["first"][0]
    assert (sample["latency_ms"], sample["reference_answer"]) == (1500, "Ann")
    assert [document["text"] for document in sample["retrieved"]] == ["Ann wrote it."]
    assert json.loads(sample["extra"])["inputs"] == {"question": "Who?", "tone": "dry"}
    assert {"key": "team", "value": "a"} in sample["tags"]


def test_feedback_is_a_score_a_category_or_a_failure(tmp_path: Path) -> None:
    results = [
        {"key": "Correctness", "score": True, "comment": "as written"},
        {"key": "tone", "score": None, "value": "friendly"},
        {"key": "style", "score": None, "comment": "timeout", "extra": {"error": True}},
        {"key": "depth", "score": "high"},
    ]
    ((sample,),) = read(written(tmp_path, result(evaluation_results={"results": results}))).values()
    assert sample["scores"] == [
        {"metric": "correctness", "value": 1.0, "reason": "as written"},
        {"metric": "style", "value": None, "reason": "timeout"},
        {"metric": "depth", "value": None, "reason": "the score is 'high'"},
    ]
    assert {"key": "feedback.tone", "value": "friendly"} in sample["tags"]


def test_categories_in_a_table_are_tags(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "inputs.query,outputs.text,feedback.tone,feedback.correct\nWho?,Ann.,friendly,True\nWhen?,May.,curt,False\n",
        encoding="utf-8",
    )
    ((first, second),) = read(path).values()
    assert [scores_of(one) for one in (first, second)] == [{"correctness": 1.0}, {"correctness": 0.0}]
    assert (first["answer"], first["tags"]) == ("Ann.", [{"key": "feedback.tone", "value": "friendly"}])
