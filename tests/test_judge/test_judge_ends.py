"""How a judge job ends that cannot succeed, what it asks anew, and what its plan says before."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from command_line import run as command
from judge_server import JudgeServer, Script, plain_reply
from judged_runs import ALONG, judged, made

from ragtriage.data.api import add_run
from ragtriage.data.jobs import jobs_of
from ragtriage.data.judge.client import MOST_PAUSES
from ragtriage.data.judge.evaluation import EvaluationTask, ReferenceWay
from ragtriage.data.judge.job_spec import JobSpec
from ragtriage.data.judge.plan import JudgePlan, plan_task
from ragtriage.data.judge.requests import ClientSettings, read_prices
from ragtriage.data.judge.run_job import run_task
from ragtriage.data.store.workspace import Run, Workspace


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragtriage.data.judge.job_spec.BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(
        "ragtriage.data.judge.job_spec.LONGEST_SECONDS", 0.05
    )  # 16 pauses that double are 2 minutes
    monkeypatch.setattr("ragtriage.data.judge.batches.FIRST_POLL_SECONDS", 0.05)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
    monkeypatch.delenv("RAGTRIAGE_JUDGE_MODEL", raising=False)


def always(fault: str) -> Script:
    return Script(fault=lambda *_: fault)


@pytest.mark.parametrize("batch", [False, True])
def test_a_job_without_a_verdict_ends_with_2_and_the_reason(
    batch: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, run = made(tmp_path, 6)
    options = ["--yes", *(["--batch"] if batch else [])]
    with JudgeServer(always("refusal")) as server:
        first = command(capsys, tmp_path, "judge", run.run_id, "--base-url", server.url, *options)
        asked = len(server.asked)
        second = command(capsys, tmp_path, "judge", run.run_id, "--base-url", server.url, *options)
        assert len(server.asked) == asked
    reason = "no sample has a result: 6 refused (the model declined to read this sample)"
    for said in (first, second):
        assert said.code == 2
        assert reason in said.out
    assert [(job.state, job.message) for job in jobs_of(store.ledger)] == [("failed", reason)] * 2


def test_a_run_with_nothing_to_judge_says_so_and_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = add_run([{"question_id": "q", "question": "Why?"}], "r", "p", str(tmp_path))
    with JudgeServer() as server:
        said = command(capsys, tmp_path, "judge", run.run_id, "--yes", "--base-url", server.url)
    assert said.code == 2
    assert "1 not applicable (the sample has no answer and no documents with text)" in said.out


@pytest.mark.parametrize("fault", ["refusal", "schema", "500"])
def test_equal_faults_in_a_row_stop_the_job_with_the_reason(fault: str, tmp_path: Path) -> None:
    store, run = made(tmp_path, 60)
    with JudgeServer(always(fault)) as server:
        result = judged(store, run, server, concurrency=2, stop_after=8)
        keys = {one.key for one in server.asked}
        assert result.state == "failed"
        assert re.match(r"(8|9|1\d) calls in a row ended alike, (refused|invalid|error) \(", result.message)
        assert "--stop-after 0 continues regardless" in result.message
        assert 8 <= len(keys) <= 8 + 4
        regardless = judged(store, run, server, rows=range(20), stop_after=0)
        assert len(regardless.results) == 20


def test_faults_of_earlier_jobs_and_mixed_ones_do_not_stop_a_job(tmp_path: Path) -> None:
    store, run = made(tmp_path, 24)
    with JudgeServer(always("refusal")) as server:
        judged(store, run, server, rows=range(12), stop_after=0)
    kinds = ("refusal", "truncated", "")
    mixed = Script(fault=lambda key, _: kinds[int(key, 16) % 3])
    with JudgeServer(mixed) as server:
        result = judged(store, run, server, concurrency=1, stop_after=9)
    assert result.state == "done"
    assert len(result.results) == 24


def test_a_batch_of_nothing_but_invalid_replies_is_not_sent_again(tmp_path: Path) -> None:
    store, run = made(tmp_path, 10)
    with JudgeServer(always("schema")) as server:
        result = judged(store, run, server, batch=True, stop_after=10)
        assert len([one for one in server.asked if one.path == "/v1/messages/batches"]) == 1
    assert result.state == "failed"
    assert "10 invalid (no valid reply after the first attempt" in result.message


@pytest.mark.parametrize("batch", [False, True])
def test_what_failed_for_good_is_asked_anew_on_request(
    batch: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = ["refusal", "truncated", "schema", ""]
    store, run = made(tmp_path, 16)
    with JudgeServer(Script(fault=lambda key, _: kinds[int(key, 16) % 4])) as server:
        first = judged(store, run, server)
    failed = dict(first.progress.failed)
    assert set(failed) == {"refused", "truncated", "invalid"}
    lengths: list[int] = []

    def reply(body: dict[str, Any]) -> object:
        lengths.append(body["max_tokens"])
        return plain_reply(body)

    words = ["judge", run.run_id, "--yes", "--json", *ALONG, *(["--batch"] if batch else [])]
    plan = command(capsys, tmp_path, *words, "--dry-run", "--again", "refused,truncated").json
    assert plan["calls"] == failed["refused"] + failed["truncated"]
    with JudgeServer(Script(reply=reply)) as server:
        options = [*words, "--base-url", server.url]
        assert command(capsys, tmp_path, *options).json["progress"]["calls"] == 0
        done = command(capsys, tmp_path, *options, "--again", "truncated,refused").json["progress"]
        assert done["calls"] == failed["refused"] + failed["truncated"]
        assert done["failed"] == {"invalid": failed["invalid"]}
        assert sum(length == 20_000 for length in lengths) == failed["truncated"]
        last = command(capsys, tmp_path, *options, "--again", "invalid").json["progress"]
    assert (last["scored"], last["failed"]) == (16, {})
    said = command(capsys, tmp_path, *words, "--again", "refused,scored")
    assert said.code == 2
    assert "'scored'; accepted: any of invalid, refused, truncated, context_exceeded" in said.err


def test_samples_that_are_alike_are_asked_anew_once(tmp_path: Path) -> None:
    _, run = made(tmp_path, 1)
    store, _ = made(tmp_path, 1)
    with JudgeServer(always("refusal")) as server:
        judged(store, run, server, repeats=1)
        result = judged(store, run, server, rows=[0, 0, 0], again=("refused",), concurrency=1)  # type: ignore[arg-type]
        assert len(server.asked) == 2
    assert result.progress.calls == 1


def long_run(folder: Path) -> tuple[Workspace, Run]:
    filler = "Nothing that matters stands in this sentence, and it goes on for long enough. " * 70
    facts = ["Turtles live eighty years.", "Turtles sleep under water.", "Sparrows build nests."]
    sample = {
        "question": "How long do turtles live?",
        "answer": "Turtles live eighty years. Turtles sleep under water. Turtles drive fast cars.",
        "reference_answer": "Turtles live eighty years.",
        "retrieved": [{"id": str(at), "text": filler + fact} for at, fact in enumerate(facts)],
    }
    records = [{**sample, "question_id": f"q{at}", "question": f"{at}. Why?"} for at in range(3)]
    return Workspace(folder), add_run(records, "long", "p", str(folder))


@pytest.mark.parametrize(("way", "each"), [("along", 1), ("apart", 2)])
def test_the_plan_prices_every_part_of_a_split_context(way: ReferenceWay, each: int, tmp_path: Path) -> None:
    workspace, run = long_run(tmp_path)
    prices = read_prices()
    spec = JobSpec(range(run.n))

    def planned(window: int, url: str | None = None) -> JudgePlan:
        settings = ClientSettings(prices.model(), url)
        return plan_task(workspace, run, EvaluationTask.of(window, reference=way), settings, spec, prices)

    whole, split = planned(1_000_000), planned(6_000)
    assert (whole.calls, whole.follow_ups) == (3 * each, 3 * each - 3)
    with JudgeServer() as server:
        settings = ClientSettings(prices.model(), server.url)
        run_task(workspace, run, EvaluationTask.of(6_000, reference=way), settings, JobSpec(range(2)))
        rest = planned(6_000)
        run_task(workspace, run, EvaluationTask.of(6_000, reference=way), settings, spec)
        asked = len(server.asked)
    assert (split.calls, split.follow_ups) == (asked, asked - 3)
    assert split.follow_ups >= 6
    assert split.input_tokens > 1.2 * whole.input_tokens
    assert (split.cost_usd or 0) > 1.2 * (whole.cost_usd or 0)
    assert (rest.cached, rest.calls, rest.follow_ups) == (2, asked // 3, asked // 3 - 1)
    done = planned(6_000)
    assert (done.cached, done.calls, done.cost_usd) == (3, 0, 0.0)


def test_a_budget_below_one_call_says_just_that_and_the_figure_is_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = made(tmp_path, 4)
    words = ["judge", run.run_id, "--yes"]
    with JudgeServer() as server:
        words += ["--base-url", server.url]
        plan = command(capsys, tmp_path, *words, "--budget", "0.0001", "--dry-run")
        said = command(capsys, tmp_path, *words, "--budget", "0.0001")
        assert server.asked == []
        least = re.search(
            r"the budget of \$0\.0001 is smaller than the most that one call can cost, \$([\d.]+) .*; "
            r"accepted: --budget \1 or more",
            said.out,
        )
        assert least is not None
        assert said.code == 2
        assert least[0] in plan.out
        enough = command(capsys, tmp_path, *words, "--budget", least[1])
    assert enough.code == 0
    assert "of 4 samples have a judge result" in enough.out
    assert "0 of 4 samples" not in enough.out


def test_a_spent_budget_says_what_is_left_and_what_the_next_call_can_cost(tmp_path: Path) -> None:
    store, run = made(tmp_path, 100)
    with JudgeServer() as server:
        result = judged(store, run, server, budget_usd=0.012)
    assert result.state == "stopped"
    left = re.search(
        r"\$([\d.]+) of \$0\.0120 is left, and the next call can cost \$([\d.]+);", result.message
    )
    assert left is not None
    assert float(left[1]) < float(left[2])


def test_a_model_without_a_price_is_told_in_plan_and_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = made(tmp_path, 2)
    monkeypatch.setenv("RAGTRIAGE_JUDGE_MODEL", "claude-hiaku")
    with JudgeServer() as server:
        words = ["judge", run.run_id, "--yes", *ALONG, "--base-url", server.url]
        plan = command(capsys, tmp_path, *words, "--dry-run", "--json").json
        said = command(capsys, tmp_path, *words)
    assert plan["cost_usd"] is None
    assert "the price of claude-hiaku is not known" in plan["notes"][0]
    assert "claude-haiku-5-5" in plan["notes"][0]
    assert "cost     not known" in said.err
    assert plan["notes"][0] in said.err
    assert "2 calls were made; cost not known" in said.out


@pytest.mark.parametrize(("fault", "cause"), [("529", "is overloaded"), ("429", "keeps rate-limiting")])
def test_a_service_that_stays_overloaded_ends_the_job(fault: str, cause: str, tmp_path: Path) -> None:
    store, run = made(tmp_path, 40)
    with JudgeServer(Script(fault=lambda *_: fault, retry_after=0.01)) as server:
        result = judged(store, run, server, concurrency=1)
    assert result.state == "failed"
    assert cause in result.message
    assert f"no reply in {MOST_PAUSES} pauses" in result.message
    assert len(server.asked) == MOST_PAUSES
