"""A judging job against a service that fails in every way: nothing is lost, left out, or judged twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from command_line import run as command
from judge_server import JudgeServer, Script, plain_reply
from judged_runs import ALONG, LASTING, judged, made, records
from places import REPOSITORY

from ragtriage.data.api import add_run
from ragtriage.data.jobs import ask_to_stop, begin_job, end_job, jobs_of
from ragtriage.data.judge.evaluation import EvaluationTask
from ragtriage.data.judge.job_spec import ConcurrencyLimiter, JobSpec
from ragtriage.data.judge.requests import ClientSettings, read_prices
from ragtriage.data.judge.run_job import run_task
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.judge_results import judge_result_path, judge_results_of, read_task_results
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.schema.scores import Source, Status

EXAMPLE = REPOSITORY / "data" / "bundled" / "ragchecker" / "checking_outputs.json"
PASSING = ("429", "529", "500", "drop", "slow", "cut")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragtriage.data.judge.job_spec.BACKOFF_SECONDS", 0.01)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")


def trouble(key: str, times: int) -> str:
    """Thirty of a hundred things asked meet a fault: half of them in passing, half for good."""
    number = int(key, 16)
    if number % 100 >= 30:
        return ""
    if number % 2:
        return PASSING[number // 100 % len(PASSING)] if times == 0 else ""
    lasting = [*LASTING, "500"]
    return lasting[number // 100 % len(lasting)]


def test_every_sample_ends_scored_or_with_a_reason_and_none_is_judged_twice(tmp_path: Path) -> None:
    store, run = made(tmp_path, 500)
    with JudgeServer(Script(fault=trouble, slow=2.0, retry_after=0.01)) as server:
        result = judged(store, run, server, concurrency=32, timeout=1.0)
        again = judged(store, run, server, concurrency=32, timeout=1.0)
        served, faults = server.served(), Counter(one.outcome for one in server.asked)
    assert set(faults) >= {
        "ok",
        "429",
        "529",
        "500",
        "drop",
        "cut",
        "truncated",
        "refusal",
        "window",
        "schema",
    }
    assert result.state == "done"
    assert len(result.results) == 500
    assert result.progress.scored + sum(result.progress.failed.values()) == 500
    assert set(result.progress.failed) == {*LASTING.values(), "error"}
    assert all(one.reason for one in result.results.values() if one.status != "scored")
    assert served
    assert set(served.values()) == {1}
    assert again.progress.scored == result.progress.scored
    assert (
        again.progress.calls == result.progress.failed["error"]
    )  # only what failed in passing is asked again


def test_failures_are_counted_and_bounded_and_never_a_zero(tmp_path: Path) -> None:
    store, run = made(tmp_path, 40)
    script = Script(fault=lambda key, _: "refusal" if int(key, 16) % 4 == 0 else "")
    with JudgeServer(script) as server:
        result = judged(store, run, server)
    refused = result.progress.failed["refused"]
    assert 0 < refused < 40
    one = store.summary(run)["faithfulness"]
    assert (one.mean, one.n_scored, one.n_applicable, one.n_failed) == (0.5, 40 - refused, 40, refused)
    assert one.worst is not None
    assert one.best is not None
    assert one.worst == pytest.approx(0.5 * (40 - refused) / 40)
    assert one.best == pytest.approx((0.5 * (40 - refused) + refused) / 40)
    column = store.scored(run).column("faithfulness", Source.JUDGED)
    assert column is not None
    assert int((column.status == Status.FAILED).sum()) == refused


def test_a_killed_job_resumed_three_times_equals_one_that_was_left_alone(tmp_path: Path) -> None:
    quiet, run = made(tmp_path / "quiet", 120)
    shaken, same = made(tmp_path / "shaken", 120)
    with JudgeServer(Script(fault=trouble, latency=0.02, slow=3.0, retry_after=0.01)) as server:
        alone = judged(quiet, run, server, timeout=1.0)
    with JudgeServer(Script(fault=trouble, latency=0.1, slow=3.0, retry_after=0.01)) as server:
        for _ in range(3):
            before = len(server.served())
            job = _command(tmp_path / "shaken", same.run_id, server.url)
            _until(lambda seen=before: len(server.served()) >= seen + 8)
            job.kill()
            job.wait()
            assert jobs_of(shaken.ledger)[0].state == "died"
        last = judged(shaken, same, server, timeout=1.0)
        served = server.served()
    assert (last.state, alone.state) == ("done", "done")
    assert last.results == alone.results
    assert last.judge_result is not None
    assert alone.judge_result is not None
    assert last.judge_result.digest == alone.judge_result.digest
    assert sum(served.values()) - len(served) <= 3 * 8  # at most what was in flight at each kill
    assert last.progress.cached >= 3 * 8 - 8


def _command(folder: Path, run_id: str, url: str) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "ragtriage.dashboard.cli", "--workspace", str(folder), "judge", run_id]
    options = ["--base-url", url, "--concurrency", "8", "--timeout", "1", "--yes", *ALONG]
    return subprocess.Popen(
        [*line, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # a background job of a shell ignores SIGINT, and so would what these tests start
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def _until(met: Any, seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_a_job_that_is_asked_to_stop_keeps_what_it_has(tmp_path: Path) -> None:
    store, run = made(tmp_path, 200)
    with JudgeServer(Script(latency=0.1)) as server:
        job = _command(tmp_path, run.run_id, server.url)
        _until(lambda: len(server.served()) >= 8)
        ask_to_stop(store.ledger, jobs_of(store.ledger)[0].job_id)
        assert job.wait(timeout=30) == 0
    ended = jobs_of(store.ledger)[0]
    assert (ended.state, ended.message) == ("stopped", "stopped on request")
    assert 8 <= ended.progress["scored"] < 200
    assert store.summary(run)["faithfulness"].n_scored == ended.progress["scored"]


def test_an_interrupted_command_ends_in_order(tmp_path: Path) -> None:
    store, run = made(tmp_path, 200)
    with JudgeServer(Script(latency=0.1)) as server:
        job = _command(tmp_path, run.run_id, server.url)
        _until(lambda: len(server.served()) >= 8)
        job.send_signal(signal.SIGINT)
        assert job.wait(timeout=30) == 0
    assert jobs_of(store.ledger)[0].state == "stopped"


def test_two_jobs_of_a_kind_do_not_run_on_one_run(tmp_path: Path) -> None:
    store, run = made(tmp_path, 3)
    living = begin_job(store.ledger, "reading", run.run_id, {})
    with JudgeServer() as server:
        with pytest.raises(Exception, match=f"job {living} is doing this already"):
            judged(store, run, server)
        end_job(store.ledger, living, "done", "", {})
        assert judged(store, run, server).state == "done"


def test_a_budget_is_not_passed(tmp_path: Path) -> None:
    store, run = made(tmp_path, 100)
    with JudgeServer() as server:
        result = judged(store, run, server, budget_usd=0.012)
        assert result.state == "stopped"
        assert "budget" in result.message
        assert 0 < result.progress.scored < 100
        spent = result.progress.cost_usd
        assert spent is not None
        assert 0.004 < spent <= 0.012
        assert judged(store, run, server).progress.scored == 100


def test_the_same_answer_and_context_in_another_version_costs_nothing(tmp_path: Path) -> None:
    store, run = made(tmp_path, 10)
    changed = records(10)
    changed[3]["answer"] = "I don't know."
    other = add_run(changed, "turtles 2", "zoo", str(tmp_path))
    with JudgeServer() as server:
        judged(store, run, server)
        result = judged(store, other, server)
    assert (result.progress.cached, result.progress.calls, result.progress.scored) == (9, 1, 10)


def test_repeats_are_asked_apart_and_show_the_judges_own_variance(tmp_path: Path) -> None:
    store, run = made(tmp_path, 5)
    with JudgeServer() as server:
        result = judged(store, run, server, repeats=3)
    assert len(server.asked) == 15
    assert {place[1] for place in result.results} == {0, 1, 2}
    assert store.summary(run)["faithfulness"].n_scored == 5


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (Script(api_key="another"), "does not accept the API key"),
        (Script(fault=lambda *_: "404"), "does not know the model"),
        (Script(fault=lambda *_: "billing"), "credit balance is too low"),
    ],
)
def test_what_no_request_can_pass_ends_the_job_in_one_sentence(
    script: Script, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, run = made(tmp_path, 20)
    with JudgeServer(script) as server:
        result = judged(store, run, server)
    assert result.state == "failed"
    assert said in result.message
    assert "\n" not in result.message
    assert "sk-test-secret" not in result.message
    assert len(server.asked) <= 16
    assert jobs_of(store.ledger)[0].state == "failed"
    assert "faithfulness" not in store.summary(run)


def test_a_missing_key_is_said_once_and_everything_else_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = made(tmp_path, 3)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    said = command(capsys, tmp_path, "judge", run.run_id, "--yes")
    assert said.code == 2
    assert "set ANTHROPIC_API_KEY" in said.out
    assert command(capsys, tmp_path, "metrics", run.run_id, "--json").json["n"] == 3


def test_the_key_is_nowhere_in_the_workspace(tmp_path: Path) -> None:
    store, run = made(tmp_path, 6)
    with JudgeServer(Script(fault=trouble)) as server:
        judged(store, run, server)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"sk-test-secret" not in path.read_bytes(), path


def test_a_dry_run_asks_nobody_and_knows_what_is_cached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run = made(tmp_path, 30)
    with JudgeServer() as server:
        judged(store, run, server, rows=range(12))
        before = len(server.asked)
        plan = command(
            capsys, tmp_path, "judge", run.run_id, "--dry-run", "--json", *ALONG, "--base-url", server.url
        ).json
        assert len(server.asked) == before
    assert (plan["samples"], plan["cached"], plan["calls"]) == (30, 12, 18)
    assert plan["input_tokens"] > 18 * 500
    assert plan["cost_usd"] == pytest.approx(
        (plan["input_tokens"] * 0.1 + plan["output_tokens"] * 0.5) / 1e6, rel=0.02
    )
    assert plan["price_date"] == "2026-10-14"


@pytest.mark.parametrize("claims", [0, 200])
def test_an_answer_may_have_no_claims_or_two_hundred(claims: int, tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> object:
        made = plain_reply(body)
        assert isinstance(made, dict)
        quote = {"rank": 1, "quote": "lives eighty years at least", "side": "for"}
        one = {"text": "c", "evidence": [quote], "support": "alone", "in_reference": "yes"}
        return {**made, "claims": [one] * claims}

    store, run = made(tmp_path, 2)
    with JudgeServer(Script(reply=reply)) as server:
        assert judged(store, run, server).progress.scored == 2
    faithfulness = store.summary(run)["faithfulness"]
    assert (faithfulness.mean, faithfulness.n_applicable) == ((1.0, 2) if claims else (None, 0))


def _labels_of_ragchecker() -> dict[str, dict[str, Any]]:
    results = json.loads(EXAMPLE.read_text("utf-8"))["results"]
    return {one["query"]: one for one in results}


def _replayed(body: dict[str, Any]) -> object:
    """RAGChecker's own labels as the reply of a judge."""
    content = body["messages"][0]["content"]
    one = next(found for query, found in _labels_of_ragchecker().items() if query in content)
    entailed = "Entailment"

    def support(labels: list[str], **side: str) -> dict[str, Any]:
        ranks = [rank for rank, label in enumerate(labels, 1) if label == entailed]
        texts = [document["text"] for document in one["retrieved_context"]]
        quotes = [{"rank": rank, "quote": " ".join(texts[rank - 1].split()[:8]), **side} for rank in ranks]
        return {"evidence": quotes, "support": "alone" if ranks else "none"}

    claims = [
        {
            "text": str(text),
            **support(one["retrieved2response"][at], side="for"),
            "in_reference": "yes" if one["answer2response"][at] == entailed else "no",
        }
        for at, text in enumerate(one["response_claims"])
    ]
    statements = [
        {
            "text": str(text),
            **support(one["retrieved2answer"][at]),
            "in_answer": "yes" if one["response2answer"][at] == entailed else "no",
        }
        for at, text in enumerate(one["gt_answer_claims"])
    ]
    numbered = [{"n": n, "in_reference": claim.pop("in_reference")} for n, claim in enumerate(claims, 1)]
    made = plain_reply(body)
    assert isinstance(made, dict)
    if "statements" not in made:
        return {**made, "claims": claims}
    return {**made, "claims": numbered, "statements": statements}


