"""Results of promptfoo: crashed graders, errors, repeats, several prompts, versions, folders."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from exports_oracle import EXPORTS, read, scores_of

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.suites.check import CheckedSample
from ragtriage.data.suites.registry import outcome_of

FOLDER = EXPORTS / "promptfoo"
RESULTS = FOLDER / "results_v0.121.20.json"


def result(**changed: Any) -> dict[str, Any]:
    row = {
        "testIdx": 0,
        "promptIdx": 0,
        "provider": {"id": "openai:mini", "label": ""},
        "prompt": {"raw": "Answer: Who?", "label": "Answer: {{question}}"},
        "vars": {"question": "Who?", "context": "Ann wrote it.", "tone": "dry"},
        "response": {"output": "Ann.", "cached": False},
        "namedScores": {},
        "latencyMs": 120,
        "success": True,
        "score": 1,
        "failureReason": 0,
    }
    return {**row, **changed}


def graded(*components: tuple[dict[str, Any], float, str], **changed: Any) -> dict[str, Any]:
    results = [
        {"pass": score >= 0.5, "score": score, "reason": reason, "assertion": assertion}
        for assertion, score, reason in components
    ]
    named = {assertion["metric"]: score for assertion, score, _ in components if "metric" in assertion}
    return result(gradingResult={"componentResults": results, "reason": "r"}, namedScores=named, **changed)


def written(folder: Path, *rows: Any, **document: Any) -> Path:
    path = folder / "t.json"
    content = {"evalId": "eval-1", "results": {"version": 3, "results": rows}, **document}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def sample_of(folder: Path, row: Any) -> dict[str, Any]:
    ((sample,),) = read(written(folder, row)).values()
    return sample


def test_outcomes_latency_tokens_and_the_error_are_read() -> None:
    (samples,) = read(RESULTS).values()
    overall = [
        check["passed"]
        for sample in samples
        for check in sample["checks"] or ()
        if check["name"] == "overall"
    ]
    assert (overall.count(True), overall.count(False), len(samples)) == (6, 5, 12)
    failed = next(sample for sample in samples if sample["question_id"] == "q11")
    assert {"key": "error", "value": "upstream timed out"} in failed["tags"]
    assert (failed["cost_usd"], failed["input_tokens"], failed["checks"]) == (None, None, None)
    assert sorted(sample["input_tokens"] for sample in samples if sample["input_tokens"]) == [
        *range(900, 1000, 10),
        1010,
    ]
    crashed = next(sample for sample in samples if sample["question_id"] == "q08")
    (score,) = [score for score in crashed["scores"] if score["value"] is None]
    assert score == {
        "metric": "answer_relevancy",
        "value": None,
        "reason": "Error running Python script: ValueError: judge returned invalid JSON",
    }


def test_a_table_has_rounded_scores_and_one_text_as_context() -> None:
    ((name, samples),) = read(FOLDER / "results_v0.121.20.csv").items()
    assert (name, len(samples)) == ("rag-v1", 12)
    values = [value for sample in samples if (value := scores_of(sample).get("answer_relevancy")) is not None]
    assert len(values) == 10
    assert sum(values) / 10 == pytest.approx(0.690060, abs=0.005)
    crashed = next(sample for sample in samples if sample["question_id"] == "q08")
    assert scores_of(crashed) == {"faithfulness": 1.0, "answer_relevancy": None}
    failed = next(sample for sample in samples if sample["question_id"] == "q11")
    assert (failed["answer"], scores_of(failed)) == (None, {})


def test_a_run_for_each_provider_and_prompt(tmp_path: Path) -> None:
    other = {"raw": "Say: Who?", "label": "Say: {{question}}"}
    path = written(
        tmp_path,
        result(),
        result(promptIdx=1, provider={"id": "openai:large"}),
        result(promptIdx=2, provider={"id": "openai:large"}, prompt=other),
        results_of="",
    )
    document = json.loads(path.read_text("utf-8"))
    document["results"]["prompts"] = [{"raw": f"template {n}"} for n in range(3)]
    path.write_text(json.dumps(document), encoding="utf-8")
    runs = read_runs(InputFile.from_path(path), Options(), ValidationErrors("t"))
    assert [run.name for run in runs] == [
        "openai:mini",
        "openai:large Answer: {{question}}",
        "openai:large Say: {{question}}",
    ]
    assert [run.config["prompt"] for run in runs] == ["template 0", "template 1", "template 2"]


def test_the_same_test_again_is_a_repeat_and_a_cached_answer_has_no_latency(tmp_path: Path) -> None:
    cached = result(response={"output": "Ann.", "cached": True}, latencyMs=0, cost=0)
    ((first, again),) = read(written(tmp_path, result(), cached)).values()
    assert [(one["question_id"], one["repeat"]) for one in (first, again)] == [("0", 0), ("0", 1)]
    assert (first["latency_ms"], again["latency_ms"], again["cost_usd"]) == (120, None, None)
    assert [document["text"] for document in first["retrieved"]] == ["Ann wrote it."]
    assert json.loads(first["extra"])["vars"] == {"tone": "dry"}


def test_a_name_used_twice_is_the_weighted_mean_of_the_graders_that_did_not_crash(tmp_path: Path) -> None:
    metric = {"type": "python", "metric": "style"}
    heavy = {**metric, "weight": 3}
    row = graded((metric, 0.2, "a"), (heavy, 1.0, "b"), (metric, 0.0, "API error: 429"))
    assert scores_of(sample_of(tmp_path, row)) == {"style": pytest.approx(0.8)}
    row = graded((metric, 0.0, "Could not extract JSON"), (metric, 0.0, "Failed to parse"))
    assert scores_of(sample_of(tmp_path, row)) == {"style": None}
    assert scores_of(sample_of(tmp_path, graded((metric, 0.0, "not dry at all")))) == {"style": 0.0}


def test_assertions_without_a_metric_are_checks_and_known_graders_are_metrics(tmp_path: Path) -> None:
    row = graded(
        ({"type": "contains", "value": "Ann"}, 1.0, "Assertion passed"),
        ({"type": "context-faithfulness", "threshold": 0.8}, 0.75, "three of four"),
        ({"type": "llm-rubric", "value": "is polite"}, 0.0, "Error running grader"),
        success=False,
        score=0.5,
    )
    sample = sample_of(tmp_path, row)
    assert scores_of(sample) == {"faithfulness": 0.75}
    assert [(check["name"], check["kind"], check["passed"]) for check in sample["checks"]] == [
        ("contains: Ann", "contains", True),
        ("llm-rubric: is polite", "llm-rubric", None),
        ("overall", "all assertions", False),
    ]


@pytest.mark.parametrize(
    ("variables", "question"),
    [
        ({"topic": "law", "ask": "Who wrote it?"}, "Who wrote it?"),
        ({"Query": "law", "other": "So?"}, "law"),
        ({"topic": "law"}, "law"),
        ({}, "Answer: Who?"),
        ({"a": "x", "b": "y"}, "Answer: Who?"),
    ],
)
def test_the_question_among_the_variables(variables: dict[str, str], question: str, tmp_path: Path) -> None:
    assert sample_of(tmp_path, result(vars=variables))["question"] == question


def test_an_answer_in_an_object_with_its_documents(tmp_path: Path) -> None:
    output = {"answer": "Ann.", "contexts": [{"id": "d1", "page_content": "Ann wrote it."}]}
    sample = sample_of(tmp_path, result(response={"output": output}))
    assert (sample["answer"], sample["retrieved"][0]["id"]) == ("Ann.", "d1")


def test_the_table_of_version_2(tmp_path: Path) -> None:
    outputs = [
        {"pass": True, "text": "Ann.", "namedScores": {"style": 0.5}, "latencyMs": 5, "prompt": "A"},
        {"pass": False, "text": "Bob.", "namedScores": {"style": 0.25}, "latencyMs": 6, "prompt": "B"},
    ]
    prompts = [{"provider": "one", "raw": "A"}, {"provider": "two", "raw": "B"}]
    body = [{"vars": ["Who?"], "outputs": outputs, "description": "q1"}]
    table = {"head": {"prompts": prompts, "vars": ["question"]}, "body": body}
    runs = read(written(tmp_path, results={"version": 2, "table": table}))
    assert {name: (row["question_id"], row["answer"], scores_of(row)) for name, (row,) in runs.items()} == {
        "one": ("q1", "Ann.", {"style": 0.5}),
        "two": ("q1", "Bob.", {"style": 0.25}),
    }


def test_several_prompts_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "question,[a] P1,Status,Score,Named Scores,Grader Reason,Comment,[b] P1,Status,Score,Named Scores\n"
        'Who?,Ann.,PASS,1.00,"{""style"":0.5}",All assertions passed,,Bob.,FAIL,0.00,"{""style"":0}"\n',
        encoding="utf-8",
    )
    runs = read(path)
    assert {name: (rows[0]["answer"], scores_of(rows[0])) for name, rows in runs.items()} == {
        "a": ("Ann.", {"style": 0.5}),
        "b": ("Bob.", {"style": 0.0}),
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.yaml", "evalId: eval-1\nresults:\n  version: 3\n"),
        ("t.html", "<!DOCTYPE html><html><head><title>promptfoo</title></head></html>"),
    ],
)
def test_other_outputs_are_refused_with_what_to_write_instead(
    name: str, content: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="is the YAML, HTML or XML output of promptfoo; accepted: the JSON"):
        read(tmp_path / name)


def test_an_eval_without_results_is_told_with_its_version(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is an eval of promptfoo \(results version 3\) without results"):
        read(written(tmp_path))


@pytest.mark.parametrize(
    ("other", "content"), [("empty.json", ""), ("blank.csv", "\n\n"), ("notes.csv", "a,b\n1,2\n")]
)
def test_a_folder_with_other_files_is_read_file_by_file(other: str, content: str, tmp_path: Path) -> None:
    written(tmp_path, result())
    (tmp_path / other).write_text(content, encoding="utf-8")
    ((name, samples),) = read(tmp_path).items()
    assert (name, len(samples)) == ("openai:mini", 1)


def test_a_folder_with_the_files_of_a_package_has_each_eval_once(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / "package.json").write_text('{"name": "evals", "dependencies": {"promptfoo": "1"}}', "utf-8")
    (tmp_path / "config.json").write_text('{"providers": ["a"], "tests": []}', "utf-8")
    assert {name: len(samples) for name, samples in read(tmp_path).items()} == {"rag-v1": 12}


@pytest.mark.parametrize(
    ("eval_id", "stamp", "begun"),
    [
        ("eval-ksY-2026-11-21T21:08:57", "2026-11-21T21:08:59Z", datetime(2026, 11, 21, 21, 8, 59)),
        ("eval-ksY-2026-11-21T21:08:57", None, datetime(2026, 11, 21, 21, 8, 57)),
        ("eval-ksY-7", "soon", None),
    ],
)
def test_the_run_has_the_time_of_the_eval(
    eval_id: str, stamp: str | None, begun: datetime | None, tmp_path: Path
) -> None:
    results = {"version": 3, "timestamp": stamp, "results": [result()]}
    path = written(tmp_path, evalId=eval_id, results=results)
    (parsed,) = read_runs(InputFile.from_path(path), Options(), ValidationErrors("t"))
    assert parsed.created_at == begun


def test_a_grader_that_crashed_leaves_its_check_undecided_in_the_suites_too(tmp_path: Path) -> None:
    tools = {"type": "tool-call-f1", "value": ["search"]}
    crash = "Error running Python script: ValueError: no JSON"
    sample = sample_of(tmp_path, graded((tools, 0, crash), ({**tools, "value": ["find"]}, 1, "found all")))
    outcomes = [outcome_of(check, CheckedSample.of(sample)) for check in sample["checks"][:2]]
    assert [(suite, outcome.passed) for suite, outcome in outcomes] == [("tool", None), ("tool", True)]
