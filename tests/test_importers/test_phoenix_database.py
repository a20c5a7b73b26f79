"""The database of a Phoenix server is read as it lies there, and left as it was."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from exports_oracle import assert_is_the_run, read, scores_of
from places import FIXTURES

from ragtriage.data.errors import InputError

DATABASE = FIXTURES / "phoenix" / "phoenix_v20.26.1.db"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return Path(shutil.copyfile(DATABASE, tmp_path / "phoenix.db"))


def changed(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def test_a_project_and_an_experiment_are_two_runs_of_the_same_questions() -> None:
    runs = read(DATABASE)
    assert list(runs) == ["sotu-rag", "rag-v1"]
    kept = {"scores_of_q11": True, "answer_of_q11": False}
    assert_is_the_run(runs["sotu-rag"], **kept, ids=True, references=False, failed_score_kept=False)
    assert_is_the_run(runs["rag-v1"], **kept, contexts_of_q11=False)
    assert [sample["question_id"] for sample in runs["rag-v1"]] == [f"q{n:02}" for n in range(1, 13)]
    assert all(sample["latency_ms"] for samples in runs.values() for sample in samples)


def test_nothing_is_written(database: Path) -> None:
    before = database.read_bytes()
    read(database)
    assert database.read_bytes() == before
    assert [path.name for path in database.parent.iterdir()] == ["phoenix.db"]


def test_a_log_that_is_not_written_back_is_read(database: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("UPDATE projects SET name = 'renamed' WHERE name = 'sotu-rag'")
    connection.commit()
    copy = tmp_path / "running"
    copy.mkdir()
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{database}{suffix}", copy / f"phoenix.db{suffix}")
    connection.close()
    assert "renamed" in read(copy / "phoenix.db")


def test_labels_of_people_relevance_of_documents_and_costs(database: Path) -> None:
    columns = "name, label, score, explanation, metadata, annotator_kind, identifier, source"
    root = "(SELECT MIN(id) FROM spans WHERE name = 'rag')"
    retriever = (
        f"(SELECT id FROM spans WHERE parent_id = (SELECT span_id FROM spans WHERE id = {root}) LIMIT 1)"
    )
    path = changed(
        database,
        f"INSERT INTO span_annotations (span_rowid, {columns})"
        f" VALUES ({root}, 'helpful', 'good', NULL, 'clear', '{{}}', 'HUMAN', 'ann', 'APP')",
        f"INSERT INTO document_annotations (span_rowid, document_position, {columns})"
        f" VALUES ({retriever}, 1, 'relevance', NULL, 1.0, NULL, '{{}}', 'LLM', '', 'API')",
        f"INSERT INTO trace_annotations (trace_rowid, {columns}) SELECT trace_rowid,"
        f" 'tidy', NULL, 0.5, NULL, '{{}}', 'CODE', '', 'API' FROM spans WHERE id = {root}",
        "UPDATE span_costs SET total_cost = 0.25",
    )
    first = read(path)["sotu-rag"][0]
    (label,) = first["human"]
    assert (label["annotator"], label["metric"], label["value"]) == ("ann", "helpful", 1.0)
    assert [document["relevant"] for document in first["retrieved"]] == [None, True, None, None]
    assert scores_of(first) == {"faithfulness": 1.0, "answer_relevancy": 1.0, "tidy": 0.5}
    assert first["cost_usd"] == 0.25


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DROP TABLE spans", "is an SQLite database of no known tool"),
        (
            "ALTER TABLE spans RENAME COLUMN trace_rowid TO trace",
            "database of Phoenix of a version that is not read: no such column",
        ),
        ("DELETE FROM traces", ""),
        ("UPDATE spans SET attributes = '[1, 2]'", ""),
        ("UPDATE spans SET start_time = 'soon', parent_id = span_id, events = 7", ""),
        ("UPDATE experiment_runs SET output = '{'", ""),
    ],
)
def test_a_database_of_another_shape_ends_in_a_run_or_in_a_sentence(
    database: Path, statement: str, expected: str
) -> None:
    path = changed(database, statement)
    if expected:
        with pytest.raises(InputError, match=expected):
            read(path)
    else:
        assert "rag-v1" in read(path)


def test_half_a_database_and_one_without_traces_are_refused(database: Path) -> None:
    empty = changed(database, "DELETE FROM spans", "DELETE FROM experiment_runs")
    with pytest.raises(
        InputError, match="database of Phoenix, without a trace or an experiment that holds a question"
    ):
        read(empty)
    empty.write_bytes(DATABASE.read_bytes()[:100_000])
    with pytest.raises(InputError, match="SQLite database"):
        read(empty)
