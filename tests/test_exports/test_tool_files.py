"""Scores and labels as files for other tools: what is in them, what is left out, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from command_line import Answer, run
from exported_runs import IDS, traced_run

from ragtriage.data.api import add_run
from ragtriage.data.labels.ratings import rate
from ragtriage.data.scoring.run_store import RunStore

Capture = pytest.CaptureFixture[str]
Lines = list[dict[str, Any]]


def exported(capsys: Capture, store: RunStore, tool: str, path: Path, *words: str) -> tuple[Lines, Answer]:
    """Export a run with ids, labels and a rating; return the lines of the file and the command's answer."""
    run_id = traced_run(store)
    rate(store.ledger, (run_id, "q2", 0), "bob", "answer_relevancy", 0.5)
    which = words or ("--all",)
    answer = run(capsys, store.workspace.root, "export", run_id, "--to", tool, "-o", str(path), *which)
    assert answer.code == 0, answer.err
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        return [
            {name: cell or None for name, cell in row.items()} for row in csv.DictReader(io.StringIO(text))
        ], answer
    return [json.loads(line) for line in text.splitlines()], answer


# As langfuse 5.0.4 declares CreateScoreRequest: field -> its type in JSON
LANGFUSE_FIELDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("id", "traceId", "observationId", "name", "comment", "timestamp"), (str,)),
    **{"metadata": (dict,), "value": (float, int, str), "dataType": (str,), "source": (str,)},
}


