"""Test runs of DeepEval: its versions, its conversations, and what its files do not say of the pipeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exports_oracle import EXPORTS, assert_is_the_run, expected, read, scores_of
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.formats.frames import runs_from_frame
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing import documents_in_json
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.registry import tool_rows
from ragtriage.data.store.parsed_run import normalise

TEST_RUN = EXPORTS / "deepeval/test_run_v4.3.1.json"
CASE = {"name": "c1", "input": "Who?", "actualOutput": "Ann.", "success": True}


def written(folder: Path, document: Any) -> Path:
    path = folder / "t.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def parsed(path: Path) -> Any:
    (run,) = read_runs(InputFile.from_path(path), Options(), ValidationErrors(path.name))
    return run


def test_the_gold_is_found_among_the_retrieved_documents_by_folded_text() -> None:
    (samples,) = read(TEST_RUN).values()
    rows = {row["question"]: row for row in expected()["rows"]}
    for sample in samples:
        row = rows[sample["question"]]
        documents = sample["retrieved"] or []
        gold = {one["id"] for one in sample["relevant"]}
        hits = [document["id"] in gold for document in documents]
        assert hits == [name in row["relevant"] for name in row["ids"]], row["id"]


def test_settings_are_the_configuration_and_the_judges_cost_is_not_the_pipelines() -> None:
    assert parsed(TEST_RUN).config == {"model": "fake", "chunk size": "700", "top-K": "4"}
    (samples,) = read(TEST_RUN).values()
    assert {sample["cost_usd"] for sample in samples} == {0.001}
    assert [sample["latency_ms"] for sample in samples] == [row["latency_ms"] for row in expected()["rows"]]
    failed = next(sample for sample in samples if sample["question_id"] == "q08")
    assert [check["name"] for check in failed["checks"]] == ["Faithfulness"], "a failed metric is not a check"
    assert "invalid JSON" in next(one["reason"] for one in failed["scores"] if one["value"] is None)


def test_contexts_of_a_trace_stand_in_for_missing_ones() -> None:
    (samples,) = read(FIXTURES / "deepeval/test_run_sample.json").values()
    (sample,) = samples
    assert scores_of(sample) == {"answer_relevancy": 0.92, "faithfulness": 0.45}
    checks = {check["name"]: check["passed"] for check in sample["checks"]}
    assert list(checks.values()) == [True, False, True, None]
    assert (checks["web_search"], checks["tool calls"]) == (True, None)
    assert len(sample["retrieved"]) == 3
    assert sample["search_query"] == "cecl forecasting abrigo allowance variance"


def test_results_of_earlier_versions(tmp_path: Path) -> None:
    metric = {"metric": "Hallucination", "score": 0.25, "minimumScore": 0.5, "success": True, "reason": "r"}
    case = {**CASE, "metricsMetadata": [metric], "runDuration": 0.5}
    path = written(tmp_path, {"testCases": [], "dictTestCases": {"0": case}, "testFile": "test_rag.py"})
    ((name, (sample,)),) = read(path).items()
    assert name == "test_rag.py"
    assert scores_of(sample) == {"hallucination": 0.25}
    assert sample["checks"] == [
        {"name": "Hallucination", "kind": "metric", "expected": "0.5", "actual": "0.25", "passed": True}
    ]
    both = {"testCases": [case], "dictTestCases": {"0": case}}
    assert [len(samples) for samples in read(written(tmp_path, both)).values()] == [1]


def test_a_metric_that_passes_below_its_threshold_is_better_lower(tmp_path: Path) -> None:
    def result(name: str, score: float, passed: bool) -> dict[str, Any]:
        return {"name": name, "score": score, "threshold": 0.5, "success": passed}

    results = [
        result("Bias", 0.1, True),
        result("Politeness [GEval]", 0.1, False),
        result("Style", 0.5, True),
    ]
    path = written(tmp_path, {"testCases": [{**CASE, "metricsData": results}], "hyperparameters": {}})
    assert parsed(path).metrics == {"bias": {"direction": "lower"}}
    ((sample,),) = read(path).values()
    assert scores_of(sample) == {"bias": 0.1, "politeness": 0.1, "style": 0.5}


def test_each_answer_of_a_conversation_is_a_sample(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "Who wrote it?"},
        {"role": "assistant", "content": "Ann.", "retrievalContext": ["Ann wrote it."]},
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "In May."},
    ]
    metric = {"name": "Turn Relevancy", "score": 0.75, "threshold": 0.5, "success": True}
    case = {"name": "talk", "turns": turns, "metricsData": [metric]}
    path = written(tmp_path, {"testCases": [], "conversationalTestCases": [case]})
    ((first, second),) = read(path).values()
    assert [(one["question"], one["answer"]) for one in (first, second)] == [
        ("Who wrote it?", "Ann."),
        ("When?", "In May."),
    ]
    assert (first["history"], [turn["text"] for turn in second["history"]]) == (
        None,
        ["Who wrote it?", "Ann."],
    )
    assert {one["conversation_id"] for one in (first, second)} == {"talk"}
    assert [document["text"] for document in first["retrieved"]] == ["Ann wrote it."]
    assert (scores_of(first), scores_of(second)) == ({}, {"turn_relevancy": 0.75})


def test_conversations_of_earlier_versions_hold_test_cases(tmp_path: Path) -> None:
    turns = [{"input": "Who?", "actualOutput": "Ann."}, {"input": "When?", "actualOutput": "In May."}]
    path = written(tmp_path, {"conversationalTestCases": [{"name": "talk", "turns": turns}], "testCases": []})
    ((_, second),) = read(path).values()
    assert (second["question"], second["answer"]) == ("When?", "In May.")
    assert [turn["role"] for turn in second["history"]] == ["user", "assistant"]


def test_tool_calls_are_checks(tmp_path: Path) -> None:
    case = {
        **CASE,
        "toolsCalled": [{"name": "search"}],
        "expectedTools": [{"name": "search"}, {"name": "add"}],
    }
    ((sample,),) = read(written(tmp_path, {"testCases": [case], "hyperparameters": {}})).values()
    assert [(check["name"], check["passed"]) for check in sample["checks"]] == [
        ("calls search", True),
        ("calls add", False),
    ]


def test_one_name_for_several_questions_is_no_id_and_a_question_asked_again_is_a_repeat(
    tmp_path: Path,
) -> None:
    cases = [CASE, {**CASE, "input": "When?"}, CASE]
    (samples,) = read(written(tmp_path, {"testCases": cases, "hyperparameters": {}})).values()
    first, other, again = ((one["question_id"], one["repeat"]) for one in samples)
    assert (first, again) == (("c1", 0), ("c1", 1))
    assert other[0].startswith("q-")


def test_a_context_that_is_never_retrieved_is_kept_and_is_no_gold(tmp_path: Path) -> None:
    case = {**CASE, "context": ["A summary of the law."], "retrievalContext": ["Paragraph one says this."]}
    path = written(tmp_path, {"testCases": [case], "hyperparameters": {}})
    ((sample,),) = read(path).values()
    assert sample["relevant"] is None
    assert json.loads(sample["extra"])["reference_contexts"] == ["A summary of the law."]
    assert any("kept as extra, not as gold" in note for note in parsed(path).notes)


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (
            {"test_cases_lookup_map": {"{}": {}}},
            "is the cache of DeepEval, which holds no answers; accepted: test_",
        ),
        (
            {"testCases": [], "testPassed": 0},
            "is a test run of DeepEval without test cases; accepted: a test run",
        ),
        ({"testCases": [["x"]], "testPassed": 0}, "found a list; accepted: a JSON object"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(document: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=sentence):
        read(written(tmp_path, document))


def test_a_large_test_run_is_read_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(TEST_RUN)
    monkeypatch.setattr(documents_in_json, "WHOLE_UP_TO", 2_000)
    for file in ("test_run_v4.3.1", "latest_test_run_wrapped_v4.3.1"):
        path = EXPORTS / f"deepeval/{file}.json"
        assert list(read(path).values()) == list(whole.values())
        assert parsed(path).config["top-K"] == "4"


def test_test_cases_from_python_are_read_alike() -> None:
    cases = json.loads(TEST_RUN.read_text("utf-8"))["testCases"]
    errors = ValidationErrors("frame")
    (run,) = runs_from_frame(cases, "frame", errors, tools=tool_rows())
    samples = [normalise(record, line, errors) for line, record in run.records]
    errors.raise_if_any()
    assert_is_the_run([one for one in samples if one is not None], scores_of_q11=True, ids=True)
