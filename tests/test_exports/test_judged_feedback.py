"""What a judge scored goes back as a judge's: its kind of source and its model."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from command_line import run
from exported_runs import IDS
from judge_server import JudgeServer
from judged_runs import judged, records

from ragtriage.data.api import add_run, open_store
from ragtriage.data.judge.requests import read_prices

Capture = pytest.CaptureFixture[str]


def test_judged_scores_name_their_judge(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key-of-no-account")
    rows = [{**record, **ids} for record, ids in zip(records(3), IDS, strict=False)]
    added = add_run(rows, "turtles", "zoo", str(tmp_path))
    with JudgeServer() as server:
        judged(open_store(str(tmp_path)), added, server)
    files = {
        tool: run(capsys, tmp_path, "export", "turtles", "--to", tool, "--sources", "judged").out
        for tool in ("langfuse", "phoenix", "mlflow", "langsmith")
    }
    bodies = [json.loads(line) for line in files["langfuse"].splitlines()]
    (judge,) = {body["metadata"]["judge"] for body in bodies}
    assert judge.partition("@")[0] == read_prices().model().name, "the model, and a digest of its prompt"
    assert {body["source"] for body in bodies} == {"API"}
    of_first = {body["name"]: body["value"] for body in bodies if body["traceId"] == IDS[0]["trace_id"]}
    assert of_first["faithfulness"] == 0.5, "of two claims the context supports one"
    annotations = [*csv.DictReader(io.StringIO(files["phoenix"]))]
    assert {row["annotator_kind"] for row in annotations} == {"LLM"}
    sources = [json.loads(line)["source"] for line in files["mlflow"].splitlines()]
    assert {tuple(source.values()) for source in sources} == {("LLM_JUDGE", judge)}
    feedback = [json.loads(line) for line in files["langsmith"].splitlines()]
    assert {body["feedback_source_type"] for body in feedback} == {"model"}
    assert len(bodies) == len(annotations) == len(feedback)
