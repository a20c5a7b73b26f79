"""Traces of DeepEval: the retrieval of a pipeline whose steps are traced, and a trace with its metrics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from exports_oracle import read, scores_of
from places import FIXTURES

from ragtriage.data.importers.detect import detect
from ragtriage.data.importers.parsing.input_file import InputFile

TRACE = FIXTURES / "deepeval/llama_index_rag_llama_schema.json"


def test_a_trace_of_a_query_engine_is_a_sample() -> None:
    ((environment, (sample,)),) = read(TRACE).items()
    assert environment == "development"
    assert sample["question"] == "What is LlamaIndex?"
    assert sample["answer"].startswith("LlamaIndex is a data framework designed for LLM")
    assert [(one["id"], one["text"]) for one in sample["retrieved"]] == [
        ("fixed_node_llama", "LlamaIndex is a data framework for your LLM applications.")
    ]
    assert sample["conversation_id"] == "llama_index_thread_id"
    assert sample["latency_ms"] == 812


@pytest.mark.parametrize("as_lines", [False, True])
def test_what_a_trace_records_of_itself_wins(as_lines: bool, tmp_path: Path) -> None:
    run = json.loads((FIXTURES / "deepeval/test_run_sample.json").read_text("utf-8"))
    trace = json.dumps(run["testCases"][0]["trace"])
    path = tmp_path / ("t.jsonl" if as_lines else "t.json")
    path.write_text(trace if as_lines else f"[{trace}]", encoding="utf-8")
    assert detect(InputFile.from_path(path)) == "deepeval_traces"
    ((sample,),) = read(path).values()
    assert sample["question"] == "What is CECL forecasting and how does Abrigo handle allowance variance?"
    assert sample["answer"].startswith("CECL (Current Expected Credit Losses) forecasting models")
    assert len(sample["retrieved"]) == 3
    assert {name: scores_of(sample)[name] for name in ("answer_relevancy", "faithfulness")} == {
        "answer_relevancy": 0.92,
        "faithfulness": 0.45,
    }
