"""Judging through message batches: half the price, results in any order, nothing paid twice after a crash."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from judge_server import JudgeServer, Script
from judged_runs import LASTING, judged, made

from ragtriage.data.jobs import jobs_of


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragtriage.data.judge.batches.FIRST_POLL_SECONDS", 0.05)
    monkeypatch.setattr("ragtriage.data.judge.job_spec.BACKOFF_SECONDS", 0.01)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")


def test_a_batch_gives_the_same_verdicts_at_half_the_price(tmp_path: Path) -> None:
    single, run = made(tmp_path / "single", 20)
    batched, same = made(tmp_path / "batched", 20)
    with JudgeServer(Script(batch_seconds=0.2)) as server:
        alone = judged(single, run, server)
        together = judged(batched, same, server, batch=True)
        made_batches = [one for one in server.asked if one.path == "/v1/messages/batches"]
    assert together.state == "done"
    assert together.results == alone.results
    assert len(made_batches) == 1
    assert together.progress.cost_usd == pytest.approx((alone.progress.cost_usd or 0) / 2)
    with batched.ledger.open() as connection:
        assert connection.execute("SELECT DISTINCT batch FROM calls").fetchall() == [("msgbatch_0000",)]
        assert connection.execute("SELECT count(*) FROM batches WHERE collected_at IS NULL").fetchone() == (
            0,
        )


def test_failures_in_a_batch_have_their_reasons_and_a_bad_form_is_mended_in_a_second_batch(
    tmp_path: Path,
) -> None:
    store, run = made(tmp_path, 40)
    kinds = [*LASTING, "cut", "500", "", ""]

    def fault(key: str, times: int) -> str:
        kind = kinds[int(key, 16) % len(kinds)]
        return "" if kind == "cut" and times else kind

    with JudgeServer(Script(fault=fault)) as server:
        result = judged(store, run, server, batch=True)
        sent = [one for one in server.asked if one.path == "/v1/messages/batches"]
        mended = sum(one.outcome == "cut" for one in server.asked)
    assert len(sent) == 2
    assert mended > 0
    assert set(result.progress.failed) == {*LASTING.values(), "error"}
    assert result.progress.scored + sum(result.progress.failed.values()) == 40
    reasons = {one.reason for one in result.results.values() if one.status == "error"}
    assert reasons == {"the service failed on it in a batch (internal)"}


def test_a_stopped_job_collects_its_batch_later_and_pays_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run = made(tmp_path, 10)
    monkeypatch.setattr("ragtriage.data.jobs.pulse", lambda *_: True)  # asked to stop at once
    with JudgeServer(Script(batch_seconds=1.0)) as server:
        first = judged(store, run, server, batch=True)
        assert (first.state, first.results) == ("stopped", {})
        assert "collects it" in jobs_of(store.ledger)[0].message
        monkeypatch.undo()
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
        time.sleep(1.0)
        second = judged(store, run, server, batch=True)
        sent = [one for one in server.asked if one.path == "/v1/messages/batches"]
    assert second.progress.scored == 10
    assert len(sent) == 1


def test_a_batch_whose_sending_was_interrupted_is_found_at_the_service(tmp_path: Path) -> None:
    store, run = made(tmp_path, 6)
    with JudgeServer() as server:
        judged(store, run, server, batch=True)
        with store.ledger.open() as connection:  # as if the process had died before it heard of the batch
            (keys,) = connection.execute("SELECT keys FROM batches").fetchone()
            connection.execute("UPDATE batches SET batch_id = NULL, collected_at = NULL")
            connection.execute("DELETE FROM calls")
        again = judged(store, run, server, batch=True)
        sent = [one for one in server.asked if one.path == "/v1/messages/batches"]
    assert len(json.loads(keys)) == 6
    assert again.progress.scored == 6
    assert len(sent) == 1


def test_a_batch_stays_within_the_budget(tmp_path: Path) -> None:
    store, run = made(tmp_path, 50)
    with JudgeServer() as server:
        result = judged(store, run, server, batch=True, budget_usd=0.02)
    assert result.state == "stopped"
    assert 0 < result.progress.scored < 50
    assert (result.progress.cost_usd or 1) <= 0.02


def test_a_batch_that_the_service_has_no_more_is_sent_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run = made(tmp_path, 4)
    with JudgeServer() as server:
        judged(store, run, server, batch=True)
    with store.ledger.open() as connection:  # as if it had been sent and never collected
        connection.execute("UPDATE batches SET collected_at = NULL, batch_id = 'msgbatch_gone'")
        connection.execute("DELETE FROM calls")
        (host,) = connection.execute("SELECT host FROM batches").fetchone()
    with JudgeServer() as server:
        with store.ledger.open() as connection:
            connection.execute("UPDATE batches SET host = ?", (server.url.removeprefix("http://"),))
        result = judged(store, run, server, batch=True)
    assert host.startswith("127.0.0.1")
    assert (result.state, result.progress.scored) == ("done", 4)


def test_a_missing_result_and_a_too_long_sample_have_their_reasons(tmp_path: Path) -> None:
    store, run = made(tmp_path, 6)
    kinds = ["", "", "lost", "long"]
    with JudgeServer(Script(fault=lambda key, _: kinds[int(key, 16) % 4])) as server:
        result = judged(store, run, server, batch=True)
    failed = result.progress.failed
    assert result.progress.scored + sum(failed.values()) == 6
    reasons = {one.status: one.reason for one in result.results.values() if one.status != "scored"}
    assert set(reasons) <= {"error", "context_exceeded"}
    if "error" in reasons:
        assert reasons["error"] == "the service gave no result for it in a batch"
