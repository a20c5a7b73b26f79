"""Langfuse: experiment items, traces and scores as its API and its screens write them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from exports_oracle import EXPORTS, read, scores_of
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile

LANGFUSE = EXPORTS / "langfuse"
ITEMS = LANGFUSE / "api_experiment_items.json"
SCORES = LANGFUSE / "api_v3_scores.json"
TRACES = LANGFUSE / "ui_traces_export.csv"


def _items(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(ITEMS.read_text("utf-8"))
    document["data"][0] |= changes
    return document


def _file(folder: Path, content: object, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("api_experiment_items.json", "langfuse_experiment"),
        ("api_v3_scores.json", "langfuse_scores"),
        ("ui_traces_export.csv", "langfuse_traces"),
        ("ui_traces_export.json", "langfuse_traces"),
        ("ui_traces_export.jsonl", "langfuse_traces"),
    ],
)
def test_each_file_is_recognised_by_its_content(file: str, key: str, tmp_path: Path) -> None:
    renamed = tmp_path / "file"
    renamed.write_bytes((LANGFUSE / file).read_bytes())
    assert detect(InputFile.from_path(renamed)) == key


def test_items_are_the_run_of_their_experiment_with_its_ids_times_and_ratings() -> None:
    ((name, samples),) = read(ITEMS).items()
    assert name == "rag-v1"
    by_id = {sample["question_id"]: sample for sample in samples}
    assert sorted(by_id) == [f"q{number:02}" for number in range(1, 13)]
    assert by_id["q01"]["latency_ms"] == 400
    assert json.loads(by_id["q01"]["extra"])["trace_id"] == "1407f88cddcd38b6fbb5d853581df1d1"
    ratings = [rating for sample in samples for rating in sample["human"]]
    assert len(ratings) == 12
    assert {(r["annotator"], r["metric"], r["value"], r["note"], r["low"], r["high"]) for r in ratings} == {
        ("u1", "user_verdict", 1.0, "good", 0.0, 1.0),
        ("u1", "user_verdict", 0.0, "bad", 0.0, 1.0),
    }
    assert {"key": "error", "value": "failed (level ERROR)"} in by_id["q11"]["tags"]


def test_a_score_of_a_question_without_an_answer_is_kept_and_told() -> None:
    source, errors = InputFile.from_path(ITEMS), ValidationErrors("items")
    for run in read_runs(source, Options(), errors):
        list(run.records)
    assert any("scored although there is no answer" in note for note in errors.notes)


def test_scores_beside_their_items_are_counted_once() -> None:
    (alone,), (both,) = read(ITEMS).values(), read(ITEMS, SCORES).values()
    assert alone == both


def test_scores_alone_are_refused_with_what_they_complete() -> None:
    with pytest.raises(InputError, match="Langfuse scores, which holds no questions of its own") as refusal:
        read(SCORES)
    assert "it together with Langfuse experiment items, Langfuse traces, " in str(refusal.value)


def test_ratings_of_people_are_known_from_the_scores_not_from_the_columns_of_traces() -> None:
    (alone,), (both,) = read(TRACES).values(), read(TRACES, SCORES).values()
    assert all(sample["human"] is None for sample in alone)
    assert {"key": "user_verdict", "value": "bad"} in alone[0]["tags"]
    assert [rating["note"] for sample in both for rating in sample["human"]] == ["bad", "good"] * 6


def test_a_trace_of_the_screen_has_its_tokens_cost_latency_and_tags() -> None:
    (samples,) = read(TRACES).values()
    first = samples[0]
    assert (first["input_tokens"], first["output_tokens"], first["cost_usd"]) == (900, 20, 0.001)
    assert first["latency_ms"] == 400
    assert {"key": "tag_sotu", "value": "true"} in first["tags"]


def test_several_evaluators_of_one_name_are_averaged(tmp_path: Path) -> None:
    with TRACES.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[:1]
    rows[0] |= {"faithfulness": "[0.5, 1.0]", "answer_relevancy": "[]"}
    path = tmp_path / "traces.csv"
    with path.open("w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    ((sample,),) = read(path).values()
    assert scores_of(sample) == {"faithfulness": 0.75}


def test_two_experiments_are_two_runs_and_an_item_again_is_a_repeat(tmp_path: Path) -> None:
    document = _items()
    document["data"].append(document["data"][0])
    document["data"].append(document["data"][1] | {"experimentId": "exp2", "experimentName": "rag-v2"})
    runs = read(_file(tmp_path, document))
    assert {name: len(samples) for name, samples in runs.items()} == {"rag-v1": 13, "rag-v2": 1}
    assert [sample["repeat"] for sample in runs["rag-v1"] if sample["question_id"] == "q01"] == [0, 1]


def test_numbers_as_text_and_json_in_json_twice_are_read(tmp_path: Path) -> None:
    twice = json.dumps(json.dumps({"question": "Who?"}))
    score = {"name": "faithfulness", "dataType": "NUMERIC", "value": "0.25", "source": "API", "id": "s"}
    document = _items(input=twice, scores=[score])
    (samples,) = read(_file(tmp_path, document)).values()
    assert samples[0]["question"] == "Who?"
    assert scores_of(samples[0]) == {"faithfulness": 0.25}


def test_the_place_of_a_category_is_not_a_value(tmp_path: Path) -> None:
    score = {"name": "tone", "dataType": "CATEGORICAL", "value": 3, "stringValue": "formal", "source": "EVAL"}
    (samples,) = read(_file(tmp_path, _items(scores=[score]))).values()
    assert samples[0]["scores"] is None
    assert {"key": "tone", "value": "formal"} in samples[0]["tags"]


def test_rows_that_are_no_items_are_counted_not_read(tmp_path: Path) -> None:
    document = _items(input=None)
    document["data"].append("text")
    source, errors = InputFile.from_path(_file(tmp_path, document)), ValidationErrors("items")
    (run,) = read_runs(source, Options(), errors)
    assert len(list(run.records)) == 11
    assert sum(errors.left_out.values()) == 2


OBSERVATIONS = LANGFUSE / "api_v2_observations.json"
SHARED = FIXTURES / "langfuse"


def test_observations_are_samples_with_retrieval_tokens_and_errors() -> None:
    (samples,) = read(OBSERVATIONS, SCORES).values()
    by_id = {sample["question_id"]: sample for sample in samples}
    assert len(by_id) == 12
    first, failed = by_id["q01"], by_id["q11"]
    assert (first["input_tokens"], first["output_tokens"], first["cost_usd"]) == (900, 20, 0.001)
    assert (first["latency_ms"], first["retrieval_ms"]) == (400, 30)
    assert {tag["key"]: tag["value"] for tag in failed["tags"]}["error"] == "upstream timed out"
    assert by_id["q06"]["retrieved"] == []
    assert [rating["annotator"] for sample in samples for rating in sample["human"]] == ["u1"] * 12


def test_items_take_from_their_observations_what_they_lack() -> None:
    (samples,) = read(ITEMS, OBSERVATIONS).values()
    first = samples[0]
    assert (first["input_tokens"], first["retrieval_ms"], len(first["retrieved"])) == (900, 30, 4)
    assert first["reference_answer"]


def test_a_shared_trace_of_an_agent_is_one_sample_without_retrieval() -> None:
    ((sample,),) = read(SHARED / "langgraph-2025-08-22.json").values()
    assert sample["question"] == "Search the web for 'example' and summarize."
    assert "example.com" in sample["answer"]
    assert sample["retrieved"] is None
    assert scores_of(sample) == {"hallucination": 0.1, "toxicity": 0.0}
    # Two calls of the model: 60 + 108 tokens in, 15 + 51 out.
    assert (sample["input_tokens"], sample["output_tokens"], sample["latency_ms"]) == (168, 66, 2610)


def test_a_shared_trace_with_text_in_json_twice_is_one_sample_without_context() -> None:
    ((sample,),) = read(SHARED / "llamaindex-2025-06-05.json").values()
    assert sample["question"] == "What is Langfuse?"
    assert sample["answer"].startswith("Langfuse is a tool designed to help developers")
    assert sample["retrieved"] is None
    assert sample["conversation_id"] == "session_abc"
    assert {"key": "tag_rag", "value": "true"} in sample["tags"]


def test_a_folder_of_shared_traces_is_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    for path in SHARED.glob("*.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    ((name, samples),) = read(folder).items()
    assert (name, len(samples)) == ("traces", 2)


def test_a_trace_of_the_api_has_the_address_that_it_states(tmp_path: Path) -> None:
    document = json.loads((SHARED / "llamaindex-2025-06-05.json").read_text("utf-8"))
    trace = document["trace"] | {"observations": document["observations"], "scores": []}
    link = "https://langfuse.example/project/p/traces/t"
    for path, expected in ((link, link), ("/project/p/traces/t", None), ("javascript:alert(1)", None)):
        ((sample,),) = read(_file(tmp_path, trace | {"htmlPath": path})).values()
        assert json.loads(sample["extra"]).get("trace_url") == expected


def test_rows_of_an_export_to_storage_are_observations(tmp_path: Path) -> None:
    names = {"traceId": "trace_id", "startTime": "start_time", "endTime": "end_time"}
    names |= {"parentObservationId": "parent_observation_id", "usageDetails": "usage_details"}
    rows = json.loads(OBSERVATIONS.read_text("utf-8"))["data"]
    lines = [json.dumps({names.get(key, key): value for key, value in row.items()}) for row in rows]
    (stored,) = read(_file(tmp_path, "\n".join(lines), "observations.jsonl")).values()
    (samples,) = read(OBSERVATIONS).values()
    assert len(stored) == 12
    assert [one["retrieved"] for one in stored] == [one["retrieved"] for one in samples]
    assert stored[0]["input_tokens"] == 900


def test_categories_that_say_which_side_is_good_declare_a_direction() -> None:
    (run,) = read_runs(InputFile.from_path(ITEMS), Options(), ValidationErrors("items"))
    list(run.records)
    assert run.metrics == {"user_verdict": {"direction": "higher", "range": [0, 1]}}