def test_ragcheckers_labels_through_a_judge_give_its_published_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = json.loads(EXAMPLE.read_text("utf-8"))["metrics"]
    results = _labels_of_ragchecker().values()
    samples = [
        {
            "question": one["query"],
            "answer": one["response"],
            "reference_answer": one["gt_answer"],
            "retrieved": [{"text": document["text"]} for document in one["retrieved_context"]],
        }
        for one in results
    ]
    run = add_run(samples, "example", "ragchecker", str(tmp_path))
    with JudgeServer(Script(reply=_replayed)) as server:
        said = command(capsys, tmp_path, "judge", run.run_id, "--base-url", server.url, "--yes", "--json")
    assert said.json["progress"]["scored"] == 2
    options = ("--convention", "ragchecker", "--json")
    found = command(capsys, tmp_path, "metrics", run.run_id, *options).json["metrics"]
    names = {
        "precision": "answer_precision",
        "recall": "answer_recall",
        "f1": "answer_f1",
        "claim_recall": "context_recall",
        "context_precision": "chunk_precision",
        "noise_sensitivity_in_relevant": "noise_sensitivity_relevant",
        "noise_sensitivity_in_irrelevant": "noise_sensitivity_irrelevant",
    }
    compared = 0
    for family in published.values():
        for name, value in family.items():
            one = found[names.get(name, name)]
            assert round(100 * one["mean"], 1) == value, name
            assert one["source"] == "judged"
            compared += 1
    assert compared == 11


