"""Braintrust: events of an experiment, and the results of its SDK."""

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

FETCH = EXPORTS / "braintrust/fetch.json"
RESULTS = EXPORTS / "braintrust/eval_results.json"


def _events() -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(FETCH.read_text("utf-8"))["events"]
    return events


def _lines(folder: Path, events: list[dict[str, Any]]) -> Path:
    path = folder / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, events)), "utf-8")
    return path


def _table(folder: Path, events: list[dict[str, Any]]) -> Path:
    path = folder / "events.csv"
    names = list(dict.fromkeys(name for event in events for name in event))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for event in events:
            plain = {
                key: value if isinstance(value, str) else json.dumps(value) for key, value in event.items()
            }
            writer.writerow({key: "" if value == "null" else value for key, value in plain.items()})
    return path


@pytest.mark.parametrize("write", [_lines, _table])
def test_lines_and_tables_of_events_are_the_run(write: Any, tmp_path: Path) -> None:
    events = _events()
    assert len(events) == 45
    (samples,) = read(write(tmp_path, events)).values()
    assert_is_the_run(samples, scores_of_q11=False, answer_of_q11=False, failed_score_kept=False)


def test_events_have_ids_tokens_times_and_errors() -> None:
    (samples,) = read(FETCH).values()
    by_id = {sample["question_id"]: sample for sample in samples}
    assert len(by_id) == 12
    first = by_id["q01"]
    assert (first["input_tokens"], first["output_tokens"]) == (900, 20)
    assert [by_id[key]["latency_ms"] for key in ("q01", "q04", "q08")] == [400, 505, 645]
    tags = {tag["key"]: tag["value"] for tag in by_id["q11"]["tags"]}
    assert tags["error"] == "RuntimeError: upstream timed out"
    assert {"key": "tag_sotu", "value": "true"} in first["tags"]


def test_a_scorer_that_failed_in_the_sdk_is_a_failed_score_with_its_reason() -> None:
    (samples,) = read(RESULTS).values()
    (sample,) = (one for one in samples if one["question_id"] == "q08")
    (failed,) = (score for score in sample["scores"] if score["metric"] == "answer_relevancy")
    assert (failed["value"], failed["reason"]) == (None, "ValueError: judge returned invalid JSON")


def test_a_null_score_was_not_run(tmp_path: Path) -> None:
    events = _events()
    events[0]["scores"]["faithfulness"] = None
    (samples,) = read(_lines(tmp_path, events)).values()
    assert scores_of(samples[0]) == {"answer_relevancy": 1.0}


def test_a_retriever_span_is_what_was_retrieved_and_metadata_count_without_one(tmp_path: Path) -> None:
    events = _events()
    root = events[0]
    retriever = {
        **{key: root[key] for key in ("root_span_id", "experiment_id", "project_id")},
        **{"id": "r", "span_id": "r", "span_parents": [root["span_id"]], "is_root": False},
        **{"span_attributes": {"name": "retrieve", "type": "function"}, "input": {"query": "q"}},
        **{
            "output": [{"id": "sotu-1", "text": "one"}],
            "metrics": {"start": 1795295000, "end": 1795295000.1},
        },
    }
    (samples,) = read(_lines(tmp_path, [*events, retriever])).values()
    assert [(one["id"], one["text"]) for one in samples[0]["retrieved"]] == [("sotu-1", "one")]
    assert len(samples[1]["retrieved"]) == 4


def test_two_experiments_are_two_runs(tmp_path: Path) -> None:
    events = _events()
    for event in events[:4]:
        event["experiment_id"] = "other"
    runs = read(_lines(tmp_path, events))
    assert sorted(map(len, runs.values())) == [1, 11]


def test_the_means_of_the_summary_of_the_sdk_are_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "eval.json"
    summary = {"experiment_name": "rag-v1", "scores": {"faithfulness": {"score": 0.8312}}}
    path.write_text(
        json.dumps({"summary": summary, "results": json.loads(RESULTS.read_text("utf-8"))}), "utf-8"
    )
    (run,) = read_runs(InputFile.from_path(path), Options(), ValidationErrors("eval"))
    assert run.name == "rag-v1"
    assert "leaves failed rows out" in run.notes[0]
    assert len(list(run.records)) == 12