def test_langfuse_takes_bodies_of_its_scores(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    bodies, answer = exported(capsys, workspace, "langfuse", tmp_path / "scores.jsonl")
    for body in bodies:
        assert (
            {"id", "traceId", "name", "value", "dataType", "source"} <= body.keys() <= LANGFUSE_FIELDS.keys()
        )
        assert all(isinstance(value, LANGFUSE_FIELDS[name]) for name, value in body.items())
        assert body["dataType"] == ("CATEGORICAL" if isinstance(body["value"], str) else "NUMERIC")
        assert body["source"] == ("ANNOTATION" if "annotator" in body["metadata"] else "API")
    assert len({body["id"] for body in bodies}) == len(bodies), "sending twice must replace, not merge"
    by_trace = {(body["traceId"], body["name"], body["source"]): body for body in bodies}
    first, third = IDS[0]["trace_id"], IDS[2]["trace_id"]
    faithful = by_trace[first, "faithfulness", "API"]
    assert (faithful["value"], faithful["comment"]) == (0.125, "=SUM(A1)\ufffd of\nboth")
    assert faithful["metadata"]["source"] == "imported"
    assert by_trace[first, "recall@1", "API"]["value"] == 0.0, "a 0 that was measured"
    assert by_trace[first, "mrr@3", "API"]["value"] == 0.5
    assert by_trace[first, "mrr@3", "API"]["metadata"]["source"] == "computed"
    assert by_trace[third, "faithfulness", "API"]["value"] == pytest.approx(1 / 3, abs=1e-9)
    assert by_trace[first, "tone", "API"]["value"] == pytest.approx(0.3, abs=1e-9)
    assert (IDS[1]["trace_id"], "faithfulness", "API") not in by_trace, "failed: no value, and no 0 either"
    assert (IDS[3]["trace_id"], "faithfulness", "API") not in by_trace, "not run"
    assert "1 failed, for which Langfuse has no form" in answer.err
    assert "1 sample without trace_id" in answer.err


# As arize-phoenix-client 3.5.0 declares the columns of a frame of span annotations
PHOENIX_COLUMNS = {
    "span_id",
    "annotation_name",
    "annotator_kind",
    "label",
    "score",
    "explanation",
    "metadata",
    "identifier",
}


def test_phoenix_takes_a_table_of_annotations(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    rows, answer = exported(capsys, workspace, "phoenix", tmp_path / "annotations.csv")
    for row in rows:
        assert row.keys() == PHOENIX_COLUMNS
        assert row["span_id"]
        assert row["annotation_name"]
        assert row["annotator_kind"] in {"LLM", "CODE", "HUMAN"}
        assert row["label"] or row["score"], "an annotation needs a result"
        assert isinstance(json.loads(row["metadata"]), dict)
    keys = [(row["span_id"], row["annotation_name"], row["identifier"]) for row in rows]
    assert len(set(keys)) == len(keys), "Phoenix keeps one annotation of a name and identifier"
    by_span = dict(zip(keys, rows, strict=True))
    first, third = IDS[0]["span_id"], IDS[2]["span_id"]
    faithful = by_span[first, "faithfulness", "ragtriage"]
    assert float(faithful["score"]) == 0.125
    assert faithful["explanation"] == "'=SUM(A1)\ufffd of\nboth", "no formula for a spreadsheet"
    assert float(by_span[IDS[3]["span_id"], "tone", "ragtriage"]["score"]) == -2.5
    assert float(by_span[third, "faithfulness", "ragtriage"]["score"]) == pytest.approx(1 / 3, abs=1e-9)
    assert by_span[first, "verdict", "ragtriage bob"]["label"] == "pass"
    assert by_span[first, "verdict", "ragtriage ann"]["explanation"] == "'-1 would do"
    human = {row["annotation_name"] for row in rows if row["annotator_kind"] == "HUMAN"}
    assert human == {"verdict", "failure", "correctness", "answer_relevancy"}
    assert (IDS[1]["span_id"], "faithfulness", "ragtriage") not in by_span
    assert "1 failed, for which Phoenix has no form" in answer.err


# As MLflow 3.17.2 reads an assessment from a dictionary: required fields, and its kinds of source
MLFLOW_FIELDS = {"trace_id", "assessment_name", "source", "create_time", "last_update_time", "feedback"}
MLFLOW_SOURCES = {"LLM_JUDGE", "HUMAN", "CODE"}


def test_mlflow_takes_assessments(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    assessments, answer = exported(capsys, workspace, "mlflow", tmp_path / "assessments.jsonl")
    for one in assessments:
        assert MLFLOW_FIELDS <= one.keys() <= MLFLOW_FIELDS | {"rationale", "metadata"}
        assert one["source"].keys() == {"source_type", "source_id"}
        assert one["source"]["source_type"] in MLFLOW_SOURCES
        assert datetime.fromisoformat(one["create_time"]).tzinfo is not None
        assert "value" in one["feedback"]
        assert all(isinstance(value, str) for value in one["metadata"].values())
    by_trace = {
        (one["trace_id"], one["assessment_name"], one["source"]["source_id"]): one for one in assessments
    }
    first, second = (f"tr-{ids['trace_id']}" for ids in IDS[:2])  # MLflow's id of a trace of OpenTelemetry
    faithful = by_trace[first, "faithfulness", "ragtriage imported"]
    assert faithful["feedback"] == {"value": 0.125}
    assert faithful["rationale"] == "=SUM(A1)\ufffd of\nboth"
    failed = by_trace[second, "faithfulness", "ragtriage imported"]["feedback"]
    assert failed["value"] is None
    assert failed["error"] == {"error_code": "SCORE_FAILED", "error_message": "judge timed out"}
    assert by_trace[first, "verdict", "bob"]["source"]["source_type"] == "HUMAN"
    assert by_trace[first, "recall@1", "ragtriage computed"]["feedback"] == {"value": 0.0}
    assert "1 of them failed" in answer.err
    assert "has no form" not in answer.err


# Keyword arguments of Client.create_feedback of langsmith 0.15.0 that a line may have
LANGSMITH_ARGUMENTS = {
    *("run_id", "trace_id", "key", "score", "value", "comment", "source_info", "feedback_source_type"),
    *("feedback_id", "error", "extra"),
}


def test_langsmith_takes_feedback(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    bodies, _ = exported(capsys, workspace, "langsmith", tmp_path / "feedback.jsonl")
    for body in bodies:
        assert {"run_id", "key", "feedback_id"} <= body.keys() <= LANGSMITH_ARGUMENTS
        assert str(uuid.UUID(body["run_id"])) == body["run_id"]
        assert uuid.UUID(body["feedback_id"])
        assert body["feedback_source_type"] in {"api", "model"}
        assert ("score" in body) + ("value" in body) + ("error" in body) == 1
        assert "trace_id" not in body, "a trace of OpenTelemetry is none of LangSmith"
    assert len({body["feedback_id"] for body in bodies}) == len(bodies)
    by_run = {(body["run_id"], body["key"], body["source_info"].get("annotator")): body for body in bodies}
    first = IDS[0]["run_id"]
    assert by_run[first, "faithfulness", None]["score"] == 0.125
    assert by_run[first, "verdict", "bob"]["value"] == "pass"
    failed = by_run[IDS[1]["run_id"], "faithfulness", None]
    assert failed["error"] is True
    assert failed["comment"] == "judge timed out"


def test_people_go_back_as_annotators(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    bodies, answer = exported(capsys, workspace, "langfuse", tmp_path / "scores.jsonl")
    human = [
        (body["traceId"], body["metadata"]["annotator"], body["name"], body["value"], body.get("comment"))
        for body in bodies
        if body["source"] == "ANNOTATION"
    ]
    first, third = IDS[0]["trace_id"], IDS[2]["trace_id"]
    assert sorted(human, key=str) == [
        (first, "ann", "failure", "wrong year", "-1 would do"),
        (first, "ann", "verdict", "fail", "-1 would do"),
        (first, "bob", "verdict", "pass", None),
        (third, "ann", "correctness", 0.75, "misses a year"),
        (third, "bob", "answer_relevancy", 0.5, None),
    ]
    assert "1 a note alone" in answer.err
    assert "needs a score config" in answer.err
    assert "verdict (fail, pass)" in answer.err
    assert not [body for body in bodies if body["traceId"] == first and body["name"] == "verdict"
                and body["source"] == "API"], "where people decided, nothing else does"  # fmt: skip


def test_verdict_and_failure_stage_are_categories(
    workspace: RunStore, tmp_path: Path, capsys: Capture
) -> None:
    bodies, _ = exported(capsys, workspace, "langfuse", tmp_path / "scores.jsonl")
    of_fifth = {body["name"]: body for body in bodies if body["traceId"] == IDS[4]["trace_id"]}
    assert of_fifth["verdict"]["value"] == "fail", "faithfulness is 0"
    assert of_fifth["failure_stage"]["dataType"] == "CATEGORICAL"
    of_third = {body["name"]: body["value"] for body in bodies if body["traceId"] == IDS[3]["trace_id"]}
    assert of_third.get("verdict") != "fail"
    assert "failure_stage" not in of_third


def test_sources_and_metrics_choose(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "scores.jsonl"
    bodies, answer = exported(capsys, workspace, "langfuse", path, "--sources", "computed,human")
    assert {body["metadata"]["source"] for body in bodies} == {"computed", "human"}
    assert "came with the run" not in answer.err
    run_id = bodies[0]["metadata"]["run"]
    words = ("export", run_id, "--to", "langfuse", "--metrics")
    root = workspace.workspace.root
    chosen = run(capsys, root, *words, "tone,verdict").out.splitlines()
    assert {json.loads(line)["name"] for line in chosen} == {"tone", "verdict"}
    unknown = run(capsys, root, *words, "tonne")
    assert unknown.code == 2
    assert "'tonne' is not in run" in unknown.err
    assert "tone" in unknown.err
    nothing = run(capsys, root, *words, "tone", "--sources", "judged")
    assert nothing.code == 2
    assert "no score or label for Langfuse left to write" in nothing.err


MEASURED: dict[str, Any] = {
    **IDS[0],
    "question": "Who?",
    "answer": "She did it in the end.",
    "retrieved": [{"id": "d1", "text": "She did it."}],
    "relevant": ["d1"],
    "latency_ms": 120,
    "input_tokens": 40,
    "scores": {"tone": 0.5},
}


def _names(text: str) -> list[str]:
    return [json.loads(line)["name"] for line in text.splitlines()]


def test_imported_estimated_and_measured_values_stay_unless_asked_for(
    workspace: RunStore, capsys: Capture
) -> None:
    root = workspace.workspace.root
    add_run([MEASURED], "one", workspace=str(root))
    words = ("export", "one", "--to", "langfuse")
    usual, everything = run(capsys, root, *words), run(capsys, root, *words, "--all")
    sources = {json.loads(line)["metadata"]["source"] for line in usual.out.splitlines()}
    assert sources == {"computed"}
    assert not {"tone", "latency_ms", "input_tokens"} & set(_names(usual.out))
    assert "recall@1" in _names(usual.out)
    assert "1 imported (tone)" in usual.err
    assert "2 measured by the pipeline (latency_ms, input_tokens)" in usual.err
    assert {*_names(usual.out), "tone", "latency_ms", "input_tokens"} <= set(_names(everything.out))
    every = {json.loads(line)["metadata"]["source"] for line in everything.out.splitlines()}
    assert every == {"computed", "imported", "estimated"}
    assert "not written" not in everything.err
    assert _names(run(capsys, root, *words, "--metrics", "tone,latency_ms").out) == ["latency_ms", "tone"]
    both = run(capsys, root, *words, "--all", "--metrics", "tone")
    assert (both.code, both.out) == (2, "")
    assert "accepted: --all, or --sources and --metrics" in both.err


@pytest.mark.parametrize("tool", ["langfuse", "phoenix", "mlflow", "langsmith"])
def test_no_name_is_written_twice_for_a_sample(workspace: RunStore, capsys: Capture, tool: str) -> None:
    root = workspace.workspace.root
    names = {"verdict": 0.25, "failure_stage": 0.5, "a\x00b": 0.1, "a\x01b": 0.2, "unnamed": 1, "": 0.75}
    ratings = [{"annotator": "ann", "metric": "correctness", "value": value} for value in (0.25, 1)]
    records = [{**MEASURED, "scores": {**names, "faithfulness": 0.1}, "human": ratings}]
    run_id = add_run(records, "one", workspace=str(root)).run_id
    question = str(workspace.scored(workspace.find("one")).question_ids[0])
    rate(workspace.ledger, (run_id, question, 0), "ann", "correctness", 0.5)
    answer = run(capsys, root, "export", "one", "--to", tool, "--all")
    assert answer.code == 0, answer.err
    if tool == "phoenix":
        rows = [*csv.DictReader(io.StringIO(answer.out))]
        keys = [(row["span_id"], row["annotation_name"], row["identifier"]) for row in rows]
    else:
        bodies = [json.loads(line) for line in answer.out.splitlines()]
        field = {"langfuse": "name", "mlflow": "assessment_name", "langsmith": "key"}[tool]
        where = {"langfuse": "metadata", "mlflow": "metadata", "langsmith": "source_info"}[tool]
        keys = [("", body[field], body[where].get("annotator", "")) for body in bodies]
    assert len(keys) == len(set(keys))
    written = {name for _, name, _ in keys}
    assert {"verdict", "verdict (2)", "failure_stage (2)", "unnamed", "unnamed (2)"} <= written
    assert "verdict as verdict (2)" in answer.err
    assert "replaced by a later one of the same annotator" in answer.err


@pytest.mark.parametrize(
    ("tool", "missing", "remedy"),
    [
        ("langfuse", "trace_id, by which Langfuse joins", "a run imported from its observations"),
        ("phoenix", "span_id, by which Phoenix joins", "a run imported from its spans"),
        ("mlflow", "trace_id, by which MLflow joins", "a run imported from its traces"),
        ("langsmith", "run_id, by which LangSmith joins", "a run imported from its runs"),
    ],
)
def test_a_run_without_ids_is_refused_in_a_sentence(
    workspace: RunStore, tmp_path: Path, capsys: Capture, tool: str, missing: str, remedy: str
) -> None:
    root, path = workspace.workspace.root, tmp_path / "scores.jsonl"
    path.write_text("earlier", encoding="utf-8")
    add_run([{"question": "q?", "scores": {"tone": 1}}], "table", workspace=str(root))
    answer = run(capsys, root, "export", "table", "--to", tool, "-o", str(path))
    assert answer.code == 2
    assert answer.out == ""
    assert f"has no {missing} scores" in answer.err
    assert f"accepted: {remedy}" in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert path.read_text(encoding="utf-8") == "earlier"
    assert [*tmp_path.glob(".*.part")] == []


def test_options_that_do_not_go_together_are_refused(workspace: RunStore, capsys: Capture) -> None:
    root, run_id = workspace.workspace.root, traced_run(workspace)
    both = run(capsys, root, "export", run_id, "--to", "langfuse", "--format", "csv")
    assert both.code == 2
    assert "--to or --format, not both" in both.err
    alone = run(capsys, root, "export", run_id, "--metrics", "tone")
    assert alone.code == 2
    assert "go with --to TOOL" in alone.err


def test_the_same_score_has_the_same_id_again(workspace: RunStore, capsys: Capture) -> None:
    run_id = traced_run(workspace)
    words = ("export", run_id, "--to", "langfuse")
    first = run(capsys, workspace.workspace.root, *words).out
    assert first == run(capsys, workspace.workspace.root, *words).out
    assert first


@pytest.mark.parametrize(
    ("recorder", "to", "told"),
    [("Phoenix", "langfuse", True), ("Langfuse", "langfuse", False), ("OpenTelemetry", "langfuse", False)],
)
def test_ids_of_another_tool_are_told(
    workspace: RunStore, capsys: Capture, recorder: str, to: str, told: bool
) -> None:
    records = [{"question": "q?", "retrieved": ["x"], "trace_id": "t1", "tool": recorder, "scores": {"a": 1}}]
    add_run(records, "one", workspace=str(workspace.workspace.root))
    answer = run(capsys, workspace.workspace.root, "export", "one", "--to", to, "--all")
    assert answer.code == 0
    assert ("The trace_id of each sample is that of Phoenix." in answer.err) == told


def test_an_id_of_mlflow_s_own_stays_as_it_is(workspace: RunStore, capsys: Capture) -> None:
    trace = "tr-58e4774b42acd9575668b83bac1fe790"
    records = [{"question": "q?", "retrieved": ["x"], "trace_id": trace, "scores": {"a": 1}}]
    add_run(records, "one", workspace=str(workspace.workspace.root))
    lines = run(capsys, workspace.workspace.root, "export", "one", "--to", "mlflow", "--all").out.splitlines()
    assert {json.loads(line)["trace_id"] for line in lines} == {trace}


@pytest.mark.parametrize("tool", ["langfuse", "phoenix", "mlflow", "langsmith"])
def test_hostile_names_and_ids_stay_text(workspace: RunStore, capsys: Capture, tool: str) -> None:
    names = {"": 0.5, "=cmd|' /C calc'!A0": 0.25, "a\x00b\x1b[2J": 1, "\u202enettub": 0, "x" * 5000: 0.75}
    ids = {**IDS[0], "observation_id": ["no", "text"], "tool": "\x1b[31mred"}
    records = [{"question": "q?", "retrieved": ["x"], "scores": names, **ids}]
    add_run(records, "one", workspace=str(workspace.workspace.root))
    answer = run(capsys, workspace.workspace.root, "export", "one", "--to", tool, "--sources", "imported")
    assert answer.code == 0, answer.err
    assert not [
        text for text in (answer.out, answer.err) if "\x1b" in text or "\x00" in text or "\u202e" in text
    ]
    if tool == "phoenix":
        rows: Lines = [*csv.DictReader(io.StringIO(answer.out))]
        values = {row["annotation_name"]: float(row["score"]) for row in rows}
        assert values["'=cmd|' /C calc'!A0"] == 0.25
    else:
        bodies = [json.loads(line) for line in answer.out.splitlines()]
        field = {"langfuse": "name", "mlflow": "assessment_name", "langsmith": "key"}[tool]
        values = {body[field]: body.get("value", body.get("score", body.get("feedback"))) for body in bodies}
        assert "=cmd|' /C calc'!A0" in values
    assert len(values) == 5
    assert values["unnamed"] in (0.5, {"value": 0.5})
    assert "x" * 5000 in values


def test_ids_in_columns_of_a_table_join_too(workspace: RunStore, tmp_path: Path, capsys: Capture) -> None:
    root, path = workspace.workspace.root, tmp_path / "table.csv"
    path.write_text(
        "question,answer,faithfulness,trace_id\nq1?,a,0.25,abc\nq2?,b,0.75,def\n", encoding="utf-8"
    )
    assert run(capsys, root, "import", str(path), "--name", "table").code == 0
    lines = run(capsys, root, "export", "table", "--to", "langfuse", "--metrics", "faithfulness").out
    scores = {body["traceId"]: body["value"] for body in map(json.loads, lines.splitlines())}
    assert scores == {"abc": 0.25, "def": 0.75}