def test_a_slow_down_is_shared_and_passes() -> None:
    async def watch() -> tuple[float, float, float]:
        pace = ConcurrencyLimiter(8)
        async with pace:
            pass
        loop = asyncio.get_running_loop()
        pace.slow_down(0.2)
        pace.slow_down(0.1)  # of the same burst: no further halving, no shorter pause
        began = loop.time()
        async with pace:
            waited = loop.time() - began
        slowed = pace.allowed
        for _ in range(200):
            pace.answered()
        return waited, slowed, pace.allowed

    with ThreadPoolExecutor(1) as apart:  # a browser test may have left a loop in this thread
        waited, slowed, eased = apart.submit(asyncio.run, watch()).result()
    assert 0.15 <= waited < 1.0
    assert (slowed, eased) == (4.0, 8.0)


def test_a_judgement_that_stands_is_the_newest_and_older_ones_stay(tmp_path: Path) -> None:
    store, run = made(tmp_path, 4)
    with JudgeServer() as server:
        first = judged(store, run, server, rows=range(2)).judge_result
        second = judged(store, run, server, rows=range(2, 4)).judge_result
    assert first is not None
    assert second is not None
    listed = judge_results_of(store.ledger, run.run_id)
    assert [one.digest for one in listed] == [second.digest, first.digest]
    stored = read_task_results(judge_result_path(store.workspace, run.run_id, second.digest))
    assert sorted(stored) == [(0, 0), (1, 0), (2, 0), (3, 0)]


