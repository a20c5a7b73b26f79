"""Exported runs of LangSmith: one a row in any order or as trees, several projects, failures, bounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exports_oracle import read, scores_of
from mutated_files import mutations

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile


def run(name: str, run_type: str, second: int, parent: str | None = "root", **fields: Any) -> dict[str, Any]:
    return {
        "id": name,
        "name": name,
        "run_type": run_type,
        "start_time": f"2026-01-01T00:00:0{second}",
        "end_time": f"2026-01-01T00:00:0{second + 1}",
        "parent_run_id": parent,
        "trace_id": "root",
        "session_name": "prod",
        "inputs": {},
        "outputs": None,
        **fields,
    }


def trace() -> list[dict[str, Any]]:
    documents = [
        {"page_content": "Ann wrote it.", "metadata": {"source": "a.md"}},
        {"page_content": "In May."},
    ]
    said = {"generations": [[{"text": "Ann.", "message": {}}]], "llm_output": {"token_usage": {}}}
    root = run(
        "root",
        "chain",
        0,
        None,
        end_time="2026-01-01T00:00:05",
        inputs={"question": "Who wrote it?"},
        outputs={"answer": "Ann."},
        total_tokens=130,
        prompt_tokens=120,
        completion_tokens=10,
        feedback_stats={"Correctness": {"n": 1, "avg": 0.5}, "note": {"n": 1, "avg": None}},
        extra={"metadata": {"thread_id": "t7", "team": "search"}},
        reference_example_id="e1",
    )
    return [
        run(
            "llm",
            "llm",
            3,
            inputs={"messages": [["..."]]},
            outputs=said,
            prompt_tokens=120,
            completion_tokens=10,
        ),
        root,
        run("retrieve", "retriever", 1, inputs={"query": "author"}, outputs={"documents": documents}),
    ]


def tree() -> dict[str, Any]:
    llm, root, retrieve = trace()
    for child in (llm, retrieve):
        del child["parent_run_id"], child["trace_id"]
    return {**root, "child_runs": [llm, retrieve]}


def written(folder: Path, document: Any, name: str = "t.json") -> Path:
    path = folder / name
    text = "\n".join(map(json.dumps, document)) if name.endswith(".jsonl") else json.dumps(document)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (trace(), "t.jsonl"),
        (trace(), "t.json"),
        ({"runs": trace()}, "t.json"),
        (tree(), "t.json"),
        ([tree()], "t.json"),
    ],
)
def test_a_trace_is_a_sample(document: Any, name: str, tmp_path: Path) -> None:
    path = written(tmp_path, document, name)
    assert detect(InputFile.from_path(path)) == "langsmith_runs"
    ((project, (sample,)),) = read(path).items()
    assert (project, sample["question"], sample["answer"]) == ("prod", "Who wrote it?", "Ann.")
    assert [document["text"] for document in sample["retrieved"]] == ["Ann wrote it.", "In May."]
    assert (sample["search_query"], sample["question_id"], sample["conversation_id"]) == (
        "author",
        "e1",
        "t7",
    )
    assert (sample["input_tokens"], sample["output_tokens"]) == (120, 10), "once, not again for the chain"
    assert (sample["latency_ms"], sample["retrieval_ms"]) == (5000, 1000)
    assert scores_of(sample) == {"correctness": 0.5}
    assert {"key": "team", "value": "search"} in sample["tags"]


def test_a_failed_trace_keeps_its_retrieval_and_the_last_line_of_the_error(tmp_path: Path) -> None:
    llm, root, retrieve = trace()
    failed = [
        {**llm, "outputs": None},
        {**root, "outputs": None, "error": "Traceback\n  x\nTimeoutError: slow"},
        retrieve,
    ]
    ((sample,),) = read(written(tmp_path, failed)).values()
    assert (sample["answer"], len(sample["retrieved"])) == (None, 2)
    assert {"key": "error", "value": "TimeoutError: slow"} in sample["tags"]


def test_projects_are_runs_and_repetitions_share_an_example(tmp_path: Path) -> None:
    def again(suffix: str, project: str) -> list[dict[str, Any]]:
        ids = ("id", "trace_id", "parent_run_id")
        return [
            {**one, **{key: one[key] and one[key] + suffix for key in ids}, "session_name": project}
            for one in trace()
        ]

    runs = read(written(tmp_path, [*trace(), *again("-2", "prod"), *again("-3", "test")]))
    assert {
        name: [(one["question_id"], one["repeat"]) for one in samples] for name, samples in runs.items()
    } == {
        "prod": [("e1", 0), ("e1", 1)],
        "test": [("e1", 0)],
    }


def test_runs_without_a_trace_id_are_joined_by_their_order(tmp_path: Path) -> None:
    order = {"root": "20260101T000000Zroot", "llm": "20260101T000000Zroot.20260101T000003Zllm"}
    order["retrieve"] = "20260101T000000Zroot.20260101T000001Zretrieve"
    rows = [{**one, "trace_id": None, "dotted_order": order[one["id"]]} for one in trace()]
    ((sample,),) = read(written(tmp_path, rows)).values()
    assert (sample["answer"], len(sample["retrieved"])) == ("Ann.", 2)


@pytest.mark.parametrize("document", [trace(), tree()])
def test_hostile_runs_end_in_a_run_or_in_a_sentence(document: Any) -> None:
    for content in mutations("t.json", json.dumps(document).encode(), times=200):
        errors = ValidationErrors("t.json")
        try:
            for parsed in read_runs(InputFile.from_bytes("t.json", content), Options(), errors):
                list(parsed.records)
        except InputError as error:
            assert "; accepted: " in str(error)  # noqa: PT017 # most versions are read, and that is right too
