"""A run is scored while it is read: in worker processes, with the scores of one that is read first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import REPOSITORY

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring import batch_scores, score_run
from ragtriage.data.scoring.batch_scores import ScoreOptions
from ragtriage.data.scoring.batches import gathered, worker
from ragtriage.data.scoring.batches.gathered import EarlyScores
from ragtriage.data.scoring.batches.worker import Worker, start_worker
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.score_run import ensure_scored
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_schema import SCHEMA
from ragtriage.data.store.workspace import Workspace

N = 700


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_scores, "BATCH_ROWS", 256)
    monkeypatch.setattr(gathered, "MANY_SAMPLES", 300)
    monkeypatch.setattr(gathered, "workers_for", lambda n: 2)


def _records(n: int = N, first_gold: int = 0, cited_from: int = 0) -> Iterator[Record]:
    """Draw samples that a run of several batches is made of; the last batches have another metric."""
    for at in range(n):
        record: dict[str, Any] = {
            "question_id": f"q{at}",
            "question": f"What is {at}?",
            "answer": f"It is the number {at}{' [1]' * (at >= cited_from)}." if at % 5 else "I cannot.",
            "retrieved": [{"id": "a", "text": f"The number {at}."}, {"id": "b", "text": "Something else."}],
            "relevant": [("a" if at % 3 else "z") if at >= first_gold else "missing"],
            "scores": {"faithfulness": at / N} | ({"late": 0.5} if at > 600 else {}),
        }
        yield at + 1, record


def _imported(store: RunStore, records: Iterator[Record]) -> str:
    parsed = ParsedRun("many", records, "f", "native")
    (entry,) = import_parsed_runs(store, [parsed], "p", ValidationErrors("f"))
    return entry.run.run_id


def _scores(folder: Path) -> dict[str, str]:
    tables = {path.name: pq.read_table(path).to_pydict() for path in folder.glob("*.parquet")}
    return {name: repr(table) for name, table in tables.items()}  # nan equals nan as text


def _assert_as_stored(store: RunStore, run_id: str, tmp_path: Path) -> None:
    """Compare the scores with those that the stored run is given when they are deleted."""
    run = store.workspace.read_run(run_id)
    folder = ensure_scored(store.workspace, run)
    found, summary = _scores(folder), (folder / "summary.json").read_text()
    folder.rename(tmp_path / "set aside")
    again = ensure_scored(store.workspace, run)
    assert found == _scores(again)
    assert summary.partition('"files"')[0] == (again / "summary.json").read_text().partition('"files"')[0]


def _refuse(*_: object) -> None:
    raise AssertionError("the stored run was scored again")


@pytest.mark.parametrize("n", [0, 1, 200, 260, 512, N])
def test_scores_made_while_reading_are_those_of_the_stored_run(
    workspace: RunStore, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(score_run, "scored_batches", _refuse)
        if n == 0:
            with pytest.raises(InputError, match="no sample"):
                _imported(workspace, _records(n))
            return
        run_id = _imported(workspace, _records(n))
    _assert_as_stored(workspace, run_id, tmp_path)
    assert {path.name for path in workspace.workspace.runs_folder.iterdir()} == {run_id}


@pytest.mark.parametrize(
    "records",
    [
        pytest.param({"first_gold": 650}, id="gold ids that match only at the end"),
        pytest.param({"cited_from": 600}, id="answers that cite only at the end"),
    ],
)
def test_what_later_samples_tell_of_the_run_holds_for_all(
    workspace: RunStore, records: dict[str, int], tmp_path: Path
) -> None:
    _assert_as_stored(workspace, _imported(workspace, _records(**records)), tmp_path)


def test_workers_score_while_samples_are_read(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first batch is done before the last sample is asked for; this process scores none."""
    collected: list[int] = []
    collect = EarlyScores._collect

    def counted(self: EarlyScores) -> None:
        collect(self)
        collected.append(self._scores.rows)

    def told() -> Iterator[Record]:
        for record in _records(1800):
            if record[0] == 1800:
                read_to_the_end.append(len(collected))
            yield record

    read_to_the_end: list[int] = []
    monkeypatch.setattr(EarlyScores, "_collect", counted)
    monkeypatch.setattr(gathered, "scored", _refuse)
    monkeypatch.setattr(gathered, "score_table", _refuse)
    _imported(workspace, told())
    assert read_to_the_end == [3], "seven batches were sent, of which four may be on their way"
    assert collected == [256, 512, 768, 1024, 1280, 1536, 1792, 1800]


