"""A run stored anew without some of its samples: what people and judges said of the others goes with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.store.judge_results import (
    JudgeResult,
    judge_result_path,
    judge_results_of,
    publish,
    read_task_results,
)
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.data.store.write_run import stored_anew

OF_CASES = ("labels", "ratings", "reads")  # tables of the ledger with a row for a case
OF_RUNS = (
    *OF_CASES,
    "display_names",
    "run_tags",
    "baselines",
    "releases",
    "jobs",
    "queues",
    "expected_gains",
)


def rewrite_run(
    workspace: Workspace, ledger: Ledger, run: Run, rows: Collection[int], config: Mapping[str, Any]
) -> Run | None:
    """Store a run without some of its samples, move what is said of the others to it, and delete the old one.

    It may be ended at any point and called again.

    Args:
        workspace: the run's workspace.
        ledger: its annotations database.
        run: the run as it is.
        rows: numbers of the samples that go.
        config: pipeline configuration of the new run.

    Returns:
        The new run; None where no sample is left, and all that was said of the run went with it.
    """
    gone = frozenset(rows)
    samples = StoredSamples(workspace.samples_path(run.run_id))
    cases = [
        (sample["question_id"], sample["repeat"])
        for sample in samples.read(sorted(gone), ["question_id", "repeat"])
    ]
    left = [row for row in range(run.n) if row not in gone]
    new = None
    if left:
        kept = (sample for sample in samples.each() if sample["row"] not in gone)
        new = stored_anew(workspace, replace(run, config=dict(config)), kept, ValidationErrors(run.name))
        _move_judge_results(
            workspace, ledger, (run.run_id, new.run_id), {row: at for at, row in enumerate(left)}
        )
    with ledger.open() as connection:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        _move_rows(connection, run.run_id, None if new is None else new.run_id, cases)
        connection.execute("COMMIT")
    for derived in (workspace.scores_folder, workspace.root / "judgements"):
        workspace.discard(derived / run.run_id)  # before the run: nobody would look for them after it
    workspace.delete_run(run.run_id)
    return new


def _move_judge_results(
    workspace: Workspace, ledger: Ledger, runs: tuple[str, str], rows: Mapping[int, int]
) -> None:
    """Publish the judge results of a run for another, whose rows have other numbers, in their order."""
    old, new = runs
    known = {result.digest for result in judge_results_of(ledger, new)}
    for result in reversed(judge_results_of(ledger, old)):
        outcomes = read_task_results(judge_result_path(workspace, old, result.digest))
        kept = {(rows[row], attempt): outcome for (row, attempt), outcome in outcomes.items() if row in rows}
        if not kept:
            continue
        moved = publish(workspace, ledger, _of_run(result, new), kept)
        if moved.digest not in known:
            known.add(moved.digest)
            with ledger.open() as connection:
                connection.execute(
                    "UPDATE judgements SET at = ? WHERE run_id = ? AND digest = ?",
                    (result.at, new, moved.digest),
                )


def _of_run(result: JudgeResult, run_id: str) -> JudgeResult:
    return JudgeResult(run_id, result.kind, result.model, result.prompt, result.sdk)


def _move_rows(
    connection: sqlite3.Connection, old: str, new: str | None, cases: Sequence[tuple[str, int]]
) -> None:
    """Move what the ledger has of a run to another, but for some cases; delete it where there is no other."""
    for table in OF_CASES:
        connection.executemany(
            f"DELETE FROM {table} WHERE run_id = ? AND question_id = ? AND repeat = ?",  # noqa: S608 -- constant
            [(old, question_id, repeat) for question_id, repeat in cases],
        )
    for table in OF_RUNS:
        if new is not None:  # what a call before this one has moved already stays
            connection.execute(f"UPDATE OR IGNORE {table} SET run_id = ? WHERE run_id = ?", (new, old))  # noqa: S608
        connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (old,))  # noqa: S608 -- constant text
    connection.execute("DELETE FROM judgements WHERE run_id = ?", (old,))
    if new is not None:
        connection.execute("UPDATE stories SET body = replace(body, ?, ?)", (old, new))
