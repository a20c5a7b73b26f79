"""Samples as Parquet: typed columns that are the same in every file, and an equal run when imported again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run
from exported_runs import RECORDS, traced_run

from ragtriage.data.api import add_run, open_store, samples_answer
from ragtriage.data.cases.parquet_export import DESCRIPTIONS
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.sample_schema import SCHEMA

Capture = pytest.CaptureFixture[str]
RICH: list[dict[str, Any]] = [
    {
        "question_id": "a",
        "question": "Who?",
        "history": [{"role": "user", "text": "Hello"}],
        "answer": "=1+1",
        "retrieved": [{"id": "d1", "text": "one", "score": 0.25, "page": 7}, {"id": "d2", "text": "two"}],
        "relevant": [{"id": "d2", "grade": 2.0, "hop": "1"}],
        "relevant_spans": [{"doc_id": "d", "start": 0, "end": 9}],
        "claims": [{"text": "c", "in_reference": True, "supported_by": [1, 2]}],
        "tags": {"team": "search", "lang": "de"},
        "checks": [{"name": "json", "kind": "is-json", "expected": {"a": [1]}, "passed": False}],
        "scores": {
            "faithfulness": {"value": None, "reason": "timed out"},
            "tone": {"value": 0.1, "reason": "so"},
        },
        "human": [{"annotator": "ann", "metric": "correctness", "value": 4.0, "low": 1.0, "high": 5.0}],
        "latency_ms": 12.5,
        "trace_id": "t1",
        "nested": {"deep": [1, None]},
    },
    {"question_id": "b", "question": "Nothing found?", "retrieved": [], "scores": {"tone": 1 / 3}},
    {"question_id": "c", "question": "Not recorded?", "answer": ""},
]


def exported(capsys: Capture, store: RunStore, name: str, path: Path) -> Any:
    root = store.workspace.root
    assert run(capsys, root, "export", name, "--to", "parquet", "-o", str(path)).code == 0
    return pq.read_table(path)


def test_a_file_imported_again_is_an_equal_run(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    root, path = workspace.workspace.root, tmp_path / "rich.parquet"
    first = add_run(RICH, "rich", workspace=str(root))
    exported(capsys, workspace, "rich", path)
    assert run(capsys, root, "import", str(path), "--name", "again").code == 0
    store = open_store(str(root))
    before, after = samples_answer(store, first), samples_answer(store, store.find("again"))
    assert [{k: v for k, v in sample.items() if k != "ragtriage"} for sample in after] == before
    assert before[0]["scores"]["faithfulness"] == {"value": None, "reason": "timed out"}
    assert before[1]["retrieved"] == []
    assert "retrieved" not in before[2]
    scores = [
        run(capsys, root, "metrics", name, "--per-sample", "--json").json["samples"]
        for name in ("rich", "again")
    ]
    assert scores[0] == scores[1]
    assert scores[0]["a"]["mrr@3"] == 0.5


def test_every_metric_has_its_status_and_source(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    run_id = traced_run(workspace)
    rows = exported(capsys, workspace, run_id, tmp_path / "run.parquet").to_pylist()
    assert [row["question_id"] for row in rows] == [record["question_id"] for record in RECORDS]
    scores = [{score["metric"]: score for score in row["ragtriage"]["scores"]} for row in rows]
    assert scores[0]["faithfulness"] == {
        "metric": "faithfulness", "value": 0.125, "status": "scored", "source": "imported"
    }  # fmt: skip
    assert scores[1]["faithfulness"]["value"] is None
    assert scores[1]["faithfulness"]["status"] == "failed"
    assert scores[3]["faithfulness"]["status"] == "not run"
    assert (scores[0]["recall@1"]["value"], scores[0]["recall@1"]["status"]) == (0.0, "scored")
    assert scores[2]["correctness"]["source"] == "human"
    labels = [(label["annotator"], label["verdict"]) for label in rows[0]["ragtriage"]["labels"]]
    assert labels == [("ann", "fail"), ("bob", "pass")]


def test_columns_are_the_same_in_every_file(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    root = str(workspace.workspace.root)
    add_run(RICH, "rich", workspace=root)
    add_run([{"question": "q?"}], "poor", workspace=root)
    rich = exported(capsys, workspace, "rich", tmp_path / "rich.parquet").schema
    poor = exported(capsys, workspace, "poor", tmp_path / "poor.parquet").schema
    assert rich.equals(poor)
    assert rich.names == [*(name for name in SCHEMA.names if name != "row"), "ragtriage"]
    assert not [field for field in rich if pa.types.is_null(field.type) or field.name.startswith("__index")]
    assert b"pandas" not in rich.metadata
    facts = json.loads(rich.metadata[b"ragtriage"])
    assert facts["run"] == "rich"
    assert "stay under its terms" in facts["licence"]
    assert rich.field("relevant").metadata[b"description"] == DESCRIPTIONS["relevant"].encode()
    assert DESCRIPTIONS.keys() <= set(rich.names)


def test_both_names_of_the_format_write_the_same(
    workspace: RunStore, tmp_path: Path, capsys: Capture
) -> None:
    root, run_id = workspace.workspace.root, traced_run(workspace)
    exported(capsys, workspace, run_id, tmp_path / "to.parquet")
    path = tmp_path / "ending.parquet"
    assert run(capsys, root, "export", run_id, "-o", str(path)).code == 0
    assert path.read_bytes() == (tmp_path / "to.parquet").read_bytes()


def test_a_long_run_is_written_in_row_groups(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    records = [{"question_id": f"q{at:04}", "question": "?", "scores": {"tone": at}} for at in range(1300)]
    add_run(records, "long", workspace=str(workspace.workspace.root))
    table = exported(capsys, workspace, "long", tmp_path / "long.parquet")
    assert pq.read_metadata(tmp_path / "long.parquet").num_row_groups == 3
    assert table["question_id"].to_pylist() == [record["question_id"] for record in records]
    assert [row["value"] for row in table["scores"].combine_chunks().flatten().to_pylist()] == [*range(1300)]