def test_a_small_run_starts_no_process(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered, "ScoringPool", _refuse)
    assert workspace.find(_imported(workspace, _records(299))).n == 299


def test_a_killed_worker_leaves_its_batches_to_the_import(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers: list[Worker] = []

    def start() -> Worker | None:
        worker = start_worker()
        if worker is not None:
            workers.append(worker)
        return worker

    def killing() -> Iterator[Record]:
        for record in _records():
            if record[0] == 600:
                for worker in workers:
                    worker.kill()
            yield record

    monkeypatch.setattr(worker, "start_worker", start)
    run_id = _imported(workspace, killing())
    assert len(workers) == 2
    _assert_as_stored(workspace, run_id, tmp_path)


def test_a_fault_at_the_end_leaves_nothing_and_ends_the_workers(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers: list[Worker] = []

    def start() -> Worker | None:
        worker = start_worker()
        if worker is not None:
            workers.append(worker)
        return worker

    def faulty() -> Iterator[Record]:
        yield from _records()
        yield N + 1, {"question": 7}

    monkeypatch.setattr(worker, "start_worker", start)
    with pytest.raises(InputError, match="question"):
        _imported(workspace, faulty())
    assert list(workspace.workspace.runs_folder.iterdir()) == []
    assert list(workspace.workspace.scores_folder.iterdir()) == []
    assert [worker.poll() is None for worker in workers] == [False, False]


INTERRUPTED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring import batch_scores
from ragtriage.data.scoring.batches import gathered, worker
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.workspace import Workspace

batch_scores.BATCH_ROWS, gathered.MANY_SAMPLES, gathered.workers_for = 256, 300, lambda n: 2
pids = []
start = worker.start_worker
def started():
    worker = start()
    pids.append(worker.pid)
    return worker
worker.start_worker = started

def slow():
    for at in range(600):
        yield at + 1, {"question": f"{at}?", "answer": "a"}
    print(*pids, flush=True)
    time.sleep(60)

run = ParsedRun("one", slow(), "f", "native")
import_parsed_runs(RunStore(Workspace(sys.argv[1]).create()), [run], "p", ValidationErrors("f"))
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes where Linux lists them")
def test_an_interrupted_import_leaves_nothing_and_no_process(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    other = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    workers = [int(pid) for pid in other.stdout.readline().split()]
    assert len(workers) == 2
    other.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in other.communicate(timeout=60)[1]
    for pid in workers:
        for _ in range(100):
            if not Path(f"/proc/{pid}").exists():
                break
            time.sleep(0.1)
        assert not Path(f"/proc/{pid}").exists()
    assert [path.name for path in Workspace(tmp_path).runs_folder.iterdir()] == []


def test_options_that_differ_are_scored_from_the_stored_run(tmp_path: Path) -> None:
    with EarlyScores(tmp_path / "early", ScoreOptions()) as scores:
        assert scores.gathered(0, ScoreOptions(match="doc_id"), None) is None
        assert scores.gathered(5, ScoreOptions(), None) is None, "fewer samples were seen than stored"


@pytest.mark.parametrize(("size", "started"), [(10**9, True), (10_000, False), (0, False)])
def test_workers_start_sooner_where_the_file_has_many_more_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, started: bool
) -> None:
    monkeypatch.setattr(gathered, "MANY_SAMPLES", 5_000)
    samples = [
        {"question": "Who?", "answer": "Ann.", "retrieved": [{"id": "a"}], "row": at} for at in range(600)
    ]
    with EarlyScores(tmp_path / "early", ScoreOptions(), size) as scores:
        scores.add(pa.RecordBatch.from_pylist(samples, schema=SCHEMA))
        assert (scores._pool is not None) == started
