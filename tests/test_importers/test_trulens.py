"""TruLens: databases of 2.x and 1.x, records as a frame, events as a table."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from command_line import run
from exports_oracle import EXPORTS, expected, outcome, read, scores_of
from hostile_databases import hostile_databases, with_changes
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile

DATABASE = EXPORTS / "trulens" / "default_v2.16.0.sqlite"
FRAMES = [EXPORTS / "trulens" / f"records_v2.16.0.{ending}" for ending in ("csv", "jsonl")]
GRADED = FIXTURES / "trulens" / "test_otel_feedback_computation__test_feedback_computation.csv"
OWN = '$."ai.observability.'
NESTED = FIXTURES / "trulens" / "test_otel_tru_llama__test_smoke.csv"


def by_id(samples: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    ids = {row["question"]: row["id"] for row in expected()["rows"]}
    return {ids[sample["question"]]: sample for sample in samples}


@pytest.mark.parametrize("path", [DATABASE, *FRAMES], ids=lambda path: path.name)
def test_twelve_records_have_three_metrics_and_one_of_context_relevance_failed(path: Path) -> None:
    (samples,) = read(path).values()
    values = {name: scores_of(sample)["context_relevance"] for name, sample in by_id(samples).items()}
    assert (len(values), [name for name, value in values.items() if value is None]) == (12, ["q06"])
    assert fmean(value for value in values.values() if value is not None) == pytest.approx(0.440455, abs=1e-6)
    assert {len(scores_of(sample)) for sample in samples} == {3}


def test_a_failed_score_says_why_and_is_not_minus_one() -> None:
    (samples,) = read(DATABASE).values()
    found = by_id(samples)
    reasons = {
        name: {score["metric"]: score["reason"] for score in found[name]["scores"] if score["value"] is None}
        for name in ("q06", "q08")
    }
    assert reasons["q06"]["context_relevance"].startswith("All 0 score(s) were unparsable")
    assert reasons["q08"] == {"answer_relevancy": "judge returned invalid JSON"}
    assert found["q06"]["retrieved"] == [], "retrieved nothing, which is known here"


def test_the_database_has_141_events_of_one_app() -> None:
    with closing(sqlite3.connect(DATABASE)) as connection:
        assert connection.execute("SELECT count(*) FROM trulens_events").fetchone() == (141,)
    source = InputFile.from_path(DATABASE)
    (found,) = read_runs(source, Options(), ValidationErrors("x"))
    assert (found.name, found.named_by_content) == ("sotu-rag v1", True)


@pytest.mark.parametrize("path", [DATABASE, *FRAMES], ids=lambda path: path.name)
def test_a_context_is_relevant_where_its_own_score_is_half_or_more(path: Path) -> None:
    """The score of a record is the mean of those of its contexts."""
    with closing(sqlite3.connect(DATABASE)) as connection:
        rows = [
            json.loads(row[0]) for row in connection.execute("SELECT record_attributes FROM trulens_events")
        ]
    judged: dict[tuple[str, str], bool] = {}
    for row in rows:
        context = row.get("ai.observability.call.kwargs.context")
        if context is not None and "ai.observability.eval.score" in row:
            key = (row["ai.observability.record_id"], context)
            judged[key] = row["ai.observability.eval.score"] >= 0.5
    (samples,) = read(path).values()
    checked = 0
    for sample in samples:
        for document in sample["retrieved"] or ():
            assert document["relevant"] is judged[json.loads(sample["extra"])["trace_id"], document["text"]]
            checked += 1
    assert checked == 45


@pytest.mark.parametrize("path", FRAMES, ids=lambda path: path.name)
def test_the_order_of_contexts_out_of_a_frame_is_said_to_be_unknown(path: Path) -> None:
    source = InputFile.from_path(path)
    errors = ValidationErrors(source.name)
    (found,) = read_runs(source, Options(), errors)
    list(found.records)
    assert "contexts taken from the evaluator's arguments, order not known" in " ".join(errors.notes)
    (samples,) = read(path).values()
    assert by_id(samples)["q06"]["retrieved"] is None, "nothing is known of it, which is not an empty list"
    assert by_id(samples)["q01"]["latency_ms"] == pytest.approx(3344.799)
    assert by_id(samples)["q01"]["cost_usd"] is None, "0 is written where nothing was counted"


def test_several_versions_of_an_app_are_several_runs(tmp_path: Path) -> None:
    of_record = f"json_extract(record_attributes, '{OWN}record_id\"')"
    of_root = f"json_extract(record_attributes, '{OWN}span_type\"') = 'record_root'"
    second = f"""UPDATE trulens_events
        SET record_attributes = json_set(record_attributes, '{OWN}app_version"', 'v2')
        WHERE {of_record} IN (SELECT {of_record} FROM trulens_events WHERE {of_root} LIMIT 5)"""
    runs = read(with_changes(DATABASE, tmp_path, second))
    assert {name: len(samples) for name, samples in runs.items()} == {"sotu-rag v1": 7, "sotu-rag v2": 5}


def test_records_still_in_evaluation_have_no_score(tmp_path: Path) -> None:
    results = f"""'{OWN}eval_root.score"', '{OWN}eval_root.error"'"""
    running = f"""UPDATE trulens_events SET record_attributes = json_remove(record_attributes, {results})
        WHERE json_extract(record_attributes, '{OWN}eval.metric_name"') = 'Faithfulness'"""
    (samples,) = read(with_changes(DATABASE, tmp_path, running)).values()
    assert {tuple(sorted(scores_of(sample))) for sample in samples} == {
        ("answer_relevancy", "context_relevance")
    }


def test_events_as_a_table_are_a_record_with_its_grade() -> None:
    """Cells are reprs of Python; the grade is the mean of two."""
    ((name, (sample,)),) = read(GRADED).items()
    assert name == "Simple RAG v1: test run"
    assert scores_of(sample) == {"baby_grader": pytest.approx(0.99)}
    assert (sample["question_id"], sample["reference_answer"]) == (
        "42",
        "Like attention but with more heads.",
    )


def test_a_retrieval_nested_three_deep_is_one() -> None:
    ((sample,),) = read(NESTED).values()
    assert sample["question"] == "What is multi-headed attention?"
    with NESTED.open(encoding="utf-8", newline="") as stream:
        attributes = [row["record_attributes"] for row in csv.DictReader(stream)]
    assert sum("'ai.observability.span_type': 'retrieval'" in text for text in attributes) == 3
    assert "retrieval_calls" not in {tag["key"] for tag in sample["tags"] or ()}
    texts = [document["text"] for document in sample["retrieved"]]
    assert len(texts) == len(set(texts)) == 3


def older(path: Path, prefix: str = "trulens_") -> Path:
    """Write a database in the tables of 1.x: two apps, a feedback that failed, one that still runs."""
    record = {"calls": [{"stack": [{"method": {"name": "retrieve"}}], "rets": ["A.", "B."]}]}
    calls = {"calls": [{"args": {"question": "Why?"}, "ret": 0.5, "meta": {"reason": "half"}}]}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"CREATE TABLE {prefix}apps (app_id, app_name, app_version, app_json)")
        columns = "record_id, app_id, input, output, record_json, tags, ts, cost_json, perf_json"
        connection.execute(f"CREATE TABLE {prefix}records ({columns})")
        columns = "feedback_result_id, record_id, name, result, status, error, calls_json"
        connection.execute(f"CREATE TABLE {prefix}feedbacks ({columns})")
        connection.execute(f"INSERT INTO {prefix}apps VALUES ('a1', 'rag', 'v1', '{{}}')")
        performed = {"start_time": "2024-05-01T10:00:00", "end_time": "2024-05-01T10:00:02"}
        used = {"n_prompt_tokens": 90, "n_completion_tokens": 9, "cost": 0.5}
        for name, app in (("r1", "a1"), ("r2", "a2")):
            values: list[Any] = [name, app, '"Why?"', '"So."', json.dumps(record), "-", 1714557600.0]
            values += [json.dumps(used), json.dumps(performed)]
            connection.execute(f"INSERT INTO {prefix}records VALUES (?,?,?,?,?,?,?,?,?)", values)
        results: list[list[Any]] = [
            ["r1", "groundedness", 0.5, "done", None, json.dumps(calls)],
            ["r1", "answer_relevance", None, "failed", "rate limit", "{}"],
            ["r1", "coherence", None, "running", None, "{}"],
            ["r2", "groundedness", 1.0, "FeedbackResultStatus.DONE", None, "{}"],
        ]
        for position, result in enumerate(results):
            connection.execute(f"INSERT INTO {prefix}feedbacks VALUES (?,?,?,?,?,?,?)", [position, *result])
    return path


@pytest.mark.parametrize("prefix", ["trulens_", "mine_", ""])
def test_databases_of_version_1_are_read_whatever_their_prefix(prefix: str, tmp_path: Path) -> None:
    path = older(tmp_path / "default.sqlite", prefix)
    assert detect(InputFile.from_path(path)) == "trulens_database"
    runs = read(path)
    assert {name: len(samples) for name, samples in runs.items()} == {"rag v1": 1, "a2": 1}
    (sample,) = runs["rag v1"]
    assert (sample["question"], sample["answer"]) == ("Why?", "So.")
    assert [document["text"] for document in sample["retrieved"]] == ["A.", "B."]
    assert {score["metric"]: (score["value"], score["reason"]) for score in sample["scores"]} == {
        "faithfulness": (0.5, "half"),
        "answer_relevancy": (None, "rate limit"),
    }
    assert (sample["latency_ms"], sample["cost_usd"]) == (2000.0, 0.5)
    assert (sample["input_tokens"], sample["output_tokens"]) == (90.0, 9.0)
    assert scores_of(runs["a2"][0]) == {"faithfulness": 1.0}


def test_a_metric_where_less_is_better_says_so(tmp_path: Path) -> None:
    row = {"record_id": "r", "app_id": "a", "input": "Why?", "output": "So.", "Toxicity": 0.1}
    row |= {"Toxicity_calls": [{"args": {}, "ret": 0.1}], "Toxicity direction": False}
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    source = InputFile.from_path(path)
    (found,) = read_runs(source, Options(), ValidationErrors("x"))
    assert found.metrics == {"toxicity": {"direction": "lower"}}


@pytest.mark.parametrize("path", [DATABASE, *FRAMES, GRADED, NESTED], ids=lambda path: path.name)
def test_the_command_imports_every_file(
    path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(capsys, tmp_path, "import", str(path)).code == 0


@pytest.mark.parametrize("statement", ["DELETE FROM trulens_events", "DROP TABLE trulens_events"])
def test_a_database_without_records_is_refused(statement: str, tmp_path: Path) -> None:
    path = with_changes(DATABASE, tmp_path, statement)
    with pytest.raises(InputError, match=r"is a database of TruLens that holds no record; accepted"):
        read(path)


def test_a_hostile_database_ends_in_a_run_or_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "older").mkdir()
    of_1 = older(tmp_path / "older" / "first.sqlite")
    for database in (DATABASE, of_1):
        outcomes = {outcome(path) for path in hostile_databases(database, tmp_path)}
        assert outcomes == {"run", "sentence"}


@pytest.mark.parametrize("path", FRAMES, ids=lambda path: path.suffix)
def test_records_have_the_time_of_the_first_of_them(path: Path) -> None:
    (parsed,) = read_runs(InputFile.from_path(path), Options(), ValidationErrors("t"))
    assert parsed.created_at == datetime(2026, 11, 21, 21, 10, 28)
