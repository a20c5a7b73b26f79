"""Scores that go back to a tool and are exported from it again are the same scores.

What the tool does with them in between is put into its own file of the run, where it would stand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run
from exports_oracle import EXPORTS

from ragtriage.data.labels.ratings import rate
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import Source, Status

Capture = pytest.CaptureFixture[str]
MACHINE = [source for source in Source if source != Source.HUMAN]


def imported(capsys: Capture, store: RunStore, name: str, *paths: Path) -> ScoredRun:
    answer = run(capsys, store.workspace.root, "import", *map(str, paths), "--name", name)
    assert answer.code == 0, answer.err
    return store.scored(store.find(name))


def exported(capsys: Capture, store: RunStore, scored: ScoredRun, tool: str, path: Path) -> None:
    """Label a case, and export the run to a tool."""
    first, second = scored.question_ids[1:3].tolist()
    store.ledger.add_label((scored.run.run_id, first, 0), "ann", "fail", "too short", "one word")
    rate(store.ledger, (scored.run.run_id, second, 0), "bob", "answer_relevancy", 0.5)
    answer = run(
        capsys, store.workspace.root, "export", scored.run.run_id, "--to", tool, "--all", "-o", str(path)
    )
    assert answer.code == 0, answer.err


def assert_same_scores(before: ScoredRun, after: ScoredRun) -> None:
    """Every score of a run is among the imported scores of the other, and no other value of that metric."""
    assert before.question_ids.tolist() == after.question_ids.tolist()
    compared = set()
    for name in before.metrics:
        column = before.column_from(name, MACHINE)
        if column is None or not (column.status == Status.SCORED).any():
            continue
        again = after.column(name, Source.IMPORTED)
        assert again is not None, name
        np.testing.assert_allclose(
            again.values, column.values, rtol=0, atol=1e-9, equal_nan=True, err_msg=name
        )
        compared.add(name)
    assert compared >= {"faithfulness", "answer_relevancy"}


def ratings_of(scored: ScoredRun) -> set[tuple[str, str, float | None]]:
    samples = scored.samples.read(range(scored.n), ("question_id", "human"))
    return {
        (sample["question_id"], rating["metric"], rating["value"])
        for sample in samples
        for rating in sample["human"] or ()
    }


def test_langfuse(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    items = EXPORTS / "langfuse" / "api_experiment_items.json"
    before = imported(capsys, workspace, "before", items)
    # Left out: 0 of a refusal, and 1 of q11, which ended in an error without an answer.
    faithfulness = before.values("faithfulness")
    assert np.nansum(faithfulness) == pytest.approx(12 * 0.845242 - 1.0, abs=1e-5)
    exported(capsys, workspace, before, "langfuse", tmp_path / "scores.jsonl")
    document: dict[str, Any] = json.loads(items.read_text(encoding="utf-8"))
    for row in document["data"]:
        row["scores"] = []
    bare = tmp_path / "items.json"
    bare.write_text(json.dumps(document), encoding="utf-8")
    after = imported(capsys, workspace, "after", bare, tmp_path / "scores.jsonl")
    assert_same_scores(before, after)
    found = ratings_of(after)
    assert {("q02", "verdict", 0.0), ("q03", "answer_relevancy", 0.5)} <= found
    assert ratings_of(before) <= found


def test_langsmith(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    results = EXPORTS / "langsmith" / "runs.jsonl"
    before = imported(capsys, workspace, "before", results)
    path = tmp_path / "feedback.jsonl"
    exported(capsys, workspace, before, "langsmith", path)
    by_run: dict[str, list[dict[str, Any]]] = {}
    for body in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if "annotator" not in body["source_info"]:  # people's are not results of an evaluator
            result = {name: body.get(name) for name in ("key", "score", "value", "comment", "extra")}
            by_run.setdefault(body["run_id"], []).append(result)
    rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    assert by_run.keys() == {row["run"]["id"] for row in rows if not row["run"].get("error")}
    for row in rows:
        row["evaluation_results"] = {"results": by_run.get(row["run"]["id"], [])}
    again = tmp_path / "runs.jsonl"
    again.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    after = imported(capsys, workspace, "after", again)
    assert_same_scores(before, after)
    (failed,) = before.failures("answer_relevancy", Source.IMPORTED).items()
    assert after.failures("answer_relevancy", Source.IMPORTED) == dict([failed])
    assert "judge returned invalid JSON" in failed[1]


def test_phoenix(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    folder = EXPORTS / "phoenix"
    spans = folder / "spans.jsonl"
    before = imported(capsys, workspace, "before", spans, folder / "annotations.csv")
    path = tmp_path / "annotations.csv"
    exported(capsys, workspace, before, "phoenix", path)
    after = imported(capsys, workspace, "after", spans, path)
    assert_same_scores(before, after)
    found = {(metric, value) for _, metric, value in ratings_of(after)}
    assert {("verdict", 0.0), ("answer_relevancy", 0.5)} <= found


def test_mlflow(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    file = EXPORTS / "mlflow" / "traces_v3.17.2.json"
    before = imported(capsys, workspace, "before", file)
    path = tmp_path / "assessments.jsonl"
    exported(capsys, workspace, before, "mlflow", path)
    by_trace: dict[str, list[dict[str, Any]]] = {}
    for assessment in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        by_trace.setdefault(assessment["trace_id"], []).append(assessment)
    traces = json.loads(file.read_text(encoding="utf-8"))
    assert by_trace.keys() <= {trace["info"]["trace_id"] for trace in traces}
    for trace in traces:
        kept = [one for one in trace["info"]["assessments"] if "expectation" in one]
        trace["info"]["assessments"] = [*kept, *by_trace.get(trace["info"]["trace_id"], [])]
    again = tmp_path / "traces.json"
    again.write_text(json.dumps(traces), encoding="utf-8")
    after = imported(capsys, workspace, "after", again)
    assert_same_scores(before, after)
    found = {(metric, value) for _, metric, value in ratings_of(after)}
    assert {("verdict", 0.0), ("answer_relevancy", 0.5)} <= found
    failures = before.failures("answer_relevancy", Source.IMPORTED)
    assert len(failures) == 1
    assert after.failures("answer_relevancy", Source.IMPORTED).keys() == failures.keys()
