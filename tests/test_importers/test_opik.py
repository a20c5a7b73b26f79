"""Opik: an experiment, the CSV that holds nothing of it, and a folder of traces."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from exports_oracle import EXPORTS, read, scores_of

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile

OPIK = EXPORTS / "opik"
EXPERIMENT = OPIK / "experiment_rag-v1.json"
TRACE = OPIK / "projects/trace_16e2cad1-d650-57ad-bd61-1a2c17146185.json"


def _file(folder: Path, path: Path, change: Any) -> Path:
    document = json.loads(path.read_text("utf-8"))
    change(document)
    made = folder / path.name
    made.write_text(json.dumps(document), "utf-8")
    return made


def test_an_experiment_is_a_run_with_its_settings_and_data_set() -> None:
    source = InputFile.from_path(EXPERIMENT)
    (run,) = read_runs(source, Options(), ValidationErrors("experiment"))
    assert (run.name, run.dataset, run.format) == ("rag-v1", "sotu", "opik_experiment")
    assert run.config == {"chunk_size": 700, "top_k": 4}
    samples = read(EXPERIMENT)["rag-v1"]
    assert [sample["question_id"] for sample in samples] == [f"q{number:02}" for number in range(1, 13)]
    assert samples[0]["scores"][0]["reason"] == "because of faithfulness"


def test_a_question_or_its_id_alone_is_no_reference(tmp_path: Path) -> None:
    def without_reference(document: Any) -> None:
        document["items"][0]["dataset_item_data"] = {"query": "Who wrote the first program?"}
        document["items"][1]["dataset_item_data"] = {"question": "Who was Ada's mentor?", "question_id": "q2"}

    first, second, third, *_ = read(_file(tmp_path, EXPERIMENT, without_reference))["rag-v1"]
    assert [first["reference_answer"], second["reference_answer"]] == [None, None]
    assert third["reference_answer"]


def test_the_csv_of_an_experiment_is_refused_with_what_to_export() -> None:
    with pytest.raises(InputError, match=r"item_input and item_output Opik leaves empty; accepted: .* JSON"):
        read(OPIK / "experiment_rag-v1.csv")


def test_a_csv_with_its_columns_filled_is_read(tmp_path: Path) -> None:
    path = tmp_path / "experiment.csv"
    path.write_text(
        "experiment_name,item_dataset_item_id,item_input,item_output,item_feedback_scores\n"
        """v1,d1,"{'input': 'Who?'}","{'output': 'Ada'}","[{'name': 'faithfulness', 'value': 0.5}]"\n"""
    )
    ((sample,),) = read(path).values()
    assert (sample["question"], sample["answer"], scores_of(sample)) == ("Who?", "Ada", {"faithfulness": 0.5})


def test_a_folder_of_traces_is_the_run_of_its_project_in_tokens_and_times() -> None:
    ((name, samples),) = read(OPIK / "projects").items()
    assert name == "sotu-rag"
    by_id = {sample["question_id"]: sample for sample in samples}
    assert len(by_id) == 12
    assert (by_id["q09"]["input_tokens"], by_id["q09"]["output_tokens"]) == (980, 28)
    assert by_id["q09"]["latency_ms"] == 680
    tags = {tag["key"]: tag["value"] for tag in by_id["q11"]["tags"]}
    assert tags["error"] == "upstream timed out"
    assert by_id["q06"]["retrieved"] == []


def test_a_folder_of_projects_has_a_run_for_each(tmp_path: Path) -> None:
    for project in ("one", "two"):
        (tmp_path / project).mkdir()
        _file(tmp_path / project, TRACE, lambda document, name=project: document.update(project_name=name))
    path = tmp_path / "two" / TRACE.name
    path.write_text(path.read_text().replace("16e2cad1", "26e2cad1"), "utf-8")
    assert {name: len(samples) for name, samples in read(tmp_path).items()} == {"one": 1, "two": 1}


def test_a_damaged_trace_of_a_folder_is_left_out_and_counted(tmp_path: Path) -> None:
    shutil.copytree(OPIK / "projects", tmp_path / "projects")
    (tmp_path / "projects" / TRACE.name).write_bytes(TRACE.read_bytes()[:500])
    source, errors = InputFile.from_path(tmp_path / "projects"), ValidationErrors("projects")
    (run,) = read_runs(source, Options(), errors)
    assert len(list(run.records)) == 11
    assert errors.left_out == {"a file that cannot be read as a trace": 1}


def test_feedback_on_the_screen_is_a_human_label(tmp_path: Path) -> None:
    score = {"name": "helpful", "value": 1.0, "source": "ui", "last_updated_by": "ann", "reason": "clear"}
    path = _file(tmp_path, TRACE, lambda document: document["trace"].update(feedback_scores=[score]))
    ((sample,),) = read(path).values()
    assert sample["scores"] is None
    assert [(one["annotator"], one["metric"], one["value"], one["note"]) for one in sample["human"]] == [
        ("ann", "helpful", 1.0, "clear")
    ]


def test_an_item_that_is_there_again_is_a_repeat_and_assertions_are_checks(tmp_path: Path) -> None:
    def twice(document: Any) -> None:
        document["items"][0]["assertion_results"] = [{"name": "short", "passed": False, "reason": "long"}]
        document["items"].append(document["items"][0])

    (samples,) = read(_file(tmp_path, EXPERIMENT, twice)).values()
    assert [sample["repeat"] for sample in samples if sample["question_id"] == "q01"] == [0, 1]
    assert samples[0]["checks"][0]["name"] == "short"
    assert samples[0]["checks"][0]["passed"] is False


def test_a_table_of_the_screen_is_read(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        "dataset.id,dataset.input,dataset.expected_output,output,feedback_scores.Hallucination,"
        "feedback_scores.Hallucination_reason\n"
        """d1,Who?,Ada,"{""output"": ""Ada L."", ""context"": [""x""]}",0.5,why\n"""
        """d2,What?,B,-,-,\n"""
    )
    ((first, second),) = read(path).values()
    assert (first["question_id"], first["question"], first["answer"]) == ("d1", "Who?", "Ada L.")
    assert (first["reference_answer"], first["retrieved"][0]["text"]) == ("Ada", "x")
    assert first["scores"] == [{"metric": "hallucination", "value": 0.5, "reason": "why"}]
    assert (second["question"], second["answer"], second["scores"]) == ("What?", None, None)


def test_a_table_that_compares_experiments_is_a_run_for_each(tmp_path: Path) -> None:
    path = tmp_path / "compare.json"
    row = {
        **{"id": "d1", "evaluation_task.question": "Who?", "evaluation_task.expected": "Ada"},
        **{"rag.v1.dataset.output.answer": "Bob", "rag.v1.feedback_scores.feedback_scores.Correct": 0},
        **{"v2.dataset.output.answer": "Ada", "v2.feedback_scores.feedback_scores.Correct": 1},
    }
    path.write_text(json.dumps([row]))
    runs = {
        name: [(one["question_id"], one["answer"], scores_of(one)) for one in samples]
        for name, samples in read(path).items()
    }
    assert runs == {
        "rag.v1": [("d1", "Bob", {"correctness": 0.0})],
        "v2": [("d1", "Ada", {"correctness": 1.0})],
    }


@pytest.mark.parametrize(
    "row",
    [
        {"dataset.input": [[]], "output": {"a": {}}, "feedback_scores.x": {}},
        {"dataset.input": "Who?", "output": 10**400, "feedback_scores.": "7"},
        {"dataset.": "Who?", "output.": [], "feedback_scores._reason": []},
    ],
)
def test_a_table_with_wrong_values_is_read_or_refused(row: Any, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps([row, {"dataset.input": "What?", "output": "B"}]))
    try:
        (samples,) = read(path).values()
    except InputError as error:
        samples = [{"question": str(error)}]
    assert samples[-1]["question"]
