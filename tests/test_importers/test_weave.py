"""W&B Weave: calls of evaluations and of traced code, and the results of evaluations by row."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from exports_oracle import EXPORTS, assert_is_the_run, read, scores_of

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile

CALLS = EXPORTS / "weave/calls.jsonl"
RESULTS = EXPORTS / "weave/eval_results_query.json"


def _calls() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CALLS.read_text("utf-8").splitlines()]


def _lines(folder: Path, calls: list[dict[str, Any]]) -> Path:
    path = folder / "calls.jsonl"
    path.write_text("\n".join(map(json.dumps, calls)), "utf-8")
    return path


def _results(folder: Path, change: Any) -> Path:
    document = json.loads(RESULTS.read_text("utf-8"))
    change(document)
    path = folder / "results.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


def _notes(path: Path) -> tuple[str, ...]:
    errors = ValidationErrors(path.name)
    for run in read_runs(InputFile.from_path(path), Options(), errors):
        list(run.records)
    return errors.notes


def test_calls_of_an_evaluation_are_its_run() -> None:
    assert len(_calls()) == 37
    (run,) = read_runs(InputFile.from_path(CALLS), Options(), ValidationErrors("calls"))
    assert (run.name, run.dataset, run.config) == ("rag-v1", "sotu-eval:v1", {"model": "Rag:v1"})
    (samples,) = read(CALLS).values()
    by_id = {sample["question_id"]: sample for sample in samples}
    assert (by_id["q01"]["input_tokens"], by_id["q01"]["latency_ms"]) == (900, 400)
    tags = {tag["key"]: tag["value"] for tag in by_id["q11"]["tags"]}
    assert tags["error"] == "RuntimeError: upstream timed out"


def test_a_table_of_calls_in_any_order_is_the_same_run(tmp_path: Path) -> None:
    calls = _calls()[::-1]
    path = tmp_path / "calls.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for call in calls for name in call)))
        writer.writeheader()
        for call in calls:
            plain = {
                key: value if isinstance(value, str) else json.dumps(value) for key, value in call.items()
            }
            writer.writerow({key: "" if value == "null" else value for key, value in plain.items()})
    (samples,) = read(path).values()
    assert_is_the_run(samples, scores_of_q11=False, answer_of_q11=False, ids=True)


@pytest.mark.parametrize("path", [CALLS, RESULTS], ids=lambda path: path.name)
def test_the_means_that_weave_reports_are_those_of_the_rows(path: Path) -> None:
    assert not [note for note in _notes(path) if "Weave reports" in note]


def test_a_mean_that_weave_reports_otherwise_is_told(tmp_path: Path) -> None:
    def other(document: Any) -> None:
        document["summary"]["evaluations"][0]["scorer_stats"][0]["numeric_mean"] = 0.5

    (note,) = (note for note in _notes(_results(tmp_path, other)) if "Weave reports" in note)
    assert "faithfulness 0.5; the mean of the rows is 0.8312 over 11" in note


def test_an_example_that_is_a_reference_is_told_and_the_question_is_that_of_the_model(tmp_path: Path) -> None:
    calls = _calls()
    for call in calls:
        if "example" in call["inputs"]:
            call["inputs"]["example"] = "weave:///acme/sotu/object/row:1"
    path = _lines(tmp_path, calls)
    assert any("inputs.example is a reference to Weave" in note for note in _notes(path))
    (samples,) = read(path).values()
    assert len(samples) == 12
    assert samples[3]["question"].startswith("Which country is Putin invading")


def test_a_row_whose_data_are_a_reference_is_left_out(tmp_path: Path) -> None:
    path = _results(
        tmp_path, lambda document: document["rows"][0].update(raw_data_row="weave:///a/b/object/r:1")
    )
    errors = ValidationErrors("results")
    (run,) = read_runs(InputFile.from_path(path), Options(), errors)
    assert len(list(run.records)) == 11
    assert errors.left_out == {"a row without a question in its data": 1}


def test_trials_are_repeats_and_each_evaluation_is_a_run(tmp_path: Path) -> None:
    def more(document: Any) -> None:
        evaluations = document["rows"][0]["evaluations"]
        evaluations[0]["trials"].append(evaluations[0]["trials"][0])
        evaluations.append({**evaluations[0], "evaluation_call_id": "other"})

    runs = read(_results(tmp_path, more))
    assert {name: len(samples) for name, samples in runs.items()} == {"rag-v1": 13, "other": 2}
    assert [sample["repeat"] for sample in runs["other"]] == [0, 1]


def test_a_scorer_that_gives_an_object_is_read_by_its_numbers(tmp_path: Path) -> None:
    scores = {"judge": {"correct": True, "reason": "as in the text"}, "tone": {"warm": 0.5, "brief": 1}}

    def other(document: Any) -> None:
        document["rows"][0]["evaluations"][0]["trials"][0]["scores"] = scores

    (samples,) = read(_results(tmp_path, other)).values()
    assert scores_of(samples[0]) == {"judge": 1.0, "tone_warm": 0.5, "tone_brief": 1.0}
    assert samples[0]["scores"][0]["reason"] == "as in the text"


def test_traced_code_without_an_evaluation_is_a_sample_a_trace(tmp_path: Path) -> None:
    calls = [call for call in _calls() if "Evaluation." not in call["op_name"]]
    for call in calls:
        call["trace_id"] = call["id"] if "predict" in call["op_name"] else call["parent_id"]
        call["parent_id"] = None if "predict" in call["op_name"] else call["parent_id"]
    (samples,) = read(_lines(tmp_path, calls)).values()
    assert len(samples) == 12
    assert sum(len(sample["retrieved"] or ()) for sample in samples) == 45