@pytest.fixture(scope="module", autouse=True)
def no_service_from_outside() -> Iterator[None]:
    kept = os.environ.pop("ANTHROPIC_BASE_URL", None)
    yield
    if kept is not None:
        os.environ["ANTHROPIC_BASE_URL"] = kept


def test_samples_that_are_alike_are_asked_once_within_a_tight_budget(tmp_path: Path) -> None:
    alike = [{**records(1)[0], "question_id": f"same{at}"} for at in range(5)]
    run = add_run([*records(2), *alike], "alike", "zoo", str(tmp_path))
    store = RunStore(Workspace(tmp_path))
    with JudgeServer(Script(latency=0.05)) as server:
        for budget in (0.0105, 0.012, 0.02, None):
            result = judged(store, run, server, budget_usd=budget)
            assert result.state in ("stopped", "done"), result.message
            assert set(server.served().values()) <= {1}
    assert result.progress.scored == 7
    assert len(server.served()) == 2


def test_half_an_emoji_in_a_reply_is_no_loss(tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> object:
        made_up = plain_reply(body)
        assert isinstance(made_up, dict)
        return json.dumps({**made_up, "instructions": [{"where": "answer", "quote": "half \ud83d"}]})

    store, run = made(tmp_path, 3)
    with JudgeServer(Script(reply=reply)) as server:
        result = judged(store, run, server)
    assert (result.state, result.progress.scored) == ("done", 3)
    quotes = {one.payload["injections"][0]["quote"] for one in result.results.values()}
    assert quotes == {"half ?"}


@pytest.mark.parametrize("reply", ["<html>busy</html>", "[[" * 20_000, '{"a": NaN}', '"text"', ""])
def test_a_hostile_reply_is_a_reason_and_not_a_crash(reply: str, tmp_path: Path) -> None:
    store, run = made(tmp_path, 2)
    with JudgeServer(Script(reply=lambda _: reply)) as server:
        result = judged(store, run, server)
    assert result.state == "failed"
    assert "no sample has a result: 2 invalid (no valid reply" in result.message
    assert result.progress.failed == {"invalid": 2}
    assert all("no valid reply after a second attempt" in one.reason for one in result.results.values())


def test_a_watcher_that_goes_does_not_end_the_heartbeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats: list[int] = []

    def watch(_progress: object) -> None:
        beats.append(1)
        raise BrokenPipeError

    monkeypatch.setattr("ragtriage.data.jobs.BEAT_SECONDS", 0.05)
    store, run = made(tmp_path, 16)
    model = read_prices().model()
    with JudgeServer(Script(latency=0.2)) as server:
        settings = ClientSettings(model, server.url, 4)
        result = run_task(
            store.workspace,
            run,
            EvaluationTask.of(model.window, reference="along"),
            settings,
            JobSpec(range(16)),
            watch,
        )
    assert result.state == "done"
    assert len(beats) > 3


def test_another_effort_is_another_judge(tmp_path: Path) -> None:
    store, run = made(tmp_path, 2)
    model = read_prices().model()
    with JudgeServer() as server:
        for effort in ("low", "high"):
            settings = ClientSettings(model, server.url, effort=effort)
            run_task(
                store.workspace,
                run,
                EvaluationTask.of(model.window, reference="along"),
                settings,
                JobSpec(range(2)),
            )
    assert len(server.asked) == 4
    names = [one.model for one in judge_results_of(store.ledger, run.run_id)]
    assert names == ["claude-haiku-5-5/high", "claude-haiku-5-5"]


@pytest.mark.parametrize("body", ["null", "[]", "3", '{"a":' * 50_000])
def test_a_body_that_is_no_message_is_an_error_that_passes(body: str, tmp_path: Path) -> None:
    from starlette.responses import Response

    class Odd(JudgeServer):
        broken = True

        async def _answer(self, request: Any, given: Any, since: float) -> Any:
            if self.broken:
                return Response(body, media_type="application/json")
            return await super()._answer(request, given, since)

    store, run = made(tmp_path, 2)
    with Odd() as server:
        first = judged(store, run, server)
        assert first.progress.failed == {"error": 2}
        assert "faithfulness" in store.summary(run)
        server.broken = False
        assert judged(store, run, server).progress.scored == 2


def test_a_service_that_sends_the_key_back_does_not_put_it_on_disk(tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> object:
        made_up = plain_reply(body)
        assert isinstance(made_up, dict)
        return {**made_up, "instructions": [{"where": "answer", "quote": "key sk-test-secret"}]}

    store, run = made(tmp_path, 2)
    with JudgeServer(Script(reply=reply)) as server:
        result = judged(store, run, server)
    store.summary(run)
    assert {one.payload["injections"][0]["quote"] for one in result.results.values()} == {"key [API key]"}
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"sk-test-secret" not in path.read_bytes(), path


@pytest.mark.parametrize("url", ["ftp://h", "notaurl", "http://", "http://[::1", "http://h:99999"])
def test_an_address_that_cannot_be_is_refused_at_once(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = made(tmp_path, 2)
    said = command(capsys, tmp_path, "judge", run.run_id, "--yes", "--base-url", url)
    assert said.code == 2
    assert "accepted: http:// or https:// with a host" in said.out + said.err


@pytest.mark.parametrize("key", ["sk-x\n", " ", "sk\x7f", "sk-é"])
def test_a_key_with_blanks_in_it_is_refused_at_once(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run = made(tmp_path, 2)
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    with JudgeServer() as server:
        result = judged(store, run, server)
        assert server.asked == []
    assert (result.state, "blanks or line breaks" in result.message) == ("failed", True)


def test_nobody_at_the_address_ends_the_job_soon(tmp_path: Path) -> None:
    store, run = made(tmp_path, 40)
    with JudgeServer() as server:
        url = server.url
    settings = ClientSettings(read_prices().model(), url)
    result = run_task(
        store.workspace, run, EvaluationTask.of(100_000, reference="along"), settings, JobSpec(range(40))
    )
    assert result.state == "failed"
    assert "cannot be reached" in result.message


def test_a_stop_is_heard_in_a_long_pause(tmp_path: Path) -> None:
    store, run = made(tmp_path, 20)
    with JudgeServer(Script(fault=lambda *_: "429", retry_after=600)) as server:
        job = _command(tmp_path, run.run_id, server.url)
        _until(lambda: len(server.asked) >= 1)
        time.sleep(1.0)
        job.send_signal(signal.SIGTERM)
        assert job.wait(timeout=20) == 0
    assert jobs_of(store.ledger)[0].message == "stopped on request"


@pytest.mark.parametrize("row", ["[]", "null", "{", '"x"'])
def test_a_job_row_from_elsewhere_breaks_nothing(row: str, tmp_path: Path) -> None:
    store, run = made(tmp_path, 2)
    begin_job(store.ledger, "reading", run.run_id, {})
    with store.ledger.open() as connection:
        connection.execute("UPDATE jobs SET progress = ?, spec = ?, state = 'paused'", (row, row))
    assert [(job.state, job.progress, job.spec) for job in jobs_of(store.ledger)] == [("died", {}, {})]


@pytest.mark.parametrize("option", ["--budget", "--timeout"])
def test_a_number_that_is_none_is_refused(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = made(tmp_path, 2)
    said = command(capsys, tmp_path, "judge", run.run_id, "--yes", option, "nan")
    assert said.code == 2
