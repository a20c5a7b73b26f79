"""A ledger of an earlier version takes up the newer tables and keeps what people wrote."""

from __future__ import annotations

import sqlite3
from importlib.resources import files
from pathlib import Path

from ragtriage.data.jobs import begin_job, jobs_of
from ragtriage.data.store.ledger import Ledger


def test_a_first_version_ledger_keeps_its_labels_and_gains_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    first = (files("ragtriage.data") / "sql" / "ledger_001.sql").read_text("utf-8")
    with sqlite3.connect(path) as connection:
        connection.executescript(first)
        connection.execute(
            "INSERT INTO labels (run_id, question_id, repeat, annotator, verdict, at)"
            " VALUES ('r', 'q', 0, 'Ada', 'fail', '2026-01-01')"
        )
    ledger = Ledger(path)
    assert [(label.annotator, label.verdict) for label in ledger.labels("r")] == [("Ada", "fail")]
    with ledger.open() as connection:
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert {"calls", "jobs", "batches", "judgements", "queues", "ratings"} <= tables
    assert version >= 2


def test_a_new_ledger_has_every_table(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.add_label(("r", "q", 0), "Ada", "pass")
    with ledger.open() as connection:
        assert connection.execute("SELECT count(*) FROM calls").fetchone() == (0,)


def test_a_job_of_an_earlier_version_is_read_and_one_of_this_version_has_its_project(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with sqlite3.connect(path) as connection:
        for number in (1, 2, 3):
            connection.executescript(
                (files("ragtriage.data") / "sql" / f"ledger_00{number}.sql").read_text("utf-8")
            )
        connection.execute(
            "INSERT INTO jobs (kind, run_id, spec, state, started_at, heartbeat)"
            " VALUES ('reading', 'r', '{}', 'done', '2026-01-01', 0)"
        )
    ledger = Ledger(path)
    new = begin_job(ledger, "grid:a", "", {}, "p")
    assert [(job.job_id, job.kind, job.run_id, job.project) for job in jobs_of(ledger)] == [
        (new, "grid:a", "", "p"),
        (1, "reading", "r", ""),
    ]
    assert [job.job_id for job in jobs_of(ledger, "r")] == [1]
    assert [job.job_id for job in jobs_of(ledger, kind="grid:")] == [new]
